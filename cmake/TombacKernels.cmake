# tombac_add_kernels(TARGET FILE... [LOCKED] [ARTIFACTS FOLDER] [KERNELS NAME...] [TARGETS check|cpu-v3|cpu-v4|sm_80|sm_86|sm_89|sm_90...]
#                    [SET CONSTANT=VALUE...] [DEFINES NAME[=VALUE]...] [INCLUDE_DIRECTORIES FOLDER...]
#                    [STANDARD metal3.2] [MATH fast|relaxed|safe])
#
# Compiles each Metal source into an artifact NAME.tombac and a header NAME.h, which TARGET can then include: it declares one
# launch function per kernel and holds the artifact, so the program needs no compiler. Both are made anew when the source or a
# file that it includes changes.
#
# With LOCKED, or where the variable TOMBAC_LOCKED is true, nothing is compiled: the artifacts must lie in FOLDER, and the build
# fails with the reason if one of them is not what its source says now. Without it they are written there. FOLDER defaults to the
# build folder, or with LOCKED to artifacts/ beside the CMakeLists.txt; give it to save artifacts in the source tree.

function(_tombac_option_list out option)
  set(list "")
  foreach(value IN LISTS ARGN)
    list(APPEND list "${option}" "${value}")
  endforeach()
  set(${out} "${list}" PARENT_SCOPE)
endfunction()

function(tombac_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "LOCKED" "ARTIFACTS;STANDARD;MATH"
                        "KERNELS;TARGETS;SET;DEFINES;INCLUDE_DIRECTORIES")
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tombac_add_kernels: there are no source files")
  endif()
  if(TOMBAC_LOCKED)
    set(arg_LOCKED TRUE)
  endif()
  set(headers "${CMAKE_CURRENT_BINARY_DIR}/tombac_kernels/${target}")
  if(NOT arg_ARTIFACTS)
    set(arg_ARTIFACTS "${headers}")
    if(arg_LOCKED)
      set(arg_ARTIFACTS "${CMAKE_CURRENT_SOURCE_DIR}/artifacts")
    endif()
  endif()
  get_filename_component(artifacts "${arg_ARTIFACTS}" ABSOLUTE)
  file(MAKE_DIRECTORY "${headers}" "${artifacts}")

  # Paths are given relatively, so that artifacts do not depend on where the project lies.
  set(folders "")
  foreach(folder IN LISTS arg_INCLUDE_DIRECTORIES)
    get_filename_component(folder "${folder}" ABSOLUTE)
    file(RELATIVE_PATH folder "${CMAKE_CURRENT_SOURCE_DIR}" "${folder}")
    if(folder STREQUAL "")
      set(folder ".")
    endif()
    list(APPEND folders "${folder}")
  endforeach()
  _tombac_option_list(include_options -I ${folders})
  _tombac_option_list(define_options -D ${arg_DEFINES})
  _tombac_option_list(kernel_options --kernel ${arg_KERNELS})
  _tombac_option_list(target_options --target ${arg_TARGETS})
  _tombac_option_list(set_options --set ${arg_SET})
  set(options ${include_options} ${define_options} ${kernel_options} ${target_options} ${set_options})
  if(arg_STANDARD)
    list(APPEND options --std "${arg_STANDARD}")
  endif()
  if(arg_MATH)
    list(APPEND options --math "${arg_MATH}")
  endif()

  foreach(file IN LISTS arg_UNPARSED_ARGUMENTS)
    get_filename_component(source "${file}" ABSOLUTE)
    get_filename_component(name "${source}" NAME_WE)
    set(artifact "${artifacts}/${name}.tombac")
    set(header "${headers}/${name}.h")
    set(command Tombac::command build "${source}" -o "${artifact}" --header "${header}" ${options})
    set(tools Tombac::command)
    if(TARGET tombac-cc) # in Tombac's own tree
      list(APPEND tools tombac-cc msl tombac_math)
    endif()
    if(arg_LOCKED)
      # Whether it is stale depends on files that only the artifact knows: it is asked at every build, which takes milliseconds.
      add_custom_target(${target}_${name}_locked BYPRODUCTS "${header}" COMMAND ${command} --locked
                        WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" COMMENT "Checking ${name}.tombac" VERBATIM)
      add_dependencies(${target} ${target}_${name}_locked)
    else()
      add_custom_command(OUTPUT "${artifact}" "${header}" COMMAND ${command} --depfile "${header}.d"
                         DEPENDS "${source}" ${tools} DEPFILE "${header}.d"
                         WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" COMMENT "Compiling ${file}" VERBATIM)
    endif()
    target_sources(${target} PRIVATE "${header}")
  endforeach()
  target_include_directories(${target} PRIVATE "${headers}")
  target_link_libraries(${target} PRIVATE Tombac::tombac)
endfunction()
