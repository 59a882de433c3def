/* The vectoriser's analyses against brute force.
 *
 *   - random control-flow graphs: dominance by removing blocks, loops and the block order by their
 * definitions;
 *   - random integer expressions over the lane: every claimed shape against the value computed lane by lane.
 */
#include "compiler/cpu/kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint32_t state;

static uint32_t next_random(uint32_t limit)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % limit;
}

typedef struct fixture {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMValueRef function;
    cpu_options options;
    cpu_kernel kernel;
    tombac_error *error;
} fixture;

static void begin(fixture *f, uint32_t seed)
{
    *f = (fixture){.options = {.target = "x86-64-v4"}};
    state = seed;
    f->context = LLVMContextCreate();
    f->module = LLVMModuleCreateWithNameInContext("test", f->context);
    LLVMSetDataLayout(
        f->module, "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128");
    f->builder = LLVMCreateBuilderInContext(f->context);
    LLVMTypeRef parameters[2] = {
        LLVMPointerTypeInContext(f->context, 1), LLVMPointerTypeInContext(f->context, 1)};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(f->context), parameters, 2, 0);
    f->function = LLVMAddFunction(f->module, CPU_KERNEL_FUNCTION, type);
}

static void end(fixture *f)
{
    cpu_tear_down(&f->kernel);
    LLVMDisposeBuilder(f->builder);
    LLVMDisposeModule(f->module);
    LLVMContextDispose(f->context);
}

static void analyse(fixture *f)
{
    cpu_kernel *k = &f->kernel;
    *k = (cpu_kernel){.job = {.error = &f->error}};
    if (setjmp(k->job.leave)) fail_msg("%s", tombac_error_message(f->error));
    cpu_set_up(k, f->module, &f->options);
    cpu_prepare(k);
    cpu_analyse(k, LAYOUT_ROWS, 0);
}

/* ---- Control flow ---- */

static LLVMValueRef call(fixture *f, const char *name, LLVMTypeRef result)
{
    LLVMTypeRef type = LLVMFunctionType(result, NULL, 0, 0);
    LLVMValueRef callee = LLVMGetNamedFunction(f->module, name);
    if (!callee) callee = LLVMAddFunction(f->module, name, type);
    return LLVMBuildCall2(f->builder, type, callee, NULL, 0, "");
}

/* `count` blocks: one way always leads to the next block, another anywhere (so irreducible graphs are among
 * them). */
static void make_graph(fixture *f, uint32_t count)
{
    LLVMBasicBlockRef blocks[32];
    for (uint32_t i = 0; i < count; i++)
        blocks[i] = LLVMAppendBasicBlockInContext(f->context, f->function, "");
    for (uint32_t i = 0; i < count; i++) {
        LLVMPositionBuilderAtEnd(f->builder, blocks[i]);
        if (i == count - 1) {
            LLVMBuildRetVoid(f->builder);
            continue;
        }
        LLVMTypeRef i32 = LLVMInt32TypeInContext(f->context);
        LLVMValueRef address = LLVMGetParam(f->function, 0);
        if (next_random(2)) { /* a condition that differs between lanes */
            LLVMValueRef lane = call(f, "__tombac_lane", i32);
            address = LLVMBuildGEP2(f->builder, i32, address, &lane, 1, "");
        }
        LLVMValueRef load = LLVMBuildLoad2(f->builder, i32, address, "");
        LLVMValueRef condition = LLVMBuildICmp(f->builder, LLVMIntEQ, load, LLVMConstInt(i32, i, 0), "");
        uint32_t other = 1 + next_random(count - 1);
        if (next_random(3) && other != i + 1)
            LLVMBuildCondBr(f->builder, condition, blocks[i + 1], blocks[other]);
        else
            LLVMBuildBr(f->builder, blocks[i + 1]);
    }
}

/* Can `to` be reached from `from` without `without`? */
static bool reaches(const cpu_kernel *k, int from, int to, int without)
{
    int stack[512], depth = 0;
    bool seen[512] = {0};
    if (from == without) return false;
    stack[depth++] = from;
    seen[from] = true;
    while (depth) {
        int b = stack[--depth];
        if (b == to) return true;
        for (int i = 0; i < k->blocks[b].successor_count; i++) {
            int s = k->blocks[b].successors[i];
            if (s == without || seen[s]) continue;
            seen[s] = true;
            stack[depth++] = s;
        }
    }
    return false;
}

static void check_dominance(const cpu_kernel *k)
{
    int exit = -1;
    for (int b = 0; b < k->block_count; b++)
        if (!k->blocks[b].successor_count) exit = b;
    for (int a = 0; a < k->block_count; a++)
        for (int b = 0; b < k->block_count; b++) {
            assert_int_equal(cpu_dominates(k, a, b), a == b || !reaches(k, 0, b, a));
            if (reaches(k, b, exit, -1))
                assert_int_equal(cpu_post_dominates(k, a, b), a == b || !reaches(k, b, exit, a));
        }
}

static void check_order(const cpu_kernel *k)
{
    for (int o = 0; o < k->block_count; o++) assert_int_equal(k->blocks[k->order[o]].position, o);
    for (int b = 0; b < k->block_count; b++)
        for (int i = 0; i < k->blocks[b].successor_count; i++) {
            int s = k->blocks[b].successors[i];
            bool back = cpu_dominates(k, s, b);
            assert_int_equal(k->blocks[s].position > k->blocks[b].position, !back);
        }
    for (int l = 0; l < k->loop_count; l++) {
        int size = 0, first = k->blocks[k->loops[l].header].position,
            last = k->blocks[k->loops[l].latch].position;
        for (int b = 0; b < k->block_count; b++) size += cpu_in_loop(k, l, b);
        for (int o = first; o <= last; o++) assert_true(cpu_in_loop(k, l, k->order[o]));
        assert_int_equal(last - first + 1, size); /* contiguous, header first, latch last */
    }
}

/* A block that shares a mask runs for exactly the same lanes: along every way it and its leader alternate. */
static void check_leaders(const cpu_kernel *k)
{
    for (int b = 0; b < k->block_count; b++) {
        int leader = k->blocks[b].leader;
        assert_int_equal(k->blocks[leader].leader, leader);
        assert_true(cpu_dominates(k, leader, b));
        for (int l = k->blocks[b].loop; l >= 0; l = k->loops[l].parent)
            if (k->loops[l].divergent) assert_true(cpu_in_loop(k, l, leader));
    }
}

static void test_control_flow(void **unused)
{
    for (uint32_t seed = 1; seed <= 150; seed++) {
        fixture f;
        begin(&f, seed);
        make_graph(&f, 3 + next_random(14));
        analyse(&f);
        check_dominance(&f.kernel);
        check_order(&f.kernel);
        check_leaders(&f.kernel);
        end(&f);
    }
}

/* ---- Shapes ---- */

enum { MAX_VALUES = 128, COMPARISONS = 60 };

typedef struct expression {
    LLVMValueRef ir[MAX_VALUES];
    uint64_t lanes[MAX_VALUES][LANES];
    int count;
} expression;

static uint64_t cut(uint64_t x, unsigned width)
{
    return width < 64 ? x & (((uint64_t)1 << width) - 1) : x;
}

static int64_t sign(uint64_t x, unsigned width)
{
    return (int64_t)(x << (64 - width)) >> (64 - width);
}

static uint64_t apply(LLVMOpcode opcode, uint64_t a, uint64_t b, unsigned from, unsigned width)
{
    switch (opcode) {
    case LLVMAdd: return cut(a + b, width);
    case LLVMSub: return cut(a - b, width);
    case LLVMMul: return cut(a * b, width);
    case LLVMAnd: return a & b;
    case LLVMOr: return a | b;
    case LLVMXor: return a ^ b;
    case LLVMShl: return cut(a << b, width);
    case LLVMLShr: return a >> b;
    case LLVMAShr: return cut((uint64_t)(sign(a, width) >> b), width);
    case LLVMTrunc: return cut(a, width);
    case LLVMZExt: return a;
    default: return cut((uint64_t)sign(a, from), width); /* sext */
    }
}

static void add_expression(expression *e, LLVMValueRef ir)
{
    e->ir[e->count++] = ir;
}

static void add_step(fixture *f, expression *e)
{
    static const LLVMOpcode binaries[] = {
        LLVMAdd, LLVMSub, LLVMMul, LLVMAnd, LLVMOr, LLVMXor, LLVMShl, LLVMLShr, LLVMAShr};
    int a = (int)next_random((uint32_t)e->count);
    LLVMTypeRef type = LLVMTypeOf(e->ir[a]);
    unsigned width = LLVMGetIntTypeWidth(type);
    LLVMOpcode opcode;
    LLVMValueRef ir;
    uint64_t other[LANES];
    if (next_random(4) == 0) {
        unsigned to = (unsigned[]){16, 32, 64}[next_random(3)];
        if (to == width) return;
        opcode = to < width ? LLVMTrunc : next_random(2) ? LLVMZExt : LLVMSExt;
        ir = LLVMBuildCast(f->builder, opcode, e->ir[a], LLVMIntTypeInContext(f->context, to), "");
        for (int l = 0; l < LANES; l++) e->lanes[e->count][l] = apply(opcode, e->lanes[a][l], 0, width, to);
        add_expression(e, ir);
        return;
    }
    opcode = binaries[next_random(9)];
    bool shift = opcode == LLVMShl || opcode == LLVMLShr || opcode == LLVMAShr;
    int b = (int)next_random((uint32_t)e->count);
    LLVMValueRef right = e->ir[b];
    memcpy(other, e->lanes[b], sizeof other);
    if (shift || next_random(3) || LLVMTypeOf(right) != type) {
        static const uint64_t constants[] = {
            1, 2, 3, 4, 7, 8, 15, 16, 31, 24, 255, 0xffffffff, 0xfffffff0, 12, 64, 5};
        uint64_t c = shift ? next_random(12) : cut(constants[next_random(16)], width);
        right = LLVMConstInt(type, c, 0);
        for (int l = 0; l < LANES; l++) other[l] = c;
    }
    ir = LLVMBuildBinOp(f->builder, opcode, e->ir[a], right, "");
    if (!LLVMIsAInstruction(ir)) return;
    for (int l = 0; l < LANES; l++) e->lanes[e->count][l] = apply(opcode, e->lanes[a][l], other[l], 0, width);
    add_expression(e, ir);
}

static uint64_t compare(LLVMIntPredicate p, uint64_t a, uint64_t b, unsigned width)
{
    int64_t x = sign(a, width), y = sign(b, width);
    switch (p) {
    case LLVMIntULT: return a < b;
    case LLVMIntULE: return a <= b;
    case LLVMIntUGT: return a > b;
    case LLVMIntUGE: return a >= b;
    case LLVMIntSLT: return x < y;
    case LLVMIntSLE: return x <= y;
    case LLVMIntSGT: return x > y;
    case LLVMIntSGE: return x >= y;
    case LLVMIntEQ: return a == b;
    default: return a != b;
    }
}

/* Of two values, or of a value and a constant near it, mostly round or one less. */
static void add_comparison(fixture *f, expression *e, int steps)
{
    static const LLVMIntPredicate predicates[] = {LLVMIntULT, LLVMIntULE, LLVMIntUGT, LLVMIntUGE, LLVMIntSLT, LLVMIntSLE,
        LLVMIntSGT, LLVMIntSGE, LLVMIntEQ, LLVMIntNE};
    int a = (int)next_random((uint32_t)steps), b = (int)next_random((uint32_t)steps);
    LLVMIntPredicate p = predicates[next_random(10)];
    LLVMTypeRef type = LLVMTypeOf(e->ir[a]);
    unsigned width = LLVMGetIntTypeWidth(type), zeros = next_random(8);
    LLVMValueRef operands[2] = {e->ir[a], e->ir[b]};
    uint64_t lanes[2][LANES];
    memcpy(lanes[0], e->lanes[a], sizeof lanes[0]);
    memcpy(lanes[1], e->lanes[b], sizeof lanes[1]);
    if (LLVMTypeOf(e->ir[b]) != type || next_random(3)) {
        uint64_t c = (e->lanes[a][next_random(LANES)] >> zeros) + next_random(3) - 1;
        c = cut((c << zeros) - next_random(2), width);
        operands[1] = LLVMConstInt(type, c, 0);
        for (int l = 0; l < LANES; l++) lanes[1][l] = c;
    }
    int swap = (int)next_random(2);
    LLVMValueRef ir = LLVMBuildICmp(f->builder, p, operands[swap], operands[!swap], "");
    if (!LLVMIsAInstruction(ir)) return;
    for (int l = 0; l < LANES; l++) e->lanes[e->count][l] = compare(p, lanes[swap][l], lanes[!swap][l], width);
    add_expression(e, ir);
}

static void make_expression(fixture *f, expression *e, uint32_t simdgroup, uint32_t uniform)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(f->context);
    LLVMPositionBuilderAtEnd(f->builder, LLVMAppendBasicBlockInContext(f->context, f->function, ""));
    e->count = 0;
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"__tombac_lane", "__tombac_thread_index", "__tombac_simdgroup"};
        LLVMValueRef ir = i < 3 ? call(f, names[i], i32)
                                : LLVMBuildLoad2(f->builder, i32, LLVMGetParam(f->function, 0), "");
        for (int l = 0; l < LANES; l++)
            e->lanes[e->count][l] = i == 0   ? (uint64_t)l
                                    : i == 1 ? simdgroup * LANES + (uint64_t)l
                                    : i == 2 ? simdgroup
                                             : uniform;
        add_expression(e, ir);
    }
    for (int i = 0; i < 40; i++) add_step(f, e);
    for (int i = 0, steps = e->count; i < COMPARISONS; i++) add_comparison(f, e, steps);
    LLVMBuildRetVoid(f->builder);
}

static void check_shape(LLVMValueRef ir, const cpu_shape *s, const uint64_t *lanes, uint32_t seed)
{
    unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(ir));
    for (int l = 0; l < LANES; l++) {
        int first = l >> s->bits << s->bits;
        uint64_t claimed = cut(lanes[first] + (uint64_t)cpu_shape_offset(s, l - first), width);
        if (claimed != lanes[l])
            fail_msg("seed %u: lane %d is %#lx, claimed %#lx:%s", seed, l, lanes[l], claimed,
                LLVMPrintValueToString(ir));
        if (s->align >= 63 ? lanes[first] != 0 : s->align && lanes[first] & (((uint64_t)1 << s->align) - 1))
            fail_msg("seed %u: base %#lx is not aligned to 2^%d", seed, lanes[first], s->align);
    }
}

static void test_shapes(void **unused)
{
    int strided = 0, equal = 0; /* comparisons that are the same in all lanes, although an operand is not */
    for (uint32_t seed = 1; seed <= 1500; seed++) {
        fixture f;
        expression e;
        static const uint32_t uniforms[] = {0, 1, 5, 0xffffffff, 0x7ffffff0, 0x80000000, 0xfffffff3};
        begin(&f, seed);
        uint32_t simdgroup = next_random(32), uniform = uniforms[next_random(7)];
        make_expression(&f, &e, simdgroup, uniform);
        analyse(&f);
        for (int i = 0; i < e.count; i++) {
            cpu_shape s = cpu_shape_of(&f.kernel, e.ir[i]);
            check_shape(e.ir[i], &s, e.lanes[i], seed);
            bool compares = LLVMIsAICmpInst(e.ir[i]) && cpu_shape_is_uniform(&s);
            for (unsigned o = 0; compares && o < 2; o++) {
                cpu_shape operand = cpu_shape_of(&f.kernel, LLVMGetOperand(e.ir[i], o));
                equal += cpu_shape_has_stride(&operand);
            }
            strided += s.bits == LANE_BITS && cpu_shape_has_stride(&s);
        }
        end(&f);
    }
    assert_true(strided > 3000); /* the analysis must also find something */
    assert_true(equal > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_control_flow), cmocka_unit_test(test_shapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
