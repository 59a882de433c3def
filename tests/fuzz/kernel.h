/* What random kernels are written against: operations for the vectoriser, or plain variables for the scalar
 * reference. */
#include <stdint.h>
typedef uint32_t uint;
typedef uint16_t ushort;
typedef uint64_t ulong;
typedef uint8_t uchar;

#ifdef REFERENCE
#define DEVICE
#define THREADGROUP
extern uint reference_index, reference_position[3];
extern const struct tb_dispatch *reference_dispatch;
#include "artifact/abi.h"
#define THREAD_INDEX reference_index
#define LANE (reference_index & 31)
#define SIMDGROUP (reference_index >> 5)
#define POSITION(AXIS) reference_position[#AXIS[0] - 'x']
#define GRID_X                                                                                               \
    (reference_dispatch->threadgroup_position_in_grid[0] *                                                   \
        reference_dispatch->dispatch_threads_per_threadgroup[0])
#define GRID_Y                                                                                               \
    (reference_dispatch->threadgroup_position_in_grid[1] *                                                   \
        reference_dispatch->dispatch_threads_per_threadgroup[1])
#else
#define DEVICE __attribute__((address_space(1)))
#define THREADGROUP __attribute__((address_space(3)))
#define PURE __attribute__((const, nothrow))
PURE uint __tombac_lane(void);
PURE uint __tombac_simdgroup(void);
PURE uint __tombac_thread_index(void);
PURE uint __tombac_thread_position_x(void);
PURE uint __tombac_thread_position_y(void);
PURE uint __tombac_thread_position_z(void);
PURE uint __tombac_threadgroup_position_in_grid_x(void);
PURE uint __tombac_threadgroup_position_in_grid_y(void);
PURE uint __tombac_dispatch_threads_per_threadgroup_x(void);
PURE uint __tombac_dispatch_threads_per_threadgroup_y(void);
#define THREAD_INDEX __tombac_thread_index()
#define LANE __tombac_lane()
#define SIMDGROUP __tombac_simdgroup()
#define POSITION(AXIS) __tombac_thread_position_##AXIS()
#define GRID_X (__tombac_threadgroup_position_in_grid_x() * __tombac_dispatch_threads_per_threadgroup_x())
#define GRID_Y (__tombac_threadgroup_position_in_grid_y() * __tombac_dispatch_threads_per_threadgroup_y())
#endif
