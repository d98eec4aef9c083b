# What is taken from elsewhere. libtorch is found through CMAKE_PREFIX_PATH.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
find_package(CLI11 REQUIRED)
find_package(Protobuf REQUIRED)

if(STEEPEST_SANITIZE MATCHES "thread")
  # libtorch and its OpenMP are not instrumented: only what does without them is built.
  set(STEEPEST_HAS_TORCH OFF)
else()
  set(STEEPEST_HAS_TORCH ON)
  include(SteepestTorch)
endif()
