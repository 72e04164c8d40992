# SPDX-License-Identifier: MIT
# vigil_warnings(target): the warnings that all our own code is clean under, with gcc and with clang.

function(vigil_warnings target)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion)
    # Not with a sanitizer: gcc's guesses about the flow of values go wrong in instrumented code.
    if(VIGIL_WERROR AND NOT VIGIL_SANITIZE)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
    if(VIGIL_SANITIZE STREQUAL "thread" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
        # gcc warns that its thread sanitizer does not model fences. We know: publication uses acquire and release
        # operations, fences only order the store-load pairs of the sleep protocols, which carry no data.
        target_compile_options(${target} PRIVATE -Wno-tsan)
    endif()
endfunction()
