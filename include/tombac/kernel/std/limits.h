/* In kernels all of it is in <tombac/kernel.h>. */
#include <tombac/kernel.h>
