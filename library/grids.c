/* Ready kernels on matrices, images, signals and bodies; see tombac/algorithms.h. */
#include "call.h"

static const tombac_size3 group_of_256 = {256, 1, 1}, group_of_32_by_8 = {32, 8, 1};

static size_t blocks(size_t n, size_t size)
{
    return n / size + (n % size != 0);
}

tombac_status tombac_transpose(tombac_algorithms *algorithms, tombac_type type, tombac_buffer *in,
    tombac_buffer *out, size_t rows, size_t columns, tombac_operation **operation, tombac_error **error)
{
    call c;
    call_begin(&c, algorithms, error);
    const char *element = call_type(&c, __func__, type, "fh");
    call_check_count(&c, __func__, rows, columns);
    call_check_apart(&c, __func__, in, out);
    if (c.status == TOMBAC_OK) call_kernel(&c, "transpose_%s", element);
    call_buffer(&c, in);
    call_buffer(&c, out);
    call_uint(&c, rows);
    call_uint(&c, columns);
    call_groups(&c, blocks(columns, 32), blocks(rows, 32), group_of_32_by_8);
    return call_end(&c, operation);
}

tombac_status tombac_matmul(tombac_algorithms *algorithms, tombac_type type, tombac_buffer *a,
    tombac_buffer *b, tombac_buffer *product, size_t m, size_t n, size_t k, tombac_operation **operation,
    tombac_error **error)
{
    call c;
    call_begin(&c, algorithms, error);
    const char *element = call_type(&c, __func__, type, "fh");
    call_check_count(&c, __func__, m, k);
    call_check_count(&c, __func__, k, n);
    call_check_count(&c, __func__, m, n);
    call_check_apart(&c, __func__, a, product);
    call_check_apart(&c, __func__, b, product);
    if (c.status == TOMBAC_OK) call_kernel(&c, "matmul_%s", element);
    call_buffer(&c, a);
    call_buffer(&c, b);
    call_buffer(&c, product);
    call_uint(&c, m);
    call_uint(&c, n);
    call_uint(&c, k);
    call_groups(&c, blocks(n, 64), blocks(m, 64), (tombac_size3){128, 1, 1});
    return call_end(&c, operation);
}

tombac_status tombac_convolve(tombac_algorithms *algorithms, tombac_buffer *in, tombac_buffer *filter,
    tombac_buffer *out, tombac_convolution size, tombac_operation **operation, tombac_error **error)
{
    call c;
    call_begin(&c, algorithms, error);
    call_check_count(&c, __func__, size.width, size.height);
    call_check_count(&c, __func__, size.filter_width, size.filter_height);
    call_check_apart(&c, __func__, in, out);
    call_check_apart(&c, __func__, filter, out);
    call_kernel(&c, "convolve_float");
    call_buffer(&c, in);
    call_buffer(&c, filter);
    call_buffer(&c, out);
    call_bytes(&c, &size, sizeof size);
    call_threads(&c, size.width, size.height, group_of_256);
    return call_end(&c, operation);
}

/* ---- Simulations: a step reads one buffer and writes the other; a copy brings an odd number of steps home
 * ---- */

static void copy(call *c, tombac_buffer *from, tombac_buffer *to, size_t count)
{
    call_kernel(c, "map_affine_float");
    call_buffer(c, from);
    call_buffer(c, to);
    call_uint(c, count);
    call_float(c, 1);
    call_float(c, 0);
    call_threads(c, count, 1, group_of_256);
}

tombac_status tombac_stencil_heat(tombac_algorithms *algorithms, tombac_buffer *grid, size_t width,
    size_t height, float rate, size_t steps, tombac_operation **operation, tombac_error **error)
{
    call c;
    call_begin(&c, algorithms, error);
    call_check_count(&c, __func__, width, height);
    tombac_buffer *other = call_temporary(&c, width * height, sizeof(float)), *from = grid, *to = other;
    for (size_t i = 0; i < steps && c.status == TOMBAC_OK; i++) {
        call_kernel(&c, "stencil_heat");
        call_buffer(&c, from);
        call_buffer(&c, to);
        call_uint(&c, width);
        call_uint(&c, height);
        call_float(&c, rate);
        call_threads(&c, width, height, group_of_256);
        from = to;
        to = to == grid ? other : grid;
    }
    if (steps % 2) copy(&c, other, grid, width * height);
    return call_end(&c, operation);
}

tombac_status tombac_nbody(tombac_algorithms *algorithms, tombac_buffer *bodies, tombac_buffer *velocities,
    size_t n, float softening, float time, size_t steps, tombac_operation **operation, tombac_error **error)
{
    call c;
    call_begin(&c, algorithms, error);
    call_check_count(&c, __func__, n, 4);
    if (!(softening > 0)) call_fail(&c, TOMBAC_ERROR_ARGUMENT, "%s: 'softening' is not above 0", __func__);
    tombac_buffer *other = call_temporary(&c, n, 4 * sizeof(float)), *from = bodies, *to = other;
    for (size_t i = 0; i < steps && c.status == TOMBAC_OK; i++) {
        call_kernel(&c, "nbody_step");
        call_buffer(&c, from);
        call_buffer(&c, velocities);
        call_buffer(&c, to);
        call_uint(&c, n);
        call_float(&c, softening);
        call_float(&c, time);
        call_groups(&c, blocks(n, 256), 1, group_of_256);
        from = to;
        to = to == bodies ? other : bodies;
    }
    if (steps % 2) copy(&c, other, bodies, 4 * n);
    return call_end(&c, operation);
}

/* ---- Fourier transforms ---- */

static void scale(call *c, tombac_buffer *from, tombac_buffer *to, size_t n, float factor)
{
    call_kernel(c, "fft_scale");
    call_buffer(c, from);
    call_buffer(c, to);
    call_uint(c, n);
    call_float(c, factor);
    call_threads(c, n, 1, group_of_256);
}

/* n a power of two. Stages alternate between `out` and `between`, so that the last writes `out`; `in` is read
 * by the first alone. */
static void transform(
    call *c, tombac_buffer *in, tombac_buffer *out, tombac_buffer *between, size_t n, float sign)
{
    int bits = __builtin_ctzll(n), stages = bits / 2 + bits % 2;
    if (stages == 0) scale(c, in, out, n, 1);
    tombac_buffer *from = in;
    size_t done = 1;
    for (int stage = 0; stage < stages && c->status == TOMBAC_OK; stage++) {
        size_t radix = stage == 0 && bits % 2 ? 2 : 4;
        tombac_buffer *to = (stages - stage) % 2 ? out : between;
        call_kernel(c, radix == 2 ? "fft_radix2" : "fft_radix4");
        call_buffer(c, from);
        call_buffer(c, to);
        call_uint(c, n);
        call_uint(c, done);
        call_float(c, sign);
        call_threads(c, n / radix, 1, group_of_256);
        from = to;
        done *= radix;
    }
}

static void bluestein(call *c, tombac_buffer *in, tombac_buffer *out, size_t n, float sign, float factor)
{
    size_t m = 1;
    while (m < 2 * n - 1) m *= 2;
    tombac_buffer *a = call_temporary(c, m, 8), *b = call_temporary(c, m, 8), *a_to = call_temporary(c, m, 8),
                  *b_to = call_temporary(c, m, 8), *between = call_temporary(c, m, 8);
    call_kernel(c, "fft_chirp");
    call_buffer(c, in);
    call_buffer(c, a);
    call_buffer(c, b);
    call_uint(c, n);
    call_uint(c, m);
    call_float(c, sign);
    call_threads(c, m, 1, group_of_256);
    transform(c, a, a_to, between, m, -1);
    transform(c, b, b_to, between, m, -1);
    call_kernel(c, "fft_product");
    call_buffer(c, a_to);
    call_buffer(c, b_to);
    call_uint(c, m);
    call_threads(c, m, 1, group_of_256);
    transform(c, a_to, a, between, m, 1);
    call_kernel(c, "fft_unchirp");
    call_buffer(c, a);
    call_buffer(c, out);
    call_uint(c, n);
    call_float(c, factor / (float)m);
    call_float(c, sign);
    call_threads(c, n, 1, group_of_256);
}

tombac_status tombac_fft(tombac_algorithms *algorithms, bool backward, tombac_buffer *in, tombac_buffer *out,
    size_t n, tombac_operation **operation, tombac_error **error)
{
    call c;
    call_begin(&c, algorithms, error);
    bool power = (n & (n - 1)) == 0;
    if (n > (size_t)1 << (power ? 27 : 23))
        call_fail(
            &c, TOMBAC_ERROR_ARGUMENT, "%s: %zu is more than 2^%d elements", __func__, n, power ? 27 : 23);
    call_check_apart(&c, __func__, in, out);
    float sign = backward ? 1 : -1, factor = backward && n ? 1.0f / (float)n : 1;
    if (c.status != TOMBAC_OK || n == 0) return call_end(&c, operation);
    if (!power) {
        bluestein(&c, in, out, n, sign, factor);
    } else {
        transform(&c, in, out, call_temporary(&c, n, 8), n, sign);
        if (backward) scale(&c, out, out, n, factor);
    }
    return call_end(&c, operation);
}
