# The public header as HTML, where Doxygen is installed: the target `docs`, and a test that it has no warnings.
find_program(DOXYGEN doxygen)
if(DOXYGEN)
  set(TOMBAC_DOCS_FOLDER ${PROJECT_BINARY_DIR}/docs)
  file(MAKE_DIRECTORY ${TOMBAC_DOCS_FOLDER})
  configure_file(${PROJECT_SOURCE_DIR}/docs/Doxyfile.in ${TOMBAC_DOCS_FOLDER}/Doxyfile @ONLY)
  add_custom_target(docs COMMAND ${DOXYGEN} ${TOMBAC_DOCS_FOLDER}/Doxyfile VERBATIM
                    COMMENT "Documenting the public header in ${TOMBAC_DOCS_FOLDER}/html")
  add_test(NAME docs COMMAND ${PROJECT_SOURCE_DIR}/tests/docs.sh ${DOXYGEN} ${TOMBAC_DOCS_FOLDER} ${PROJECT_SOURCE_DIR}/include/tombac/tombac.h)
endif()
