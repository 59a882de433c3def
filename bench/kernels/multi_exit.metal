// Integer work with early returns, breaks out of two levels, and continues: control flow that has no
// structure to keep.
#include <metal_stdlib>
using namespace metal;

kernel void multi_exit(device const int *in [[buffer(0)]],
                       device int *out [[buffer(1)]],
                       constant int &steps [[buffer(2)]],
                       uint i [[thread_position_in_grid]])
{
    int value = in[i], sum = 0;
    if (value == 7777) {
        out[i] = -1;
        return;
    }
    for (int k = 0; k < steps; k++) {
        if (value & 1) {
            value = value * 3 + 1;
            if (value > 100000) break;
        } else {
            value /= 2;
            if (value % 5 == 0) {
                sum += 2;
                continue;
            }
        }
        if (value == 1) {
            if (sum > 50) {
                out[i] = sum * 1000;
                return;
            }
            break;
        }
        bool wrapped = false;
        for (int q = 0; q < (value & 3); q++) {
            sum += q * value;
            if (sum > (1 << 20)) {
                sum -= 1 << 20;
                wrapped = true;
                break;
            }
        }
        if (wrapped) continue;
        sum ^= k;
    }
    out[i] = sum + value;
}
