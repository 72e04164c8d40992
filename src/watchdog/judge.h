/* SPDX-License-Identifier: MIT */
/*
 * judge.h - from photographs to findings.
 *
 * A judge sees facts (subject.h) look after look, keeps what it needs of earlier ones, and tells what stands now. It
 * takes no locks and stops nobody. What it tells is believed when it tells the same again at the next look
 * (watchdog.c).
 *
 * Two clocks. Time in which the watchdog itself was not run counts for nobody: `now` moves by at most two intervals for
 * each look. Where the kernel keeps account of it, time in which it did not run the thread concerned is told apart:
 * nobody is blamed who was kept from running for most of the time. So a loaded machine makes the watchdog slower to
 * judge, and not wrong.
 *
 * There is an end to that. A thread that the system treats like any other, and that uses all it gets of a full machine
 * for one task, keeps its worker: vg_stay_shares finds it by the time on the wall.
 */
#ifndef VG_WATCHDOG_JUDGE_H
#define VG_WATCHDOG_JUDGE_H

#include "record/facts.h"
#include "record/subject.h"
#include "threads.h"
#include "base/say.h"

#include <vigil/watchdog.h>

enum {
    VG_FINDINGS = 24,       /* in one look */
    VG_FINDING_THREADS = 6, /* whose stacks are shown */
    VG_GROWTH_LOOKS = 7,    /* a growing queue has grown in each of these */
    VG_CPU_LOOKS = 16,      /* how far back CPU time is remembered */
    VG_MANY = 8             /* lines of evidence about workers of one kind */
};

/* What is to be said, and what could be done. */
typedef struct vg_finding {
    vigil_verdict verdict; /* all but number, state, at_ns, stacks and action */
    uint64_t serial;       /* of the subject; 0: the process */
    uint64_t key;          /* tells findings of one class and subject apart */
    bool at_once;          /* it is over already: there is nothing to look at a second time */
    int threads[VG_FINDING_THREADS];
    const void *functions[VG_FINDING_THREADS]; /* task or callback on each of them, or NULL */
    unsigned thread_count;
    bool no_stacks;                     /* too small to be walked */
    uint64_t parts[VG_FINDING_THREADS]; /* of a circle: serials of the pools and loops in it; 0: none */
    /* recovery */
    int rewake; /* this worker; -1: none */
    bool rewake_loop;
    bool lend; /* a spare would help */
    uint64_t reject_serial;
    unsigned reject_worker;
    uint64_t reject_wait; /* 0: none */
} vg_finding;

typedef struct vg_findings {
    size_t count;
    vg_finding of[VG_FINDINGS];
} vg_findings;

typedef struct vg_look {
    uint64_t now;  /* the watchdog's own clock, see above */
    uint64_t real; /* CLOCK_MONOTONIC */
    uint64_t interval_ns, hog_ns, loop_ns, stuck_ns, growth_ns, old_ns;
    unsigned cpus;         /* that this process may use */
    double share;          /* of these: what the process has had lately, 0 to 1 */
    double throttled;      /* part of that time in which the cgroup's quota was used up, 0 to 1 */
    uint64_t throttled_ns; /* the same as a duration */
    vg_findings *found;
} vg_look;

/* A new finding, with what all have; NULL: there is no room for more. */
vg_finding *vg_find(const vg_look *look, vigil_stall stall, vigil_severity severity, const vg_subject *subject,
                    const char *name, uint64_t since);
void vg_find_thread(vg_finding *finding, int thread, const void *function);
bool vg_in_cycle(const vg_findings *found, uint64_t serial); /* a pool or loop that is part of a circle */

/* How long a thread has done one thing, and for how much of that the system did not run it. */
typedef struct vg_stay {
    uint64_t since; /* look.now */
    uint64_t since_real;
    vg_thread_look at; /* when it began, or at the first look at it */
    bool measured;
    uint64_t own; /* the most that was found so far: time that was its own stays its own */
    bool shared;  /* vg_stay_shares has found it */
} vg_stay;

void vg_stay_begin(vg_stay *stay, const vg_look *look);
/* Has it lasted for `least`, and was the thread not kept from running for most of that? *own is the time without what
   it waited for a CPU. The system is asked only if it has lasted so long; otherwise *own and *latest are zero. */
bool vg_stay_lasts(vg_stay *stay, int thread, const vg_look *look, uint64_t least, vg_thread_look *latest,
                   uint64_t *own);

/* The same by the time on the wall, for one that vg_stay_lasts did not find: it was runnable all the time, nothing sets
   it back against other threads of the machine, it has used a part of `least` that no short task needs, and is not
   done. *latest is what vg_stay_lasts has found; *own is at least what it ran. */
bool vg_stay_shares(vg_stay *stay, int thread, const vg_look *look, uint64_t least, const vg_thread_look *latest,
                    uint64_t *own);
/* A line about that for a stay that was found so, otherwise nothing. */
void vg_say_share(vg_words *to, const vg_stay *stay, int thread, const vg_thread_look *latest);
/* The advice for that, which begins with a space; otherwise "". */
const char *vg_share_advice(const vg_stay *stay);

/* A queue, look after look, for as long as it grows. */
typedef struct vg_growth {
    struct {
        uint64_t at, queued, in, out; /* look.now; how many wait; how many came and went since the beginning */
    } look[VG_GROWTH_LOOKS];
    unsigned count;
} vg_growth;

/* Note this look. True: it has grown at each of the last VG_GROWTH_LOOKS, and by more than noise; look[0] is the first
   of them. */
bool vg_growth_note(vg_growth *growth, const vg_look *look, uint64_t queued, uint64_t in, uint64_t out);

/* "worker 3 (thread 4711)" */
void vg_say_worker(vg_words *to, const vg_worker_fact *worker);
void vg_say_task(vg_words *to, const vg_worker_fact *worker); /* " in turn \"bot 17\"" */
const char *vg_priority_name(unsigned class_);
/* How much is queued in all classes, and how long the oldest has waited. */
uint64_t vg_queued(const vg_pool_facts *facts);
uint64_t vg_oldest(const vg_pool_facts *facts);
void vg_say_queue(vg_words *to, const vg_pool_facts *facts);   /* a line */
void vg_say_function_name(vg_words *to, const void *function); /* " parse" */
void vg_say_function(vg_words *to, const void *function);      /* " in parse"; nothing for NULL */
/* ", asleep in futex_wait_queue", ", on a CPU" */
void vg_say_thread(vg_words *to, const vg_thread_look *look);

enum {
    VG_THROTTLED_PERCENT = 10 /* of the time: less is noise */
};

/* Whether the cgroup's CPU quota was used up lately; a line about that, or nothing; what to do about missing CPU. */
static inline bool vg_throttled(const vg_look *look)
{
    return look->throttled * 100 >= VG_THROTTLED_PERCENT;
}
void vg_say_throttled(vg_words *to, const vg_look *look);
const char *vg_cpu_advice(const vg_look *look);

#endif
