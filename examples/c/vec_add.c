/* out = a + b. A slice is a pointer with its length: a thread without an element of its own gets NULL. */
#include <tombac/kernel.h>

kernel requires(len(a) == len(out), len(b) == len(out)) void vec_add(
    const float *a, const float *b, slice(float) out)
{
    size_t i = thread_index_in_grid();
    float *own = own_element(out);
    if (own) *own = a[i] + b[i];
}
