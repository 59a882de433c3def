#!/bin/sh
# host.sh FOLDER COMPILER FLAGS...: builds and runs host.c and host_together.c; the latter also without optimisation, with
# sanitizers and under valgrind; then what must fail must say why.
set -eu
here=$(dirname "$0")
folder=$1
shift
mkdir -p "$folder"
case $("$1" --version) in *clang*) blocks=-fblocks ;; *) blocks="" ;; esac

fails() { # PROGRAM ARGUMENT WORDS
    if "$folder/$1" "$2" >"$folder/message" 2>&1; then
        echo "$1 $2 did not fail"
        exit 1
    fi
    grep -q "$3" "$folder/message" || { cat "$folder/message"; exit 1; }
}

"$@" "$here/host.c" -o "$folder/host" -lm
"$folder/host"
fails host outside "index < x.count"

"$@" $blocks "$here/host_together.c" -o "$folder/together" -lm
"$folder/together"
fails together divergent "divergent barrier: thread 0,0,0 waits .* thread 3,0,0"
fails together functions "in another function at simd_sum"
fails together matrix "simdgroup_multiply needs all 32 threads"
fails together size "1 to 1024 threads"
fails together stack "" # a page that nobody may touch lies below each stack
fails together loop "threadgroup_barrier: .* tombac_run_threads is needed"

"$@" $blocks -O0 -g "$here/host_together.c" -o "$folder/plain" -lm 2>"$folder/message" || { cat "$folder/message"; exit 1; }
"$folder/plain"
fails plain ways "on different ways"
"$@" $blocks -g -fsanitize=address,undefined -fno-sanitize-recover=all "$here/host_together.c" -o "$folder/checked" -lm
"$folder/checked" 2>"$folder/message" || { cat "$folder/message"; exit 1; }
if command -v valgrind >/dev/null; then
    "$@" $blocks -gdwarf-4 "$here/host_together.c" -o "$folder/under" -lm
    valgrind -q --error-exitcode=9 "$folder/under"
fi
if [ -n "$blocks" ]; then # without them the reason is named
    if "$@" "$here/host_together.c" -o "$folder/refused" -lm 2>"$folder/message"; then exit 1; fi
    grep -q "needs -fblocks" "$folder/message"
fi
