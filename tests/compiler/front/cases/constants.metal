//@ rewrite
//= __attribute__((opencl_global_host)) bool on __attribute__((annotate("tombac.function_constant:on"))) ; __attribute__((opencl_global_host)) bool __tombac_fcdef_on __attribute__((annotate("tombac.function_constant_defined:on")));
//= __attribute__((opencl_global_host)) int n __attribute__((annotate("tombac.function_constant:n"))) ; __attribute__((opencl_global_host)) bool __tombac_fcdef_n __attribute__((annotate("tombac.function_constant_defined:n")));
//= __attribute__((opencl_global_host)) const int either = (__tombac_fcdef_n) ? n : fallback;
//= __attribute__((opencl_global_host)) const bool scoped = (ns::__tombac_fcdef_on);
constant bool on [[function_constant(0)]];
static constant int n [[function_constant(100 + 1)]];
constant int either = is_function_constant_defined(n) ? n : fallback;
constant bool scoped = is_function_constant_defined(ns::on);
