// What cannot be inlined is named at its place; what is recursive only at its end becomes a loop.
//
// RUN cycle FAILS 4: compile -w --kernel cycle --engine check -o /dev/null
// CHECK cycle: functions\.metal:(18|20): error: function '(shrink|grow)' is recursive, which is not supported: '(shrink|grow)' calls '(shrink|grow)' calls '(shrink|grow)'
// RUN direct FAILS 4: compile -w --kernel direct --engine cpu -o /dev/null
// CHECK direct: functions\.metal:23: error: function 'tree' is recursive, which is not supported: 'tree' calls 'tree'
// RUN tail: emit -w --kernel tail --what ir
// CHECK tail: define void @tombac\.kernel
// NOT tail: call .*@(?!llvm|__tombac)
// RUN list FAILS 3: compile -w --kernel list --engine check -o /dev/null
// CHECK list: functions\.metal:27: error: a list for a vector has too many elements
#include <metal_stdlib>
using namespace metal;

int grow(int n);
int shrink(int n)
{
    return n > 3 ? grow(n - 1) * 2 : n;
}
int grow(int n) { return shrink(n) + 1; }
kernel void cycle(device int *o) { o[0] = grow(o[1]) + shrink(o[2]); }

int tree(int n) { return n < 2 ? n : tree(n - 1) + tree(n - 2); }
kernel void direct(device int *o) { o[0] = tree(o[1]); }
int last(int n, int sum) { return n ? last(n - 1, sum + n) : sum; }
kernel void tail(device int *o) { o[0] = last(o[1], 0); }
kernel void list(device float2 *o) { o[0] = {o[1].x, o[1].y, o[2].x}; }
