/* SPDX-License-Identifier: MIT */
/* The loop's rows of docs/costs.md, "Shared lines". */
#include "lines.h"

#include "loop/guard.h"

#include <vigil/loop.h>

enum {
    ROUNDS = 1024
};

typedef struct item {
    _Alignas(64) vigil_post post;
} item;

static vigil_loop *loop;
static item items[2 * ROUNDS];
static struct turns turns;
static struct tally done;
static pthread_t owner;

static void count(vigil_post *post)
{
    (void)post;
    tally_add(&done, 1);
}

static void pass(void *gate)
{
    gate_pass(gate);
}

static void *run_loop(void *arg)
{
    must_equal(vigil_loop_run(arg, VIGIL_RUN), 0);
    return NULL;
}

static void begin(void)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.stay = true;
    must_equal(vigil_loop_create(&loop, &options), 0);
    done = (struct tally){0};
    turns = (struct turns){0};
    for (uint32_t i = 0; i < 2 * ROUNDS; i++)
        vigil_post_init(&items[i].post, count, NULL);
    owner = start_thread(run_loop, loop);
}

static void end(void)
{
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    join_thread(owner);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void post(uint32_t number)
{
    must_equal(vigil_loop_post(loop, &items[number].post), 0);
}

/* It looks at the loop itself, in this file, where no access counts. */
static void wait_asleep(void)
{
    while (vg_state(loop) != VIGIL_LOOP_SLEEPING)
        yield();
}

static void *post_each_second(void *arg)
{
    for (uint32_t i = (uint32_t)(uintptr_t)arg; i < 2 * ROUNDS; i += 2) {
        turn_wait(&turns, i);
        if (i == 64)
            (void)lines_moved(); /* both have begun */
        post(i);
        turn_end(&turns);
    }
    return NULL;
}

static void a_post_shares_the_end_of_the_queue(void **state)
{
    (void)state;
    struct gate gate = {0};
    begin();
    must_equal(vigil_loop_call(loop, pass, NULL, &gate), 0);
    gate_wait_entered(&gate, 1);
    pthread_t other = start_thread(post_each_second, (void *)(uintptr_t)1);
    post_each_second((void *)(uintptr_t)0);
    join_thread(other);
    const double moves = (double)lines_moved() / (2 * ROUNDS - 64);
    gate_open(&gate);
    tally_wait(&done, 2 * ROUNDS);
    end();
    must_be_in_the_table("`vigil_loop_post`, two threads in turn, the loop busy", moves);
}

static void a_post_goes_to_the_loop_and_comes_back(void **state)
{
    (void)state;
    double there = 0, back = 0;
    begin();
    for (uint32_t round = 0; round < 8; round++) {
        struct gate gate = {0};
        must_equal(vigil_loop_call(loop, pass, NULL, &gate), 0);
        gate_wait_entered(&gate, 1);
        (void)lines_moved();
        for (uint32_t i = 0; i < ROUNDS; i++)
            post(i);
        const double to_post = (double)lines_moved() / ROUNDS;
        back = round < 2 ? 0 : least(back, to_post); /* at first it takes memory that was never used */
        gate_open(&gate);
        tally_wait(&done, (round + 1) * ROUNDS);
        there = least(there, (double)lines_moved() / ROUNDS);
    }
    end();
    must_be_in_the_table("a post, for the loop that runs it", there);
    must_be_in_the_table("the next post, for the thread that posts", back);
}

static void a_wake_moves_few_lines(void **state)
{
    (void)state;
    begin();
    double moves = 0;
    for (uint32_t i = 0; i < 8 * 64; i++) {
        wait_asleep();
        if (i % 64 == 0) {
            const double each = (double)lines_moved() / 64;
            moves = i <= 64 ? 0 : least(moves, each);
        }
        post(0);
        tally_wait(&done, i + 1);
    }
    wait_asleep();
    end();
    must_be_within_the_table("a post to a sleeping loop: post, wake, run, sleep, at most", moves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_post_shares_the_end_of_the_queue),
        cmocka_unit_test(a_post_goes_to_the_loop_and_comes_back),
        cmocka_unit_test(a_wake_moves_few_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
