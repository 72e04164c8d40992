# SPDX-License-Identifier: MIT
# vigil_llhttp(target): finds llhttp. Debian's package has its C sources, which are compiled in: strict, which the parser is only by a
# macro at compile time. Sets LLHTTP_FOUND; makes the object library <target>, whose objects are for a shared library too.
find_path(LLHTTP_INCLUDE llhttp.h HINTS /usr/share/include/llhttp)
find_path(LLHTTP_SOURCES llhttp.c HINTS /usr/share/llhttp)
mark_as_advanced(LLHTTP_INCLUDE LLHTTP_SOURCES)
set(LLHTTP_FOUND OFF)
if(LLHTTP_INCLUDE AND LLHTTP_SOURCES)
    set(LLHTTP_FOUND ON)
endif()

function(vigil_llhttp target)
    add_library(${target} OBJECT ${LLHTTP_SOURCES}/llhttp.c ${LLHTTP_SOURCES}/api.c ${LLHTTP_SOURCES}/http.c)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
    target_compile_definitions(${target} PRIVATE LLHTTP_STRICT_MODE=1)
    target_include_directories(${target} PRIVATE ${LLHTTP_INCLUDE})
    target_compile_options(${target} PRIVATE -w)
endfunction()
