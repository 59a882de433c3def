#!/bin/sh
# fuzz_test.sh BUILD: random kernels as package.sh prepares them, run on the device cpu without a compiler; a changed word fails.
set -eu
build=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export TOMBAC_CACHE="$work/cache"
fuzz() { python3 "$here/fuzz.py" --library "$build/lib/libtombac.so" --folder fuzz --device cpu "$@"; }
fuzz --make "$here/../fuzz/generate_metal.py" --seeds 1-1
export TOMBAC_CC=/dev/null/none
[ "$(fuzz)" = "2 passed, 0 failed" ]
python3 - <<'END'
import numpy as np
words = dict(np.load("fuzz/expected.npz"))
words["1.1.1"][5] += 1
np.savez_compressed("fuzz/expected.npz", **words)
END
! fuzz > report
grep -q '^FAIL  fuzz fuzz/1.metal k1 .*: 1.1.1 differs first at 5$' report
grep -q '^1 passed, 1 failed$' report
