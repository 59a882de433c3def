#include "compiler/front/unit.h"
tombac_status front_compile(front_unit *unit, const front_kernel *kernel, bool syntax_only, front_result *result,
    tombac_error **error) { return tb_fail(error, TOMBAC_ERROR_COMPILER, "todo"); }
void front_result_free(front_result *result) {}
tombac_status front_rewrite(front_unit *unit, const front_kernel *kernel, tb_text *out, tombac_error **error)
{ return tb_fail(error, TOMBAC_ERROR_COMPILER, "todo"); }
