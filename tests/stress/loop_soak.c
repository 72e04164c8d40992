/* SPDX-License-Identifier: MIT */
/*
 * Everything at once, by dice: loops with random options, threads that post to them, watch descriptors on them, change where they
 * sleep, stop them and look at them; callbacks that use every queue, raise, and take each other's timers and watches away; and at
 * the end a shutdown or a close in the midst of it. Then the books are compared: what was accepted has run or been cancelled, once,
 * every watch has been closed once, and the loop's own numbers say the same.
 * VIGIL_TEST_SEED in the environment repeats a run's dice (not its timing).
 */
#include "dice.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <vigil/loop.h>

enum {
    CALLERS = 4,
    TIMERS = 16,
    WATCHES = 8 /* of each caller */
};

struct world;

struct watched {
    struct world *world;
    vigil_watch watch;
    int fd;
    _Atomic bool open; /* added, and not closed yet */
};

struct caller {
    struct world *world;
    struct dice dice;
    struct watched watches[WATCHES];
};

struct world {
    vigil_loop *loop;
    struct dice dice; /* the owner's */
    bool forced;      /* to the futex: no watches */
    vigil_timer timers[TIMERS];
    vigil_hook hook;
    bool hooked;
    _Atomic bool closing;
    _Atomic uint64_t accepted, ran, cancelled;                   /* posts */
    _Atomic uint64_t internal, internal_ran, internal_cancelled; /* posts on the internal lane */
    _Atomic uint64_t watches, closed;
    _Atomic uint64_t nudges;  /* calls that may make the loop post to itself */
    uint64_t asked, answered; /* the owner's own queues */
    uint64_t raised;
    uint64_t uncaught;
    struct caller callers[CALLERS];
};

static void add(_Atomic uint64_t *counter)
{
    (void)atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static bool refusal(int rc)
{
    return rc == -ESHUTDOWN || rc == -EAGAIN;
}

/* ---- on the loop ------------------------------------------------------------------------------------------------- */

static void behave(struct world *world);

static void owned_run(void *arg)
{
    struct world *world = arg;
    world->answered++;
    if (one_in(&world->dice, 8))
        behave(world);
}

static void owned_cancel(void *arg)
{
    struct world *world = arg;
    world->answered++;
}

static void timer_fires(vigil_loop *loop, vigil_timer timer, void *arg)
{
    struct world *world = arg;
    must(vigil_loop_is_owner(loop));
    if (one_in(&world->dice, 4)) {
        int rc = vigil_timer_cancel(loop, timer); /* itself */
        must(rc == 0 || rc == -EBUSY || rc == -ESHUTDOWN);
    }
    behave(world);
}

static int64_t hook_prepares(vigil_loop *loop, void *arg)
{
    struct world *world = arg;
    (void)loop;
    return one_in(&world->dice, 2) ? -1 : (int64_t)roll(&world->dice, 50000);
}

static bool hook_looks_again(vigil_loop *loop, void *arg)
{
    (void)loop;
    (void)arg;
    return false;
}

static void change_hook(struct world *world)
{
    static const vigil_hook_calls calls = {.size = sizeof calls, .prepare = hook_prepares, .recheck = hook_looks_again};
    int rc = world->hooked ? vigil_hook_remove(world->loop, world->hook)
                           : vigil_hook_add(world->loop, &calls, world, &world->hook);
    must(rc == 0 || rc == -ESHUTDOWN || (world->hooked && rc == -ESTALE));
    if (rc == 0)
        world->hooked = !world->hooked;
}

static void change_timer(struct world *world)
{
    struct dice *dice = &world->dice;
    vigil_timer *timer = &world->timers[roll(dice, TIMERS)];
    int rc = 0;
    switch (roll(dice, 5)) {
    case 0:
        rc = vigil_timer_cancel(world->loop, *timer);
        break;
    case 1:
        rc = vigil_timer_again(world->loop, *timer, roll(dice, 200000));
        break;
    case 2:
        rc = one_in(dice, 2) ? vigil_timer_ref(world->loop, *timer) : vigil_timer_unref(world->loop, *timer);
        break;
    default: {
        (void)vigil_timer_cancel(world->loop, *timer);
        vigil_timer_options options = {.size = sizeof options,
                                       .delay_ns = roll(dice, 300000),
                                       .interval_ns = one_in(dice, 3) ? 1 + roll(dice, 100000) : 0,
                                       .slack_ns = one_in(dice, 4) ? roll(dice, 100000) : 0,
                                       .flags = one_in(dice, 4) ? VIGIL_TIMER_UNREF : 0};
        rc = vigil_timer_start_with(world->loop, &options, timer_fires, world, timer);
        must(rc == 0 || rc == -ESHUTDOWN);
        return;
    }
    }
    must(rc == 0 || rc == -ESTALE || rc == -EBUSY || rc == -ESHUTDOWN);
}

static void own_queue(struct world *world)
{
    static int (*const queues[])(vigil_loop *, vigil_call_fn, vigil_call_fn, void *) = {
        vigil_loop_tick_call, vigil_loop_microtask_call, vigil_loop_immediate_call, vigil_loop_defer_call};
    int rc = queues[roll(&world->dice, 4)](world->loop, owned_run, owned_cancel, world);
    must(rc == 0 || rc == -ESHUTDOWN);
    if (rc == 0)
        world->asked++;
}

static void post(struct world *world);

/* What a callback does: mostly little. */
static void behave(struct world *world)
{
    struct dice *dice = &world->dice;
    switch (roll(dice, 12)) {
    case 0:
    case 1:
        change_timer(world);
        break;
    case 2:
    case 3:
        own_queue(world);
        break;
    case 4:
        if (one_in(dice, 8))
            change_hook(world);
        break;
    case 5:
        if (!atomic_load_explicit(&world->closing, memory_order_relaxed))
            post(world);
        break;
    case 6: {
        char text[512];
        if (one_in(dice, 32)) /* it walks through what waits */
            must(vigil_loop_explain(world->loop, text, sizeof text) >= 0);
        break;
    }
    case 7:
        must_equal(vigil_loop_run(world->loop, VIGIL_RUN_NOWAIT), -EDEADLK);
        must_equal(vigil_loop_close(world->loop, VIGIL_FOREVER), -EDEADLK);
        break;
    case 8:
        if (one_in(dice, 4)) {
            world->raised++;
            vigil_raise(-EPROTO);
        }
        break;
    default:
        break;
    }
}

static void seen_uncaught(void *user, const vigil_uncaught *it)
{
    struct world *world = user;
    must_equal(it->status, -EPROTO);
    world->uncaught++;
}

/* ---- from anywhere ----------------------------------------------------------------------------------------------- */

static void post_run(void *arg)
{
    struct world *world = arg;
    add(&world->ran);
    behave(world);
}

static void post_cancel(void *arg)
{
    struct world *world = arg;
    add(&world->cancelled);
}

static void post(struct world *world)
{
    int rc = vigil_loop_call(world->loop, post_run, post_cancel, world);
    must(rc == 0 || refusal(rc));
    if (rc == 0)
        add(&world->accepted);
}

struct node {
    vigil_post post;
    struct world *world;
    bool internal;
};

static void node_ends(vigil_post *it, bool ran)
{
    struct node *node = container_of(it, struct node, post);
    struct world *world = node->world;
    bool internal = node->internal;
    free(node);
    if (internal)
        add(ran ? &world->internal_ran : &world->internal_cancelled);
    else
        add(ran ? &world->ran : &world->cancelled);
    if (ran)
        behave(world);
}

static void node_run(vigil_post *it)
{
    node_ends(it, true);
}

static void node_cancel(vigil_post *it)
{
    node_ends(it, false);
}

static void post_node(struct world *world, bool internal)
{
    struct node *node = malloc(sizeof *node);
    must(node != NULL);
    vigil_post_init(&node->post, node_run, node_cancel);
    node->world = world;
    node->internal = internal;
    int rc = internal ? vigil_loop_post_internal(world->loop, &node->post) : vigil_loop_post(world->loop, &node->post);
    must(rc == 0 || refusal(rc));
    if (rc != 0)
        free(node);
    else
        add(internal ? &world->internal : &world->accepted);
}

static void watch_fires(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    struct watched *it = arg;
    uint64_t count = 0;
    must_equal(fd, it->fd);
    must((events & VIGIL_FD_GONE) == 0);
    ssize_t got = read(fd, &count, sizeof count); /* several callers may have written; one reading takes all */
    must(got == sizeof count || (got < 0 && errno == EAGAIN));
    if (one_in(&it->world->dice, 8)) { /* itself, while the caller may do the same */
        int rc = vigil_watch_remove(loop, watch);
        must(rc == 0 || rc == -ESTALE);
    }
    behave(it->world);
}

static void watch_closed(void *arg)
{
    struct watched *it = arg;
    add(&it->world->closed);
    /* release: the caller may use the place again when it sees this; pairs with its acquire */
    must(atomic_exchange_explicit(&it->open, false, memory_order_release));
}

static void change_watch(struct world *world, struct caller *caller)
{
    struct dice *dice = &caller->dice;
    struct watched *it = &caller->watches[roll(dice, WATCHES)];
    int rc = 0;
    if (!atomic_load_explicit(&it->open, memory_order_acquire)) {
        if (world->forced)
            return;
        atomic_store_explicit(&it->open, true, memory_order_relaxed);
        add(&world->nudges);
        rc = vigil_watch_add(world->loop, it->fd, VIGIL_FD_READ, one_in(dice, 3) ? VIGIL_WATCH_EDGE : 0, watch_fires,
                             watch_closed, it, &it->watch);
        /* EINVAL: the fast path was forced a moment ago */
        must(rc == 0 || rc == -ESHUTDOWN || rc == -EINVAL);
        if (rc == 0)
            add(&world->watches);
        else
            atomic_store_explicit(&it->open, false, memory_order_relaxed);
        return;
    }
    switch (roll(dice, 3)) {
    case 0:
        rc = vigil_watch_modify(world->loop, it->watch, one_in(dice, 2) ? VIGIL_FD_READ : VIGIL_FD_PRI);
        break;
    case 1:
        rc = vigil_watch_remove(world->loop, it->watch);
        break;
    default: {
        uint64_t one = 1;
        must_equal(write(it->fd, &one, sizeof one), sizeof one);
        break;
    }
    }
    must(rc == 0 || rc == -ESTALE || rc == -ESHUTDOWN);
}

static void *caller_body(void *arg)
{
    struct caller *caller = arg;
    struct world *world = caller->world;
    struct dice *dice = &caller->dice;
    while (!atomic_load_explicit(&world->closing, memory_order_relaxed)) {
        switch (roll(dice, 32)) {
        case 0: {
            vigil_loop_stats stats = {.size = sizeof stats};
            must_equal(vigil_loop_stats_get(world->loop, &stats), 0);
            break;
        }
        case 1: {
            int rc = vigil_loop_pause(world->loop);
            must(rc == 0 || rc == -ESHUTDOWN);
            break;
        }
        case 2: {
            int rc = vigil_loop_fast_path_set(world->loop, (vigil_fast_path)roll(dice, 3));
            must(rc == 0 || rc == -EBUSY || rc == -ESHUTDOWN || rc == -EINVAL);
            break;
        }
        case 3: {
            int rc = vigil_loop_ref(world->loop);
            must(rc == 0 || rc == -ESHUTDOWN);
            if (rc == 0) {
                must_equal(vigil_loop_unref(world->loop), 0);
                add(&world->nudges);
            }
            break;
        }
        case 4:
            must(vigil_loop_now(world->loop) != 0 && !vigil_loop_is_owner(world->loop));
            break;
        case 5:
        case 6: /* this lane has no bound of its own, and a caller is faster than the loop */
            if (world->internal < world->internal_ran + 1000)
                post_node(world, true);
            break;
        case 7:
        case 8:
        case 9:
            post_node(world, false);
            break;
        case 10:
        case 11:
        case 12:
        case 13:
        case 14:
        case 15:
            change_watch(world, caller);
            break;
        case 16:
            yield();
            break;
        default:
            post(world);
            break;
        }
    }
    return NULL;
}

/* ---- a world ----------------------------------------------------------------------------------------------------- */

static void *runner_body(void *arg)
{
    struct world *world = arg;
    for (;;) {
        vigil_run_mode mode = (vigil_run_mode)roll(&world->dice, 3);
        int rc = vigil_loop_run(world->loop, mode);
        if (rc == -ESHUTDOWN || (rc == 0 && mode == VIGIL_RUN))
            return NULL;
        must(rc == 0 || rc == 1);
    }
}

static void random_options(vigil_loop_options *options, struct dice *dice)
{
    options->stay = true;
    options->fast_path = (vigil_fast_path)roll(dice, 3);
    options->microtasks = (vigil_microtask_mode)roll(dice, 2);
    options->microtask_budget = one_in(dice, 2) ? 1 + roll(dice, 4) : 0;
    options->post_budget = one_in(dice, 2) ? 1 + roll(dice, 8) : 0;
    options->max_posts = one_in(dice, 2) ? 1 + roll(dice, 64) : 0;
}

static void end_amid(struct world *world, struct dice *dice)
{
    switch (roll(dice, 3)) {
    case 0: {
        int rc = vigil_loop_shutdown(world->loop, VIGIL_FOREVER);
        must_equal(rc, 0);
        break;
    }
    case 1: {
        int rc = vigil_loop_shutdown(world->loop, (int64_t)roll(dice, 1000000));
        must(rc == 0 || rc == -ETIMEDOUT);
        break;
    }
    default:
        must_equal(vigil_loop_close(world->loop, VIGIL_FOREVER), 0);
        break;
    }
}

static void must_agree(struct world *world)
{
    vigil_loop_stats stats = {.size = sizeof stats};
    must_equal(vigil_loop_stats_get(world->loop, &stats), 0);
    must_equal(world->ran + world->cancelled, world->accepted);
    must_be_between(stats.posts_accepted, world->accepted, world->accepted + world->nudges);
    must_be_between(stats.posts_run, world->ran, world->ran + world->nudges);
    must_be_between(stats.posts_cancelled, world->cancelled, world->cancelled + world->nudges);
    must_equal(stats.posts_run + stats.posts_cancelled, stats.posts_accepted);
    must_equal(stats.posts_queued, 0);
    must_equal(world->internal_ran + world->internal_cancelled, world->internal);
    must_equal(world->answered, world->asked);
    must_equal(world->uncaught, world->raised);
    must_equal(stats.uncaught, world->raised);
    must_equal(world->closed, world->watches);
    must_equal(stats.watches_active, 0);
    must_equal(stats.timers_active, 0);
    must_equal(stats.state, VIGIL_LOOP_TERMINATED);
}

static void one_world(struct dice *dice, uint64_t posts)
{
    struct world *world = calloc(1, sizeof *world);
    must(world != NULL);
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    random_options(&options, dice);
    options.user = world;
    options.on_uncaught = seen_uncaught;
    world->forced = options.fast_path == VIGIL_FAST_PATH_FORCED;
    world->dice.state = dice->state + 1;
    must_equal(vigil_loop_create(&world->loop, &options), 0);
    pthread_t threads[CALLERS];
    pthread_t runner = start_thread(runner_body, world);
    for (int i = 0; i < CALLERS; i++) {
        struct caller *caller = &world->callers[i];
        caller->world = world;
        caller->dice.state = dice->state + (uint64_t)i * 7919 + 3;
        for (int w = 0; w < WATCHES; w++) {
            caller->watches[w].world = world;
            /* every second place shares the descriptor of the one before */
            caller->watches[w].fd = w % 2 == 0 ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : caller->watches[w - 1].fd;
            must(caller->watches[w].fd >= 0);
        }
        threads[i] = start_thread(caller_body, caller);
    }
    while (atomic_load_explicit(&world->accepted, memory_order_relaxed) < posts)
        yield();
    (void)roll(dice, 2);
    end_amid(world, dice);
    must_equal(vigil_loop_wait(world->loop, VIGIL_FOREVER), 0);
    atomic_store_explicit(&world->closing, true, memory_order_relaxed);
    for (int i = 0; i < CALLERS; i++)
        join_thread(threads[i]);
    join_thread(runner);
    must_agree(world);
    must_equal(vigil_loop_destroy(world->loop), 0);
    for (int i = 0; i < CALLERS; i++)
        for (int w = 0; w < WATCHES; w += 2)
            (void)close(world->callers[i].watches[w].fd);
    free(world);
}

static void everything_at_once_keeps_the_books(void **state)
{
    (void)state;
    struct dice dice = dice_of_run();
    uint64_t worlds = scaled(200, 20);
    /* A machine that is busy with other things sees fewer worlds: that they are slow together says nothing of any one of them. */
    const uint64_t until = now_ns() + UINT64_C(60000000000);
    for (uint64_t i = 0; i < worlds && now_ns() < until; i++)
        one_world(&dice, scaled(3000, 300));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(everything_at_once_keeps_the_books),
    };
    return run_all(tests);
}
