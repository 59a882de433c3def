#!/bin/sh
# Shows the main job on a real kernel: run it, check its result, look at a mistake being found.
#   demo.sh BUILD
set -eu
build=$(cd "${1:-build}" && pwd)
here=$(cd "$(dirname "$0")/.." && pwd)
tombac=$build/bin/tombac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cd "$here"

say() { printf '\n%s\n' "$*"; }
show() {
    printf '$ tombac'
    for word in "$@"; do
        case $word in
            *[!A-Za-z0-9_./=,:@-]*) printf " '%s'" "$word" ;;
            *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    "$tombac" "$@"
}

say "A Metal kernel, examples/saxpy.metal, unmodified:"
sed -n '/^struct/,$p' examples/saxpy.metal | sed 's/^/    /'

say "Run on a million elements, on this machine's processor. The struct is given by its members:"
show run examples/saxpy.metal saxpy 'arguments={alpha: 2.5, n: 1000000}' 'x=f32[1000000]:iota' \
    'y=f32[1000000]:fill(1)' --grid 1000000 --time --expect 'y=f32[1000000]:iota(1,2.5)' --tol 1e-6

say "The same source on the device that checks every access, here with n a little too large:"
if show run examples/saxpy.metal saxpy 'arguments={alpha: 2.5, n: 1001}' 'x=f32[1000]:iota' \
    'y=f32[1000]:fill(1)' --groups 4 --device check 2>&1; then
    echo "The mistake was not found" >&2
    exit 1
fi

say "Threadgroup memory, barriers and atomics: how often each value occurs in 100000 random bytes"
show run examples/histogram.metal histogram 'in=u8[100000]:rand(1,0,9)' 'counts=u32[256]' n=100000 \
    --groups 782 --group 128 --print counts:10

say "Results go to and come from NumPy files, so any other program can judge them:"
show run examples/vec_add.metal vec_add 'a=f32[1000]:iota' 'b=f32[1000]:fill(1)' 'c=f32[1000]' --grid 1000 \
    --save "c=$work/c.npy"
show run examples/vec_add.metal vec_add "a=@$work/c.npy" 'b=f32[1000]:fill(-1)' 'c=f32[1000]' --grid 1000 \
    --expect 'c=f32[1000]:iota'

say "Next: tombac run YOUR.metal KERNEL NAME=VALUE... --grid N   (tombac run --help; docs/command.md)"
