/* See capability.h. */
#include "artifact/capability.h"

#include <string.h>

static const tb_capability table[] = {
#define X(name, kind, check, cpu, cuda, macro, since, meaning, enforced)                                     \
    {#name, TB_##kind, {check, cpu, cuda}, macro, since, meaning, enforced},
#include "artifact/capability.def"
#undef X
};

const tb_capability *tb_capability_at(size_t index)
{
    return index < TB_CAPABILITIES ? &table[index] : NULL;
}

unsigned tb_capability_device(const char *device)
{
    static const char *const names[TB_DEVICES] = {"check", "cpu", "cuda"};
    unsigned i = 0;
    while (i < TB_DEVICES && strcmp(names[i], device) != 0) i++;
    return i;
}
