# tests/<room>/x_test.cpp becomes the executable tests_<room>_x_test and the ctest entry <room>/x.
find_package(GTest REQUIRED)
find_library(STEEPEST_RAPIDCHECK rapidcheck)
find_path(STEEPEST_RAPIDCHECK_INCLUDE rapidcheck.h)
find_program(STEEPEST_PYTHON python3)

file(GLOB _support CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/support/*.cpp)
list(FILTER _support EXCLUDE REGEX "_main\\.cpp$")

set(_rooms base kernels schedule checkpoint recipe)
if(STEEPEST_HAS_TORCH)
  list(APPEND _rooms tensor params linalg precision gradients optimizers step build report)
  if(STEEPEST_TRAINER)
    list(APPEND _rooms train apps bench)
  endif()
  if(_support)
    add_library(steepest_test_support STATIC ${_support})
    target_link_libraries(steepest_test_support PUBLIC steepest_build PRIVATE steepest_flags)
  endif()
  # Programs that tests run: tests/support/x_main.cpp becomes bin/x, linked with everything.
  file(GLOB _mains CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/support/*_main.cpp)
  if(NOT STEEPEST_TRAINER)
    set(_mains)
  endif()
  foreach(_main ${_mains})
    get_filename_component(_stem ${_main} NAME_WE)
    string(REGEX REPLACE "_main$" "" _stem ${_stem})
    add_executable(tests_support_${_stem} ${_main})
    set_target_properties(tests_support_${_stem} PROPERTIES OUTPUT_NAME ${_stem}
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/support)
    target_link_libraries(tests_support_${_stem} PRIVATE steepest_flags steepest_train steepest_report)
    list(APPEND _support_programs tests_support_${_stem})
  endforeach()
endif()

foreach(_room ${_rooms})
  file(GLOB _tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/${_room}/*_test.cpp)
  foreach(_test ${_tests})
    get_filename_component(_stem ${_test} NAME_WE)
    string(REGEX REPLACE "_test$" "" _entry ${_stem})
    set(_target tests_${_room}_${_stem})
    add_executable(${_target} ${_test})
    set_target_properties(${_target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    if(_room STREQUAL "apps")
      target_link_libraries(${_target} PRIVATE steepest_train steepest_report)
    else()
      target_link_libraries(${_target} PRIVATE steepest_${_room})
    endif()
    target_link_libraries(${_target} PRIVATE steepest_flags GTest::gmock GTest::gtest GTest::gtest_main)
    if(STEEPEST_RAPIDCHECK AND STEEPEST_RAPIDCHECK_INCLUDE)
      target_link_libraries(${_target} PRIVATE ${STEEPEST_RAPIDCHECK})
    endif()
    if(TARGET steepest_test_support AND NOT _room IN_LIST STEEPEST_PURE_ROOMS)
      target_link_libraries(${_target} PRIVATE steepest_test_support)
    endif()
    target_compile_definitions(${_target} PRIVATE
      STEEPEST_SOURCE_DIR="${CMAKE_CURRENT_SOURCE_DIR}"
      STEEPEST_PROGRAM="${CMAKE_BINARY_DIR}/bin/steepest"
      STEEPEST_TEST_PROGRAMS="${CMAKE_BINARY_DIR}/tests/support")
    if(_room STREQUAL "train" OR _room STREQUAL "apps")
      if(TARGET steepest_program)
        add_dependencies(${_target} steepest_program)
      endif()
      if(_support_programs)
        add_dependencies(${_target} ${_support_programs})
      endif()
    endif()
    add_test(NAME ${_room}/${_entry} COMMAND ${_target})
    set_tests_properties(${_room}/${_entry} PROPERTIES LABELS "${_room}" TIMEOUT 300
      ENVIRONMENT "OMP_NUM_THREADS=2;ASAN_OPTIONS=detect_leaks=0:detect_container_overflow=0;UBSAN_OPTIONS=print_stacktrace=1")
  endforeach()
endforeach()

# The tools that check the tree, and their own tests.
if(STEEPEST_PYTHON AND EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/tools/tests)
  file(GLOB _tool_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tools/tests/*_test.py)
  foreach(_test ${_tool_tests})
    get_filename_component(_stem ${_test} NAME_WE)
    string(REGEX REPLACE "_test$" "" _entry ${_stem})
    add_test(NAME tools/${_entry} COMMAND ${STEEPEST_PYTHON} ${_test})
    set_tests_properties(tools/${_entry} PROPERTIES LABELS tools TIMEOUT 120)
  endforeach()
endif()

# TensorBoard's own reader on the events of a run. ./run test puts it into .venv-test.
if(TARGET steepest_program AND STEEPEST_PYTHON)
  set(STEEPEST_TEST_PYTHON ${CMAKE_CURRENT_SOURCE_DIR}/.venv-test/bin/python CACHE FILEPATH
      "A Python that has the package tensorboard")
  add_test(NAME train/tensorboard_reader
           COMMAND ${STEEPEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/tests/train/tensorboard_reader_test.py
                   $<TARGET_FILE:steepest_program> ${STEEPEST_TEST_PYTHON})
  set_tests_properties(train/tensorboard_reader PROPERTIES LABELS train TIMEOUT 300)
endif()

# The installed library, used as a stranger would: examples/ against an install.
if(TARGET steepest_program AND EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/tests/install/install_test.sh)
  add_test(NAME install/examples
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/tests/install/install_test.sh ${CMAKE_CURRENT_SOURCE_DIR}
                   ${CMAKE_BINARY_DIR} ${STEEPEST_TORCH_ROOT})
  set_tests_properties(install/examples PROPERTIES LABELS install TIMEOUT 600
                                                  RUN_SERIAL ON)  # its compilers need the memory
endif()
