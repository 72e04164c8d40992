# SPDX-License-Identifier: MIT
# The event loop: its parts, and the loop as a whole, over the sources exactly as they are shipped.
file(GLOB loop_sources CONFIGURE_DEPENDS ${VIGIL_ROOT}/src/loop/*.c)

vigil_add_check(check_loop TEST_RUNS 500
  SCENARIOS loop_ingress.c loop_sleep.c loop_whole.c loop_guests.c loop_again.c loop_signals.c loop_handler.c loop_gone.c loop_turns.c loop_calls.c loop_registry.c
  SOURCES ${base_sources} ${record_sources} ${loop_sources}
  INCLUDES ${VIGIL_ROOT}/include ${VIGIL_ROOT}/src)

# Promises, on a loop and on a pool. (frame.c, once.c and retry.c have no threads to check, and their header a macro by the name of ours.)
file(GLOB promise_sources CONFIGURE_DEPENDS ${VIGIL_ROOT}/src/promise/*.c ${VIGIL_ROOT}/src/share/*.c)
list(FILTER promise_sources EXCLUDE REGEX "/(frame|promise/once|retry)\\.c$")
vigil_add_check(check_promise TEST_RUNS 500
  SCENARIOS promises.c promise_lives.c promise_made_of.c promise_shared.c promise_objects.c promise_calls.c promise_settle.c promise_awaits.c
  SOURCES ${base_sources} ${record_sources} ${pool_sources} ${loop_sources} ${promise_sources}
  INCLUDES ${VIGIL_ROOT}/include ${VIGIL_ROOT}/src)
