# Preprocesses macros.metal as the compiler's first phase does, and compares the text that is left.
execute_process(COMMAND ${CLANG} -cc1 -E -P -x c++ -std=c++17 -undef -nostdsysteminc -nobuiltininc -D__TOMBAC_MACROS_ONLY__=1
                        -internal-isystem ${HEADERS} ${SOURCE} OUTPUT_VARIABLE text RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "does not preprocess")
endif()
string(REGEX REPLACE "[ \n]+" " " text "${text}")
string(STRIP "${text}" text)
string(CONCAT expected "inline __attribute__((__always_inline__)) 3.14159265358979323846f 3.40282346638528859812e+38f "
       "((half)65504.0f) 3.40282346638528859812e+38f __builtin_huge_valf() __builtin_nanf(\"\") 2 "
       "((a < b) ? (void)0 : __tombac_assert_fail(\"a < b\", \"${SOURCE}\", 31))")
if(NOT text STREQUAL expected)
  message(FATAL_ERROR "left: ${text}\nexpected: ${expected}")
endif()
