# The program: build/<preset>/bin/steepest.
if(STEEPEST_HAS_TORCH AND STEEPEST_TRAINER)
  file(GLOB _apps CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/steepest/apps/*.cpp)
  if(_apps)
    add_executable(steepest_program ${_apps})
    set_target_properties(steepest_program PROPERTIES OUTPUT_NAME steepest
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
    target_link_libraries(steepest_program PRIVATE steepest_flags steepest_bench steepest_train steepest_report CLI11::CLI11)
  endif()
endif()
