# What `steepest bench` times: bench/ may use every room. libtorch's own classes are in one file.
if(STEEPEST_HAS_TORCH AND STEEPEST_TRAINER)
  file(GLOB _bench CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/bench/*.cpp)
  add_library(steepest_bench STATIC ${_bench})
  target_link_libraries(steepest_bench PRIVATE steepest_flags PUBLIC steepest_train PkgConfig::HWY)
endif()
