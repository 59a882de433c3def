/* Macros that the device and the host read alike: checked access to slices, and instances of a generic
 * kernel. */
#ifndef TOMBAC_KERNEL_EACH_H
#define TOMBAC_KERNEL_EACH_H

/* ---- Slices: at(s, i) is element i, an lvalue; an index outside ends the launch with an error ---- */
#define at(s, i) ((s).pointer[tombac_checked_index((i), (s).count, "index < " #s ".count", __FILE__, __LINE__)])
/* The element whose index is the thread's index in the grid: its address, or NULL for threads without one. */
#define own_element(s)                                                                                       \
    (thread_index_in_grid() < (s).count ? &(s).pointer[thread_index_in_grid()] : (__typeof__((s).pointer))0)

/* ---- for_each_type(MACRO, A, B, ...): MACRO(A) MACRO(B) ..., up to twelve types ---- */
#define for_each_type(MACRO, ...)                                                                            \
    TOMBAC_EACH_PICK(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)(MACRO, __VA_ARGS__)
#define TOMBAC_EACH_PICK(a, b, c, d, e, f, g, h, i, j, k, l, N, ...) TOMBAC_EACH_(N)
#define TOMBAC_EACH_(N) TOMBAC_EACH__(N)
#define TOMBAC_EACH__(N) TOMBAC_EACH_##N
#define TOMBAC_EACH_1(M, T) M(T)
#define TOMBAC_EACH_2(M, T, ...) M(T) TOMBAC_EACH_1(M, __VA_ARGS__)
#define TOMBAC_EACH_3(M, T, ...) M(T) TOMBAC_EACH_2(M, __VA_ARGS__)
#define TOMBAC_EACH_4(M, T, ...) M(T) TOMBAC_EACH_3(M, __VA_ARGS__)
#define TOMBAC_EACH_5(M, T, ...) M(T) TOMBAC_EACH_4(M, __VA_ARGS__)
#define TOMBAC_EACH_6(M, T, ...) M(T) TOMBAC_EACH_5(M, __VA_ARGS__)
#define TOMBAC_EACH_7(M, T, ...) M(T) TOMBAC_EACH_6(M, __VA_ARGS__)
#define TOMBAC_EACH_8(M, T, ...) M(T) TOMBAC_EACH_7(M, __VA_ARGS__)
#define TOMBAC_EACH_9(M, T, ...) M(T) TOMBAC_EACH_8(M, __VA_ARGS__)
#define TOMBAC_EACH_10(M, T, ...) M(T) TOMBAC_EACH_9(M, __VA_ARGS__)
#define TOMBAC_EACH_11(M, T, ...) M(T) TOMBAC_EACH_10(M, __VA_ARGS__)
#define TOMBAC_EACH_12(M, T, ...) M(T) TOMBAC_EACH_11(M, __VA_ARGS__)
#endif
