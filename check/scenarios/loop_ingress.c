/* SPDX-License-Identifier: MIT */
/*
 * The ingress by itself: producers, the owner, closing, and chunks that are used again (they have two places here).
 *
 * Properties: each accepted post comes out exactly once, in the order of its producer, with what was written before it; a
 * refused one never comes out; accepted == taken when the door is closed and the queue drained; and when the owner has waited for
 * the producers to leave, nobody touches the queue any more, so it may be freed at once.
 */
#include "loop_common.h"

static vg_ingress queue;
static int after[MOST_POSTS]; /* plainly written between the push and the leave: the producer's part of waking */

typedef struct plan {
    int producers, pushes;
    int first; /* if not 0: so many by the first producer */
    int looks; /* how often the owner takes what is there while they push */
    enum {
        JOIN_FIRST,      /* then drain */
        CLOSE,           /* a third thread closes while they push; the owner drains meanwhile */
        CLOSE_IF_DRAINED /* the owner tries to close after each look, and drains */
    } end;
    int before;      /* pushes by the owner before the producers begin; numbered behind theirs */
    bool free_early; /* all is taken: the owner frees the queue while producers are on their way out */
} plan;

static const plan *the_plan(void)
{
    return vgc_arg();
}

static int pushes_of(int producer)
{
    return producer == 0 && the_plan()->first != 0 ? the_plan()->first : the_plan()->pushes;
}

static void push(int number, int producer)
{
    counted_post *post = post_make(number, producer);
    vg_ingress_slot *place = NULL;
    int error = vg_ingress_push(&queue, post_ran, post_cancelled, post, &place);
    post_answered(post, error);
    if (error == 0) {
        after[number_of(post)] = 1;
        vg_ingress_leave(place, post_ran);
    }
}

static void *produce(void *arg)
{
    const int number = (int)(intptr_t)arg;
    for (int i = 0; i < pushes_of(number); i++)
        push(number * the_plan()->pushes + i, 1 + number);
    return NULL;
}

static int take_all(void)
{
    int taken = 0;
    vg_taken post;
    while (vg_ingress_take(&queue, vg_ingress_end(&queue), &post)) {
        post.run(post.arg);
        taken++;
    }
    return taken;
}

static void *close_it(void *arg)
{
    (void)arg;
    vg_ingress_close(&queue);
    return NULL;
}

static void take_until(int wanted, int taken)
{
    while (taken < wanted) {
        int more = take_all();
        if (more == 0)
            vg_thread_yield();
        taken += more;
    }
}

static void producers_and_owner(void)
{
    const plan *p = the_plan();
    pthread_t threads[MOST_PRODUCERS + 1];
    int started = 0;
    int taken = 0;
    vgc_assert(vg_ingress_init(&queue, 0) == 0, "the queue is made");
    for (int i = 0; i < p->before; i++)
        push(p->producers * p->pushes + i, 0);
    for (int i = 0; i < p->producers; i++)
        threads[started++] = vgc_thread_start(produce, (void *)(intptr_t)i);
    if (p->end == CLOSE)
        threads[started++] = vgc_thread_start(close_it, NULL);
    bool closed = false;
    for (int i = 0; i < p->looks; i++) {
        taken += take_all();
        if (p->end == CLOSE_IF_DRAINED && !closed)
            closed = vg_ingress_close_if_drained(&queue);
    }
    if (p->free_early) {
        int all = 0;
        for (int i = 0; i < p->producers; i++)
            all += pushes_of(i);
        take_until(all, taken);
        vgc_assert(vg_ingress_close_if_drained(&queue), "nothing more comes");
        vg_ingress_quiesce(&queue);
        for (int i = 0; i < MOST_POSTS; i++)
            vgc_assert(!posts[i].given || after[i] == 1, "the producer has left");
        each_post_ended_once(true);
        vg_ingress_destroy(&queue);
    }
    for (int i = 0; i < started; i++)
        vgc_thread_join(threads[i]);
    if (p->free_early)
        return;
    if (closed)
        vgc_assert(take_all() == 0, "the door was closed when everything accepted had been taken");
    taken += take_all();
    vgc_assert(!vg_ingress_ready(&queue), "nothing is left");
    each_post_ended_once(true);
    vgc_assert(vg_ingress_close_if_drained(&queue), "all is taken, so it can be closed");
    vgc_assert(vg_ingress_drained(&queue), "and is drained");
    vgc_assert(vg_ingress_accepted(&queue) == (uint64_t)taken, "accepted is what was taken");
    vg_ingress_slot *place;
    vgc_assert(vg_ingress_push(&queue, post_ran, NULL, NULL, &place) == -ESHUTDOWN, "a closed queue refuses");
    vg_ingress_quiesce(&queue);
    vg_ingress_destroy(&queue);
}

#define PROPERTY "each accepted post comes out once, in order, with its data; accepted == taken"

#define INGRESS(id, size, ...)                                                                            \
    VGC_REGISTER(id, "ingress_" #id, producers_and_owner, PROPERTY, .bound = (size ", 2 places a chunk"), \
                 .arg = &plan_##id, ##__VA_ARGS__)
#define INGRESS_TO_THE_END(id, size)                                                                                   \
    VGC_REGISTER(id##_all, "ingress_" #id "_all", producers_and_owner, PROPERTY, .bound = (size ", 2 places a chunk"), \
                 .arg = &plan_##id, .deep = true)

#define FEW_PREEMPTIONS(n) .opt.mode = VGC_PREEMPT, .opt.preemptions = (n)

static const plan plan_one_three = {.producers = 1, .pushes = 3, .looks = 2};
INGRESS(one_three, "1 producer x 3");
static const plan plan_one_five = {.producers = 1, .pushes = 5, .looks = 3};
INGRESS(one_five, "1 producer x 5: chunks are used again", FEW_PREEMPTIONS(2));
INGRESS_TO_THE_END(one_five, "1 producer x 5: chunks are used again");
static const plan plan_two_one = {.producers = 2, .pushes = 1, .looks = 2};
INGRESS(two_one, "2 producers x 1");
static const plan plan_two_two = {.producers = 2, .pushes = 2, .looks = 1};
INGRESS(two_two, "2 producers x 2", FEW_PREEMPTIONS(2));
INGRESS_TO_THE_END(two_two, "2 producers x 2");
static const plan plan_close = {.producers = 2, .pushes = 1, .looks = 1, .end = CLOSE};
INGRESS(close, "2 producers x 1 against close");
static const plan plan_close_chunk = {.producers = 1, .pushes = 3, .looks = 1, .end = CLOSE};
INGRESS(close_chunk, "1 producer x 3 against close");
static const plan plan_close_two = {.producers = 2, .pushes = 2, .looks = 1, .end = CLOSE};
INGRESS(close_two, "2 producers x 2 against close", .opt.mode = VGC_PCT, .opt.runs = 10000);
static const plan plan_drained = {.producers = 2, .pushes = 1, .looks = 2, .end = CLOSE_IF_DRAINED};
INGRESS(drained, "2 producers x 1 against close-if-drained");
static const plan plan_drained_chunk = {.producers = 1, .pushes = 3, .looks = 3, .end = CLOSE_IF_DRAINED};
INGRESS(drained_chunk, "1 producer x 3 against close-if-drained");
static const plan plan_free_one = {.producers = 1, .pushes = 3, .free_early = true};
INGRESS(free_one, "1 producer x 3, freed as soon as all have left", FEW_PREEMPTIONS(2));
INGRESS_TO_THE_END(free_one, "1 producer x 3, freed as soon as all have left");
static const plan plan_free_two = {.producers = 2, .pushes = 1, .free_early = true};
INGRESS(free_two, "2 producers x 1, freed as soon as all have left", FEW_PREEMPTIONS(2));
INGRESS_TO_THE_END(free_two, "2 producers x 1, freed as soon as all have left");
static const plan plan_free_old = {.producers = 2, .pushes = 3, .first = 1, .free_early = true};
INGRESS(free_old, "2 producers x 1 and 3, freed as soon as all have left, also those of an older chunk",
        .opt.mode = VGC_PCT, .opt.runs = 10000);
static const plan plan_late = {.producers = 2, .pushes = 5, .first = 1, .looks = 1};
INGRESS(late, "2 producers x 1 and 5: one meets a chunk that came after it had looked", .opt.mode = VGC_PCT,
        .opt.runs = 10000);
static const plan plan_full = {.producers = 2, .pushes = 2, .first = 1, .before = 2};
INGRESS(full, "2 producers x 1 and 2 that meet a full chunk: one links its own behind the other's");

/* ---- taken back --------------------------------------------------------------------------------------------------- */

/* A producer pushes a post whose place the owner may look up at any time; the owner tries to take it back. */
static vigil_post taken_back;
static int written; /* plainly, before the push */
static int came_itself, came_instead;
static int instead;

static void withdrawn_ran(void *arg)
{
    vgc_assert(arg == &taken_back || arg == &instead, "the post comes out, or what took its place");
    if (arg == &taken_back)
        vgc_assert(written == 1, "with what was written before the push");
    (void)(arg == &taken_back ? came_itself++ : came_instead++);
}

static void *push_known(void *arg)
{
    vg_ingress_slot *place = NULL;
    (void)arg;
    written = 1;
    vgc_assert(vg_ingress_push_known(&queue, withdrawn_ran, NULL, &taken_back, &taken_back.vg_next, &place) == 0,
               "the push is accepted");
    vg_ingress_leave(place, withdrawn_ran);
    return NULL;
}

static void withdraw_while_pushed(void)
{
    taken_back = (vigil_post){0};
    written = came_itself = came_instead = 0;
    vgc_assert(vg_ingress_init(&queue, 0) == 0, "the queue is made");
    for (int i = 0; i < (int)(intptr_t)vgc_arg(); i++)
        push(i, 0); /* a chunk of them: the place lies in one that the producer links */
    pthread_t producer = vgc_thread_start(push_known, NULL);
    const uintptr_t place = (uintptr_t)__atomic_load_n(&taken_back.vg_next, __ATOMIC_RELAXED);
    const bool taken = vg_ingress_withdraw(&queue, place, &taken_back, &instead);
    vgc_thread_join(producer);
    (void)take_all();
    vgc_assert(came_itself == !taken && came_instead == taken, "the post came out unless it was taken back");
    vgc_assert(vg_ingress_close_if_drained(&queue), "all is taken, so it can be closed");
    vg_ingress_quiesce(&queue);
    vg_ingress_destroy(&queue);
}
VGC_REGISTER(withdraw, "ingress_withdraw", withdraw_while_pushed, "a post that is taken back does not come out",
             .bound = "1 producer x 1, the owner takes it back");
VGC_REGISTER(withdraw_next, "ingress_withdraw_next", withdraw_while_pushed,
             "a post that is taken back out of the next chunk does not come out",
             .arg = (void *)(intptr_t)VG_CHUNK_SLOTS,
             .bound = "1 producer x 1 behind a full chunk, the owner takes it back");
