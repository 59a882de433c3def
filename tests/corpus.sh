#!/bin/bash
# Tries Tombac on public projects' kernels:
#
#   tests/corpus.sh [--each] [--every N] [--files N] [--device check|cpu] [--build FOLDER] [--no-run] DIR...
#
# DIR is a checkout or a folder of checkouts (ggml, mlx, candle, gpt-oss, pytorch, torchao, hashcat, risc0, ccv are known, and what
# packages install of pytorch, torch/include, and of tinygrad; of others, every .metal file is compiled with the checkout's root and the
# file's folder as include folders), or the word glsl: shaders of ours through glslangValidator and spirv-cross. --files N: every N-th
# file. Prints per project how many kernels are listed, compiled with their whole files, compiled alone (--each; every N-th with
# --every) and executed and compared with NumPy, and what failed with its first error line. Exit status 0 if nothing failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
device=check
each=()
run=yes
step=1
python=/usr/bin/python3 # the system's: NumPy is its package

while [ $# -gt 0 ]; do
    case $1 in
        --each) each+=(--each) ;;
        --every) each+=(--every "$2"); shift ;;
        --files) step=$2; shift ;;
        --device) device=$2; shift ;;
        --build) build=$2; shift ;;
        --no-run) run=no ;;
        -*) sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
        *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || { sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
status=0

# metal_files FOLDER: its .metal files, sorted, without those that need metal4.0; tensor_files FOLDER: those.
metal_files() { find "$1" -name '*.metal' ! -name '*_nax.metal' -type f | sort; }
tensor_files() { find "$1" -name '*_nax.metal' -type f | sort; }

# project NAME CHECKOUT DRIVER INCLUDES-AND-DEFINES... -- FILE...
project() {
    local name=$1 checkout=$2 driver=$3 flags=() output
    shift 3
    while [ "$1" != -- ]; do flags+=("$1"); shift; done
    shift
    [ $# -gt 0 ] || return 0
    if [ "$step" -gt 1 ]; then
        local chosen
        mapfile -t chosen < <(printf '%s\n' "$@" | awk -v n="$step" 'NR % n == 1')
        set -- "${chosen[@]}"
    fi
    output=$("$python" "$here/corpus/compile.py" "${each[@]}" --engine "$device" "${flags[@]}" "$build/bin/tombac-cc" "$@") || status=1
    printf '%s\n' "$output" | grep -v '^COMPILED'
    local compiled executed=
    read -r -a compiled <<<"$(printf '%s\n' "$output" | sed -n 's/^COMPILED //p')"
    if [ -n "$driver" ] && [ $run = yes ]; then
        output=$("$python" "$here/corpus/$driver" "$build/bin/tombac" "$device" "$checkout") || status=1
        printf '%s\n' "$output" | grep -v '^EXECUTED'
        executed=$(printf '%s\n' "$output" | sed -n 's/^EXECUTED \([0-9]*\) \([0-9]*\)/, \1 of \2 cases executed and compared/p')
    fi
    printf '%s: %s kernels listed, %s compiled' "$name" "${compiled[0]:-0}" "${compiled[1]:-0}"
    [ "${compiled[3]:-0}" = 0 ] || printf ', %s of %s compiled alone' "${compiled[2]}" "${compiled[3]}"
    printf '%s\n' "$executed"
}

# generated NAME DRIVER ARGUMENT...: what makes its Metal text itself.
generated() {
    local name=$1 driver=$2 output
    shift 2
    [ $run = yes ] || return 0
    output=$("$python" "$here/corpus/$driver" "$build/bin/tombac" "$device" "$@") || status=1
    printf '%s\n' "$output" | grep -v '^EXECUTED'
    printf '%s\n' "$output" | sed -n "s/^EXECUTED \\([0-9]*\\) \\([0-9]*\\)/$name: \\1 of \\2 cases executed and compared/p"
}

# PyTorch: a checkout with c10/metal; one of 2.6, whose host has some sources in strings; an installed package's headers.
pytorch() {
    local d=$1 kernels=$1/aten/src/ATen/native/mps/kernels files strings
    strings=$(mktemp -d)
    if [ -d "$d/c10/metal" ] && [ -d "$kernels" ]; then
        mapfile -t files < <(metal_files "$kernels")
        project pytorch "$d" pytorch.py -I "$d" -I "$d/aten/src" -- "${files[@]}"
    elif [ -d "$kernels" ]; then
        "$python" "$here/corpus/pytorch_sources.py" "$d" "$strings"
        mapfile -t files < <(metal_files "$kernels"; metal_files "$strings")
        project 'pytorch 2.6' "$d" pytorch.py --std metal3.1 -- "${files[@]}"
    else
        "$python" "$here/corpus/pytorch_sources.py" "$d" "$strings"
        mapfile -t files < <(metal_files "$strings")
        project 'pytorch, headers' "$d" pytorch_templates.py --std metal3.1 -I "$d" -- "${files[@]}"
        mapfile -t files < <(tensor_files "$strings")
        project 'pytorch, headers with tensors' "$d" '' --std metal4.0 -I "$d" -- "${files[@]}"
    fi
    rm -r "$strings"
}

# hashcat's kernels switch to Metal by __METAL__; the defines are those of src/backend.c for an Apple GPU and a fast hash under
# attack by a mask, the digest's words those of MD5.
hashcat() {
    local d=$1 defines=() name
    shift
    for name in ADD ADDC SUB SUBC VADD VADDC VADD_CO VADDC_CO VSUB VSUBB VSUB_CO VSUBB_CO VPERM VADD3 VBFE BFE LOP3 MOV64 PRMT SHFW; do
        defines+=(-D "HAS_$name=0")
    done
    defines+=(-D KERNEL_STATIC -D INCLUDE_PATH=OpenCL -D 'XM2S(x)=#x' -D 'M2S(x)=XM2S(x)' -D MAX_THREADS_PER_BLOCK=1024
        -D IS_APPLE_SILICON -D LOCAL_MEM_TYPE=1 -D VENDOR_ID=2 -D CUDA_ARCH=0 -D VECT_SIZE=1 -D DEVICE_TYPE=4 -D DGST_R0=0 -D DGST_R1=3
        -D DGST_R2=2 -D DGST_R3=1 -D DGST_ELEM=4 -D KERN_TYPE=0 -D ATTACK_EXEC=11 -D ATTACK_KERN=3 -D ATTACK_MODE=3
        -D FIXED_LOCAL_SIZE=64 -D FIXED_LOCAL_SIZE_COMP=64 -D SCRYPT_N=1024 -D SCRYPT_R=1 -D SCRYPT_P=1 -D SCRYPT_TMTO=1
        -D SCRYPT_TMP_ELEM=32) # the last two lines: what a module adds
    project hashcat "$d" hashcat.py -x metal -I "$d" -I "$d/OpenCL" "${defines[@]}" -- "$@"
}

# PyTorch's low-bit kernels are one source, made of the files that metal.yaml names, in the order of their names.
torchao() {
    local kernels=$1/torchao/experimental/kernels/mps folder
    folder=$(mktemp -d)
    sed -n 's/^ *file: *//p' "$kernels/metal.yaml" | sort -u | while read -r file; do cat "$kernels/metal/$file"; done >"$folder/lowbit.metal"
    project torchao "$1" torchao.py -I "$kernels/metal" -- "$folder/lowbit.metal"
    rm -r "$folder"
}

# checkout DIR: one project, known by its files. False if DIR is none.
checkout() {
    local d=$1 files
    if [ -e "$d/src/ggml-metal/ggml-metal.metal" ]; then
        project ggml "$d" ggml.py -I "$d/src" -D GGML_METAL_HAS_BF16=1 -- "$d/src/ggml-metal/ggml-metal.metal"
        project 'ggml with tensors' "$d" '' --std metal4.0 -I "$d/src" -D GGML_METAL_HAS_BF16=1 -D GGML_METAL_HAS_TENSOR=1 -- \
            "$d/src/ggml-metal/ggml-metal.metal"
    elif [ -d "$d/mlx/backend/metal/kernels" ]; then
        mapfile -t files < <(metal_files "$d/mlx/backend/metal/kernels")
        project mlx "$d" mlx.py -I "$d" -- "${files[@]}"
        mapfile -t files < <(tensor_files "$d/mlx/backend/metal/kernels")
        project 'mlx with tensors' "$d" '' --std metal4.0 -I "$d" -- "${files[@]}"
    elif [ -d "$d/candle-metal-kernels" ]; then
        mapfile -t files < <(metal_files "$d/candle-metal-kernels")
        project candle "$d" candle.py -I "$d/candle-metal-kernels/src/metal_src" -I "$d/candle-metal-kernels/src" -- "${files[@]}"
    elif [ -d "$d/gpt_oss/metal/source" ]; then
        mapfile -t files < <(metal_files "$d/gpt_oss/metal/source")
        project gpt-oss "$d" gptoss.py -I "$d/gpt_oss/metal/source/include" -- "${files[@]}"
    elif [ -d "$d/aten/src/ATen/native/mps/kernels" ] || [ -e "$d/ATen/native/mps/kernels/SortTopK.h" ]; then
        pytorch "$d"
    elif [ -e "$d/tinygrad/renderer/cstyle.py" ]; then
        generated tinygrad tinygrad_metal.py "$d"
    elif [ -d "$d/lib/nnc/mfa/v2" ]; then
        generated metal-flash-attention mfa.py "$d"
    elif [ "$d" = glsl ]; then
        generated SPIRV-Cross glsl.py
    elif [ -e "$d/OpenCL/inc_vendor.h" ]; then
        mapfile -t files < <(find "$d/OpenCL" -name '*.cl' ! -name 'inc_*' -type f | sort)
        hashcat "$d" "${files[@]}"
    elif [ -d "$d/risc0/build_kernel/kernels/metal" ]; then
        local riscv=$d/risc0/circuit/rv32im-sys/cxx/hal/metal/kernels
        mapfile -t files < <(find "$d/risc0" -name '*.metal' ! -path "$riscv/*" -type f | sort)
        project risc0 "$d" "" -I "$d/risc0/build_kernel/kernels/metal" -- "${files[@]}"
        mapfile -t files < <(metal_files "$riscv")
        project 'risc0 for rv32im' "$d" risc0.py -I "$riscv" -- "${files[@]}"
    elif [ -e "$d/torchao/experimental/kernels/mps/metal.yaml" ]; then
        torchao "$d"
    elif [ -n "$(find "$d" -name '*.metal' -print -quit)" ] && { [ -e "$d/.git" ] || [ -n "$(find "$d" -maxdepth 1 -type f -print -quit)" ]; }; then
        mapfile -t files < <(metal_files "$d")
        local folders=() f
        while read -r f; do folders+=(-I "$f"); done < <(printf '%s\n' "${files[@]}" | xargs -d '\n' -n1 dirname | sort -u)
        project "$(basename "$d")" "$d" "" -I "$d" "${folders[@]}" -- "${files[@]}"
    else
        return 1
    fi
}

for folder in "$@"; do
    if ! checkout "${folder%/}"; then
        for inside in "${folder%/}"/*/; do
            checkout "${inside%/}" || echo "$(basename "$inside"): no Metal sources known"
        done
    fi
done
exit $status
