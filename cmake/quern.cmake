# quern_library(NAME DEPENDS folders... LINKS libraries...)
# One static library per folder of src/. Mains (src/app/quern.cc), tests and benchmarks stay out of it.
function(quern_library name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|/quern|/quern_steps)\\.cc$")
  add_library(quern_${name} STATIC ${sources})
  target_include_directories(quern_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  foreach(folder ${arg_DEPENDS})
    target_link_libraries(quern_${name} PUBLIC quern_${folder})
  endforeach()
  target_link_libraries(quern_${name} PUBLIC ${arg_LINKS})
  # Two precompiled headers: the standard's, and for what stands on the engine JSON and coroutines, too.
  if(name STREQUAL "base")
    target_precompile_headers(quern_base PRIVATE ${CMAKE_SOURCE_DIR}/src/base/pch.h)
  elseif(name STREQUAL "queue")
    target_precompile_headers(quern_queue PRIVATE ${CMAKE_SOURCE_DIR}/src/queue/pch.h)
  elseif(name STREQUAL "app")
    target_precompile_headers(quern_app PRIVATE ${CMAKE_SOURCE_DIR}/src/queue/pch.h <CLI/CLI.hpp>)
  elseif("queue" IN_LIST arg_DEPENDS OR name STREQUAL "api")
    target_precompile_headers(quern_${name} REUSE_FROM quern_queue)
  else()
    target_precompile_headers(quern_${name} REUSE_FROM quern_base)
  endif()
endfunction()

# quern_unit_tests(folders...)
# Files named *_test.cc beside the source become the program FOLDER_test, *_bench.cc FOLDER_bench.
function(quern_unit_tests)
  foreach(name ${ARGN})
    file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*_test.cc)
    if(tests)
      quern_test(${name}_test LABEL unit SOURCES ${tests} LINKS quern_${name})
    endif()
    file(GLOB benches CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*_bench.cc)
    if(benches)
      add_executable(${name}_bench ${benches})
      target_link_libraries(${name}_bench PRIVATE quern_${name} benchmark::benchmark_main)
    endif()
  endforeach()
endfunction()

# quern_test(NAME LABEL unit|conformance|crash|e2e SOURCES ... LINKS ... [SECONDS n])
# One program, run by ctest in shuffled order (the seed is printed).
function(quern_test name)
  cmake_parse_arguments(arg "" "LABEL;SECONDS" "SOURCES;LINKS" ${ARGN})
  if(NOT arg_SECONDS)
    set(arg_SECONDS 300)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINKS} quern_testing GTest::gtest GTest::gmock)
  target_precompile_headers(${name} REUSE_FROM quern_testing)
  # Tests wait for what they test: optimizing them costs more than it saves.
  target_compile_options(${name} PRIVATE -O0)
  add_test(NAME ${name} COMMAND ${name} --gtest_shuffle --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_SECONDS})
endfunction()

# Migrations are compiled in: the program needs no file beside itself.
function(quern_migrations library)
  set(generated ${CMAKE_BINARY_DIR}/generated/migrations.cc)
  file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/migrations/*/*.sql)
  add_custom_command(OUTPUT ${generated}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR}/migrations -DOUTPUT=${generated}
            -P ${CMAKE_SOURCE_DIR}/cmake/embed_migrations.cmake
    DEPENDS ${scripts} ${CMAKE_SOURCE_DIR}/cmake/embed_migrations.cmake)
  target_sources(quern_${library} PRIVATE ${generated})
  set_source_files_properties(${generated} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()

function(quern_swapped_program)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/counter/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  # Linked before quern_counter, so that these definitions are the ones taken.
  add_executable(quern_swapped src/app/quern.cc ${sources})
  target_compile_definitions(quern_swapped PRIVATE QUERN_SWAP_WRITES)
  target_link_libraries(quern_swapped PRIVATE quern_app)
endfunction()

# The web UI is compiled in too. npm makes it; scripts/web installs what that needs.
function(quern_web_assets library)
  set(generated ${CMAKE_BINARY_DIR}/web/assets.cc)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/src/* ${CMAKE_SOURCE_DIR}/web/public/*)
  add_custom_command(OUTPUT ${generated}
    COMMAND ${CMAKE_SOURCE_DIR}/scripts/web build ${generated}
    DEPENDS ${sources} ${CMAKE_SOURCE_DIR}/web/index.html ${CMAKE_SOURCE_DIR}/web/vite.config.ts
            ${CMAKE_SOURCE_DIR}/web/package-lock.json ${CMAKE_SOURCE_DIR}/web/embed.mjs
            ${CMAKE_SOURCE_DIR}/scripts/web
    COMMENT "Building the web UI")
  target_sources(quern_${library} PRIVATE ${generated})
  set_source_files_properties(${generated} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()
