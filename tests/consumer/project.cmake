# SPDX-License-Identifier: MIT
# The whole build of a stranger's project that uses the installed library.
cmake_minimum_required(VERSION 3.21)
project(consumer LANGUAGES C CXX)
set(CMAKE_C_STANDARD 17)
set(CMAKE_CXX_STANDARD 17)

find_package(vigil 0.2 REQUIRED)

foreach(kind IN ITEMS shared static)
    add_executable(c-${kind} consumer.c)
    add_executable(cxx-${kind} consumer.cpp)
endforeach()
target_link_libraries(c-shared PRIVATE vigil::vigil)
target_link_libraries(cxx-shared PRIVATE vigil::vigil)
target_link_libraries(c-static PRIVATE vigil::vigil-static)
target_link_libraries(cxx-static PRIVATE vigil::vigil-static)
