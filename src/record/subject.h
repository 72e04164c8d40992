/* SPDX-License-Identifier: MIT */
/*
 * subject.h - what the watchdog looks at: pools and loops, without knowing them.
 *
 * The watchdog knows neither, so pools and loops come to it: each registers a subject with a few functions that fill in plain
 * facts (facts.h) and carry out the few acts of recovery. What the facts mean is judged by the watchdog (judge_*.c), from two or
 * more photographs, and never inside the pool or loop.
 *
 * Life: vg_subject_add when the pool or loop is complete, vg_subject_remove before it is freed. The watchdog looks at one
 * subject at a time without holding the lock; remove waits until it has finished with this one. After a fork the child
 * begins with an empty list, whatever the parent's threads were doing.
 */
#ifndef VG_RECORD_SUBJECT_H
#define VG_RECORD_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* facts.h */
typedef struct vg_pool_facts vg_pool_facts;
typedef struct vg_loop_facts vg_loop_facts;
typedef struct vg_latencies vg_latencies;
typedef struct vg_audit_fact vg_audit_fact;

typedef struct vg_subject_calls {
    bool pool;                                             /* else a loop */
    int (*pool_facts)(void *object, vg_pool_facts *facts); /* 0; -ENOMEM */
    void (*audit)(void *object, vg_audit_fact *audit);
    bool (*latencies)(void *object, vg_latencies *sums); /* false: they are not kept */
    void (*loop_facts)(void *object, vg_loop_facts *facts);
    const char *(*phase_name)(unsigned phase);
    void (*stir)(void *object); /* let every worker that sleeps come up once */

    /* Recovery. 0 or a negative errno. */
    int (*rewake)(void *object, unsigned worker); /* of a loop: worker is not looked at */
    int (*lend)(void *object);                    /* let a spare stand in for a worker that hogs */
    void (*take_back)(void *object);              /* the worker is back */
    int (*reject)(void *object, unsigned worker, uint64_t wait);
} vg_subject_calls;

typedef struct vg_subject {
    struct vg_subject *next;
    const vg_subject_calls *calls;
    void *object;
    uint64_t serial; /* never given twice in a process */
} vg_subject;

/* Any thread. serial: the name that the recorder has given to the object; 0: a new one. */
void vg_subject_add(vg_subject *subject, const vg_subject_calls *calls, void *object, uint64_t serial);
void vg_subject_remove(vg_subject *subject); /* one that is not in the list is none of our business */

/* The watchdog's: called after each vg_subject_add, without a lock. */
extern void (*const vg_subject_added)(void);

/* The watchdog's thread: the next one after `before` (NULL: the first), held until the next call. NULL: that was the last. */
vg_subject *vg_subject_next(vg_subject *before);
/* The same for one that is known by its serial; NULL: it has gone. Held until vg_subject_let_go. */
vg_subject *vg_subject_hold(uint64_t serial);
void vg_subject_let_go(void);

#endif
