# placewright_module(NAME [TORCH library | PROGRAM | HOT] SOURCES a.cc ... [LIBS target ...]
#                    [TESTS a_test.cc ...] [COST seconds])
#
# Declares src/NAME. Its objects become a part of libplacewright.so; with TORCH of that library of
# those that include LibTorch (src/torch_library); with PROGRAM of the program alone. HOT: what search
# spends its time in. A target that links placewright_NAME links the library, so that a process has
# one copy of everything. LIBS are third-party targets. COST is that of its tests
# (tests/CMakeLists.txt). Which module may include which is held to the table in
# docs/architecture.md by tests/layers.
function(placewright_module name)
  cmake_parse_arguments(ARG "PROGRAM;HOT" "TORCH;COST" "SOURCES;LIBS;TESTS" ${ARGN})
  set(target placewright_${name})
  if(ARG_PROGRAM)
    add_library(${target} STATIC ${ARG_SOURCES})
    target_link_libraries(${target} PUBLIC placewright_library fmt::fmt ${ARG_LIBS}
      PRIVATE placewright_warnings)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    placewright_precompile(${target} cold)
  else()
    set(library placewright_library)
    set(headers cold)
    if(ARG_TORCH)
      set(library ${ARG_TORCH})
      set(headers torch)
    elseif(ARG_HOT)
      set(headers hot)
    endif()
    set(objects ${target}_objects)
    add_library(${objects} OBJECT ${ARG_SOURCES})
    target_include_directories(${objects} PRIVATE ${PLACEWRIGHT_INCLUDES}
      ${PROJECT_BINARY_DIR}/src)
    target_link_libraries(${objects} PRIVATE ${ARG_LIBS} placewright_warnings fmt::fmt)
    if(ARG_TORCH)
      target_link_libraries(${objects} PRIVATE placewright_library LibTorch::LibTorch)
    endif()
    set_target_properties(${objects} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    placewright_precompile(${objects} ${headers})
    target_sources(${library} PRIVATE $<TARGET_OBJECTS:${objects}>)
    foreach(third_party ${ARG_LIBS})
      target_link_libraries(${library} PUBLIC $<BUILD_INTERFACE:${third_party}>)
    endforeach()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${library})
  endif()
  if(PLACEWRIGHT_TESTS AND ARG_TESTS)
    if(ARG_TORCH)
      set(torch TORCH)
    endif()
    placewright_test(${target}_test ${torch} NAME ${name} SOURCES ${ARG_TESTS} LIBS ${target})
    if(ARG_COST)
      set_tests_properties(${name} PROPERTIES COST ${ARG_COST})
    endif()
  endif()
endfunction()

# placewright_test(TARGET [TORCH] [NAME test] SOURCES a_test.cc ... [LIBS target ...] [TIMEOUT seconds])
#
# An executable of GoogleTest cases; with NAME also the CTest of that name, which runs them all. TORCH:
# its sources include LibTorch.
function(placewright_test target)
  cmake_parse_arguments(ARG "TORCH" "NAME;TIMEOUT" "SOURCES;LIBS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  add_executable(${target} ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE ${ARG_LIBS} placewright_warnings fmt::fmt
    GTest::gtest_main GTest::gmock)
  placewright_allocator(${target})
  target_include_directories(${target} PRIVATE ${PLACEWRIGHT_INCLUDES})
  target_compile_definitions(${target} PRIVATE
    PLACEWRIGHT_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    PLACEWRIGHT_SHARED_DATA="${PLACEWRIGHT_SHARED_DATA}")
  # Few and large, since templates of JSON and GoogleTest are instantiated anew in each; still within 1.3 GiB.
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 8)
  if(ARG_TORCH)
    placewright_precompile(${target} torch_test)
  else()
    placewright_precompile(${target} test)
  endif()
  if(ARG_NAME)
    add_test(NAME ${ARG_NAME} COMMAND ${target})
    set_tests_properties(${ARG_NAME} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  endif()
endfunction()

# placewright_allocator(TARGET): planning takes and frees the memory of many small parts of graphs and steps, and so do
# its tests: with this allocator they take a sixth less time. Sanitizers have their own; a wheel would have to bring it
# along.
find_library(TCMALLOC_LIBRARY tcmalloc_minimal)
function(placewright_allocator target)
  if(PLACEWRIGHT_TCMALLOC AND TCMALLOC_LIBRARY AND NOT CMAKE_CXX_FLAGS MATCHES "fsanitize" AND NOT SKBUILD)
    target_link_options(${target} PRIVATE -Wl,--no-as-needed)
    target_link_libraries(${target} PRIVATE ${TCMALLOC_LIBRARY})
  endif()
endfunction()

# placewright_tool(TARGET [TORCH]): a program or a library of the repository's own that is no module (a
# benchmark, the checker, a helper of tests). TORCH: its sources include LibTorch. What it spends its time in
# lies in the libraries.
function(placewright_tool target)
  cmake_parse_arguments(ARG "TORCH" "" "" ${ARGN})
  # As the objects of the libraries, whose precompiled headers it takes (-fPIE of a program would not do).
  target_compile_options(${target} PRIVATE ${CMAKE_CXX_COMPILE_OPTIONS_PIC})
  target_link_libraries(${target} PRIVATE placewright_warnings fmt::fmt)
  if(ARG_TORCH)
    placewright_precompile(${target} torch)
  else()
    placewright_precompile(${target} cold)
  endif()
endfunction()

# Programs that measure and that no test runs: ./test --long builds them, or what runs one of them (bench/*/run). And
# those of its own tests.
add_custom_target(benchmarks)

# placewright_long(TARGET): a program that only tests of ./test --long run.
function(placewright_long target)
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(benchmarks ${target})
endfunction()

# placewright_benchmark(TARGET [TORCH] SOURCES a.cc ... LIBS target ...): one of them.
function(placewright_benchmark target)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${target} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE placewright_library ${ARG_LIBS})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE PLACEWRIGHT_SHARED_DATA="${PLACEWRIGHT_SHARED_DATA}")
  if(ARG_TORCH)
    placewright_tool(${target} TORCH)
  else()
    placewright_tool(${target})
  endif()
  add_dependencies(benchmarks ${target})
endfunction()

# placewright_precompile(TARGET hot|cold|torch|test|torch_test): what most of its sources include is parsed
# once. Sources still include what they use (the install test compiles public headers without). Optimised fully
# is what search spends its time in; the rest compiles in two thirds of the time without. Tests are not
# optimised, which takes another fifth off: what they call lies in the libraries. These call their own code
# (-Bsymbolic-functions), never a test's copy of an inline function.
set(PLACEWRIGHT_STANDARD_HEADERS <algorithm> <cstdint> <functional> <map> <memory> <optional> <set>
  <span> <string> <string_view> <utility> <vector> <fmt/format.h>)
# Public headers that most sources include, directly or by others: parsing them takes half a second of each.
set(PLACEWRIGHT_OWN_HEADERS base/result.h base/units.h graph/graph.h cluster/cluster.h cost/cost_table.h
  plan/plan.h plan/schedule.h)
list(TRANSFORM PLACEWRIGHT_OWN_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/include/placewright/)
set(PLACEWRIGHT_TORCH_HEADERS <ATen/ATen.h> <ATen/core/dispatch/Dispatcher.h> <torch/nn/module.h>)
set(PLACEWRIGHT_TEST_HEADERS <nlohmann/json.hpp> <gmock/gmock.h> <gtest/gtest.h>)
set(PLACEWRIGHT_HEADERS_hot ${PLACEWRIGHT_STANDARD_HEADERS} ${PLACEWRIGHT_OWN_HEADERS})
set(PLACEWRIGHT_HEADERS_cold ${PLACEWRIGHT_HEADERS_hot} <nlohmann/json.hpp>)
set(PLACEWRIGHT_HEADERS_torch ${PLACEWRIGHT_STANDARD_HEADERS} ${PLACEWRIGHT_TORCH_HEADERS})
set(PLACEWRIGHT_HEADERS_test ${PLACEWRIGHT_STANDARD_HEADERS} ${PLACEWRIGHT_TEST_HEADERS})
set(PLACEWRIGHT_HEADERS_torch_test ${PLACEWRIGHT_STANDARD_HEADERS} ${PLACEWRIGHT_TEST_HEADERS}
  ${PLACEWRIGHT_TORCH_HEADERS})
set(PLACEWRIGHT_OPTIONS_hot $<$<CONFIG:Release>:-O2>)
set(PLACEWRIGHT_OPTIONS_cold $<$<CONFIG:Release>:-O1>)
set(PLACEWRIGHT_OPTIONS_torch ${PLACEWRIGHT_OPTIONS_cold})
# A read of a JSON key that is not there ends a test, where it would be undefined.
set(PLACEWRIGHT_OPTIONS_test $<$<CONFIG:Release>:-O0>
  "-DJSON_ASSERT(x)=((x)?(void)0:__builtin_trap())")
set(PLACEWRIGHT_OPTIONS_torch_test ${PLACEWRIGHT_OPTIONS_test})
function(placewright_precompile target kind)
  target_compile_options(${target} PRIVATE ${PLACEWRIGHT_OPTIONS_${kind}})
  if(NOT PLACEWRIGHT_PRECOMPILE)
    return()
  endif()
  set(precompiled placewright_precompiled_${kind})
  if(NOT TARGET ${precompiled})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled_${kind}.cc CONTENT "")
    add_library(${precompiled} OBJECT ${PROJECT_BINARY_DIR}/precompiled_${kind}.cc)
    target_include_directories(${precompiled} PRIVATE ${PLACEWRIGHT_INCLUDES})
    target_link_libraries(${precompiled} PRIVATE placewright_warnings fmt::fmt
      nlohmann_json::nlohmann_json)
    if(kind MATCHES "torch")
      target_link_libraries(${precompiled} PRIVATE LibTorch::LibTorch)
    endif()
    if(kind MATCHES "test")
      target_link_libraries(${precompiled} PRIVATE GTest::gtest_main GTest::gmock)
    else()
      set_target_properties(${precompiled} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endif()
    target_compile_options(${precompiled} PRIVATE ${PLACEWRIGHT_OPTIONS_${kind}})
    target_precompile_headers(${precompiled} PRIVATE ${PLACEWRIGHT_HEADERS_${kind}})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
  # g++ 12 takes what a precompiled standard header does for our own doing, and warns falsely.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow
      -Wno-stringop-overread)
  endif()
endfunction()

# Models that are another of the zoo with more layers, as tests name them: those that execute or record every model leave
# these to ./test --long.
set(deep_models bert_large gnmt_8 resnet_101 rnnlm_8 transformer_xl_4 transformer_xl_8 transformer_xl_12 vgg_19)
list(TRANSFORM deep_models REPLACE "(.+)" "*/\\1_*")
string(JOIN ":" deep_models ${deep_models})
