# Compiles every_function.cpp, inlines, and compares what is left undefined with the operations that docs/operations.md lists;
# then makes code for x86-64-v3 and looks for calls that the code generator added (fminf, __truncdfhf2, …).
#   cmake -DCLANG=… -DLLVM_BIN=… -DFLAGS=… -DPCH=… -DSOURCE=… -DOUTPUT=… -P symbols.cmake
separate_arguments(FLAGS)
execute_process(COMMAND ${CLANG} -cc1 ${FLAGS} -Wno-everything -include-pch ${PCH} -emit-llvm-bc -disable-llvm-passes
                        ${SOURCE} -o ${OUTPUT}.bc RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "does not compile")
endif()
execute_process(COMMAND ${LLVM_BIN}/opt -passes=always-inline,globaldce -S ${OUTPUT}.bc -o ${OUTPUT}.ll RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "opt failed")
endif()
file(STRINGS ${OUTPUT}.ll declarations REGEX "^declare ")

set(f "acos|acosh|asin|asinh|atan|atanh|cos|cosh|cospi|exp|exp2|exp10|log|log2|log10|rsqrt|sin|sinh|sinpi|tan|tanh|tanpi|atan2|divide|fmod|pow|powr|nextafter|sincos|frexp|modf|ldexp|ilogb")
set(r "sum|product|min|max|prefix_(in|ex)clusive_(sum|product)")
set(s "broadcast|broadcast_first|shuffle|shuffle_up|shuffle_down|shuffle_xor|shuffle_rotate_up|shuffle_rotate_down|shuffle_and_fill_up|shuffle_and_fill_down")
set(allowed
    "llvm\\.[a-z.0-9]+"
    "__tombac_(fast_|precise_)?(${f})\\.f32"
    "__tombac_(simd|quad)_(${r})\\.([su](8|16|32|64)|f16|f32)"
    "__tombac_(simd|quad)_(and|or|xor|${s})\\.u(8|16|32|64)"
    "__tombac_(simd|quad)_(ballot|active_threads_mask|all|any|is_first)"
    "__tombac_(needs_apple8|long_list)"
    "__tombac_is_(thread|device|threadgroup)"
    "__tombac_(lane|matrix_row|matrix_column|matrix_multiply_accumulate\\.f32)"
    "__tombac_(threadgroup_barrier|simdgroup_barrier|fence|log_begin|log_argument\\.u64|log_end|assert_fail|unsupported)")
set(operations 0)
foreach(line IN LISTS declarations)
  string(REGEX MATCH "@([^ (]+)" name "${line}")
  set(name "${CMAKE_MATCH_1}")
  set(known FALSE)
  foreach(pattern IN LISTS allowed)
    if(name MATCHES "^${pattern}$")
      set(known TRUE)
    endif()
  endforeach()
  if(NOT known)
    message(SEND_ERROR "stray symbol: ${name}")
  elseif(name MATCHES "^__tombac_")
    math(EXPR operations "${operations} + 1")
    if(name MATCHES "_(simd|quad)_|matrix_multiply" AND NOT line MATCHES "#")
      message(SEND_ERROR "no attributes: ${line}")
    endif()
  endif()
endforeach()
if(operations LESS 340)
  message(SEND_ERROR "only ${operations} operations are declared: every_function.cpp does not reach all")
endif()
# bfloat is a class of 16 bits: no operation and no value of LLVM's type of that name.
file(STRINGS ${OUTPUT}.ll strays REGEX " bfloat " LIMIT_COUNT 1)
if(strays)
  message(SEND_ERROR "LLVM's bfloat type is in the IR: ${strays}")
endif()

execute_process(COMMAND ${LLVM_BIN}/opt "-passes=sroa,instcombine<no-verify-fixpoint>,simplifycfg" -S ${OUTPUT}.ll
                COMMAND grep -v "^target "
                COMMAND ${LLVM_BIN}/llc -O1 -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3 -filetype=obj -o ${OUTPUT}.o
                RESULTS_VARIABLE failed)
if(NOT failed STREQUAL "0;0;0")
  message(FATAL_ERROR "no code can be made: ${failed}")
endif()
execute_process(COMMAND ${LLVM_BIN}/llvm-nm --undefined-only --just-symbol-name ${OUTPUT}.o OUTPUT_VARIABLE undefined)
string(REGEX MATCHALL "[^\n]+" undefined "${undefined}")
list(FILTER undefined EXCLUDE REGEX "^__tombac_")
if(undefined)
  message(SEND_ERROR "the code generator calls: ${undefined}")
endif()
