# The worker: quern-steps, the broker, and its box programs. MuPDF makes theirs AGPL-3; the sources
# stay Apache-2.0.
find_package(PkgConfig REQUIRED)
pkg_check_modules(WORKER_LIBRARIES REQUIRED IMPORTED_TARGET
  libarchive libqpdf libseccomp uchardet harfbuzz harfbuzz-subset freetype2 zlib libjpeg libopenjp2 libwebp libwebpdemux libheif libjxl tesseract lept)
find_library(MAGIC_LIBRARY magic REQUIRED)
# Not as imported targets: GMime's flags do not go with the precompiled header.
pkg_check_modules(GMIME REQUIRED gmime-3.0)
pkg_check_modules(SOUND REQUIRED libavformat libavcodec libavutil libswresample)
find_library(PFF_LIBRARY pff REQUIRED)
find_library(BFIO_LIBRARY bfio REQUIRED)
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
target_link_libraries(quern_worker PUBLIC quern_model quern_net quern_sound Boost::json CLI11::CLI11
  ${MUPDF_LIBRARY} ${MUPDF_THIRD_LIBRARY} ${MUJS_LIBRARY} ${GUMBO_LIBRARY} ${JBIG2DEC_LIBRARY}
  ${MAGIC_LIBRARY} OpenSSL::Crypto PkgConfig::WORKER_LIBRARIES gomp m)
target_include_directories(quern_worker SYSTEM PUBLIC ${GMIME_INCLUDE_DIRS} ${SOUND_INCLUDE_DIRS})
target_link_libraries(quern_worker PUBLIC
  ${GMIME_LINK_LIBRARIES} ${SOUND_LINK_LIBRARIES} ${PFF_LIBRARY} ${BFIO_LIBRARY})
target_precompile_headers(quern_worker REUSE_FROM quern_base)

# Each program gets the libraries of its own steps only.
function(quern_worker_program name source)
  add_executable(${name} ${CMAKE_SOURCE_DIR}/src/worker/${source})
  target_link_options(${name} PRIVATE LINKER:--as-needed)
  target_link_libraries(${name} PRIVATE quern_worker)
endfunction()

quern_worker_program(quern-steps quern_steps.cc)
file(GLOB worker_boxes CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/src/worker ${CMAKE_SOURCE_DIR}/src/worker/boxes/*.cc)
foreach(source ${worker_boxes})
  get_filename_component(family ${source} NAME_WE)
  quern_worker_program(quern-box-${family} ${source})
  add_dependencies(quern-steps quern-box-${family})
endforeach()

# Its clock must be found by libraries that are loaded later.
target_link_options(quern-box-office PRIVATE LINKER:--export-dynamic-symbol=localtime_r
  LINKER:--export-dynamic-symbol=gmtime_r)

# The same program with steps that misbehave, for the tests of the box and the broker.
quern_worker_program(quern_hostile_steps hostile_steps.cc)

# When the tests' own library is known.
function(quern_worker_tests)
  quern_unit_tests(worker)
  if(TARGET worker_test)
    add_dependencies(worker_test quern-steps quern_hostile_steps)
  endif()
endfunction()
cmake_language(DEFER CALL quern_worker_tests)
