#!/bin/sh
# The library exports what its public headers declare, no more and no less.
# usage: exports.sh LIBRARY HEADER...
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nm -D --defined-only "$1" | awk '$2 ~ /^[TDRBWV]$/ {print $3}' | sort >"$work/exported"
shift
cat "$@" | tr '\n' ' ' | sed 's/TOMBAC_API/\n&/g' | sed -n 's/^TOMBAC_API \([^(]*\)(.*/\1/p' |
    sed 's/.*[ *]\(tombac_[a-z0-9_]*\)$/\1/' | sort >"$work/declared"
[ "$(wc -l <"$work/declared")" -gt 10 ]
diff "$work/declared" "$work/exported"
