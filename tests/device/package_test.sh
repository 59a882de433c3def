#!/bin/sh
# package_test.sh BUILD: a package of a few kernels, moved elsewhere, has all of them: its run asks for no compiler. On the stand-in
# for NVIDIA's driver, where kernels compute nothing, so that only what a test finds or does not find counts.
set -eu
build=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PLACE="$work/place" NO_BENCH=1 SEEDS=1-1
sh "$here/package.sh" "$build" "$work/made" ckernel.vectors language.swizzles
rm -rf "$PLACE"
mv "$work/made" "$work/moved"
LD_LIBRARY_PATH="$work/moved/fake" sh "$work/moved/run.sh" ckernel.vectors language.swizzles > "$work/report" 2>&1 || true
cat "$work/report"
grep -q '^FAIL  ckernel.vectors.msl: .*differ' "$work/report" # the kernel was there, and its result is wrong
grep -q '^FAIL  ckernel.vectors.c: .*differ' "$work/report"
grep -q '^FAIL  fuzz fuzz/1.metal k0 .* differs first at' "$work/report"
! grep -q 'cannot run\|compiler' "$work/report"
# Without its cache the package must ask: else the line above proves nothing.
rm -rf "$work/moved/cache"
LD_LIBRARY_PATH="$work/moved/fake" sh "$work/moved/run.sh" ckernel.vectors > "$work/report" 2>&1 || true
grep -q 'cannot run' "$work/report"
