# Steepest::torch: libtorch's headers and libraries alone, without the flags that its package file would add.
# Its include folders come last (-idirafter): they carry other libraries' headers (fmt, protobuf) that must not hide
# the system's.
if(NOT TARGET Steepest::torch)
  # The package file calls for CUDA's toolkit in CUDA builds; the folders are all that is needed here.
  find_path(STEEPEST_TORCH_CONFIG TorchConfig.cmake
            PATH_SUFFIXES share/cmake/Torch Torch lib/cmake/Torch torch/share/cmake/Torch
            DOC "Folder of libtorch's TorchConfig.cmake")
  if(NOT STEEPEST_TORCH_CONFIG)
    message(FATAL_ERROR "libtorch was not found. Set CMAKE_PREFIX_PATH to its folder, or to what "
                        "`python -c 'import torch; print(torch.utils.cmake_prefix_path)'` prints.")
  endif()
  get_filename_component(STEEPEST_TORCH_ROOT ${STEEPEST_TORCH_CONFIG}/../../.. ABSOLUTE)
  add_library(Steepest::torch INTERFACE IMPORTED)
  set(_steepest_torch_libs)
  foreach(_lib torch_cpu c10)
    list(APPEND _steepest_torch_libs ${STEEPEST_TORCH_ROOT}/lib/lib${_lib}.so)
  endforeach()
  foreach(_lib torch_cuda c10_cuda)
    if(EXISTS ${STEEPEST_TORCH_ROOT}/lib/lib${_lib}.so)
      list(APPEND _steepest_torch_libs -Wl,--no-as-needed ${STEEPEST_TORCH_ROOT}/lib/lib${_lib}.so)
    endif()
  endforeach()
  # libtorch's own OpenMP runtime, so that at::parallel_for and its kernels share one pool of threads.
  file(GLOB _steepest_torch_gomp ${STEEPEST_TORCH_ROOT}/lib/libgomp*.so*)
  target_compile_options(Steepest::torch INTERFACE
    "SHELL:-idirafter ${STEEPEST_TORCH_ROOT}/include"
    "SHELL:-idirafter ${STEEPEST_TORCH_ROOT}/include/torch/csrc/api/include"
    -fopenmp)
  target_link_libraries(Steepest::torch INTERFACE ${_steepest_torch_libs} ${_steepest_torch_gomp})
  if(NOT _steepest_torch_gomp)
    target_link_libraries(Steepest::torch INTERFACE -fopenmp)
  endif()
  target_link_options(Steepest::torch INTERFACE -Wl,-rpath,${STEEPEST_TORCH_ROOT}/lib)
endif()
