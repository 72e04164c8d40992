/* SPDX-License-Identifier: MIT */
/*
 * vigil/watchdog.h - a thread that looks at the pools and loops of this process, and says in words
 * why one of them stalls.
 *
 * It samples counters and states a few times a second, stops no thread, and costs the observed
 * threads nothing while they work. A suspicion is confirmed by a second look before it becomes a
 * verdict. A verdict is reported once, again only after repeat_ms while it lasts, and once more
 * when it is over. docs/verdicts has a page for each class, which `vigil explain` prints.
 *
 * Nothing is watched until vigil_watchdog_start is called, or if VIGIL_WATCHDOG=on is in the
 * environment of the process, which starts one with the defaults; then every pool and loop of the
 * process is, also those that were made before. A start by the program replaces one by the
 * environment.
 *
 * The classes, and what is ruled out before a verdict is given:
 *
 *   LOST_WAKEUP     Work is queued and a worker sleeps, or a loop sleeps with posts waiting. Not a
 *                   worker that searches, starts, or was woken and only waits for a CPU.
 *   ALL_BLOCKED     Every worker is blocked, work is queued, no spare. Not if a worker runs,
 *                   searches or sleeps.
 *   HOG             One task keeps its worker for hog_ms. Time in which the system did not run its
 *                   thread is not counted. On a full machine one that has used a tenth of it is
 *                   told after 1.5 times hog_ms, at least 2.5 s.
 *   WAIT_CYCLE      Tasks wait for each other in a circle. Not waits that have changed since.
 *   STARVED_CLASS   A class waits while others are started. Not a cap that is used up, nor delayed
 *                   tasks.
 *   LOST_TASK       A task was accepted and is nowhere (the audit says so). Not while anything
 *                   moves.
 *   GROWING_QUEUE   Work comes in faster than it is done. Not short bursts: the oldest must wait
 *                   growth_ms.
 *   LOOP_BLOCKED    One callback keeps a loop for loop_ms. Time in which the system did not run its
 *                   thread is not counted, as for HOG.
 *   NO_CPU          The process was stopped, or runnable and not run. Not a full machine whose CPU
 *                   this process has itself.
 *   FROZEN_WORKER   A worker stops between tasks, inside the library. Time in which the system did
 *                   not run its thread is not counted.
 *   DRIFT           Latency, throughput or stealing have changed for the worse against this
 *                   process's own recent past. Not idle times, nor times without enough samples.
 *   LOOP_SPINS      A loop turns without rest for one descriptor, timer or microtask that is never
 *                   done. Not a loop that is merely busy.
 *   THREAD_GONE     A thread ended inside a task or callback.
 *   OLD_WAIT        A loop sleeps, and a promise that only the program can settle has been pending
 *                   for old_ms; or a worker has waited for so long, without a timeout, and nothing
 *                   else moves. Not promises of timers, descriptors, children and pool calls.
 */
#ifndef VIGIL_WATCHDOG_H
#define VIGIL_WATCHDOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vigil/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vigil_stall {
    VIGIL_STALL_NONE = 0,
    VIGIL_STALL_LOST_WAKEUP,
    VIGIL_STALL_ALL_BLOCKED,
    VIGIL_STALL_HOG,
    VIGIL_STALL_WAIT_CYCLE,
    VIGIL_STALL_STARVED_CLASS,
    VIGIL_STALL_LOST_TASK,
    VIGIL_STALL_GROWING_QUEUE,
    VIGIL_STALL_LOOP_BLOCKED,
    VIGIL_STALL_NO_CPU,
    VIGIL_STALL_FROZEN_WORKER,
    VIGIL_STALL_DRIFT,
    VIGIL_STALL_LOOP_SPINS,
    VIGIL_STALL_THREAD_GONE,
    VIGIL_STALL_OLD_WAIT,
    VIGIL_STALLS
} vigil_stall;

typedef enum vigil_severity {
    VIGIL_SEVERITY_INFO = 0, /* worth knowing; nobody waits for it yet */
    VIGIL_SEVERITY_WARNING,  /* somebody waits longer than need be */
    VIGIL_SEVERITY_ERROR,    /* a part stands and will not go on by itself */
    VIGIL_SEVERITY_CRITICAL  /* everything stands, or a task is gone */
} vigil_severity;

typedef enum vigil_verdict_state {
    VIGIL_VERDICT_RAISED = 0, /* new */
    VIGIL_VERDICT_REPEATED,   /* still there after repeat_ms, or worse than it was */
    VIGIL_VERDICT_CLEARED     /* over */
} vigil_verdict_state;

/* Its texts are whole sentences, cut at the end if they do not fit. */
typedef struct vigil_verdict {
    size_t size;
    uint64_t number; /* counts up from 1; the same in all states of one verdict */
    vigil_stall stall;
    vigil_severity severity;
    vigil_verdict_state state;
    uint64_t at_ns;    /* CLOCK_MONOTONIC of the words */
    uint64_t since_ns; /* and of the beginning, as far as it was seen */
    /* the vigil_pool or vigil_loop; NULL: the process. For comparing only: it may be gone */
    const void *subject;
    char name[32];        /* of the subject */
    int worker;           /* the one that it is about; -1: none in particular */
    int thread;           /* its thread id, 0: none */
    int priority;         /* the class that it is about, a vigil_priority; -1: none in particular */
    const void *function; /* the task or callback that it is about, or NULL */
    char reason[320];     /* what stands, and why */
    char evidence[1280];  /* who, where, since when, what is queued; one line for each */
    char advice[384];     /* what to do next */
    char stacks[2048];    /* of the threads concerned; empty if there are none to show */
    char action[192];     /* what was done about it; empty: nothing */
    uint64_t times;       /* it was raised so far: more than 1 if it comes and goes */
} vigil_verdict;
#define VIGIL_VERDICT_INIT VG_SIZED(vigil_verdict)

/* What the watchdog may do by itself. Each act is part of the verdict (action), and counted. No
   thread is ever killed. */
#define VIGIL_RECOVER_REWAKE 1U /* wake a worker (or the loop) again */
#define VIGIL_RECOVER_SPARE \
    2U /* start a spare worker beside one that hogs or is frozen, at most max_spares at a time */
#define VIGIL_RECOVER_REJECT 4U /* the youngest wait of a cycle returns -EDEADLK */
#define VIGIL_RECOVER_CALL   8U /* call on_recover */

/* Start from VIGIL_WATCHDOG_OPTIONS_INIT; zero means the default for every field. */
typedef struct vigil_watchdog_options {
    size_t size;
    unsigned interval_ms; /* between two looks, 10 to 10000; 0: 200 */
    unsigned hog_ms;      /* 0: 1000 */
    unsigned loop_ms;     /* 0: 500 */
    unsigned stuck_ms;    /* how long nothing may move for the other classes; 0: 600 */
    unsigned growth_ms;   /* how long the oldest task of a growing queue waits; 0: 500 */
    unsigned repeat_ms;   /* a verdict that lasts is said again after this time; 0: 10000 */
    unsigned max_spares;  /* for VIGIL_RECOVER_SPARE, for each pool, at most 64; 0: 4 */
    uint32_t recover;     /* VIGIL_RECOVER_*; 0: none */
    /* verdicts below this severity are not reported to on_verdict; the _INIT macro says INFO */
    vigil_severity least;
    bool no_drift; /* do not look for DRIFT */
    /* The stack of a thread that sleeps is read without touching the thread. One that runs is
       sent a signal when a verdict about it is raised: by default (0) SIGURG, which the system
       ignores where nobody handles it; a handler that was there is called for everybody else's
       signals. -1: no signal, so no stacks of threads that run. No system call of the program
       fails or ends early because of it. */
    int stack_signal;
    /* Called with every verdict, on the watchdog's thread; no lock is held, so it may call
       everything but vigil_watchdog_start and _stop. While it runs nothing is watched. */
    void (*on_verdict)(void *user, const vigil_verdict *verdict);
    /* With VIGIL_RECOVER_CALL, after the watchdog's own acts; what it returns is recorded with
       the verdict. */
    int (*on_recover)(void *user, const vigil_verdict *verdict);
    void *user;
    unsigned old_ms; /* for OLD_WAIT; 0: 60000 */
} vigil_watchdog_options;
#define VIGIL_WATCHDOG_OPTIONS_INIT VG_SIZED(vigil_watchdog_options)

/* Start the watchdog; options may be NULL. One for each process. Any thread; does not block.
   0; -EALREADY it runs; -EINVAL an option is out of range, or the signal cannot be had; -ENOMEM;
   -EAGAIN no thread. */
VIGIL_API int vigil_watchdog_start(const vigil_watchdog_options *options);

/* Stop the watchdog and wait for the end of its thread; a hook that runs finishes first. In the
   child of a fork there is none until it is started there. Any thread but its own; blocks.
   0; -ENOENT it does not run; -EDEADLK called from a hook. */
VIGIL_API int vigil_watchdog_stop(void);

/* The last verdicts, newest first, in the state that they have now; up to 64 are kept, also
   after the stop. Each of verdicts starts from VIGIL_VERDICT_INIT. Any thread; may block for a
   moment.
   Returns how many were written; -EINVAL. */
VIGIL_API int vigil_watchdog_verdicts(vigil_verdict *verdicts, size_t room);

typedef struct vigil_watchdog_stats {
    size_t size;
    bool running;
    uint64_t looks;                /* since the start */
    uint64_t raised[VIGIL_STALLS]; /* verdicts of each class since the start */
    uint64_t standing;             /* verdicts that are not cleared */
    uint64_t actions;              /* acts of recovery */
    uint64_t suspicions;           /* looked wrong once and not a second time */
    uint64_t cpu_ns;               /* that the watchdog's own thread has used */
    /* verdicts of each class; raised less cleared of all classes are standing */
    uint64_t cleared[VIGIL_STALLS];
} vigil_watchdog_stats;
#define VIGIL_WATCHDOG_STATS_INIT VG_SIZED(vigil_watchdog_stats)

/* Fill *stats, which starts from VIGIL_WATCHDOG_STATS_INIT. Any thread; may block for a moment.
   0; -EINVAL. */
VIGIL_API int vigil_watchdog_stats_get(vigil_watchdog_stats *stats);

/* The name of a class: "lost wake-up". Any thread; does not block. Returns a static string; "?"
   for a number that is none. */
VIGIL_API const char *vigil_stall_name(vigil_stall stall);

/* The name of a severity: "WARNING". Any thread; does not block. Returns a static string; "?"
   for a number that is none. */
VIGIL_API const char *vigil_severity_name(vigil_severity severity);

/* The name of a state: "cleared". Any thread; does not block. Returns a static string; "?" for a
   number that is none. */
VIGIL_API const char *vigil_verdict_state_name(vigil_verdict_state state);

/* The whole verdict as text, several lines, cut at `room` bytes. Any thread; does not block.
   Returns the length that the whole has; -EINVAL. */
VIGIL_API int vigil_verdict_text(const vigil_verdict *verdict, char *text, size_t room);

#ifdef __cplusplus
}
#endif
#endif
