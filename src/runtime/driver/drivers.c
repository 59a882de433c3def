/* The drivers that this library was built with, best first. */
#include "runtime/driver/driver.h"

#ifdef TOMBAC_DRIVER_CPU
extern const rt_driver rt_driver_cpu;
#endif
#ifdef TOMBAC_DRIVER_CHECK
extern const rt_driver rt_driver_check;
#endif
#ifdef TOMBAC_DRIVER_CUDA
extern const rt_driver rt_driver_cuda;
#endif

const rt_driver *const rt_drivers[] = {
#ifdef TOMBAC_DRIVER_CPU
    &rt_driver_cpu,
#endif
#ifdef TOMBAC_DRIVER_CHECK
    &rt_driver_check,
#endif
#ifdef TOMBAC_DRIVER_CUDA
    &rt_driver_cuda,
#endif
    NULL,
};
