#!/bin/sh
# package.sh BUILD FOLDER: what a GPU machine without a compiler needs to test this build. Fills the compile cache with every
# kernel of the conformance suite, the examples, a set of random kernels ($SEEDS of them, 1-24; their results come along) and the
# benches, on a stand-in for NVIDIA's driver. Then, on the GPU machine: sh FOLDER/run.sh.
# The cache belongs to sources in a certain place, so both scripts work in $PLACE (/tmp/tombac-device). Further arguments are filters
# for the conformance suite; with some, nothing else goes into the cache.
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
shift 2
rm -rf "$out/cache" "$out/bin" "$out/lib" "$out/fake" "$out/conformance" "$out/examples" "$out/bench" "$out/tests" "$out/ggml" "$out/mlx" "$out/fuzz" "$out/tutorial"
mkdir -p "$out/bin" "$out/lib" "$out/fake" "$out/examples"
cp "$build/bin/tombac-conformance" "$build/bin/tombac" "$build/bin/device_group" "$build/bin/device_chain" "$build/bin/device_fault" "$out/bin/"
for example in vec_add saxpy reduce_tree reduce_simd histogram matmul8x8 several_devices; do
    cp "$build/tests/device/$example" "$out/bin/"
done
for example in vec_add saxpy pipeline reverse histogram prefix_sum matmul8x8 image_filter; do
    cp "$build/examples/c_$example" "$out/bin/" # with code for GPUs in them
done
cp "$build/bin/test_algorithms" "$build/bin/test_portable" "$out/bin/" # and these
cp -L "$build"/lib/libtombac.so.0 "$build"/lib/libtombac-kernels.so.0 "$out/lib/"
cp -L $(ldd "$build/examples/c_image_filter" | sed -n 's/.*=> \(.*lib\(png\|z\)[^ ]*\).*/\1/p') "$out/lib/"
cp -L "$(ldd "$build/bin/tombac-conformance" | sed -n 's/.*=> \(.*libjansson[^ ]*\).*/\1/p')" "$out/lib/"
cp -L "$build"/tests/device/fake/libcuda.so.1 "$out/fake/"
cp -r "$here/../conformance" "$out/conformance"
cp "$build"/tests/conformance/ckernel_*.metal "$out/conformance/"
cp "$here"/../../examples/*.metal "$out/examples/"
cp "$here/run.sh" "$here/fuzz.py" "$here/tutorial.py" "$here/../runtime/guide.py" "$here/../../docs/kernels-in-c.md" "$out/"
# The bench; with $GGML, a checkout of ggml, also that of its kernels.
mkdir -p "$out/tests/corpus" "$out/bench"
cp -r "$here"/../../bench/*.py "$here/../../bench/kernels" "$out/bench/"
cp "$here"/../corpus/*.py "$out/tests/corpus/"
ln -sf libtombac.so.0 "$out/lib/libtombac.so"
if [ -n "${GGML:-}" ]; then
    mkdir -p "$out/ggml/src/ggml-metal"
    cp "$GGML"/src/ggml-metal/*.metal "$GGML"/src/ggml-metal/*.h "$out/ggml/src/ggml-metal/"
    cp "$GGML"/src/*.h "$out/ggml/src/"
fi
if [ -n "${MLX:-}" ]; then
    mkdir -p "$out/mlx/mlx/backend/metal"
    cp -r "$MLX/mlx/backend/metal/kernels" "$out/mlx/mlx/backend/metal/"
fi
strip "$out"/bin/* "$out"/lib/* 2>/dev/null || true

place=${PLACE:-/tmp/tombac-device}
rm -rf "$place"
cp -r "$out" "$place"
cd "$place"
export TOMBAC_CC="$build/bin/tombac-cc" TOMBAC_CACHE="$place/cache" LD_LIBRARY_PATH="$place/lib:$place/fake"
for target in ${TARGETS:-sm_90}; do
    export FAKE_CUDA="$target"
    bin/tombac-conformance --device cuda --folder conformance "$@" > fill.log 2>&1 || true # nothing computes there
    for example in vec_add saxpy reduce_tree reduce_simd histogram matmul8x8 device_chain device_fault; do
        bin/$example cuda >> fill.log 2>&1 || true
    done
    /usr/bin/env python3 fuzz.py --library lib/libtombac.so.0 --folder fuzz --make "$here/../fuzz/generate_metal.py" --seeds ${SEEDS:-1-24}
    bin/tombac bench --quick --device cuda >> fill.log 2>&1 || true
    /usr/bin/env python3 tutorial.py --fill kernels-in-c.md tutorial bin/tombac cuda >> fill.log
    [ $# -eq 0 ] || continue
    /usr/bin/env python3 bench/device.py --build . --fill ${GGML:+--checkout ggml} ${MLX:+--mlx mlx}
done
find cache -name '*.cubin' -delete # the stand-in's
cp -r cache fuzz tutorial fill.log "$out/"
echo "$(find cache -type f | wc -l) files in the cache, $(du -sm . | cut -f1) MiB in all"
if grep -E 'compiler (crashed|error)|internal error' fill.log; then exit 1; fi
# A result that depends on a file outside the package is none on another machine.
python3 - << 'END'
import pathlib, re, sys
outside = set()
for index in pathlib.Path("cache").rglob("*.index"):
    for path in re.findall(rb'\{"path":"(/[^"]*)","size"', index.read_bytes()):
        outside |= {path.decode()} if not path.startswith(bytes(pathlib.Path.cwd())) else set()
if outside:
    sys.exit("the cache depends on files outside the package: " + ", ".join(sorted(outside)))
END
