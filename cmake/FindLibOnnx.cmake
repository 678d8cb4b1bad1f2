# LibOnnx::onnx: libonnx with its protobuf classes. Its own package names the targets `onnx` and
# `onnx_proto` (1.12, Debian 12) or `ONNX::onnx` and `ONNX::onnx_proto` (1.17, Debian 13). Either
# carries the definitions without which its headers do not compile (ONNX_ML, ONNX_NAMESPACE).
find_package(ONNX CONFIG QUIET)
set(target)
foreach(candidate ONNX::onnx onnx)
  if(TARGET ${candidate} AND NOT target)
    set(target ${candidate})
    string(APPEND target ";${candidate}_proto")
  endif()
endforeach()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibOnnx REQUIRED_VARS target VERSION_VAR ONNX_VERSION)
if(LibOnnx_FOUND AND NOT TARGET LibOnnx::onnx)
  add_library(LibOnnx::onnx INTERFACE IMPORTED)
  set_target_properties(LibOnnx::onnx PROPERTIES INTERFACE_LINK_LIBRARIES "${target}")
endif()
