/* SPDX-License-Identifier: MIT */
/*
 * thread.h - starting and joining threads, and being polite while spinning.
 */
#ifndef VG_BASE_THREAD_H
#define VG_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/* Start a thread with all signals but faults and profiling blocked. stack_size: 0 for the default. 0; -EAGAIN;
   -ENOMEM; -EINVAL. */
int vg_thread_start(pthread_t *thread, size_t stack_size, void *(*body)(void *), void *arg);
void vg_thread_join(pthread_t thread);

/* Name the calling thread (15 bytes are kept); bind it to a CPU, if that can be had. */
void vg_thread_set_name(const char *name);
void vg_thread_bind(int cpu);

/* CPUs, scheduling policy and nice value of the calling thread. New threads inherit them; vg_thread_origin_apply
   gives the calling thread another's. Refusals are ignored. */
typedef struct vg_thread_origin {
    int policy;
    int priority;
    int nice;
    int cpu_bytes;            /* 0: not known */
    unsigned char cpus[1024]; /* a bit for each */
} vg_thread_origin;

void vg_thread_origin_get(vg_thread_origin *origin);
void vg_thread_origin_apply(const vg_thread_origin *origin);

/* The signals that the calling thread blocks, but for faults; for a thread of vg_thread_start that runs user code. */
void vg_thread_mask_get(sigset_t *mask);
void vg_thread_mask_set(const sigset_t *mask);

/* The least stack size that vg_thread_start takes. */
size_t vg_thread_min_stack(void);

/* The system's number of the calling thread. */
int vg_thread_id(void);

/* Give the core to somebody else. */
void vg_thread_yield(void);

/* One turn of a spin loop. */
static inline void vg_spin_pause(void)
{
#if defined(VIGIL_CHECK)
    vg_thread_yield(); /* the checker must know that this thread waits */
#elif defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) && defined(__clang__)
    __builtin_arm_yield();
#endif
}

/* A small number for the calling thread, to spread threads over stripes. */
unsigned vg_thread_number(void);

#endif
