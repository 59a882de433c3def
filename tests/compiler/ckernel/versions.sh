#!/bin/sh
# versions.sh TOMBAC_CC SOURCE: kernels in C as Metal source of each version, which tombac-cc checks itself before it prints it. Each
# has address spaces below metal4.1 and none in metal4.1. Then what a version cannot say.
set -u
compiler=$1
source=$2
status=0

fail() {
    echo "$*"
    status=1
}

for version in 2.3 3.0 3.1 3.2 4.0 4.1; do
    case $version in
    2.3 | 4.1) files=$(ls "$source"/examples/c/*.c) ;;
    *) files="$source/examples/c/matmul.c $source/tests/conformance/ckernel/pointers.c" ;;
    esac
    for file in $files; do
        made=$("$compiler" emit --what msl -std=metal$version "$file" 2>&1) || fail "metal$version $file: $made"
        spaces=$(printf %s "$made" | grep -c "define TOMBAC_SPACES")
        case $version in
        4.1) ;; # generic where it can be
        *) [ "$spaces" -eq 1 ] || fail "metal$version $file: no address spaces" ;;
        esac
    done
done
"$compiler" emit --what msl "$source/examples/c/saxpy.c" | grep -q "define TOMBAC_SPACES" && fail "metal4.1 has generic pointers"

refused() { # VERSION CODE WORDS
    printf '#include <stdio.h>\n#include <stdatomic.h>\n#include <tombac/kernel.h>\n%s\n' "$2" |
        "$compiler" emit --what msl -x c -std=metal$1 - >/dev/null 2>message.$$ && fail "metal$1 accepts: $2"
    grep -q -e "$3" message.$$ || fail "metal$1 $2: $(cat message.$$)"
    grep -q -e "^<stdin>:[4-9]:" message.$$ || fail "no place: $(cat message.$$)"
    rm -f message.$$
}
refused 3.1 'kernel void k(int *x) { printf("%d", x[0]); }' "'printf' is not supported before metal3.2"
refused 3.1 'kernel void k(atomic_uint *x) { atomic_fetch_add(x, 1u); }' "no order of atomic operations but memory_order_relaxed"
refused 3.2 'struct s { int *p; }; kernel void k(int *x) { struct s t = {.p = x}; t.p[0] = 1; }' "a pointer in a structure"
refused 3.2 'typedef int *p; kernel void k(int *x) { p y = x; y[0] = 1; }' "a pointer behind a typedef"
refused 3.2 'kernel void k(int *x) { int *y[2] = {x, x + 1}; y[1][0] = 1; }' "an array of pointers"
refused 3.2 'kernel void k(int *x) { int *y; if (x[0]) return; }' "a pointer to which nothing is stored"
refused 3.2 'kernel void k(int *x) { threadgroup int t[2]; int *y = x; if (x[0]) y = t; y[1] = 0; }' "cannot be written as Metal source"
refused 2.4 'kernel void k(bfloat *x) { x[0] = bfloat_from_float(1.0f); }' "metal3.1"
"$compiler" emit --what msl -std=metal2.2 "$source/examples/c/saxpy.c" 2>&1 | grep -q "metal2.3 and later" || fail "metal2.2"
exit $status
