/* SPDX-License-Identifier: MIT */
/*
 * subject.h - what the watchdog looks at, without knowing pools and loops. Each registers functions that fill in facts
 * and carry out recovery. src/watchdog judges the facts, from two or more looks.
 *
 * Remove waits until the watchdog has finished with the subject. A forked child begins with an empty list.
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
    void (*stir)(void *object); /* wake every sleeping worker once */

    /* Recovery. 0 or a negative errno. */
    int (*rewake)(void *object, unsigned worker); /* of a loop: worker is ignored */
    int (*lend)(void *object);                    /* let a spare stand in for a hog */
    void (*take_back)(void *object);              /* the worker is back */
    int (*reject)(void *object, unsigned worker, uint64_t wait);
} vg_subject_calls;

typedef struct vg_subject {
    struct vg_subject *next;
    const vg_subject_calls *calls;
    void *object;
    uint64_t serial; /* never given twice in a process */
} vg_subject;

/* Any thread. serial: the recorder's name of the object; 0: a new one. */
void vg_subject_add(vg_subject *subject, const vg_subject_calls *calls, void *object, uint64_t serial);
void vg_subject_remove(vg_subject *subject); /* may be absent */

/* The watchdog's: called after each vg_subject_add, without a lock. */
extern void (*const vg_subject_added)(void);

/* The watchdog's thread: the next after `before` (NULL: the first), held until the next call. NULL: no more. */
vg_subject *vg_subject_next(vg_subject *before);
/* By serial; NULL: gone. Held until vg_subject_let_go. */
vg_subject *vg_subject_hold(uint64_t serial);
void vg_subject_let_go(void);

#endif
