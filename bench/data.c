/* The cases' data, from SplitMix64 seeded by the buffer's index (Steele, Lea, Flood 2014), and the comparison
 * of results. */
#include "bench.h"

#include <math.h>
#include <string.h>

static size_t element_size(bench_element element)
{
    switch (element) {
    case ELEMENT_F16: return 2;
    case ELEMENT_U8: return 1;
    case ELEMENT_Q4_0: return 18;
    default: return 4;
    }
}

size_t bench_buffer_size(const bench_buffer *buffer)
{
    return buffer->count * element_size(buffer->element);
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* From low up to high. */
static double real(uint64_t *state, const bench_buffer *b)
{
    return b->low + (double)(next_random(state) >> 11) * 0x1p-53 * (b->high - b->low);
}

static double whole(uint64_t *state, const bench_buffer *b)
{
    double fraction = (double)(next_random(state) >> 11) * 0x1p-53;
    return floor(b->low + fraction * (b->high - b->low + 1));
}

static void fill_block(uint64_t *state, const bench_buffer *b, uint8_t *block)
{
    _Float16 scale = (_Float16)real(state, b);
    memcpy(block, &scale, 2);
    for (unsigned i = 2; i < 18; i++) block[i] = (uint8_t)(next_random(state) >> 56);
}

void bench_fill(const bench_case *c, unsigned index, void *memory)
{
    const bench_buffer *b = &c->buffers[index];
    uint64_t state = index + 1;
    if (b->zero) {
        memset(memory, 0, bench_buffer_size(b));
        return;
    }
    for (size_t i = 0; i < b->count; i++) {
        switch (b->element) {
        case ELEMENT_F32: ((float *)memory)[i] = (float)real(&state, b); break;
        case ELEMENT_F16: ((_Float16 *)memory)[i] = (_Float16)real(&state, b); break;
        case ELEMENT_U32: ((uint32_t *)memory)[i] = (uint32_t)whole(&state, b); break;
        case ELEMENT_I32: ((int32_t *)memory)[i] = (int32_t)whole(&state, b); break;
        case ELEMENT_U8: ((uint8_t *)memory)[i] = (uint8_t)whole(&state, b); break;
        case ELEMENT_Q4_0: fill_block(&state, b, (uint8_t *)memory + 18 * i); break;
        }
    }
}

size_t bench_count_wrong(
    const bench_case *c, unsigned index, const void *found, const void *expected, size_t *first)
{
    const bench_buffer *b = &c->buffers[index];
    size_t wrong = 0;
    for (size_t i = 0; i < b->count; i++) {
        bool right;
        if (b->element == ELEMENT_F32) {
            double f = (double)((const float *)found)[i], e = (double)((const float *)expected)[i];
            right = fabs(f - e) <= c->tolerance * (1 + fabs(e)); /* false for NaN */
        } else {
            size_t size = element_size(b->element);
            right = memcmp((const char *)found + i * size, (const char *)expected + i * size, size) == 0;
        }
        if (!right && !wrong++) *first = i;
    }
    return wrong;
}
