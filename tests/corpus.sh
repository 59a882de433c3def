#!/bin/bash
# Tries Tombac on public projects' kernels:
#
#   tests/corpus.sh [--each] [--every N] [--device check|cpu] [--build FOLDER] [--no-run] DIR...
#
# DIR is a checkout or a folder of checkouts (ggml, mlx, candle, gpt-oss, pytorch are known; of others, every .metal file is
# compiled with the checkout's root and the file's folder as include folders). Prints per project how many kernels are listed, compiled
# with their whole files, compiled alone (--each; every N-th with --every) and executed and compared with NumPy, and what failed with
# its first error line. Exit status 0 if nothing failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../build
device=check
each=()
run=yes
python=/usr/bin/python3 # the system's: NumPy is its package

while [ $# -gt 0 ]; do
    case $1 in
        --each) each+=(--each) ;;
        --every) each+=(--every "$2"); shift ;;
        --device) device=$2; shift ;;
        --build) build=$2; shift ;;
        --no-run) run=no ;;
        -*) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
        *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
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
        project candle "$d" "" -I "$d/candle-metal-kernels/src/metal_src" -I "$d/candle-metal-kernels/src" -- "${files[@]}"
    elif [ -d "$d/gpt_oss/metal/source" ]; then
        mapfile -t files < <(metal_files "$d/gpt_oss/metal/source")
        project gpt-oss "$d" "" -I "$d/gpt_oss/metal/source/include" -- "${files[@]}"
    elif [ -d "$d/aten/src/ATen/native/mps/kernels" ]; then
        mapfile -t files < <(metal_files "$d/aten/src/ATen/native/mps/kernels")
        project pytorch "$d" "" -I "$d" -I "$d/aten/src" -- "${files[@]}"
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
