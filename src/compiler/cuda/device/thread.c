/* Where a thread is, and what it reports: positions, log records, failed assertions. */
#include "device.h"

#define PURE_LIBRARY __attribute__((always_inline, visibility("default")))

/* Where the threadgroup is. The grid is one-dimensional where it has more than 65535 threadgroups in y or z,
 * or more than fit x; false for a block behind its end. */
static inline __attribute__((always_inline)) bool place(const tb_cuda_launch *launch, bool plain, u32 group[3])
{
    const u32 *count = launch->dispatch.threadgroups_per_grid;
    group[0] = (u32)__nvvm_read_ptx_sreg_ctaid_x();
    group[1] = (u32)__nvvm_read_ptx_sreg_ctaid_y();
    group[2] = (u32)__nvvm_read_ptx_sreg_ctaid_z();
    if (plain || !launch->linear) return true;
    u64 index = (u64)group[1] * (u32)__nvvm_read_ptx_sreg_nctaid_x() + group[0];
    group[0] = (u32)(index % count[0]);
    index /= count[0];
    group[1] = (u32)(index % count[1]);
    index /= count[1];
    group[2] = (u32)index;
    return index < count[2];
}

/* The lanes of a SIMD-group that begins `behind` threads before the threadgroup's end. */
static inline __attribute__((always_inline)) u32 existing_lanes(u32 behind)
{
#ifdef PERMUTED
    u32 mask = 0;
    _Pragma("clang loop unroll(disable)") for (u32 h = 0; h < 32; h++) mask |= (u32)(metal_of(h) < behind)
                                                                               << h;
    return mask;
#else
    return behind >= 32 ? WHOLE : (1u << behind) - 1;
#endif
}

/* Fills `thread` and says whether this thread exists: blocks are as large as the threadgroup that was asked
 * for, while threadgroups at the grid's edges may be smaller. Blocks are one-dimensional and have whole
 * SIMD-groups. `plain`: the launch is (artifact/cuda.h). size_x, size_y, size_z: of threadgroups as
 * launched, or 0. */
PURE_LIBRARY bool enter(const tb_cuda_launch *launch, tb_cuda_thread *thread, bool plain, u32 size_x, u32 size_y,
    u32 size_z) LABEL("enter");
PURE_LIBRARY bool enter(
    const tb_cuda_launch *launch, tb_cuda_thread *thread, bool plain, u32 size_x, u32 size_y, u32 size_z)
{
    const tb_dispatch *given = &launch->dispatch;
    tb_dispatch *d = &thread->dispatch;
    u32 t = (u32)__nvvm_read_ptx_sreg_tid_x(), group[3], size[3], known[3] = {size_x, size_y, size_z};
    if (!place(launch, plain, group)) return false;
    _Pragma("clang loop unroll(full)") for (int i = 0; i < 3; i++)
    {
        u32 whole = known[i] ? known[i] : given->dispatch_threads_per_threadgroup[i],
            left = given->threads_per_grid[i] - group[i] * whole;
        size[i] = plain || left >= whole ? whole : left;
        d->threads_per_grid[i] = given->threads_per_grid[i];
        d->threadgroups_per_grid[i] = given->threadgroups_per_grid[i];
        d->dispatch_threads_per_threadgroup[i] = whole;
        d->grid_origin[i] = given->grid_origin[i];
        d->threadgroup_position_in_grid[i] = group[i];
        d->threads_per_threadgroup[i] = size[i];
    }
    d->dispatch_simdgroups_per_threadgroup =
        size_x ? (size_x * size_y * size_z + 31) / 32 : given->dispatch_simdgroups_per_threadgroup;
    d->thread_count = size[0] * size[1] * size[2];
    d->simdgroups_per_threadgroup = (d->thread_count + 31) / 32;
    u32 behind = d->thread_count - (t & ~31u); /* threads from this SIMD-group's first one on */
    t = (t & ~31u) | lane_index();
    u32 x = t, y = 0, z = 0;
    if (d->dispatch_threads_per_threadgroup[1] * d->dispatch_threads_per_threadgroup[2] != 1) {
        x = t % size[0];
        y = t / size[0] % size[1];
        z = t / size[0] / size[1];
    }
    thread->position[0] = x;
    thread->position[1] = y;
    thread->position[2] = z;
    thread->index = t;
    thread->lane = t & 31;
    thread->simdgroup = t / 32;
    thread->mask = plain ? WHOLE : existing_lanes(behind);
    thread->records = launch->records;
    return plain || t < d->thread_count;
}

/* ---- Records ---- */

/* Room for a record of `count` arguments, NULL where the buffer is full. */
static inline __attribute__((always_inline)) tb_cuda_record *reserve(
    const tb_cuda_thread *thread, u32 kind, u32 count)
{
    tb_cuda_records *records = (tb_cuda_records *)thread->records;
    if (!records) return 0;
    u32 size = (u32)sizeof(tb_cuda_record) + count * (u32)sizeof(tb_cuda_value);
    u32 offset = __scoped_atomic_fetch_add(&records->used, size, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    if (offset > TB_CUDA_RECORD_BYTES - size) {
        __scoped_atomic_store_n(&records->full, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
        return 0;
    }
    const tb_dispatch *d = &thread->dispatch;
    tb_cuda_record *record = (tb_cuda_record *)((char *)records + sizeof *records + offset);
    record->size = size;
    record->kind = kind;
    record->group = ((u64)d->threadgroup_position_in_grid[2] * d->threadgroups_per_grid[1] +
                        d->threadgroup_position_in_grid[1]) *
                        d->threadgroups_per_grid[0] +
                    d->threadgroup_position_in_grid[0];
    record->thread = thread->index;
    record->number = 0;
    record->count = 0;
    record->text[0] = record->text[1] = 0;
    return record;
}

PURE_LIBRARY tb_cuda_record *log_begin(u32 level, const char *format, u32 count, const tb_cuda_thread *thread)
    LABEL("log_begin");
PURE_LIBRARY tb_cuda_record *log_begin(u32 level, const char *format, u32 count, const tb_cuda_thread *thread)
{
    tb_cuda_record *record = reserve(thread, TB_CUDA_LOG, count);
    if (!record) return 0;
    record->number = level;
    record->text[0] = (u64)format;
    return record;
}

PURE_LIBRARY void log_argument(u32 kind, u64 bits, tb_cuda_record *record) LABEL("log_argument");
PURE_LIBRARY void log_argument(u32 kind, u64 bits, tb_cuda_record *record)
{
    if (!record) return;
    tb_cuda_value *value = (tb_cuda_value *)(record + 1) + record->count;
    if ((char *)(value + 1) > (char *)record + record->size) return;
    value->kind = kind;
    value->bits = bits;
    record->count++;
}

/* The thread ends here; the others go on, and the host reports the first record as the launch's error. */
PURE_LIBRARY void assert_fail(const char *condition, const char *file, u32 line, const tb_cuda_thread *thread)
    LABEL("assert_fail");
PURE_LIBRARY void assert_fail(const char *condition, const char *file, u32 line, const tb_cuda_thread *thread)
{
    tb_cuda_record *record = reserve(thread, TB_CUDA_ASSERTION, 0);
    if (record) {
        record->number = line;
        record->text[0] = (u64)condition;
        record->text[1] = (u64)file;
    }
    __nvvm_exit();
}

PURE_LIBRARY void unsupported(const char *what, const tb_cuda_thread *thread) LABEL("unsupported");
PURE_LIBRARY void unsupported(const char *what, const tb_cuda_thread *thread)
{
    tb_cuda_record *record = reserve(thread, TB_CUDA_UNSUPPORTED, 0);
    if (record) record->text[0] = (u64)what;
    __nvvm_exit();
}
