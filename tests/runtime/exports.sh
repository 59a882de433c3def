#!/bin/sh
# The shared library exports what the public header declares and the two names that debuggers look for, no more and no less, and
# links neither LLVM nor anything unexpected.
# usage: exports.sh LIBRARY HEADER
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nm -D --defined-only "$1" | awk '$2 ~ /^[TDRBWV]$/ {print $3}' | sort >"$work/exported"
# A declaration may span lines: its name is the last word before the first parenthesis.
tr '\n' ' ' <"$2" | sed 's/TOMBAC_API/\n&/g' | sed -n 's/^TOMBAC_API \([^(]*\)(.*/\1/p' | grep -v '^__attribute__' |
    sed 's/.*[ *]\(tombac_[a-z0-9_]*\)$/\1/' | sort >"$work/declared"
[ "$(wc -l <"$work/declared")" -gt 40 ]
printf '%s\n' __jit_debug_descriptor __jit_debug_register_code | sort - "$work/declared" >"$work/expected"
diff "$work/expected" "$work/exported"
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for library in $needed; do
    case $library in
    libc.so.* | libjansson.so.* | libpthread.so.* | libm.so.* | ld-linux-*) ;;
    libasan.so.* | libubsan.so.* | libtsan.so.* | libgcc_s.so.*) ;; # builds with sanitizers
    *) echo "the library needs $library" >&2; exit 1 ;;
    esac
done
