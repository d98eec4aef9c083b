# The rooms under steepest/: for each an object library and a static library of its own, so that a test links what its
# room may use and nothing more. Levels and what belongs where: steepest/README.md; tools/check_rooms.py checks includes.

# The generated version header.
find_package(Git QUIET)
set(STEEPEST_COMMIT "unknown")
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_CURRENT_SOURCE_DIR} rev-parse --short HEAD
                  OUTPUT_VARIABLE _commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE _failed)
  if(NOT _failed)
    set(STEEPEST_COMMIT ${_commit})
  endif()
endif()
set(STEEPEST_GENERATED ${CMAKE_BINARY_DIR}/generated)
configure_file(${CMAKE_CURRENT_LIST_DIR}/version.h.in ${STEEPEST_GENERATED}/steepest/base/version.h @ONLY)

add_library(steepest_headers INTERFACE)
target_include_directories(steepest_headers INTERFACE
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}> $<BUILD_INTERFACE:${STEEPEST_GENERATED}>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(steepest_headers INTERFACE cxx_std_20)

# steepest_room(NAME SOURCES file... [LINK library...])
function(steepest_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;LINK" ${ARGN})
  if(NOT ROOM_SOURCES)
    add_library(steepest_${name} INTERFACE)
    target_link_libraries(steepest_${name} INTERFACE steepest_headers ${ROOM_LINK})
    return()
  endif()
  add_library(steepest_${name}_objects OBJECT ${ROOM_SOURCES})
  target_link_libraries(steepest_${name}_objects PRIVATE steepest_flags PUBLIC steepest_headers ${ROOM_LINK})
  add_library(steepest_${name} STATIC $<TARGET_OBJECTS:steepest_${name}_objects>)
  target_link_libraries(steepest_${name} PUBLIC steepest_headers ${ROOM_LINK})
endfunction()

# All sources of a room; with a regular expression, those whose file name matches (ONLY) or does not (EXCEPT).
function(steepest_sources out room)
  cmake_parse_arguments(PICK "" "ONLY;EXCEPT" "" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/steepest/${room}/*.cpp
                                      ${CMAKE_CURRENT_SOURCE_DIR}/steepest/${room}/internal/*.cpp)
  if(PICK_ONLY)
    list(FILTER sources INCLUDE REGEX "/(${PICK_ONLY})[^/]*\\.cpp$")
  endif()
  if(PICK_EXCEPT)
    list(FILTER sources EXCLUDE REGEX "/(${PICK_EXCEPT})[^/]*\\.cpp$")
  endif()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# Pure halves: no libtorch.
set(_params_torch "param_set|module_bridge")
set(_linalg_pure "coefficient_sets|ns_enums")
set(_optimizers_pure "[a-z0-9_]*_options|catalogue|rule_options")

steepest_sources(_s base)
steepest_room(base SOURCES ${_s} LINK fmt::fmt nlohmann_json::nlohmann_json PkgConfig::XXHASH Threads::Threads)
steepest_sources(_s kernels)
steepest_room(kernels SOURCES ${_s} LINK steepest_base)
# Loops over lanes, chosen at run time. Targets without fused multiply-add would give other bits: those processors take
# the scalar one, which has it.
target_link_libraries(steepest_kernels_objects PRIVATE PkgConfig::HWY)
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  # Short loops over vectors must be unrolled, or the vectors live in memory.
  target_compile_options(steepest_kernels_objects PRIVATE -O3)
endif()
target_link_libraries(steepest_kernels PUBLIC PkgConfig::HWY)
target_compile_definitions(steepest_kernels_objects PRIVATE "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3_DL|HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128|HWY_RVV)")
steepest_sources(_s schedule)
steepest_room(schedule SOURCES ${_s} LINK steepest_base)
steepest_sources(_s params EXCEPT ${_params_torch})
steepest_room(params_pure SOURCES ${_s} LINK steepest_base)
steepest_sources(_s linalg ONLY ${_linalg_pure})
steepest_room(linalg_pure SOURCES ${_s} LINK steepest_base)
steepest_sources(_s optimizers ONLY ${_optimizers_pure})
steepest_room(optimizers_pure SOURCES ${_s} LINK steepest_linalg_pure steepest_params_pure steepest_base)
steepest_sources(_s checkpoint)
steepest_room(checkpoint SOURCES ${_s} LINK steepest_params_pure steepest_base)
steepest_sources(_s recipe)
steepest_room(recipe SOURCES ${_s} LINK steepest_optimizers_pure steepest_params_pure steepest_schedule steepest_base
                                        yaml-cpp PkgConfig::PCRE2)

set(STEEPEST_PURE_ROOMS base kernels schedule checkpoint recipe)
set(STEEPEST_LIBRARY_ROOMS base kernels schedule params_pure linalg_pure optimizers_pure checkpoint recipe)

if(STEEPEST_HAS_TORCH)
  steepest_sources(_s tensor)
  steepest_room(tensor SOURCES ${_s} LINK steepest_base Steepest::torch)
  steepest_sources(_s params ONLY ${_params_torch})
  steepest_room(params SOURCES ${_s} LINK steepest_params_pure steepest_tensor)
  steepest_sources(_s linalg EXCEPT ${_linalg_pure})
  steepest_room(linalg SOURCES ${_s} LINK steepest_kernels steepest_linalg_pure steepest_tensor)
  steepest_sources(_s gradients)
  steepest_room(gradients SOURCES ${_s} LINK steepest_kernels steepest_params steepest_linalg steepest_tensor)
  steepest_sources(_s precision)
  steepest_room(precision SOURCES ${_s} LINK steepest_kernels steepest_tensor)
  steepest_sources(_s optimizers EXCEPT ${_optimizers_pure})
  steepest_room(optimizers SOURCES ${_s} LINK steepest_optimizers_pure steepest_precision steepest_gradients steepest_linalg
                                                steepest_params)
  steepest_sources(_s step)
  steepest_room(step SOURCES ${_s} LINK steepest_optimizers steepest_gradients steepest_schedule)
  steepest_sources(_s build)
  steepest_room(build SOURCES ${_s} LINK steepest_recipe steepest_checkpoint steepest_step)
  steepest_sources(_s report)
  steepest_room(report SOURCES ${_s} LINK steepest_build)
  list(APPEND STEEPEST_LIBRARY_ROOMS tensor params linalg precision gradients optimizers step build)

  if(STEEPEST_TRAINER)
    file(GLOB _protos CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/steepest/train/*.proto)
    set(_proto_sources)
    foreach(_proto ${_protos})
      get_filename_component(_stem ${_proto} NAME_WE)
      set(_out ${STEEPEST_GENERATED}/steepest/train/${_stem}.pb)
      add_custom_command(OUTPUT ${_out}.cc ${_out}.h
        COMMAND ${CMAKE_COMMAND} -E make_directory ${STEEPEST_GENERATED}
        COMMAND protobuf::protoc --cpp_out=${STEEPEST_GENERATED} -I${CMAKE_CURRENT_SOURCE_DIR} ${_proto}
        DEPENDS ${_proto})
      list(APPEND _proto_sources ${_out}.cc ${_out}.h)
    endforeach()
    steepest_sources(_s train)
    if(_proto_sources)
      # Generated code is not held to our warnings, so it has a library of its own.
      add_library(steepest_train_proto STATIC ${_proto_sources})
      target_include_directories(steepest_train_proto SYSTEM PUBLIC ${STEEPEST_GENERATED})
      target_link_libraries(steepest_train_proto PUBLIC protobuf::libprotobuf)
      if(STEEPEST_SANITIZE)
        target_compile_options(steepest_train_proto PRIVATE -fsanitize=${STEEPEST_SANITIZE})
      endif()
      set(_proto_library steepest_train_proto)
    endif()
    steepest_room(train SOURCES ${_s} LINK steepest_build spdlog::spdlog ${_proto_library})
  endif()
endif()
