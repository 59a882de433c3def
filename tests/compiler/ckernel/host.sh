#!/bin/sh
# host.sh FOLDER COMPILER FLAGS...: builds and runs host.c; then what must not compile must say why.
set -eu
here=$(dirname "$0")
folder=$1
shift
mkdir -p "$folder"
"$@" "$here/host.c" -o "$folder/host" -lm
"$folder/host"
for kind in BARRIER SIMD QUAD MATRIX; do
    if "$@" -DREFUSED_$kind "$here/host.c" -o "$folder/refused" -lm 2>"$folder/message"; then
        echo "$kind was not refused"
        exit 1
    fi
    grep -q "cannot run on the host" "$folder/message" || { cat "$folder/message"; exit 1; }
done
if "$folder/host" outside 2>"$folder/message"; then
    echo "an index outside of a slice went unnoticed"
    exit 1
fi
grep -q "index < x.count" "$folder/message"
