# LibTorch::LibTorch: LibTorch 1.13 or newer, as Debian packs it (libtorch-dev) or as pytorch.org
# does (its folder in CMAKE_PREFIX_PATH, or PLACEWRIGHT_TORCH: that of an installed PyTorch, in which
# include/ and lib/ are). Not the TorchConfig.cmake of either: Debian's drags in
# caffe2 and all its compile options.
set(PLACEWRIGHT_TORCH "" CACHE PATH "Folder of the PyTorch to build against; empty: the system's")
set(only)
if(PLACEWRIGHT_TORCH)
  set(only HINTS ${PLACEWRIGHT_TORCH} PATH_SUFFIXES include lib NO_DEFAULT_PATH)
  file(GLOB config ${PLACEWRIGHT_TORCH}/share/cmake/Torch/TorchConfig.cmake)
  if(config)
    file(STRINGS ${config} old_abi REGEX "_GLIBCXX_USE_CXX11_ABI=0")
    if(old_abi)
      message(FATAL_ERROR "The PyTorch in ${PLACEWRIGHT_TORCH} was built with the C++ ABI from before "
        "GCC 5, which nothing else here has: take PyTorch 2.7 or newer")
    endif()
  endif()
endif()
find_path(LibTorch_INCLUDE_DIR ATen/ATen.h ${only})
find_path(LibTorch_API_INCLUDE_DIR torch/nn/module.h
  HINTS ${LibTorch_INCLUDE_DIR} PATH_SUFFIXES torch/csrc/api/include)
set(libraries)
foreach(library torch torch_cpu c10)
  find_library(LibTorch_${library}_LIBRARY ${library} ${only})
  list(APPEND libraries LibTorch_${library}_LIBRARY)
endforeach()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch DEFAULT_MSG ${libraries} LibTorch_INCLUDE_DIR
  LibTorch_API_INCLUDE_DIR)
if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  set_target_properties(LibTorch::LibTorch PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${LibTorch_INCLUDE_DIR};${LibTorch_API_INCLUDE_DIR}"
    # Clang instantiates std::vector<c10::IValue> in C++20 where LibTorch 1.13 has only declared it.
    INTERFACE_COMPILE_OPTIONS
    "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-include ATen/core/ivalue.h>"
    # libtorch.so has no symbols of its own: it brings in the libraries of the GPUs there are.
    INTERFACE_LINK_LIBRARIES
    "-Wl,--no-as-needed,${LibTorch_torch_LIBRARY},--as-needed;${LibTorch_torch_cpu_LIBRARY};${LibTorch_c10_LIBRARY}")
endif()
