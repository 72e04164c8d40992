# SPDX-License-Identifier: MIT
# How a program is put under the checker, and under chaos. See check/README.md.

set(VIGIL_CHECK_WRAPS
  malloc calloc realloc free aligned_alloc posix_memalign strdup mmap munmap mremap madvise mprotect
  reallocarray malloc_usable_size strerror
  strlen strnlen strcpy stpcpy strncpy strcat strcmp strncmp snprintf vsnprintf
  memcpy memmove memset memcmp
  pthread_create pthread_join pthread_self pthread_detach pthread_setname_np pthread_getname_np pthread_setaffinity_np
  pthread_sigmask pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock sched_yield
  pthread_mutex_timedlock pthread_mutex_clocklock pthread_mutex_destroy pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait
  pthread_cond_signal pthread_cond_broadcast pthread_cond_destroy sem_init sem_wait sem_trywait sem_timedwait sem_clockwait
  sem_post sem_getvalue sem_destroy pthread_rwlock_init pthread_rwlock_rdlock pthread_rwlock_tryrdlock
  pthread_rwlock_timedrdlock pthread_rwlock_clockrdlock pthread_rwlock_wrlock pthread_rwlock_trywrlock
  pthread_rwlock_timedwrlock pthread_rwlock_clockwrlock pthread_rwlock_unlock pthread_rwlock_destroy pthread_once
  pthread_barrier_init pthread_barrier_wait pthread_barrier_destroy pthread_exit
  thrd_create thrd_join thrd_exit thrd_current thrd_detach thrd_yield thrd_sleep mtx_lock mtx_trylock mtx_timedlock
  mtx_unlock mtx_destroy cnd_wait cnd_timedwait cnd_signal cnd_broadcast cnd_destroy call_once __cxa_guard_acquire __cxa_guard_release
  syscall clock_gettime nanosleep clock_nanosleep usleep sleep abort __assert_fail
  read write close eventfd eventfd_read eventfd_write epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
  timerfd_create timerfd_settime pipe2 socketpair poll)
# What waits and is not modelled: engine/refused.c.
list(APPEND VIGIL_CHECK_WRAPS
  pthread_cancel pthread_kill pthread_tryjoin_np pthread_timedjoin_np pthread_clockjoin_np pthread_spin_init
  pthread_spin_lock pthread_spin_trylock pthread_spin_unlock pthread_mutex_consistent sem_open tss_create vfork
  fork posix_spawn posix_spawnp system
  select pselect ppoll pause sigsuspend sigwait sigwaitinfo sigtimedwait epoll_create accept accept4 connect
  recv recvfrom recvmsg send sendto sendmsg flock lockf mq_receive mq_send msgrcv semop timer_create)
# The run time of C++ comes behind the engine on the line of the linker, and calls these too.
set(VIGIL_CHECK_LINK_FLAGS -Wl,--undefined=__wrap_strlen)
foreach(name ${VIGIL_CHECK_WRAPS})
  list(APPEND VIGIL_CHECK_LINK_FLAGS "-Wl,--wrap=${name}")
endforeach()
set(VIGIL_CHECK_LINK_FLAGS "${VIGIL_CHECK_LINK_FLAGS}" CACHE INTERNAL "")

# Instrumented by the compiler, but not linked with its run time: so the flag is for compiling only.
# Not expanded in line: what the compiler makes of a memset of known size is not instrumented.
set(VIGIL_CHECK_COMPILE_FLAGS -fsanitize=thread -O1 -g -fno-builtin-memset -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memcmp -fno-omit-frame-pointer -fno-stack-protector -fno-pie -U_FORTIFY_SOURCE
    $<$<C_COMPILER_ID:GNU>:-Wno-tsan> CACHE INTERNAL "")

# `check` runs every check program, `check-deep` the same with --deep. Results: <name>.json in the build folder.
function(vigil_check_run name)
  cmake_parse_arguments(A "" "" "CHECK;DEEP;TEST" ${ARGN})
  foreach(target check check-deep)
    if(NOT TARGET ${target})
      add_custom_target(${target})
    endif()
    set(arguments ${A_CHECK})
    if(target STREQUAL "check-deep")
      set(arguments ${A_DEEP})
    endif()
    add_custom_target(${target}-${name} COMMAND ${name} ${arguments} DEPENDS ${name} USES_TERMINAL
      COMMENT "${target}: ${name}" VERBATIM)
    add_dependencies(${target} ${target}-${name})
  endforeach()
  # The same for ctest, so that a change that breaks a proof fails the tests.
  add_test(NAME ${VIGIL_TEST_PREFIX}check/${name} COMMAND ${name} ${A_CHECK} ${A_TEST})
  set_tests_properties(${VIGIL_TEST_PREFIX}check/${name} PROPERTIES LABELS check TIMEOUT 1800)
endfunction()

# vigil_checked(<variable> <source>...): the objects of library sources as the checker wants them. Each source is compiled once,
# whatever number of check programs it is part of.
function(vigil_checked variable)
  set(objects "")
  foreach(source IN LISTS ARGN)
    get_filename_component(source ${source} ABSOLUTE)
    get_filename_component(file ${source} NAME_WE)
    get_filename_component(folder ${source} DIRECTORY)
    get_filename_component(folder ${folder} NAME)
    set(target checked_${VIGIL_CHECK_VARIANT}${folder}_${file})
    if(NOT TARGET ${target})
      add_library(${target} OBJECT ${source})
      target_compile_options(${target} PRIVATE -std=gnu17 ${VIGIL_CHECK_COMPILE_FLAGS})
      if(NOT VIGIL_CHECK_VARIANT) # its blocks are those of the original
        target_compile_options(${target} PRIVATE -fsanitize-coverage=trace-pc)
      endif()
      target_compile_definitions(${target} PRIVATE VIGIL_CHECK=1 _GNU_SOURCE ${VIGIL_CHECK_DEFINES})
      target_include_directories(${target} PRIVATE ${VIGIL_CHECK_DIR}/include ${VIGIL_CHECK_DIR}/../include ${VIGIL_CHECK_DIR}/../src)
    endif()
    list(APPEND objects $<TARGET_OBJECTS:${target}>)
  endforeach()
  set(${variable} "${objects}" PARENT_SCOPE)
endfunction()

# DEFINES and VARIANT: the library's sources are compiled once more, with these definitions; VARIANT is a word for the names of targets.
# SOURCES: parts of the library, compiled by vigil_checked. <name>_objects is set to all objects of the program.
# NO_RUN: the program is not part of `check` and `check-deep`. PLAIN_RUN: it is run without arguments (it has its own main).
# TEST_RUNS: so many runs by chance in ctest, in place of each scenario's own number.
function(vigil_add_check name)
  cmake_parse_arguments(A "NO_RUN;PLAIN_RUN" "TEST_RUNS;VARIANT" "SCENARIOS;SOURCES;DEFINES;INCLUDES" ${ARGN})
  set(test_arguments "")
  if(A_TEST_RUNS)
    set(test_arguments --runs ${A_TEST_RUNS})
  endif()
  if(A_PLAIN_RUN)
    vigil_check_run(${name} DEEP --deep)
  elseif(NOT A_NO_RUN)
    vigil_check_run(${name} CHECK --json ${CMAKE_BINARY_DIR}/${name}.json
      DEEP --deep --progress --json ${CMAKE_BINARY_DIR}/${name}-deep.json TEST ${test_arguments})
  endif()
  set(VIGIL_CHECK_VARIANT "${A_VARIANT}")
  set(VIGIL_CHECK_DEFINES "")
  if(A_VARIANT)
    set(VIGIL_CHECK_DEFINES ${A_DEFINES})
  endif()
  vigil_checked(checked ${A_SOURCES})
  add_executable(${name} ${A_SCENARIOS} ${checked})
  set(${name}_objects $<TARGET_OBJECTS:${name}> ${checked} PARENT_SCOPE)
  set_target_properties(${name} PROPERTIES C_STANDARD 17 C_EXTENSIONS ON CXX_STANDARD 20 CXX_EXTENSIONS ON)
  target_compile_options(${name} PRIVATE ${VIGIL_CHECK_COMPILE_FLAGS})
  # A scenario that calls what no header declares would get half of a pointer.
  foreach(file IN LISTS A_SCENARIOS)
    if(file MATCHES "\\.c$")
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS -Werror=implicit-function-declaration)
    endif()
  endforeach()
  target_compile_definitions(${name} PRIVATE VIGIL_CHECK=1 _GNU_SOURCE ${A_DEFINES})
  target_include_directories(${name} PRIVATE ${VIGIL_CHECK_DIR}/include ${A_INCLUDES})
  # The run time of C++ from its archive, so that its calls are taken over too.
  target_link_options(${name} PRIVATE -no-pie $<$<LINK_LANGUAGE:CXX>:-static-libstdc++> $<$<LINK_LANGUAGE:CXX>:-static-libgcc> ${VIGIL_CHECK_LINK_FLAGS})
  target_link_libraries(${name} PRIVATE vigil_check_engine Threads::Threads)
endfunction()

# An ordinary program whose atomics are delayed at random: see check/chaos/chaos.c.
function(vigil_add_chaos name)
  cmake_parse_arguments(A "" "" "SOURCES;DEFINES;INCLUDES;LIBRARIES" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_compile_options(${name} PRIVATE -std=gnu17 ${VIGIL_CHECK_COMPILE_FLAGS})
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE ${A_DEFINES})
  target_include_directories(${name} PRIVATE ${A_INCLUDES})
  target_link_options(${name} PRIVATE -no-pie)
  target_link_libraries(${name} PRIVATE ${A_LIBRARIES} vigil_chaos Threads::Threads)
endfunction()
