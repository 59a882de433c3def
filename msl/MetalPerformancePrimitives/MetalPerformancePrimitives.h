/* MetalPerformancePrimitives: tensor operations of Metal 4. Refused by name. */
#pragma once
#ifdef __TOMBAC_MACROS_ONLY__
#error "MetalPerformancePrimitives is not supported by Tombac: there are no tensor operations"
#endif
