/* SPDX-License-Identifier: MIT */
/*
 * probes.h - USDT probes for tracers (perf, bpftrace, SystemTap): a nop each, where sys/sdt.h is there to make them
 * (Debian: systemtap-sdt-dev); otherwise nothing. They are independent of the recorder's level.
 *
 *     vigil:submit  pool serial, function, class, tasks       vigil:loop_call_begin  loop serial, function, phase
 *     vigil:run     function, class, task                     vigil:loop_call_end    loop serial, function
 *     vigil:done    function, class, status                   vigil:loop_sleep       loop serial
 *     vigil:park    pool serial, worker                       vigil:loop_woken       loop serial
 *     vigil:wake    pool serial, worker                       vigil:timer            loop serial, function, ns late
 *     vigil:steal   pool serial, thief, victim
 */
#ifndef VG_RECORD_PROBES_H
#define VG_RECORD_PROBES_H

#if defined(__has_include) && !defined(VIGIL_CHECK)
#if __has_include(<sys/sdt.h>)
#define SDT_USE_VARIADIC 1
#include <sys/sdt.h>
#define VG_PROBE(name, ...) STAP_PROBEV(vigil, name, __VA_ARGS__)
#endif
#endif
#ifndef VG_PROBE
#define VG_PROBE(name, ...) ((void)0)
#endif

#endif
