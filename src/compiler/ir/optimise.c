/* The scalar optimisation for engines whose convergence no longer needs the source's control flow.
 *
 * Two rounds of full unrolling and scalar replacement: tiles in nested loops become values only after the
 * second. Code for a debugger keeps its loops. Instcombine never verifies its fixpoint (it would end the process). The thresholds let a loop that
 * indexes a private array unroll; unroll.c names the loops that must stay. */
#include "compiler/ir/steps.h"

#define COMBINE "instcombine<no-verify-fixpoint>"
/* Instcombine makes x * (1 / y) one division where it may, licm takes the reciprocal of what a loop does not change out of it:
 * a division in a loop takes as long as all the rest. */
#define LAST_HOIST "loop-simplify,lcssa,loop-mssa(licm),"

/* The loops and blocks of the source, in the form that the engines take. */
static tombac_status optimise_for_debugger(ir_kernel *kernel, tombac_error **error)
{
    ir_lower_intrinsics(kernel->module, kernel->function);
    return ir_run_passes(kernel,
        "function(sroa," COMBINE ",dce,scalarizer," COMBINE ",dce,"
        "lower-switch,mergereturn,fix-irreducible,unify-loop-exits,loop-simplify,lcssa),globaldce",
        error);
}

tombac_status ir_optimise(ir_kernel *kernel, tombac_error **error)
{
    static const char *const rounds[] = {
        "function(sroa,early-cse,simplifycfg," COMBINE ",simplifycfg,loop-simplify,lcssa,"
        "loop-mssa(loop-rotate,licm),simplifycfg,loop-simplify)",
        "function(loop(indvars,loop-deletion,loop-unroll-full))",
        "function(sroa,early-cse,simplifycfg," COMBINE ",loop-simplify,lcssa,loop(loop-unroll-full),sroa,"
        "early-cse<memssa>," COMBINE ",gvn,simplifycfg,loop-simplify,lcssa,loop-mssa(licm),"
        "loop(indvars,loop-deletion)," COMBINE ",simplifycfg,dce)",
    };
    if (kernel->debug) return optimise_for_debugger(kernel, error);
    for (size_t i = 0; i < sizeof rounds / sizeof rounds[0]; i++) {
        tombac_status status = ir_run_passes(kernel, rounds[i], error);
        if (status == TOMBAC_OK && i == 0 && !kernel->gpu) status = ir_loops_limit_unrolling(kernel, error);
        if (status != TOMBAC_OK) return status;
    }
    ir_lower_intrinsics(kernel->module, kernel->function);
    if (kernel->gpu) return ir_run_passes(kernel, "function(sroa," COMBINE ",gvn,simplifycfg,dce),globaldce", error);
    return ir_run_passes(kernel,
        "function(sroa," COMBINE ",gvn,simplifycfg,dce,scalarizer," COMBINE ",dce,"
        LAST_HOIST "lower-switch,mergereturn,fix-irreducible,unify-loop-exits,loop-simplify,lcssa),globaldce",
        error);
}
