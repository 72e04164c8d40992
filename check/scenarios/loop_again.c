/* SPDX-License-Identifier: MIT */
/*
 * Memory that is used again: a loop that is freed while the last call from elsewhere is on its way out; and a post in its sender's memory that is posted again as soon as the loop has let go of it.
 */
#include "loop_common.h"

#include "base/futex.h"

typedef enum ending {
    AT_REST,
    SHUTDOWN,
    CLOSE
} ending;

typedef struct setup {
    ending end;
    bool lane; /* the internal lane in place of the ingress */
    bool two;  /* two threads post the same one */
} setup;

static const setup *the_setup(void)
{
    return vgc_arg();
}

static void end_the_loop(void)
{
    vgc_assert((the_setup()->end == CLOSE ? vigil_loop_close(loop, VIGIL_FOREVER)
                                          : vigil_loop_shutdown(loop, VIGIL_FOREVER)) == 0,
               "the loop ends");
}

/* ---- freed at once ---- */

static _Atomic uint32_t told;
static int told_plainly; /* on the loop; read by whoever knows that the loop has ended */

/* relaxed: that the post runs must not order anything but itself */
static void tell(vigil_post *node)
{
    post_ran((counted_post *)(void *)node);
    told_plainly = 1;
    atomic_store_explicit(&told, 1, memory_order_relaxed);
    (void)vg_futex_wake(&told, VG_WAKE_ALL);
}

static int post_it(vigil_post *node)
{
    return the_setup()->lane ? vigil_loop_post_internal(loop, node) : vigil_loop_post(loop, node);
}

static void *post_and_leave(void *arg)
{
    counted_post *post = post_make(0, 1);
    (void)arg;
    vigil_post_init(&post->node, tell, NULL);
    post_answered(post, post_it(&post->node));
    return NULL;
}

static void *run_to_its_end(void *arg)
{
    (void)run_the_loop(arg);
    vgc_assert(vigil_loop_state_get(loop) == VIGIL_LOOP_TERMINATED,
               "a run that returns 0 says that the loop has ended");
    return NULL;
}

/* The post has run, so the call that posted it has begun; nothing says that it has returned. */
static void freed_behind_post(void)
{
    loop_make(VIGIL_FAST_PATH_AUTO, true);
    pthread_t runner = vgc_thread_start(run_to_its_end, NULL);
    pthread_t other = vgc_thread_start(post_and_leave, NULL);
    while (atomic_load_explicit(&told, memory_order_relaxed) == 0)
        (void)vg_futex_wait(&told, 0, VG_NO_DEADLINE);
    end_the_loop();
    vgc_assert(told_plainly == 1, "who waited for the end sees what the callbacks did");
    vgc_thread_join(runner);
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    vgc_thread_join(other);
    each_post_ended_once(true);
}

/* ---- posted again ---- */

enum {
    POSTS = 2,
    TRIES = 3
};

static vigil_post again;
static _Atomic int accepted;
static int runs;          /* on the loop only */
static int cancellations; /* where the loop ends */

static void count_run(vigil_post *node)
{
    (void)node;
    runs++;
}

static void count_cancellation(vigil_post *node)
{
    (void)node;
    cancellations++;
}

static void *post_again(void *arg)
{
    (void)arg;
    for (int i = 0, rc = 0; i < POSTS && rc != -ESHUTDOWN; i++) {
        int tries = 0;
        do
            rc = post_it(&again);
        while (rc == -EBUSY && ++tries < TRIES);
        vgc_assert(rc == 0 || rc == -EBUSY || rc == -ESHUTDOWN, "a post is accepted, busy, or too late");
        (void)atomic_fetch_add_explicit(&accepted, rc == 0, memory_order_relaxed);
    }
    return NULL;
}

static void posted_again(void)
{
    loop_make(VIGIL_FAST_PATH_AUTO, true);
    vigil_post_init(&again, count_run, count_cancellation);
    pthread_t runner = vgc_thread_start(run_the_loop, NULL);
    pthread_t other = vgc_thread_start(post_again, NULL);
    if (the_setup()->two)
        (void)post_again(NULL);
    if (the_setup()->end == AT_REST) {
        vgc_quiesce();
        vgc_assert(asleep(), "the loop sleeps when nothing is to be done");
        vgc_thread_join(other);
    } else {
        end_the_loop();
        vgc_thread_join(other);
        vgc_thread_join(runner);
        vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    }
    vgc_assert(runs + cancellations == atomic_load_explicit(&accepted, memory_order_relaxed) &&
                   (cancellations == 0 || the_setup()->end == CLOSE),
               "each accepted post runs once, or is cancelled once if the loop was closed");
}

/* Two threads post the same one while the lane is closed: who is refused has let go of it, also of what it wrote in vain. */
static void *post_once(void *arg)
{
    (void)arg;
    const int rc = vigil_loop_post_internal(loop, &again);
    vgc_assert(rc == 0 || rc == -EBUSY || rc == -ESHUTDOWN, "a post is accepted, busy, or too late");
    (void)atomic_fetch_add_explicit(&accepted, rc == 0, memory_order_relaxed);
    return NULL;
}

static void refused_and_posted_again(void)
{
    loop_make(VIGIL_FAST_PATH_AUTO, true);
    vigil_post_init(&again, count_run, count_cancellation);
    pthread_t threads[2] = {vgc_thread_start(post_once, NULL), vgc_thread_start(post_once, NULL)};
    (void)vg_lane_close_if_empty(&loop->lane); /* nobody runs the loop: we may */
    for (int i = 0; i < 2; i++)
        vgc_thread_join(threads[i]);
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
    vgc_assert(runs == 0 && cancellations == atomic_load_explicit(&accepted, memory_order_relaxed),
               "each accepted post is cancelled once");
}

/* The first two loops of a process are made by two threads: one of them sets the register of all loops up. */
static void *make_and_free(void *arg)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    vigil_loop *mine = NULL;
    (void)arg;
    vgc_assert(vigil_loop_create(&mine, &options) == 0, "a loop is made");
    vgc_assert(vigil_loop_destroy(mine) == 0, "and goes");
    return NULL;
}

static void first_two(void)
{
    pthread_t other = vgc_thread_start(make_and_free, NULL);
    (void)make_and_free(NULL);
    vgc_thread_join(other);
}

#define LOOP(id, function, property_text, size, end_, lane_, ...)                               \
    static const setup setup_##id = {.end = (end_), .lane = (lane_), ##__VA_ARGS__};            \
    VGC_REGISTER(id, "loop_" #id, function, property_text, .arg = &setup_##id, .bound = (size), \
                 .opt.max_steps = 20000, .opt.allow_sleepers = (end_) == AT_REST,               \
                 .opt.allow_leaks = (end_) == AT_REST, .opt.mode = VGC_PCT, .opt.runs = 4000)

#define FREED "who waits for the end sees what was done, and may free the loop behind the last post"
#define AGAIN "a post may be posted again as soon as it is no longer busy; each accepted one runs or is cancelled once"

LOOP(free_shutdown, freed_behind_post, FREED, "1 post, shutdown", SHUTDOWN, false);
LOOP(free_shutdown_lane, freed_behind_post, FREED, "1 internal post, shutdown", SHUTDOWN, true);
LOOP(free_close, freed_behind_post, FREED, "1 post, close", CLOSE, false);
LOOP(free_close_lane, freed_behind_post, FREED, "1 internal post, close", CLOSE, true);
LOOP(again, posted_again, AGAIN, "1 post x 2; at rest", AT_REST, false);
LOOP(again_lane, posted_again, AGAIN, "1 internal post x 2; at rest", AT_REST, true);
LOOP(again_lane_end, posted_again, AGAIN, "1 internal post x 2; against shutdown", SHUTDOWN, true);
LOOP(again_lane_close, posted_again, AGAIN, "1 internal post x 2; against close", CLOSE, true);
LOOP(again_close, posted_again, AGAIN, "1 post x 2; against close", CLOSE, false);
LOOP(again_two_end, posted_again, AGAIN, "1 internal post x 2 by each of 2 threads; against close", CLOSE, true,
     .two = true);
VGC_REGISTER(again_refused, "loop_again_refused", refused_and_posted_again, AGAIN,
             .bound = "1 internal post by each of 2 threads; against the end of the lane", .opt.weak_cas = 1);
LOOP(again_two, posted_again, AGAIN, "1 internal post x 2 by each of 2 threads; at rest", AT_REST, true, .two = true);

/* ---- run by one after the other ---- */

static void *run_a_turn(void *arg)
{
    (void)arg;
    int rc = vigil_loop_run(loop, VIGIL_RUN_NOWAIT);
    vgc_assert(rc >= 0 || rc == -EBUSY, "a turn, unless the other one is at it");
    return NULL;
}

/* Nothing but the loop itself orders the two: the second must see what the first left behind. */
static void two_runners(void)
{
    loop_make(VIGIL_FAST_PATH_AUTO, true);
    post_number(0, 1);
    post_number(1, 1);
    pthread_t other = vgc_thread_start(run_a_turn, NULL);
    (void)run_a_turn(NULL);
    vgc_thread_join(other);
    (void)run_a_turn(NULL);
    each_post_ended_once(true);
    end_the_loop();
    vgc_assert(vigil_loop_destroy(loop) == 0, "the loop goes");
}

LOOP(first_two, first_two, "loops can be made by several threads at once", "2 threads, a loop each", CLOSE, false);
LOOP(two_runners, two_runners, "a turn sees what the turn of another thread left behind", "2 threads, 2 posts",
     SHUTDOWN, false);
