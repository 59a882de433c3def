/* The table of capabilities (capability.def), for compiler, runtime and command. */
#ifndef TB_ARTIFACT_CAPABILITY_H
#define TB_ARTIFACT_CAPABILITY_H

#include "artifact/abi.h"

#include <stddef.h>
#include <stdint.h>

typedef enum tb_capability_kind { TB_COUNT, TB_BYTES, TB_VERSION, TB_FLAG } tb_capability_kind;
enum { TB_DEVICE_CHECK, TB_DEVICE_CPU, TB_DEVICE_CUDA, TB_DEVICES };

typedef enum tb_capability_id {
#define X(name, kind, check, cpu, cuda, macro, since, meaning, enforced) TB_CAPABILITY_##name,
#include "artifact/capability.def"
#undef X
    TB_CAPABILITIES
} tb_capability_id;

typedef struct tb_capability {
    const char *name;
    tb_capability_kind kind;
    uint64_t values[TB_DEVICES];
    const char *macro; /* "" if there is none */
    unsigned since;    /* __METAL_VERSION__ of the first version with it, 0: all */
    const char *meaning, *enforced;
} tb_capability;

/* NULL past the end. */
const tb_capability *tb_capability_at(size_t index);
/* TB_DEVICES where the device is not known. */
unsigned tb_capability_device(const char *device);

#endif
