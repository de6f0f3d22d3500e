# quern-steps: the worker program. MuPDF makes its binary AGPL-3; the sources stay Apache-2.0.
find_package(PkgConfig REQUIRED)
pkg_check_modules(WORKER_LIBRARIES REQUIRED IMPORTED_TARGET
  libarchive libqpdf libseccomp uchardet harfbuzz harfbuzz-subset freetype2 zlib libjpeg libopenjp2 libwebp libwebpdemux libheif libjxl tesseract lept)
find_library(MAGIC_LIBRARY magic REQUIRED)
# By hand: the .pc of MuPDF says 1.19 and leaves libraries out.
find_library(MUPDF_LIBRARY mupdf REQUIRED)
find_library(MUPDF_THIRD_LIBRARY mupdf-third REQUIRED)
find_library(MUJS_LIBRARY mujs REQUIRED)
find_library(GUMBO_LIBRARY gumbo REQUIRED)
find_library(JBIG2DEC_LIBRARY jbig2dec REQUIRED)

file(GLOB worker_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/worker/*.cc)
list(FILTER worker_sources EXCLUDE REGEX "(_test|_bench|/quern_steps|/hostile_steps)\\.cc$")
add_library(quern_worker STATIC ${worker_sources})
target_include_directories(quern_worker PUBLIC ${CMAKE_SOURCE_DIR}/src)
# qpdf's own pointers are those of the standard library.
target_compile_definitions(quern_worker PUBLIC POINTERHOLDER_TRANSITION=4)
target_link_libraries(quern_worker PUBLIC quern_model quern_net Boost::json CLI11::CLI11
  ${MUPDF_LIBRARY} ${MUPDF_THIRD_LIBRARY} ${MUJS_LIBRARY} ${GUMBO_LIBRARY} ${JBIG2DEC_LIBRARY}
  ${MAGIC_LIBRARY} PkgConfig::WORKER_LIBRARIES gomp m)
target_precompile_headers(quern_worker REUSE_FROM quern_base)

add_executable(quern-steps ${CMAKE_SOURCE_DIR}/src/worker/quern_steps.cc)
target_link_libraries(quern-steps PRIVATE quern_worker)

# The same program with steps that misbehave, for the tests of the box and the broker.
add_executable(quern_hostile_steps ${CMAKE_SOURCE_DIR}/src/worker/hostile_steps.cc)
target_link_libraries(quern_hostile_steps PRIVATE quern_worker)

# When the tests' own library is known.
function(quern_worker_tests)
  quern_unit_tests(worker)
  if(TARGET worker_test)
    add_dependencies(worker_test quern-steps quern_hostile_steps)
  endif()
endfunction()
cmake_language(DEFER CALL quern_worker_tests)
