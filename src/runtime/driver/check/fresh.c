/* Which bytes of threadgroup memory were written since the threadgroup began: a read of others is reported, because what
 * is there then is left undefined by Metal (here it is zero). Per byte the number of the threadgroup that wrote it last. */
#include "runtime/driver/check/check.h"

#include <stdlib.h>

tombac_status check_fresh_begin(check_run *run, tombac_error **error)
{
    size_t size = run->request->threadgroup_memory;
    run->written = calloc(size + 1, sizeof *run->written);
    return run->written ? TOMBAC_OK : tb_fail_memory(error);
}

void check_fresh_note(
    check_thread *thread, uint64_t begin, uint64_t size, bool reads, bool writes, const tb_check_place *place)
{
    check_run *run = thread->run;
    uint64_t memory = run->request->threadgroup_memory, end = begin + size < memory ? begin + size : memory;
    bool fresh = false;
    for (uint64_t i = begin; i < end; i++) {
        fresh |= reads && run->written[i] != run->ordinal;
        if (writes) run->written[i] = run->ordinal;
    }
    if (fresh) check_note_fault(run, TB_CHECK_FRESH_READ, place);
}
