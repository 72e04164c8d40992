/* SPDX-License-Identifier: MIT */
/*
 * threads.h - what the system says about a thread of this process: does it run, sleep, or wait for a CPU?
 */
#ifndef VG_WATCHDOG_THREADS_H
#define VG_WATCHDOG_THREADS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct vg_thread_look {
    bool known;        /* the thread was found */
    bool timed;        /* run_ns and delay_ns are known (the kernel keeps them if it was built to) */
    char state;        /* R running or runnable, S sleeping, D sleeping for the disk, T stopped, ...; 0: not known */
    uint64_t run_ns;   /* on a CPU */
    uint64_t delay_ns; /* runnable, and not on a CPU */
    char where[32];    /* the kernel function that it sleeps in, if the system tells */
} vg_thread_look;

void vg_thread_look_at(int thread, vg_thread_look *look);
/* It has ended. Where /proc says nothing, the kernel is asked by tgkill without a signal. */
bool vg_thread_gone(int thread, const vg_thread_look *look);

/* CPU time of the whole process, and of the calling thread. */
uint64_t vg_process_cpu_ns(void);
uint64_t vg_thread_cpu_ns(void);

/* The system runs it less than threads that ask for nothing: SCHED_IDLE, or a nice value above 0. */
bool vg_thread_set_back(int thread);

/* Threads of the whole machine that run or want to, without the caller; 0: not known. */
unsigned vg_machine_runnable(void);

/* How long the cgroup of this process was throttled so far: its CPU quota was used up. False: unknown. */
bool vg_cgroup_throttled(uint64_t *ns);
extern const char *vg_cgroup_root; /* "/sys/fs/cgroup"; tests change it */

#endif
