/* What is known of positions that a kernel in C asks for: the ranges that thunk.c gives those of Metal's
 * attributes, as !range on the calls, so that both are the same to every pass behind. */
#include "compiler/ir/steps.h"

#include "artifact/abi.h"

#include <string.h>

enum { LIMIT = TB_MAX_THREADS_PER_THREADGROUP, GROUP_LIMIT = LIMIT / TB_SIMD_WIDTH };

static const struct {
    const char *name;   /* with _x, _y, _z behind it, or as it is */
    unsigned low, high; /* high exclusive */
} known[] = {
    {"thread_position", 0, LIMIT},
    {"threads_per_threadgroup", 1, LIMIT + 1},
    {"dispatch_threads_per_threadgroup", 1, LIMIT + 1},
    {"thread_index", 0, LIMIT},
    {"thread_count", 1, LIMIT + 1},
    {"lane", 0, TB_SIMD_WIDTH},
    {"simdgroup", 0, GROUP_LIMIT},
    {"simdgroups_per_threadgroup", 1, GROUP_LIMIT + 1},
    {"dispatch_simdgroups_per_threadgroup", 1, GROUP_LIMIT + 1},
};

static bool is_of(const char *symbol, size_t length, const char *name)
{
    size_t n = strlen(name);
    if (length < n || memcmp(symbol, name, n) != 0) return false;
    return length == n ||
           (length == n + 2 && symbol[n] == '_' && symbol[n + 1] >= 'x' && symbol[n + 1] <= 'z');
}

static void set_range(LLVMValueRef call, unsigned low, unsigned high)
{
    LLVMTypeRef type = LLVMTypeOf(call);
    LLVMContextRef context = LLVMGetTypeContext(type);
    LLVMMetadataRef ends[2] = {LLVMValueAsMetadata(LLVMConstInt(type, low, false)),
        LLVMValueAsMetadata(LLVMConstInt(type, high, false))};
    LLVMSetMetadata(call, LLVMGetMDKindIDInContext(context, "range", 5),
        LLVMMetadataAsValue(context, LLVMMDNodeInContext2(context, ends, 2)));
}

void ir_c_ranges(LLVMModuleRef module)
{
    static const char prefix[] = "__tombac_";
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        size_t length;
        const char *symbol = LLVMGetValueName2(f, &length);
        if (length < sizeof prefix || memcmp(symbol, prefix, sizeof prefix - 1) != 0) continue;
        symbol += sizeof prefix - 1;
        length -= sizeof prefix - 1;
        size_t k = 0;
        while (k < sizeof known / sizeof *known && !is_of(symbol, length, known[k].name)) k++;
        if (k == sizeof known / sizeof *known) continue;
        for (LLVMUseRef use = LLVMGetFirstUse(f); use; use = LLVMGetNextUse(use)) {
            LLVMValueRef call = LLVMGetUser(use);
            if (LLVMIsACallInst(call) && LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMIntegerTypeKind)
                set_range(call, known[k].low, known[k].high);
        }
    }
}
