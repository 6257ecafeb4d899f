# The build rules of the project: one static library per module ("layer"), its allowed dependencies listed
# explicitly, and the checks that hold the list to the truth.
#
#   add_layer(NAME common_value SOURCES a.cc b.cc DEPS common_base PRIVATE_DEPS nlohmann_json::nlohmann_json [PURE])
#   add_layer_test(NAME common_value_test SOURCES a_test.cc DEPS common_value [TSAN] [SEPARATE] [LABELS unit])
#   add_program(NAME nave-hub SOURCES main.cc DEPS hub_hub)
#
# PURE says: no object of this layer may include gRPC, protobuf or JSON headers (tests/arch reads the list).
# SEPARATE says: these files use one name for different helpers, so they are compiled one by one in the presets
# too that compile the files of a target together (ci, asan, tsan: that halves their time).
# TSAN says: this test runs under the thread sanitizer too (it links no gRPC, whose Debian build is not
# instrumented and reports races of its own).

include_guard(GLOBAL)

option(NAVE_BUILD_TESTS "Build the tests, the simulator and the benchmarks" ON)
set(NAVE_SANITIZE "" CACHE STRING "Value of -fsanitize=, empty for none")
option(NAVE_STATIC "Link the programs statically but for the C library and what comes without an archive" OFF)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g1")
if(NAVE_SANITIZE)
  # The checks, not the optimiser, are what the compiler's time goes into: -O0 halves it.
  set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
  set(CMAKE_C_FLAGS_DEBUG "-O0 -g1")
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")

find_program(NAVE_CCACHE ccache)
if(NAVE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Relative paths, so that two checkouts share what they compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_BASEDIR=${CMAKE_SOURCE_DIR};CCACHE_NOHASHDIR=1;${NAVE_CCACHE}")
endif()
find_program(NAVE_MOLD mold)
if(NAVE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

find_package(Threads REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(spdlog REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(nghttp2 REQUIRED IMPORTED_TARGET libnghttp2)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
if(NAVE_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
endif()

# Flags of our own code only: generated code keeps the compiler's defaults.
add_library(nave_flags INTERFACE)
target_compile_features(nave_flags INTERFACE cxx_std_20)
target_compile_options(nave_flags INTERFACE -Wall -Wextra -Werror -Werror=unused-result)
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # g++ 12 sees uninitialised reads in moves of std::variant, and reads past initialiser lists, that do not happen.
  target_compile_options(nave_flags INTERFACE -Wno-maybe-uninitialized -Wno-array-bounds)
endif()
target_include_directories(nave_flags INTERFACE "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}")

if(NAVE_SANITIZE)
  add_compile_options("-fsanitize=${NAVE_SANITIZE}" -fno-omit-frame-pointer)
  add_link_options("-fsanitize=${NAVE_SANITIZE}")
endif()

# What a kind of test run needs, to be built by itself: tsan_tests is what the tsan preset registers.
foreach(kind unit integration e2e sim tsan)
  add_custom_target(${kind}_tests)
endforeach()
add_custom_target(demo_programs)
add_custom_target(bench_programs)

set_property(GLOBAL PROPERTY NAVE_LAYERS "")
set_property(GLOBAL PROPERTY NAVE_PURE_LAYERS "")

function(add_layer)
  cmake_parse_arguments(ARG "PURE" "NAME" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(${ARG_NAME} STATIC ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS} nave_flags)
  target_include_directories(${ARG_NAME} PUBLIC "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}")
  set_property(GLOBAL APPEND PROPERTY NAVE_LAYERS ${ARG_NAME})
  if(ARG_PURE)
    set_property(GLOBAL APPEND PROPERTY NAVE_PURE_LAYERS ${ARG_NAME})
  endif()
endfunction()

function(add_layer_test)
  cmake_parse_arguments(ARG "TSAN;SEPARATE" "NAME" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NAVE_SANITIZE STREQUAL "thread" AND NOT ARG_TSAN)
    return()
  endif()
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main nave_flags)
  if(ARG_SEPARATE)
    set_target_properties(${ARG_NAME} PROPERTIES UNITY_BUILD OFF)
  endif()
  # Only where it is read: everything else compiles to the same in every checkout, which ccache knows.
  foreach(source IN LISTS ARG_SOURCES)
    file(STRINGS "${CMAKE_CURRENT_SOURCE_DIR}/${source}" uses REGEX "NAVE_SOURCE_DIR" LIMIT_COUNT 1)
    if(uses)
      set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_DEFINITIONS NAVE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    endif()
  endforeach()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  # One entry per binary: a process start per case would cost more than the cases.
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME})
  set(seconds 600)
  if(NAVE_SANITIZE)
    set(seconds 1800)
  endif()
  set_tests_properties(${ARG_NAME} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${seconds})
  foreach(label IN LISTS ARG_LABELS)
    add_dependencies(${label}_tests ${ARG_NAME})
  endforeach()
  if(ARG_TSAN)
    add_dependencies(tsan_tests ${ARG_NAME})
  endif()
endfunction()

function(add_program)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;DEPS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_DEPS} nave_flags)
  if(NAVE_STATIC)
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    set_target_properties(${ARG_NAME} PROPERTIES RULE_LAUNCH_LINK
      "${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/common/cmake/static_link.py")
  endif()
endfunction()

# A whole-archive link of one layer with its declared dependencies and nothing else: an undeclared one is an
# undefined reference. Called once, at the end of tests/.
function(add_layer_link_tests)
  get_property(layers GLOBAL PROPERTY NAVE_LAYERS)
  if(NAVE_SANITIZE)
    set(layers "")  # They would say nothing that the plain build did not say.
  endif()
  file(WRITE "${CMAKE_BINARY_DIR}/link_test_main.cc" "int main() { return 0; }\n")
  foreach(layer IN LISTS layers)
    add_executable(${layer}_link_test "${CMAKE_BINARY_DIR}/link_test_main.cc")
    target_link_libraries(${layer}_link_test PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,${layer}>")
    add_test(NAME link.${layer} COMMAND ${layer}_link_test)
    set_tests_properties(link.${layer} PROPERTIES LABELS "unit;arch")
    add_dependencies(unit_tests ${layer}_link_test)
  endforeach()
  get_property(pure GLOBAL PROPERTY NAVE_PURE_LAYERS)
  list(JOIN pure "\n" pure_text)
  file(WRITE "${CMAKE_BINARY_DIR}/pure_layers.txt" "${pure_text}\n")
endfunction()
