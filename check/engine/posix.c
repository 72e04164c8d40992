/* SPDX-License-Identifier: MIT */
/* Threads and clocks of POSIX and C, in terms of the model. Linked by --wrap. Locks are in sync.c. */
#define _GNU_SOURCE
#include "internal.h"
#include "state.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <threads.h>
#include <time.h>

#define CALLER  __builtin_return_address(0)
#define USER_PC (((void *const *)vgc_user_sp)[6])
#define RUNNING __builtin_expect(G.current >= 0, 1)

enum {
    HANDLE_BASE = 0x7100
};

static int thread_of(pthread_t handle)
{
    unsigned long id = (unsigned long)handle - HANDLE_BASE;
    if (id >= (unsigned long)G.thread_count)
        fail(VGC_MISUSE, "%lx is not a thread of this execution", (unsigned long)handle);
    return (int)id;
}

/* ---- threads ---- */

static int create(pthread_t *handle, void *(*function)(void *), void *argument, bool detached, bool may_fail,
                  const void *pc)
{
    struct op op = {.kind = OP_CREATE, .table = USE_WRITE, .pc = pc};
    fork_point();
    sched_point(&op);
    if (G.step_alone)
        step_label(G.current); /* what comes after it is not in the new thread's past */
    if (may_fail && G.budget_thread > 0 && choose(2) == 1) {
        G.budget_thread--;
        event_end();
        if (G.tracing)
            __builtin_snprintf(trace_add(OP_CREATE, pc)->text, 40, "fails: EAGAIN");
        return EAGAIN;
    }
    struct thread *me = ME;
    int id = thread_new(function, argument);
    struct thread *t = &G.threads[id];
    t->detached = detached;
    if (!BROKEN(VGC_RULE_CREATE))
        t->hb = me->hb;
    t->waker = G.step_alone ? 0 : G.event_count;
    spin_progress();
    *handle = (pthread_t)(HANDLE_BASE + id);
    event_end();
    t->dep = me->dep;
    if (G.tracing)
        __builtin_snprintf(trace_add(OP_CREATE, pc)->text, 40, "starts t%d", id);
    return 0;
}

int vgc_pthread_create(pthread_t *handle, const pthread_attr_t *attr, void *(*function)(void *), void *argument);
int vgc_pthread_create(pthread_t *handle, const pthread_attr_t *attr, void *(*function)(void *), void *argument)
{
    int state = PTHREAD_CREATE_JOINABLE;
    const void *pc = USER_PC;
    if (attr != NULL)
        pthread_attr_getdetachstate(attr, &state);
    access_plain((uintptr_t)handle, sizeof *handle, true, pc);
    return create(handle, function, argument, state == PTHREAD_CREATE_DETACHED, true, pc);
}

int vgc_pthread_join(pthread_t handle, void **value);
int vgc_pthread_join(pthread_t handle, void **value)
{
    const void *pc = USER_PC;
    struct thread *me = ME, *t = &G.threads[thread_of(handle)];
    if (t == me || t->joined || t->detached)
        fail(VGC_MISUSE, "join of t%d, which is %s", (int)(t - G.threads),
             t == me ? "the caller" : (t->joined ? "already joined" : "detached"));
    if (t->status != T_ENDED) {
        me->joining = (int)(t - G.threads);
        me->op = (struct op){.kind = OP_JOIN, .pc = pc};
        sched_block(T_JOINING);
        event_end();
    } else {
        step_label(G.current);
        clock_join(&me->dep, &t->dep);
    }
    t->joined = true;
    if (!BROKEN(VGC_RULE_JOIN))
        clock_join(&me->hb, &t->hb);
    spin_progress();
    update_alone();
    if (value != NULL)
        *value = t->value;
    if (G.tracing)
        __builtin_snprintf(trace_add(OP_JOIN, pc)->text, 40, "joins t%d", (int)(t - G.threads));
    return 0;
}

/* Cleanup handlers and destructors of thread-specific data are not modelled: a key of its own would be refused (refused.c). */
_Noreturn void vgc_pthread_exit(void *value);
_Noreturn void vgc_pthread_exit(void *value)
{
    ME->value = value;
    sched_thread_ended();
}

pthread_t vgc_do_thread_start(void *(*function)(void *), void *argument);
pthread_t vgc_do_thread_start(void *(*function)(void *), void *argument)
{
    pthread_t handle;
    create(&handle, function, argument, false, false, USER_PC);
    return handle;
}

void *vgc_do_thread_join(pthread_t thread);
void *vgc_do_thread_join(pthread_t thread)
{
    void *value = NULL;
    vgc_pthread_join(thread, &value);
    return value;
}

pthread_t __real_pthread_self(void);
pthread_t __wrap_pthread_self(void);
pthread_t __wrap_pthread_self(void)
{
    return RUNNING ? (pthread_t)(HANDLE_BASE + G.current) : __real_pthread_self();
}

int vgc_thread_number(void)
{
    return G.current;
}

int __wrap_pthread_detach(pthread_t handle);
int __wrap_pthread_detach(pthread_t handle)
{
    G.threads[thread_of(handle)].detached = true;
    return 0;
}

int __wrap_pthread_setname_np(pthread_t handle, const char *name);
int __wrap_pthread_setname_np(pthread_t handle, const char *name)
{
    struct thread *t = &G.threads[thread_of(handle)];
    if (strlen(name) > 15)
        return ERANGE;
    strcpy(t->name, name);
    return 0;
}

int __wrap_pthread_getname_np(pthread_t handle, char *name, size_t room);
int __wrap_pthread_getname_np(pthread_t handle, char *name, size_t room)
{
    snprintf(name, room, "%s", G.threads[thread_of(handle)].name);
    return 0;
}

int __wrap_pthread_setaffinity_np(pthread_t handle, size_t size, const cpu_set_t *set);
int __wrap_pthread_setaffinity_np(pthread_t handle, size_t size, const cpu_set_t *set)
{
    (void)thread_of(handle);
    (void)size;
    (void)set;
    return 0;
}

int __wrap_pthread_sigmask(int how, const void *set, void *old);
int __wrap_pthread_sigmask(int how, const void *set, void *old)
{
    (void)how;
    (void)set;
    if (old != NULL)
        memset(old, 0, 128); /* sizeof(sigset_t): signals are not modelled, none is blocked */
    return 0;
}

int __wrap_sched_yield(void);
int __wrap_sched_yield(void)
{
    if (RUNNING && G.opt.mode == VGC_PCT && !G.replaying)
        pct_yield();
    return 0;
}

/* ---- C11 ---- */

int vgc_thrd_create(thrd_t *handle, thrd_start_t function, void *argument);
int vgc_thrd_create(thrd_t *handle, thrd_start_t function, void *argument)
{
    /* The int that the function returns lies in the low half of the register of a pointer (thrd_join). */
    void *(*as_pointer)(void *);
    memcpy(&as_pointer, &function, sizeof as_pointer);
    access_plain((uintptr_t)handle, sizeof *handle, true, USER_PC);
    return create((pthread_t *)handle, as_pointer, argument, false, true, USER_PC) == 0 ? thrd_success : thrd_nomem;
}

int vgc_thrd_join(thrd_t handle, int *result);
int vgc_thrd_join(thrd_t handle, int *result)
{
    void *value = NULL;
    vgc_pthread_join((pthread_t)handle, &value);
    if (result != NULL)
        *result = (int)(intptr_t)value;
    return thrd_success;
}

_Noreturn void vgc_thrd_exit(int result);
_Noreturn void vgc_thrd_exit(int result)
{
    vgc_pthread_exit((void *)(intptr_t)result);
}

thrd_t __wrap_thrd_current(void);
thrd_t __wrap_thrd_current(void)
{
    return (thrd_t)__wrap_pthread_self();
}

int __wrap_thrd_detach(thrd_t handle);
int __wrap_thrd_detach(thrd_t handle)
{
    return __wrap_pthread_detach((pthread_t)handle);
}

void __wrap_thrd_yield(void);
void __wrap_thrd_yield(void)
{
    __wrap_sched_yield();
}

void vgc_do_quiesce(void);
void vgc_do_quiesce(void)
{
    const void *pc = USER_PC;
    struct thread *me = ME;
    if (G.quiescing >= 0)
        fail(VGC_MISUSE, "two threads in vgc_quiesce at the same time");
    G.quiescing = G.current;
    me->op = (struct op){.kind = OP_QUIESCE, .all = true, .pc = pc};
    sched_block(T_QUIESCING);
    G.quiescing = -1;
    for (int i = 0; i < G.thread_count; i++) {
        clock_join(&me->hb, &G.threads[i].hb);
        /* What they did since their last visible step, too: they cannot move, so a
     * number more does no harm. */
        step_label(i);
        me->hb.at[i] = G.threads[i].seq;
    }
    event_end();
    spin_progress();
    if (G.tracing)
        trace_add(OP_QUIESCE, pc);
}

/* ---- clock ---- */

enum {
    CLOCK_START = 1000 /* seconds: not 0, so that code which confuses 0 with
                        "none" is not helped */
};

uint64_t clock_start(void)
{
    return (uint64_t)CLOCK_START * 1000000000u;
}

uint64_t vgc_clock_now(void)
{
    return G.now;
}

void vgc_clock_advance(uint64_t nanoseconds)
{
    G.now += nanoseconds;
    spin_progress();
    files_changed(ME->last_event);
    for (int i = 0; i < G.thread_count; i++) {
        struct thread *t = &G.threads[i];
        if (t->timed && t->status != T_READY && t->status != T_ENDED && t->deadline <= G.now) {
            t->timed_out = true;
            sched_wake(i, ME->last_event);
            t->op.queue = t->waiting_at != NULL ? USE_WRITE : USE_NONE;
            t->op.address = t->waiting_at != NULL ? t->waiting_at->address : 0;
        }
    }
}

int __real_clock_gettime(clockid_t id, struct timespec *out);
int __wrap_clock_gettime(clockid_t id, struct timespec *out);
int __wrap_clock_gettime(clockid_t id, struct timespec *out)
{
    if (!RUNNING)
        return __real_clock_gettime(id, out);
    out->tv_sec = (time_t)(G.now / 1000000000u);
    out->tv_nsec = (long)(G.now % 1000000000u);
    return 0;
}

static int sleep_until(uint64_t deadline, const void *pc)
{
    struct thread *me = ME;
    if (deadline <= G.now)
        return 0;
    me->timed = true;
    me->timed_out = false;
    me->deadline = deadline;
    me->waiting_at = NULL;
    me->op = (struct op){.kind = OP_SLEEP, .pc = pc};
    sched_block(T_SLEEPING);
    me->timed = false;
    event_end();
    spin_progress();
    if (G.tracing)
        trace_add(OP_SLEEP, pc);
    return 0;
}

int vgc_nanosleep(const struct timespec *time, struct timespec *left);
int vgc_nanosleep(const struct timespec *time, struct timespec *left)
{
    (void)left;
    return sleep_until(G.now + (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec, USER_PC);
}

int vgc_clock_nanosleep(clockid_t id, int flags, const struct timespec *time, struct timespec *left);
int vgc_clock_nanosleep(clockid_t id, int flags, const struct timespec *time, struct timespec *left)
{
    (void)id;
    (void)left;
    uint64_t span = (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
    return sleep_until(flags & TIMER_ABSTIME ? span : G.now + span, USER_PC);
}

int vgc_thrd_sleep(const struct timespec *time, struct timespec *left);
int vgc_thrd_sleep(const struct timespec *time, struct timespec *left)
{
    return vgc_nanosleep(time, left);
}

unsigned vgc_sleep(unsigned seconds);
unsigned vgc_sleep(unsigned seconds)
{
    sleep_until(G.now + (uint64_t)seconds * 1000000000u, USER_PC);
    return 0;
}

int vgc_usleep(unsigned microseconds);
int vgc_usleep(unsigned microseconds)
{
    return sleep_until(G.now + (uint64_t)microseconds * 1000u, USER_PC);
}

_Noreturn void __wrap_abort(void);
_Noreturn void __wrap_abort(void)
{
    if (!RUNNING)
        exit(134);
    fail(VGC_ASSERTION, "abort() was called");
}

_Noreturn void __wrap___assert_fail(const char *expression, const char *file, unsigned line, const char *function);
_Noreturn void __wrap___assert_fail(const char *expression, const char *file, unsigned line, const char *function)
{
    if (!RUNNING) {
        fprintf(stderr, "%s:%u: %s: %s\n", file, line, function, expression);
        exit(134);
    }
    fail(VGC_ASSERTION, "assert(%s) in %s, %s:%u", expression, function, file, line);
}

/* The C library keeps the sentence of an error that it does not know in memory of its own, and would free it once for each
   execution that begins behind the call. */
char *__real_strerror(int error);
char *__wrap_strerror(int error);
char *__wrap_strerror(int error)
{
    static ENGINE_STATE char unknown[MAX_THREADS][40];
    if (!RUNNING)
        return __real_strerror(error);
    const char *known = strerrordesc_np(error);
    if (known != NULL)
        return (char *)(uintptr_t)known;
    snprintf(unknown[G.current], sizeof unknown[0], "Unknown error %d", error);
    return unknown[G.current];
}
