#!/bin/sh
# A program that carries its kernels, alone with the library in a folder of its own, and with an empty environment: there is no
# compiler that it could find. A program that needs one says so there, so that the test would notice one.
# usage: embedded.sh BUILD
set -eu
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
mkdir "$work/a" "$work/nothing"
cp "$build/examples/pipeline" "$build/examples/saxpy" "$work/a/"
cp -P "$build"/lib/libtombac.so* "$work/a/"
alone() { env -i LD_LIBRARY_PATH="$work/a" PATH="$work/nothing" HOME="$work/nothing" ${TEST_OPTIONS:-} "$@"; }

if alone "$work/a/saxpy" check >"$work/out" 2>&1; then fail "there is a compiler here"; fi
grep -q "'tombac-cc' is not installed" "$work/out" || { cat "$work/out"; fail "another reason"; }
for device in check cpu; do
    alone "$work/a/pipeline" $device >"$work/out" 2>&1 || { cat "$work/out"; fail "the pipeline on $device"; }
    for n in 0 1 255 256 257 1000003; do
        for threads in 128 256; do
            grep -q "pipeline n = $n with threadgroups of $threads on $device: right" "$work/out" || fail "n = $n, $threads threads"
        done
    done
done
[ -z "$(find "$work/nothing" -name '*metal*' -o -name '*.data')" ] || fail "something was compiled"
echo "embedded: right"
