#!/bin/sh
# typed.sh TOMBAC COMPILER INCLUDE: the header that `tombac build --header` makes of a kernel in C: right calls compile, wrong types
# do not; and what a kernel requires is refused before it runs.
set -u
tombac=$1
compiler=$2
include=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
status=0
cat >k.c <<'END'
#include <tombac/kernel.h>
typedef struct affine {
    float scale;
    int offset[3];
} affine;
kernel requires(len(x) >= n) threads_required(8) void k(slice_const(float) s, affine a, float *x, uint n, threadgroup_memory(int) t)
{
    uint i = thread_index_in_threadgroup();
    t[i] = a.offset[i % 3];
    if (i < n) x[i] = at(s, i) * a.scale + (float)t[i];
}
END
"$tombac" build k.c -o k.tombac --header k.h --target check || exit 1

compiles() { # right|wrong CALL
    cat >main.c <<END
#include "k.h"
struct other { float scale; };
tombac_status call(tombac_kernel *kernel, tombac_buffer *s, tombac_buffer *x, k_affine a, struct other other, float f,
    tombac_operation **o, tombac_error **e);
tombac_status call(tombac_kernel *kernel, tombac_buffer *s, tombac_buffer *x, k_affine a, struct other other, float f,
    tombac_operation **o, tombac_error **e)
{
    (void)other, (void)f, (void)x, (void)s, (void)a;
    return $2;
}
END
    if "$compiler" -std=c17 -Wall -Werror -fsyntax-only -I"$include" main.c 2>message; then
        [ "$1" = right ] || { echo "compiles: $2"; status=1; }
    else
        [ "$1" = wrong ] || { echo "does not compile: $2"; cat message; grep -n "k_k" k.h; status=1; }
    fi
}
compiles right 'k_k(kernel, tombac_for_elements(8, 8), s, 8, &a, x, 8, 32, o, e)'
# What a project warns of in its own code says nothing about the header.
cat >strict.c <<'END'
extern int device, library, kernel, grid, operation, launch, status;
#include "k.h"
END
"$compiler" -std=c17 -Wall -Wextra -Wshadow -Wconversion -Wpadded -Wpedantic -Wmissing-prototypes -Wc++-compat -Wundef -Werror \
    -fsyntax-only -I"$include" strict.c 2>message || { echo "the header warns:"; head message; status=1; }
compiles wrong 'k_k(kernel, tombac_for_elements(8, 8), s, 8, &other, x, 8, 32, o, e)' # another structure
compiles wrong 'k_k(kernel, tombac_for_elements(8, 8), f, 8, &a, x, 8, 32, o, e)'     # a number for a buffer
compiles wrong 'k_k(kernel, tombac_for_elements(8, 8), s, 8, &a, x, x, 32, o, e)'     # a buffer for a number
compiles wrong 'k_k(kernel, 8, s, 8, &a, x, 8, 32, o, e)'                             # no grid
compiles wrong 'k_k(kernel, tombac_for_elements(8, 8), s, 8, &a, x, 8, o, e)'         # too few

refused() { # WORDS ARGUMENTS...
    words=$1
    shift
    "$tombac" run --device check k.c k "$@" >out 2>&1 && { echo "runs: $*"; status=1; }
    grep -q "$words" out || { cat out; status=1; }
}
a='a={scale:2,offset:{1,2,3}}'
"$tombac" run --device check k.c k 's=f32[8]' s_count=8 "$a" 'x=f32[8]' n=8 --threadgroup 0=32 --grid 8 --group 8 >out || { cat out; status=1; }
refused "len(x) >= n" 's=f32[8]' s_count=8 "$a" 'x=f32[8]' n=9 --threadgroup 0=32 --grid 8 --group 8
refused "s_count <= len(s)" 's=f32[8]' s_count=9 "$a" 'x=f32[8]' n=8 --threadgroup 0=32 --grid 8 --group 8
refused "8 x 1 x 1" 's=f32[8]' s_count=8 "$a" 'x=f32[8]' n=8 --threadgroup 0=32 --grid 16 --group 16
exit $status
