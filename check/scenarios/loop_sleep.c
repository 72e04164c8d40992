/* SPDX-License-Identifier: MIT */
/*
 * Check-then-sleep (src/loop/SLEEP.md) at its core: the real ingress, posts, sleep, wake and end, with an owner that does
 * nothing but take posts and sleep; and the same with vigil_loop_run as the owner.
 *
 * Properties. At rest: every post has run although nobody comes to wake the loop again, and the loop sleeps. Against a
 * shutdown: accepted == run, and the loop ends. A wake is one system call: at rest no more were made than there were sleeps.
 */
#include "loop_common.h"

typedef struct shape {
    int producers, pushes;
    bool poller;   /* it sleeps in the poller, not on the futex */
    bool asleep;   /* it does so when the producers start */
    bool shutdown; /* the body shuts it down while they post */
    bool whole;    /* vigil_loop_run in place of the bare owner */
    bool core;     /* the end too is only its core: Terminating, and the drain */
    bool lane;     /* the internal lane in place of posts */
    bool handler;  /* as a signal handler posts */
    bool fences;   /* full fences on both sides in place of a membarrier */
} shape;

static const shape *the_shape(void)
{
    return vgc_arg();
}

static void take_what_is_there(void)
{
    vg_taken post;
    while (vg_ingress_take(&loop->ingress, vg_ingress_end(&loop->ingress), &post))
        post.run(post.arg);
    for (vigil_post *next, *each = vg_lane_take(&loop->lane); each != NULL; each = next) {
        next = each->vg_next;
        atomic_store_explicit(&each->vg_queued, 0, memory_order_relaxed);
        each->run(each);
    }
}

/* As vigil_loop_run does it, with turns that know nothing but posts. */
static void *bare_owner(void *arg)
{
    (void)arg;
    atomic_store_explicit(&loop->owner, vg_self(), memory_order_relaxed);
    while (vg_state(loop) < VIGIL_LOOP_TERMINATING) {
        take_what_is_there();
        vg_loop_sleep(loop, VG_NO_DEADLINE);
    }
    if (!the_shape()->core) {
        vg_loop_end(loop);
        return NULL;
    }
    atomic_thread_fence(memory_order_acquire); /* as vg_loop_end has it: the closed door */
    while (!vg_ingress_drained(&loop->ingress)) {
        take_what_is_there();
        vg_thread_yield();
    }
    return NULL;
}

static void node_ran(vigil_post *node)
{
    post_ran((counted_post *)(void *)node);
}

static void *produce(void *arg)
{
    const int number = (int)(intptr_t)arg;
    for (int i = 0; i < the_shape()->pushes; i++) {
        const int which = number * the_shape()->pushes + i;
        if (!the_shape()->lane && !the_shape()->handler) {
            post_number(which, 1 + number);
            continue;
        }
        counted_post *post = post_make(which, 1 + number);
        vigil_post_init(&post->node, node_ran, NULL);
        post_answered(post, the_shape()->handler ? vigil_loop_post_from_handler(loop, &post->node)
                                                 : vigil_loop_post_internal(loop, &post->node));
    }
    return NULL;
}

static void producers_and_sleeper(void)
{
    const shape *s = the_shape();
    pthread_t threads[MOST_PRODUCERS];
    loop_make(s->poller ? VIGIL_FAST_PATH_DISABLED : VIGIL_FAST_PATH_AUTO, true);
    if (!s->whole)
        atomic_store_explicit(&loop->state, VIGIL_LOOP_RUNNING, memory_order_relaxed);
    if (!s->whole)
        atomic_store_explicit(&loop->owner, UINTPTR_MAX,
                              memory_order_relaxed); /* the shutdown leaves it to the owner */
    if (s->fences)
        loop->fences = VG_FENCE_SYMMETRIC;
    if (s->core) {
        atomic_store_explicit(&loop->done, 1, memory_order_relaxed); /* the shutdown does not wait: the body joins */
        vgc_forget(loop->shared, sizeof *loop->shared);              /* numbers that nothing here reads */
    }
    pthread_t owner = vgc_thread_start(s->whole ? run_the_loop : bare_owner, NULL);
    if (s->asleep)
        vgc_quiesce();
    const int here = s->shutdown ? s->producers : s->producers - 1; /* at rest the body is the last producer */
    for (int i = 0; i < here; i++)
        threads[i] = vgc_thread_start(produce, (void *)(intptr_t)i);
    if (s->shutdown) {
        vgc_assert(vigil_loop_shutdown(loop, VIGIL_FOREVER) == 0, "the loop ends");
        for (int i = 0; i < here; i++)
            vgc_thread_join(threads[i]);
        vgc_thread_join(owner);
    } else {
        (void)produce((void *)(intptr_t)here);
        vgc_quiesce();
        vgc_assert(asleep(), "the loop sleeps when nothing is to be done");
        vgc_assert(atomic_load_explicit(&loop->shared->wakes_sent, memory_order_relaxed) <=
                       atomic_load_explicit(&loop->shared->sleeps, memory_order_relaxed) +
                           atomic_load_explicit(&loop->shared->sleeps_avoided, memory_order_relaxed),
                   "a sleep is ended by one system call at most");
    }
    each_post_ended_once(true);
    if (s->shutdown && !s->core)
        vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}

#define NO_LOST_WAKE "no post waits beside a sleeping loop; each accepted one runs once, in order"

/* Explored to the end. */
#define SLEEP(id, size, ...)                                                                                 \
    VGC_REGISTER(id, "sleep_" #id, producers_and_sleeper, NO_LOST_WAKE, .bound = (size), .arg = &shape_##id, \
                 .opt.allow_sleepers = true, .opt.allow_leaks = true, ##__VA_ARGS__)
/* By chance, and with --deep to the end. */
#define SLEEP_LARGE(id, size)                                                                         \
    SLEEP(id, size, .opt.mode = VGC_PCT, .opt.runs = 10000);                                          \
    VGC_REGISTER(id##_all, "sleep_" #id "_all", producers_and_sleeper, NO_LOST_WAKE, .bound = (size), \
                 .arg = &shape_##id, .deep = true, .opt.allow_sleepers = true, .opt.allow_leaks = true)

/* By chance; and with --deep to the end, state by state: their executions are too many. The same under sequential consistency. */
#define SLEEP_CORE(id, size)                                                                             \
    SLEEP(id, size, .opt.mode = VGC_PCT, .opt.runs = 10000);                                             \
    VGC_REGISTER(id##_all, "sleep_" #id "_all", producers_and_sleeper, NO_LOST_WAKE, .bound = (size),    \
                 .arg = &shape_##id, .deep = true, .opt.mode = VGC_STATEFUL, .opt.allow_sleepers = true, \
                 .opt.allow_leaks = true);                                                               \
    VGC_REGISTER(id##_sc, "sleep_" #id "_sc", producers_and_sleeper, NO_LOST_WAKE,                       \
                 .bound = (size "; sequential consistency"), .arg = &shape_##id, .deep = true,           \
                 .opt.mode = VGC_STATEFUL, .opt.sc_memory = true, .opt.allow_sleepers = true, .opt.allow_leaks = true)

static const shape shape_futex_1x1 = {.producers = 1, .pushes = 1};
SLEEP(futex_1x1, "futex, 1 producer x 1, at rest");
static const shape shape_futex_1x2 = {.producers = 1, .pushes = 2};
SLEEP_LARGE(futex_1x2, "futex, 1 producer x 2, at rest");
static const shape shape_futex_1x1_fences = {.producers = 1, .pushes = 1, .fences = true};
SLEEP(futex_1x1_fences, "futex, 1 producer x 1, at rest, without membarrier");
static const shape shape_futex_1x2_fences = {.producers = 1, .pushes = 2, .fences = true};
SLEEP(futex_1x2_fences, "futex, 1 producer x 2, at rest, without membarrier");
static const shape shape_futex_asleep_2x1_fences = {.producers = 2, .pushes = 1, .asleep = true, .fences = true};
SLEEP(futex_asleep_2x1_fences, "futex, asleep, 2 producers x 1, at rest, without membarrier");
static const shape shape_futex_asleep_2x1 = {.producers = 2, .pushes = 1, .asleep = true};
SLEEP_LARGE(futex_asleep_2x1, "futex, asleep, 2 producers x 1, at rest");
static const shape shape_futex_2x1 = {.producers = 2, .pushes = 1};
SLEEP_LARGE(futex_2x1, "futex, 2 producers x 1, at rest");
static const shape shape_futex_2x1_fences = {.producers = 2, .pushes = 1, .fences = true};
SLEEP_LARGE(futex_2x1_fences, "futex, 2 producers x 1, at rest, without membarrier");
static const shape shape_futex_2x2 = {.producers = 2, .pushes = 2};
SLEEP_LARGE(futex_2x2, "futex, 2 producers x 2, at rest");
static const shape shape_futex_end_1x1 = {.producers = 1, .pushes = 1, .shutdown = true};
SLEEP_LARGE(futex_end_1x1, "futex, 1 producer x 1, against shutdown");
static const shape shape_futex_end_2x1 = {.producers = 2, .pushes = 1, .shutdown = true};
SLEEP_LARGE(futex_end_2x1, "futex, 2 producers x 1, against shutdown");
static const shape shape_futex_end_2x2 = {.producers = 2, .pushes = 2, .shutdown = true};
SLEEP_LARGE(futex_end_2x2, "futex, 2 producers x 2, against shutdown");
static const shape shape_run_futex_1x1 = {.producers = 1, .pushes = 1, .whole = true};
SLEEP(run_futex_1x1, "vigil_loop_run, futex, 1 producer x 1, at rest");
static const shape shape_run_futex_1x2 = {.producers = 1, .pushes = 2, .whole = true};
SLEEP_LARGE(run_futex_1x2, "vigil_loop_run, futex, 1 producer x 2, at rest");
static const shape shape_run_futex_2x2 = {.producers = 2, .pushes = 2, .whole = true};
SLEEP_LARGE(run_futex_2x2, "vigil_loop_run, futex, 2 producers x 2, at rest");
static const shape shape_run_futex_end_2x2 = {.producers = 2, .pushes = 2, .whole = true, .shutdown = true};
SLEEP_LARGE(run_futex_end_2x2, "vigil_loop_run, futex, 2 producers x 2, against shutdown");
static const shape shape_epoll_1x1 = {.producers = 1, .pushes = 1, .poller = true};
SLEEP(epoll_1x1, "epoll, 1 producer x 1, at rest");
static const shape shape_epoll_1x2 = {.producers = 1, .pushes = 2, .poller = true};
SLEEP_LARGE(epoll_1x2, "epoll, 1 producer x 2, at rest");
static const shape shape_epoll_1x1_fences = {.producers = 1, .pushes = 1, .poller = true, .fences = true};
SLEEP(epoll_1x1_fences, "epoll, 1 producer x 1, at rest, without membarrier");
static const shape shape_epoll_asleep_2x1_fences = {
    .producers = 2, .pushes = 1, .asleep = true, .poller = true, .fences = true};
SLEEP(epoll_asleep_2x1_fences, "epoll, asleep, 2 producers x 1, at rest, without membarrier");
static const shape shape_epoll_asleep_2x1 = {.producers = 2, .pushes = 1, .asleep = true, .poller = true};
SLEEP_LARGE(epoll_asleep_2x1, "epoll, asleep, 2 producers x 1, at rest");
static const shape shape_epoll_2x1 = {.producers = 2, .pushes = 1, .poller = true};
SLEEP_LARGE(epoll_2x1, "epoll, 2 producers x 1, at rest");
static const shape shape_epoll_2x2 = {.producers = 2, .pushes = 2, .poller = true};
SLEEP_LARGE(epoll_2x2, "epoll, 2 producers x 2, at rest");
static const shape shape_epoll_end_1x1 = {.producers = 1, .pushes = 1, .shutdown = true, .poller = true};
SLEEP_LARGE(epoll_end_1x1, "epoll, 1 producer x 1, against shutdown");
static const shape shape_epoll_end_2x1 = {.producers = 2, .pushes = 1, .shutdown = true, .poller = true};
SLEEP_LARGE(epoll_end_2x1, "epoll, 2 producers x 1, against shutdown");
static const shape shape_epoll_end_2x2 = {.producers = 2, .pushes = 2, .shutdown = true, .poller = true};
SLEEP_LARGE(epoll_end_2x2, "epoll, 2 producers x 2, against shutdown");
static const shape shape_run_epoll_1x1 = {.producers = 1, .pushes = 1, .whole = true, .poller = true};
SLEEP(run_epoll_1x1, "vigil_loop_run, epoll, 1 producer x 1, at rest");
static const shape shape_run_epoll_1x2 = {.producers = 1, .pushes = 2, .whole = true, .poller = true};
SLEEP_LARGE(run_epoll_1x2, "vigil_loop_run, epoll, 1 producer x 2, at rest");
static const shape shape_run_epoll_2x2 = {.producers = 2, .pushes = 2, .whole = true, .poller = true};
SLEEP_LARGE(run_epoll_2x2, "vigil_loop_run, epoll, 2 producers x 2, at rest");
static const shape shape_run_epoll_end_2x2 = {
    .producers = 2, .pushes = 2, .whole = true, .shutdown = true, .poller = true};
SLEEP_LARGE(run_epoll_end_2x2, "vigil_loop_run, epoll, 2 producers x 2, against shutdown");
static const shape shape_lane_1x2 = {.producers = 1, .pushes = 2, .lane = true};
SLEEP(lane_1x2, "futex, 1 producer x 2 in the internal lane, at rest");
static const shape shape_lane_2x1 = {.producers = 2, .pushes = 1, .lane = true};
SLEEP_LARGE(lane_2x1, "futex, 2 producers x 1 in the internal lane, at rest");
static const shape shape_lane_end_2x1 = {.producers = 2, .pushes = 1, .lane = true, .shutdown = true};
SLEEP_LARGE(lane_end_2x1, "futex, 2 producers x 1 in the internal lane, against shutdown");
static const shape shape_handler_1x2 = {.producers = 1, .pushes = 2, .handler = true};
SLEEP(handler_1x2, "futex, 1 producer x 2 as in a signal handler, at rest");
static const shape shape_handler_end_2x1 = {.producers = 2, .pushes = 1, .handler = true, .shutdown = true};
SLEEP_LARGE(handler_end_2x1, "futex, 2 producers x 1 as in a signal handler, against shutdown");
static const shape shape_futex_core_1x1 = {.producers = 1, .pushes = 1, .shutdown = true, .core = true};
SLEEP_CORE(futex_core_1x1, "futex, 1 producer x 1, against Terminating and the drain");
static const shape shape_futex_core_2x1 = {.producers = 2, .pushes = 1, .shutdown = true, .core = true};
SLEEP_CORE(futex_core_2x1, "futex, 2 producers x 1, against Terminating and the drain");
static const shape shape_futex_core_2x2 = {.producers = 2, .pushes = 2, .shutdown = true, .core = true};
SLEEP_CORE(futex_core_2x2, "futex, 2 producers x 2, against Terminating and the drain");
static const shape shape_futex_core_1x1_fences = {
    .producers = 1, .pushes = 1, .shutdown = true, .core = true, .fences = true};
SLEEP_CORE(futex_core_1x1_fences, "futex, 1 producer x 1, against Terminating and the drain, without membarrier");
static const shape shape_futex_core_2x1_fences = {
    .producers = 2, .pushes = 1, .shutdown = true, .core = true, .fences = true};
SLEEP_CORE(futex_core_2x1_fences, "futex, 2 producers x 1, against Terminating and the drain, without membarrier");
static const shape shape_futex_core_2x2_fences = {
    .producers = 2, .pushes = 2, .shutdown = true, .core = true, .fences = true};
SLEEP_CORE(futex_core_2x2_fences, "futex, 2 producers x 2, against Terminating and the drain, without membarrier");
static const shape shape_epoll_core_1x1 = {.producers = 1, .pushes = 1, .shutdown = true, .core = true, .poller = true};
SLEEP_CORE(epoll_core_1x1, "epoll, 1 producer x 1, against Terminating and the drain");
static const shape shape_epoll_core_2x1 = {.producers = 2, .pushes = 1, .shutdown = true, .core = true, .poller = true};
SLEEP_CORE(epoll_core_2x1, "epoll, 2 producers x 1, against Terminating and the drain");
static const shape shape_epoll_core_2x2 = {.producers = 2, .pushes = 2, .shutdown = true, .core = true, .poller = true};
SLEEP_CORE(epoll_core_2x2, "epoll, 2 producers x 2, against Terminating and the drain");
