# SPDX-License-Identifier: MIT
# Reads VIGIL_SANITIZE, and sets for tests/CMakeLists.txt
#   vigil_test_launcher     what to put in front of a test program (a list, mostly empty)
#   vigil_test_environment  environment of a test program
#   VIGIL_TESTS             OFF when programs built with this sanitizer cannot run on this machine

set(vigil_test_launcher ${CMAKE_CROSSCOMPILING_EMULATOR})
set(vigil_test_environment "")
if(NOT VIGIL_TEST_SCALE EQUAL 100) # at full size the caller's environment may still ask for less, as `make quick` does
    set(vigil_test_environment "VIGIL_TEST_SCALE=${VIGIL_TEST_SCALE}")
endif()

if(VIGIL_SANITIZE STREQUAL "address")
    set(sanitizer_flags -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    # The leak sanitizer is part of the address sanitizer.
    list(APPEND vigil_test_environment
         "ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1"
         "UBSAN_OPTIONS=print_stacktrace=1")
elseif(VIGIL_SANITIZE STREQUAL "thread")
    set(sanitizer_flags -fsanitize=thread -fno-omit-frame-pointer)
    list(APPEND vigil_test_environment "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:history_size=4")
elseif(NOT VIGIL_SANITIZE STREQUAL "")
    message(FATAL_ERROR "VIGIL_SANITIZE is '${VIGIL_SANITIZE}'; it may be empty, 'address' or 'thread'.")
endif()

if(sanitizer_flags)
    add_compile_options(${sanitizer_flags})
    add_link_options(${sanitizer_flags})
endif()

# The thread sanitizer of these compilers gives up at start when the kernel places mappings with more random bits than
# it expects. Without that randomness it runs; where neither works, its tests cannot.
if(VIGIL_SANITIZE STREQUAL "thread" AND VIGIL_TESTS)
    set(probe ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/tsan-probe)
    file(WRITE ${probe}.c "int main(void) { return 0; }\n")
    execute_process(COMMAND ${CMAKE_C_COMPILER} -fsanitize=thread ${probe}.c -o ${probe}
                    RESULT_VARIABLE built OUTPUT_QUIET ERROR_QUIET)
    set(runs 1)
    if(built EQUAL 0)
        # Addresses are drawn anew at each start: one good run proves nothing.
        set(again "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do \"$@\" || exit 1; done")
        execute_process(COMMAND sh -c "${again}" sh ${probe} RESULT_VARIABLE runs OUTPUT_QUIET ERROR_QUIET)
        if(NOT runs EQUAL 0)
            execute_process(COMMAND sh -c "${again}" sh setarch -R ${probe}
                            RESULT_VARIABLE runs OUTPUT_QUIET ERROR_QUIET)
            set(vigil_test_launcher setarch -R)
        endif()
    endif()
    if(NOT runs EQUAL 0)
        message(WARNING "Left out: the tests under the thread sanitizer. A program built with -fsanitize=thread does "
                        "not start here, not even under `setarch -R`. As root, `sysctl vm.mmap_rnd_bits=28` helps.")
        set(VIGIL_TESTS OFF)
    endif()
endif()
