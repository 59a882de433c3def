/* What a source sees of Metal's macros before it includes anything; see macros.h. */
#define __TOMBAC_IMPLICIT__
#include <__tombac/macros.h>
#undef __TOMBAC_IMPLICIT__
