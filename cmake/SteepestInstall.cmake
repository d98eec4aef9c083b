# cmake --install gives headers, one library, the program and find_package(Steepest).
if(NOT STEEPEST_HAS_TORCH)
  return()
endif()

set(_objects)
foreach(_room ${STEEPEST_LIBRARY_ROOMS})
  if(TARGET steepest_${_room}_objects)
    list(APPEND _objects $<TARGET_OBJECTS:steepest_${_room}_objects>)
  endif()
endforeach()
add_library(steepest STATIC ${_objects})
add_library(Steepest::steepest ALIAS steepest)
set_target_properties(steepest PROPERTIES LINKER_LANGUAGE CXX)
target_include_directories(steepest INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                                              $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>
                                              $<BUILD_INTERFACE:${STEEPEST_GENERATED}>)
target_compile_features(steepest INTERFACE cxx_std_20)
target_link_libraries(steepest INTERFACE Steepest::torch fmt::fmt nlohmann_json::nlohmann_json yaml-cpp
                                         Threads::Threads $<BUILD_INTERFACE:PkgConfig::PCRE2>
                                         $<BUILD_INTERFACE:PkgConfig::XXHASH> $<BUILD_INTERFACE:PkgConfig::HWY>
                                         $<INSTALL_INTERFACE:Steepest::pcre2> $<INSTALL_INTERFACE:Steepest::xxhash>
                                         $<INSTALL_INTERFACE:Steepest::hwy>)

set(_where ${CMAKE_INSTALL_LIBDIR}/cmake/Steepest)
install(TARGETS steepest EXPORT SteepestTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET steepest_program)
  install(TARGETS steepest_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(EXPORT SteepestTargets NAMESPACE Steepest:: DESTINATION ${_where})
install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/steepest DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*-inl.h" EXCLUDE PATTERN "train" EXCLUDE PATTERN "apps" EXCLUDE PATTERN "report" EXCLUDE)
install(FILES ${STEEPEST_GENERATED}/steepest/base/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/steepest/base)
include(CMakePackageConfigHelpers)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/SteepestConfig.cmake.in
                              ${CMAKE_BINARY_DIR}/SteepestConfig.cmake INSTALL_DESTINATION ${_where})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/SteepestConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/SteepestConfig.cmake ${CMAKE_BINARY_DIR}/SteepestConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/SteepestTorch.cmake DESTINATION ${_where})
