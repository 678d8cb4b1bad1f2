# Run by ctest with BUILD, SCRATCH, EXAMPLES, CXX and CXX_FLAGS set.
function(must)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed (${status}): ${ARGV}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
must(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix)
must(${CMAKE_COMMAND} -S ${EXAMPLES}/cpp_api -B ${SCRATCH}/build -G Ninja
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_FLAGS=${CXX_FLAGS}
  -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix)
must(${CMAKE_COMMAND} --build ${SCRATCH}/build)
must(${SCRATCH}/build/consumer ${EXAMPLES}/tiny_transformer_adam.json.gz 2xV100)
if(NOT output MATCHES "^tiny_transformer_adam on 2xV100: [0-9.]+ ms a step by [a-z-]+, bound [0-9.]+ ms\n$")
  message(FATAL_ERROR "the consumer said: ${output}")
endif()
must(${SCRATCH}/prefix/bin/placewright --version)
if(NOT output MATCHES "^placewright [0-9]+\\.[0-9]+\\.[0-9]+\n$")
  message(FATAL_ERROR "the installed program said: ${output}")
endif()
