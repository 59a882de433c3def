#!/bin/sh
# Runs in a folder that package.sh made, on a machine with an NVIDIA GPU; needs no compiler. Arguments are filters for the
# conformance suite. Prints what failed and, at the end, "N passed, N failed". Where there are two GPUs, copies and collectives
# between them are tested too, with NCCL where it is found ($TOMBAC_NCCL, else among the libraries of Python's packages).
place=${PLACE:-/tmp/tombac-device}
rm -rf "$place"
cp -r "$(dirname "$0")" "$place" && cd "$place" || exit 2
export LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export TOMBAC_CACHE="$PWD/cache" TOMBAC_CC=/dev/null/none TOMBAC_TIME_LIMIT="${TOMBAC_TIME_LIMIT:-10}"
passed=0 failed=0
bin/tombac-conformance --device cuda --folder conformance --timeout 20 "$@" > conformance.log 2>&1
status=$?
[ $status -gt 1 ] && cat conformance.log && exit 2
# A source that cannot be preprocessed is never cached, so this one test needs the compiler.
without='^FAIL  errors.source.missing-include:.*cannot run'
grep -v -e '^ok ' -e "$without" -e 'passed, ' conformance.log
set -- $(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' conformance.log)
passed=$1 failed=$(($2 - $(grep -c "$without" conformance.log)))
for example in vec_add saxpy reduce_tree reduce_simd histogram matmul8x8 "several_devices cuda" c_vec_add c_saxpy c_pipeline c_reverse \
    c_histogram c_prefix_sum c_matmul8x8 c_image_filter test_algorithms test_portable; do
    if bin/$example cuda > example.log 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL  $example:"
        cat example.log
    fi
done
if env -u TOMBAC_TIME_LIMIT bin/device_chain cuda > chain.log 2>&1; then # with a limit there are no graphs
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "FAIL  chain: $(cat chain.log)"
fi
fault() {
    if bin/device_fault "$@" > fault.log 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)) && cat fault.log; fi
    grep '^the other' fault.log
}
fault cuda
# A program that counts for itself.
counted() {
    "$@" > counted.log 2>&1
    grep -v 'passed, ' counted.log
    set -- $(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' counted.log)
    passed=$((passed + ${1:-0})) failed=$((failed + ${2:-1}))
}
counted python3 fuzz.py --library lib/libtombac.so.0 --folder fuzz
counted python3 tutorial.py kernels-in-c.md tutorial bin/tombac cuda
# One test of several devices; its arguments are devices and the transport.
group() {
    if NO_BENCH=$quick bin/device_group "$@" > group.log 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL  group $*:"
    fi
    cat group.log
}
quick=1
group cuda:0 cuda:0 --transport host
if bin/tombac info | grep -q 'cuda:1'; then
    group cuda:0 cuda:1 --transport host
    : "${TOMBAC_NCCL:=$(ldconfig -p | sed -n 's/.*=> \(.*libnccl\.so\.2\)$/\1/p' | head -1)}"
    [ -n "$TOMBAC_NCCL" ] || TOMBAC_NCCL=$(python3 -c 'import glob, site
print(next(iter(sum((glob.glob(p + "/nvidia/nccl/lib/libnccl.so.2") for p in site.getsitepackages()), [])), ""))')
    export TOMBAC_NCCL
    quick=
    [ -z "$TOMBAC_NCCL" ] || group cuda:0 cuda:1 --transport nccl
    fault cuda:0 cuda:1
    if bin/several_devices cuda:0 cuda:1; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
fi
echo "$passed passed, $failed failed"
[ -n "${NO_BENCH:-}" ] || env -u TOMBAC_TIME_LIMIT bin/tombac bench --device cuda 2> /dev/null
if [ -z "${NO_BENCH:-}" ] && python3 -c 'import torch' 2> /dev/null; then
    echo && env -u TOMBAC_TIME_LIMIT python3 bench/device.py --build . $([ -d ggml ] && echo --checkout ggml) $([ -d mlx ] && echo --mlx mlx) --json bench.json || failed=1
fi
[ "$failed" = 0 ]
