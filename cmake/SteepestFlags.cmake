# Flags of our own targets, through one interface target: nothing leaks into a consumer or a parent project.
set(STEEPEST_SANITIZE "" CACHE STRING "Sanitizers, for instance address,undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(STEEPEST_CCACHE ccache)
if(STEEPEST_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${STEEPEST_CCACHE})
endif()

add_library(steepest_flags INTERFACE)
# Designated initializers leave fields at their defaults on purpose.
# -ffp-contract=off: whether a multiply and an add are fused must not depend on the compiler's mood.
target_compile_options(steepest_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Werror
                                                -Wno-missing-field-initializers -ffp-contract=off)
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_options(steepest_flags INTERFACE -O1 -g1)
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
endif()

find_program(STEEPEST_MOLD mold)
if(STEEPEST_MOLD)
  target_link_options(steepest_flags INTERFACE -fuse-ld=mold)
endif()

if(STEEPEST_SANITIZE)
  target_compile_options(steepest_flags INTERFACE -fsanitize=${STEEPEST_SANITIZE}
                                                  -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # libtorch is built without vptr information for its own types.
  if(STEEPEST_SANITIZE MATCHES undefined)
    target_compile_options(steepest_flags INTERFACE -fno-sanitize=vptr)
  endif()
  target_link_options(steepest_flags INTERFACE -fsanitize=${STEEPEST_SANITIZE})
endif()
