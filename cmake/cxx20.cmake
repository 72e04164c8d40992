# SPDX-License-Identifier: MIT
# vigil_enable_cxx20(result): C++ for what is written in C++20 (tests/cpp, examples), with a compiler of the same family as the C
# compiler where there is one. result is TRUE if there is a C++20 compiler with coroutines here.

include(CheckLanguage)

function(vigil_family_cxx)
    if(CMAKE_CXX_COMPILER OR DEFINED ENV{CXX} OR NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        return()
    endif()
    string(REGEX REPLACE "clang([^/]*)$" "clang++\\1" sibling "${CMAKE_C_COMPILER}")
    if(EXISTS "${sibling}" AND NOT sibling STREQUAL CMAKE_C_COMPILER)
        set(CMAKE_CXX_COMPILER "${sibling}" CACHE FILEPATH "C++ compiler, for tests and examples")
    endif()
endfunction()

macro(vigil_enable_cxx20 result)
    vigil_family_cxx()
    check_language(CXX)
    if(CMAKE_CXX_COMPILER)
        enable_language(CXX)
        if(NOT DEFINED VIGIL_CXX20_WORKS)
            file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/cxx20.cpp
                 "#include <coroutine>\n#include <atomic>\n#include <concepts>\n"
                 "int main() { std::atomic<int> a{1}; a.notify_one(); return std::noop_coroutine().done() ? 1 : 0; }\n")
            try_compile(VIGIL_CXX20_WORKS ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/cxx20
                        ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/cxx20.cpp
                        CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
        endif()
        set(${result} ${VIGIL_CXX20_WORKS})
    else()
        set(${result} FALSE)
    endif()
endmacro()
