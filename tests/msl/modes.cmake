# Compiles modes.cpp with MODE's flags and lets FileCheck compare the IR under the prefix MODE.
separate_arguments(FLAGS)
separate_arguments(MODE_FLAGS)
execute_process(COMMAND ${CLANG} -cc1 ${FLAGS} ${MODE_FLAGS} -Wno-everything -include-pch ${PCH} -emit-llvm -disable-llvm-passes
                        ${SOURCE} -o ${OUTPUT} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "does not compile")
endif()
execute_process(COMMAND ${FILECHECK} --check-prefixes=${MODE},CALLS --input-file=${OUTPUT} ${SOURCE} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "the IR is not as expected")
endif()
