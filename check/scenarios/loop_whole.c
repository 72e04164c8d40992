/* SPDX-License-Identifier: MIT */
/*
 * The loop as it is, through its own interface: posts against each way in which it can end, the change of its bed, watches that
 * come and go from other threads, timers that are cancelled while they fall due, references, stop.
 *
 * Those that ask for a wake-up exist at rest and against a shutdown. Property of all: what was accepted runs (or is cancelled,
 * if the loop was closed at once) exactly once, what was refused never, and a loop that is given back leaves nothing behind.
 */
#include "loop_setup.h"

#include <sys/eventfd.h>
#include <unistd.h>

/* ---- ends against posts ---- */

static void posts_and_end(void)
{
    make(true);
    pthread_t threads[3] = {vgc_thread_start(run_the_loop, NULL), vgc_thread_start(produce, (void *)0),
                            vgc_thread_start(produce, (void *)1)};
    finish(threads, 3);
}

/* Two ask for the end at once, in different ways. */
static void *close_it(void *arg)
{
    (void)arg;
    vgc_assert(vigil_loop_close(loop, VIGIL_FOREVER) == 0, "the loop ends");
    return NULL;
}

/* How often the recorder was told that the loop came into this state. */
static int times_noted(vigil_loop_state state)
{
    const uint64_t changes = atomic_load_explicit(&loop->shared->changes, memory_order_relaxed);
    int times = 0;
    for (uint64_t i = 0; i < changes && i < VG_FILE_HISTORY; i++)
        times += atomic_load_explicit(&loop->shared->history[i].state, memory_order_relaxed) == (uint64_t)state;
    return times;
}

static void two_ends(void)
{
    make(true);
    pthread_t threads[3] = {vgc_thread_start(run_the_loop, NULL), vgc_thread_start(produce, (void *)0),
                            vgc_thread_start(close_it, NULL)};
    vgc_assert(vigil_loop_shutdown(loop, VIGIL_FOREVER) == 0, "the loop ends");
    for (int i = 0; i < 3; i++)
        vgc_thread_join(threads[i]);
    each_post_ended_once(false);
    vgc_assert(times_noted(VIGIL_LOOP_TERMINATED) == (the_setup()->watched ? 1 : 0), "the end is written down once");
    destroy();
}

/* Three ask at once, and nobody runs the loop: one ends it, the second finds it ended and gives the right back, and the third, which
   takes it from the second, must find it ended too. */
static void three_ends(void)
{
    make(true);
    pthread_t threads[2] = {vgc_thread_start(close_it, NULL), vgc_thread_start(close_it, NULL)};
    (void)close_it(NULL);
    for (int i = 0; i < 2; i++)
        vgc_thread_join(threads[i]);
    destroy();
}

/* Nothing keeps the loop alive: it ends by itself, in the instant in which the door is closed. */
static void auto_exit(void)
{
    make(false);
    pthread_t first = vgc_thread_start(produce, (void *)0);
    pthread_t second = vgc_thread_start(produce, (void *)1);
    (void)run_the_loop(NULL);
    vgc_thread_join(first);
    vgc_thread_join(second);
    each_post_ended_once(true);
    destroy();
}

/* Who got a reference while the loop was about to end can post. */
static void *ref_and_post(void *arg)
{
    (void)arg;
    int error = vigil_loop_ref(loop);
    vgc_assert(error == 0 || error == -ESHUTDOWN, "a reference is given or refused");
    if (error != 0)
        return NULL;
    post_number(0, 1);
    vgc_assert(!was_refused(0), "a loop that is kept alive takes posts");
    vgc_assert(vigil_loop_unref(loop) == 0, "the reference is given back");
    return NULL;
}

static void ref_against_exit(void)
{
    make(false);
    pthread_t other = vgc_thread_start(ref_and_post, NULL);
    (void)run_the_loop(NULL);
    vgc_thread_join(other);
    each_post_ended_once(true);
    destroy();
}

/* The post itself gives the last reason to live away: the loop may be freed while its producer is on its way out. */
static void unref_in_post(void *arg)
{
    post_ran(arg);
    vgc_assert(vigil_loop_unref(loop) == 0, "the reference is given back");
}

static void *post_the_last(void *arg)
{
    counted_post *post = post_make(0, 1);
    (void)arg;
    post_answered(post, vigil_loop_call(loop, unref_in_post, post_cancelled, post));
    return NULL;
}

static void freed_behind_producer(void)
{
    make(false);
    vgc_assert(vigil_loop_ref(loop) == 0, "a reference is given");
    pthread_t other = vgc_thread_start(post_the_last, NULL);
    (void)run_the_loop(NULL);
    destroy();
    vgc_thread_join(other);
    each_post_ended_once(true);
}

/* The same with the last reference given back by another thread. */
static void *unref(void *arg)
{
    (void)arg;
    vgc_assert(vigil_loop_unref(loop) == 0, "the reference is given back");
    return NULL;
}

static void freed_behind_unref(void)
{
    make(false);
    vgc_assert(vigil_loop_ref(loop) == 0, "a reference is given");
    pthread_t other = vgc_thread_start(unref, NULL);
    (void)run_the_loop(NULL);
    destroy();
    vgc_thread_join(other);
}

/* The end is asked for while another thread may or may not have begun to run the loop (R1, R2). */
static void *run_if_open(void *arg)
{
    (void)arg;
    int rc = vigil_loop_run(loop, VIGIL_RUN_NOWAIT);
    vgc_assert(rc == 0 || rc == 1 || rc == -ESHUTDOWN, "it runs a turn, or the loop is ending");
    return NULL;
}

static void end_against_run(void)
{
    make(true);
    post_number(0, 1);
    pthread_t other = vgc_thread_start(run_if_open, NULL);
    vgc_assert(vigil_loop_close(loop, VIGIL_FOREVER) == 0, "the loop ends, whoever ends it");
    vgc_thread_join(other);
    each_post_ended_once(false);
    destroy();
}

/* The same with a second one that ends it: who wanted to run it finds it ended, and gives the right back to the third. */
static void two_ends_against_run(void)
{
    make(true);
    pthread_t threads[2] = {vgc_thread_start(run_if_open, NULL), vgc_thread_start(close_it, NULL)};
    (void)close_it(NULL);
    for (int i = 0; i < 2; i++)
        vgc_thread_join(threads[i]);
    destroy();
}

/* ---- stop ---- */

static void *run_till_stopped(void *arg)
{
    (void)arg;
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN) == 1, "the run says that it was stopped");
    return NULL;
}

static void stop_and_go_on(void)
{
    make(true);
    pthread_t runner = vgc_thread_start(run_till_stopped, NULL);
    pthread_t other = vgc_thread_start(produce, (void *)0);
    vgc_assert(vigil_loop_pause(loop) == 0, "a stop is taken");
    vgc_thread_join(runner);
    vgc_thread_join(other);
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0, "it goes on where it was");
    vgc_assert(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0, "if the stop was in the middle of a turn: one more");
    each_post_ended_once(true);
    destroy();
}

/* ---- watches and the bed ---- */

static int watched_fd;
static vigil_watch the_watch;
static int events_seen; /* callbacks and closed() only: all on the loop */
static int closes_seen;
static bool added; /* the adder only, and who has joined it or quiesced */

static void on_readable(vigil_loop *on, vigil_watch watch, int fd, unsigned events, void *arg)
{
    uint64_t value = 0;
    (void)on;
    (void)watch;
    (void)arg;
    vgc_assert(closes_seen == 0, "no callback after closed()");
    if ((events & VIGIL_FD_READ) != 0 && read(fd, &value, sizeof value) == (ssize_t)sizeof value)
        events_seen++;
}

static void on_closed(void *arg)
{
    (void)arg;
    closes_seen++;
}

static void *add_watch(void *arg)
{
    (void)arg;
    int error = vigil_watch_add(loop, watched_fd, VIGIL_FD_READ, 0, on_readable, on_closed, NULL, &the_watch);
    vgc_assert(error == 0 || error == -ESHUTDOWN, "a watch is added, or refused because the loop ends");
    added = error == 0;
    return NULL;
}

/* The first watch comes from another thread while the loop is on its way to the futex, or there. */
static void watch_comes(void)
{
    make(true);
    watched_fd = eventfd(1, EFD_NONBLOCK);
    pthread_t threads[3] = {vgc_thread_start(run_the_loop, NULL), vgc_thread_start(add_watch, NULL),
                            vgc_thread_start(produce, (void *)0)};
    finish(threads, 3);
    if (the_setup()->end == AT_REST) {
        vgc_assert(added && events_seen == 1, "the event was seen: the loop changed its bed");
        vgc_assert(closes_seen == 0, "the watch goes on");
    } else {
        vgc_assert(closes_seen == (added ? 1 : 0), "closed() runs once for each watch that was added");
    }
    vgc_assert(close(watched_fd) == 0, "the descriptor is there");
}

static void *remove_watch(void *arg)
{
    (void)arg;
    int error = vigil_watch_remove(loop, the_watch);
    vgc_assert(error == 0 || error == -ESTALE, "a watch is removed, or was over");
    return NULL;
}

static void *make_readable(void *arg)
{
    uint64_t one = 1;
    (void)arg;
    vgc_assert(write(watched_fd, &one, sizeof one) == (ssize_t)sizeof one, "the descriptor takes it");
    return NULL;
}

/* The last watch goes from another thread while its event comes and the loop polls. */
static void watch_goes(void)
{
    make(true);
    watched_fd = eventfd(0, EFD_NONBLOCK);
    (void)add_watch(NULL);
    vgc_assert(added, "the watch is there");
    pthread_t threads[3] = {vgc_thread_start(run_the_loop, NULL), vgc_thread_start(remove_watch, NULL),
                            vgc_thread_start(make_readable, NULL)};
    finish(threads, 3);
    vgc_assert(closes_seen == 1 && events_seen <= 1, "closed() ran once, after every callback");
    vgc_assert(close(watched_fd) == 0, "the descriptor is there");
}

/* An event wakes the loop from the poller, and a post does too. */
static void event_and_post(void)
{
    make(true);
    watched_fd = eventfd(0, EFD_NONBLOCK);
    (void)add_watch(NULL);
    pthread_t threads[3] = {vgc_thread_start(run_the_loop, NULL), vgc_thread_start(produce, (void *)0),
                            vgc_thread_start(make_readable, NULL)};
    finish(threads, 3);
    if (the_setup()->end == AT_REST)
        vgc_assert(events_seen == 1, "the event was seen");
    vgc_assert(close(watched_fd) == 0, "the descriptor is there");
}

static void *change_bed(void *arg)
{
    (void)arg;
    vigil_fast_path other =
        the_setup()->bed == VIGIL_FAST_PATH_DISABLED ? VIGIL_FAST_PATH_AUTO : VIGIL_FAST_PATH_DISABLED;
    int error = vigil_loop_fast_path_set(loop, other);
    vgc_assert(error == 0 || error == -ESHUTDOWN, "the bed is changed, or the loop has ended");
    return NULL;
}

static void node_ran(vigil_post *node)
{
    post_ran((counted_post *)(void *)node);
}

/* A handler takes no lock, under which another waker would find a wake descriptor that it has not seen yet. */
static void *post_as_a_handler(void *arg)
{
    counted_post *post = post_make(0, 1);
    (void)arg;
    vigil_post_init(&post->node, node_ran, NULL);
    post_answered(post, vigil_loop_post_from_handler(loop, &post->node));
    return NULL;
}

static void bed_changes_beside(void *(*producer)(void *))
{
    make(true);
    pthread_t threads[3] = {vgc_thread_start(run_the_loop, NULL), vgc_thread_start(change_bed, NULL),
                            vgc_thread_start(producer, (void *)0)};
    finish(threads, 3);
    if (the_setup()->end == AT_REST) {
        bool in_poller = (atomic_load_explicit(&loop->state, memory_order_relaxed) & VG_SLEEPS_IN_POLLER) != 0;
        vgc_assert(in_poller == (the_setup()->bed != VIGIL_FAST_PATH_DISABLED), "it sleeps where it was told to");
    }
}

static void bed_changes(void)
{
    bed_changes_beside(produce);
}

static void bed_changes_beside_handler(void)
{
    bed_changes_beside(post_as_a_handler);
}

/* ---- timers ---- */

enum {
    DELAY = 1000
};

static vigil_timer the_timer;
static uint64_t due_at;
static int fired; /* on the loop only */
static int cancel_answer = 1;

static void on_timer(vigil_loop *on, vigil_timer timer, void *arg)
{
    (void)on;
    (void)timer;
    (void)arg;
    vgc_assert(vgc_clock_now() >= due_at, "a timer is never early");
    vgc_assert(++fired == 1 && cancel_answer != 0, "it fires once, and not when it was cancelled");
}

static void cancel_timer(void *arg)
{
    post_ran(arg);
    cancel_answer = vigil_timer_cancel(loop, the_timer);
    const bool dropped = vg_state(loop) >= VIGIL_LOOP_TERMINATING; /* the end has dropped the timer, or will not */
    vgc_assert(cancel_answer == (fired != 0 ? -ESTALE : 0) || (dropped && cancel_answer == -ESTALE),
               "the answer is exact");
}

static void *post_cancel(void *arg)
{
    counted_post *post = post_make(0, 1);
    (void)arg;
    post_answered(post, vigil_loop_call(loop, cancel_timer, post_cancelled, post));
    return NULL;
}

/* Another thread posts the cancellation while the loop sleeps until the deadline. */
static void cancel_against_fire(void)
{
    make(true);
    due_at = vgc_clock_now() + DELAY;
    vgc_assert(vigil_timer_start(loop, DELAY, on_timer, NULL, &the_timer) == 0, "the timer is started");
    pthread_t threads[2] = {vgc_thread_start(run_the_loop, NULL), vgc_thread_start(post_cancel, NULL)};
    finish(threads, 2);
    if (the_setup()->end == AT_REST)
        vgc_assert(fired + (cancel_answer == 0) == 1, "it fired or was cancelled");
}

#define ACCEPTED "accepted == run + cancelled; the loop ends and leaves nothing behind"
#define EXIT     "a post that races the loop's own end runs or is refused"

LOOP(shutdown, posts_and_end, ACCEPTED, "futex, 2 producers x 2 against shutdown", FUTEX, SHUTDOWN, 2, BY_CHANCE);
LOOP(shutdown_epoll, posts_and_end, ACCEPTED, "epoll, 2 producers x 2 against shutdown", EPOLL, SHUTDOWN, 2, BY_CHANCE);
LOOP(close, posts_and_end, ACCEPTED, "futex, 2 producers x 2 against close", FUTEX, CLOSE, 2, BY_CHANCE);
LOOP(close_epoll, posts_and_end, ACCEPTED, "epoll, 2 producers x 1 against close", EPOLL, CLOSE, 1, BY_CHANCE);
LOOP(two_ends, two_ends, ACCEPTED, "1 producer x 1 against shutdown against close", FUTEX, CLOSE, 1, BY_CHANCE);
LOOP(three_ends, three_ends, "whoever ends a loop, it ends once", "3 threads close, nobody runs it", FUTEX, CLOSE, 0,
     BY_CHANCE);
LOOP(end_run, end_against_run, ACCEPTED, "close against a run of one turn", FUTEX, CLOSE, 1, BY_CHANCE);
LOOP(end_run_end, two_ends_against_run, "whoever ends a loop, it ends once",
     "2 threads close against a run of one turn", FUTEX, CLOSE, 0, BY_CHANCE);
LOOP(exit, auto_exit, EXIT, "2 producers x 1", FUTEX, SHUTDOWN, 1, BY_CHANCE);
LOOP(exit_two, auto_exit, EXIT, "2 producers x 2", FUTEX, SHUTDOWN, 2, BY_CHANCE);
LOOP(exit_ref, ref_against_exit, "who got a reference can post; the loop ends after it",
     "1 thread with ref, post, unref", FUTEX, SHUTDOWN, 1, BY_CHANCE);
LOOP(exit_free, freed_behind_producer, "the loop can be freed while the last producer is on its way out",
     "1 producer x 1", FUTEX, SHUTDOWN, 1, BY_CHANCE);
LOOP(exit_free_unref, freed_behind_unref, "the loop can be freed while the last unref is on its way out", "1 unref",
     FUTEX, SHUTDOWN, 1, BY_CHANCE);
LOOP(stop, stop_and_go_on, "a stop is not lost, nor is a post beside it", "futex, 1 producer x 1, 1 stop", FUTEX,
     SHUTDOWN, 1, BY_CHANCE);
LOOP(stop_epoll, stop_and_go_on, "a stop is not lost, nor is a post beside it", "epoll, 1 producer x 1, 1 stop", EPOLL,
     SHUTDOWN, 1, BY_CHANCE);

#define WATCH "events and posts are seen, closed() runs once and last"
LOOP(watch_comes, watch_comes, WATCH, "first watch from another thread, 1 producer x 2; at rest", FUTEX, AT_REST, 2,
     BY_CHANCE);
LOOP(watch_comes_end, watch_comes, WATCH, "first watch from another thread, 1 producer x 1; against shutdown", FUTEX,
     SHUTDOWN, 1, BY_CHANCE);
LOOP(watch_goes, watch_goes, WATCH, "last watch removed by another thread while its event comes; at rest", FUTEX,
     AT_REST, 0, BY_CHANCE);
LOOP(watch_goes_end, watch_goes, WATCH, "last watch removed by another thread; against close", FUTEX, CLOSE, 0,
     BY_CHANCE);
LOOP(event_post, event_and_post, WATCH, "1 event, 1 producer x 2; at rest", FUTEX, AT_REST, 2, BY_CHANCE);
LOOP(event_post_end, event_and_post, WATCH, "1 event, 1 producer x 1; against shutdown", FUTEX, SHUTDOWN, 1, BY_CHANCE);
LOOP(bed_up, bed_changes, "no post is lost when the bed changes", "futex to epoll, 1 producer x 2; at rest", FUTEX,
     AT_REST, 2, BY_CHANCE);
LOOP(bed_down, bed_changes, "no post is lost when the bed changes", "epoll to futex, 1 producer x 2; at rest", EPOLL,
     AT_REST, 2, BY_CHANCE);
LOOP(bed_up_end, bed_changes, "no post is lost when the bed changes",
     "futex to epoll, 1 producer x 1; against shutdown", FUTEX, SHUTDOWN, 1, BY_CHANCE);
LOOP(bed_handler, bed_changes_beside_handler, "no post of a signal handler is lost when the bed changes",
     "futex to epoll, 1 post; at rest", FUTEX, AT_REST, 1, BY_CHANCE);
LOOP(bed_handler_end, bed_changes_beside_handler, "no post of a signal handler is lost when the bed changes",
     "futex to epoll, 1 post; against shutdown", FUTEX, SHUTDOWN, 1, BY_CHANCE);
LOOP(timer, cancel_against_fire, "a timer fires or is cancelled, never early, and the answer says which",
     "futex, cancel posted by another thread; at rest", FUTEX, AT_REST, 1, BY_CHANCE, .opt.early_timeouts = 1);
LOOP(timer_epoll, cancel_against_fire, "a timer fires or is cancelled, never early, and the answer says which",
     "epoll, cancel posted by another thread; at rest", EPOLL, AT_REST, 1, BY_CHANCE, .opt.early_timeouts = 1);
LOOP(timer_end, cancel_against_fire, "a timer fires or is cancelled, never early, and the answer says which",
     "futex, cancel posted by another thread; against shutdown", FUTEX, SHUTDOWN, 1, BY_CHANCE,
     .opt.early_timeouts = 1);

WATCHED(shutdown, posts_and_end, ACCEPTED, "futex, 2 producers x 2 against shutdown", FUTEX, SHUTDOWN, 2);
WATCHED(rest, posts_and_end, ACCEPTED, "futex, 2 producers x 2; at rest", FUTEX, AT_REST, 2);
WATCHED(two_ends, two_ends, ACCEPTED, "1 producer x 1 against shutdown against close", FUTEX, CLOSE, 1);
WATCHED(event_post, event_and_post, WATCH, "1 event, 1 producer x 2; at rest", FUTEX, AT_REST, 2);
WATCHED(timer, cancel_against_fire, "a timer fires or is cancelled, never early, and the answer says which",
        "futex, cancel posted by another thread; at rest", FUTEX, AT_REST, 1);
