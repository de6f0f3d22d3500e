# A test of the web UI in a real browser: web/tests/NAME.test.mjs becomes the test web_NAME, with label web.
#
#   quern_web_test(journey SECONDS 300)
#
# It runs the programs that are built; what it lacks (Chromium, npm packages) makes it fail and say what to do.
find_program(QUERN_NODE NAMES node nodejs REQUIRED)

function(quern_web_test name)
  cmake_parse_arguments(arg "" "SECONDS" "" ${ARGN})
  add_test(NAME web_${name}
    COMMAND ${CMAKE_SOURCE_DIR}/scripts/web test ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${name}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/web)
  # A browser and a server with its workers: more than a core.
  set_tests_properties(web_${name} PROPERTIES LABELS web TIMEOUT ${arg_SECONDS} PROCESSORS 2)
endfunction()
