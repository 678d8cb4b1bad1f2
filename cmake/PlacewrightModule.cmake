# placewright_module(NAME [TORCH] SOURCES a.cc ... [DEPS module ...] [LIBS target ...]
#                    [TESTS a_test.cc ...])
#
# Declares src/NAME as the static library placewright_NAME and its tests as placewright_NAME_test.
# DEPS are modules of ours, LIBS third-party targets. TORCH: a module that includes LibTorch; it is
# installed as a part of libplacewright_torch.so only. The layer check (tests/layers) holds includes
# to the table in docs/architecture.md.
function(placewright_module name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;DEPS;LIBS;TESTS" ${ARGN})
  set(target placewright_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(Placewright::${name} ALIAS ${target})
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:include/placewright>)
  list(TRANSFORM ARG_DEPS PREPEND placewright_ OUTPUT_VARIABLE deps)
  target_link_libraries(${target} PUBLIC ${deps} PRIVATE $<BUILD_INTERFACE:placewright_warnings>
    PUBLIC ${ARG_LIBS})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  if(ARG_TORCH)
    target_link_libraries(${target} PUBLIC LibTorch::LibTorch)
  else()
    set_property(GLOBAL APPEND PROPERTY PLACEWRIGHT_MODULES ${target})
  endif()
  if(PLACEWRIGHT_TESTS AND ARG_TESTS)
    add_executable(${target}_test ${ARG_TESTS})
    target_link_libraries(${target}_test PRIVATE ${target} placewright_warnings
      GTest::gtest_main GTest::gmock)
    target_compile_definitions(${target}_test PRIVATE
      PLACEWRIGHT_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
      PLACEWRIGHT_SHARED_DATA="${PLACEWRIGHT_SHARED_DATA}")
    add_test(NAME ${name} COMMAND ${target}_test)
    set_tests_properties(${name} PROPERTIES TIMEOUT 600)
  endif()
endfunction()
