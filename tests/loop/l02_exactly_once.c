/* SPDX-License-Identifier: MIT */
/* L2: posts run exactly once, in each producer's order, on the owner; the internal lane goes first. */
#include "loop_test.h"

enum {
    PRODUCERS = 100
};

struct producer {
    vigil_loop *loop;
    uint64_t posts;
    uint64_t next; /* what the owner expects */
    struct tally *finished;
};

struct message {
    struct producer *from;
    uint64_t number;
};

static _Atomic uint64_t total;

static void receive(void *arg)
{
    struct message *message = arg;
    must(vigil_loop_is_owner(message->from->loop));
    must_equal(message->number, message->from->next); /* FIFO per producer, nothing lost, nothing twice */
    message->from->next++;
    atomic_fetch_add_explicit(&total, 1, memory_order_relaxed);
    free(message);
}

static void *produce(void *arg)
{
    struct producer *producer = arg;
    for (uint64_t i = 0; i < producer->posts; i++) {
        struct message *message = malloc(sizeof *message);
        must(message != NULL);
        message->from = producer;
        message->number = i;
        must_equal(vigil_loop_call(producer->loop, receive, NULL, message), 0);
    }
    tally_add(producer->finished, 1);
    return NULL;
}

static void run_producers(vigil_fast_path path)
{
    vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
    options.stay = true;
    options.fast_path = path;
    vigil_loop *loop = loop_with(&options);
    struct producer producers[PRODUCERS];
    struct tally finished = {0};
    pthread_t threads[PRODUCERS];
    uint64_t posts = scaled(10000, 100);
    atomic_store_explicit(&total, 0, memory_order_relaxed);
    pthread_t owner = start_thread(loop_runner, loop);
    for (int i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct producer){.loop = loop, .posts = posts, .finished = &finished};
        threads[i] = start_thread(produce, &producers[i]);
    }
    tally_wait(&finished, PRODUCERS);
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    for (int i = 0; i < PRODUCERS; i++) {
        join_thread(threads[i]);
        must_equal(producers[i].next, posts);
    }
    join_thread(owner);
    vigil_loop_stats stats = loop_stats(loop);
    must_equal(atomic_load_explicit(&total, memory_order_relaxed), PRODUCERS * posts);
    must_equal(stats.posts_accepted, PRODUCERS * posts);
    must_equal(stats.posts_run, PRODUCERS * posts);
    must_equal(stats.posts_queued, 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_hundred_producers_on_the_futex(void **state)
{
    (void)state;
    run_producers(VIGIL_FAST_PATH_AUTO);
}

static void a_hundred_producers_in_the_poller(void **state)
{
    (void)state;
    run_producers(VIGIL_FAST_PATH_DISABLED);
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

static struct journal journal;

struct note {
    vigil_post post;
    char letter;
};

static void write_note(vigil_post *post)
{
    journal_add(&journal, container_of(post, struct note, post)->letter);
}

static void write_letter(void *arg)
{
    journal_add(&journal, *(char *)arg);
}

static void the_internal_lane_goes_first(void **state)
{
    (void)state;
    memset(&journal, 0, sizeof journal);
    vigil_loop *loop = loop_plain();
    struct note notes[4] = {{.letter = 'a'}, {.letter = 'b'}, {.letter = 'x'}, {.letter = 'y'}};
    for (int i = 0; i < 4; i++)
        vigil_post_init(&notes[i].post, write_note, NULL);
    must_equal(vigil_loop_post(loop, &notes[2].post), 0);
    must_equal(vigil_loop_call(loop, write_letter, NULL, &notes[3].letter), 0);
    must_equal(vigil_loop_post_internal(loop, &notes[0].post), 0);
    must_equal(vigil_loop_post_internal(loop, &notes[1].post), 0);
    must_equal(vigil_loop_post_internal(loop, &notes[1].post), -EBUSY);
    must_equal(vigil_loop_post(loop, &notes[2].post), -EBUSY);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_read(&journal, "abxy");
    must_equal(vigil_loop_post_internal(loop, &notes[0].post), -ESHUTDOWN);
    must_equal(vigil_loop_destroy(loop), 0);
}

struct self {
    vigil_post post;
    vigil_loop *loop;
    int left;
    bool inside;
};

static void again(vigil_post *post)
{
    struct self *self = container_of(post, struct self, post);
    must(!self->inside); /* a post of the owner is queued, never run inline */
    if (--self->left == 0)
        return;
    self->inside = true;
    must_equal(vigil_loop_post(self->loop, post), 0); /* the same post, from its own callback */
    self->inside = false;
}

static void again_internal(vigil_post *post)
{
    struct self *self = container_of(post, struct self, post);
    must(!self->inside);
    if (--self->left == 0)
        return;
    self->inside = true;
    must_equal(vigil_loop_post_internal(self->loop, post), 0);
    self->inside = false;
}

static void the_owners_own_posts_are_queued_and_run_in_later_turns(void **state)
{
    (void)state;
    vigil_loop *loop = loop_plain();
    struct self outer = {.loop = loop, .left = 1000};
    struct self inner = {.loop = loop, .left = 1000};
    vigil_post_init(&outer.post, again, NULL);
    vigil_post_init(&inner.post, again_internal, NULL);
    must_equal(vigil_loop_post(loop, &outer.post), 0);
    must_equal(vigil_loop_post_internal(loop, &inner.post), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(outer.left, 0);
    must_equal(inner.left, 0);
    must(loop_stats(loop).turns >= 1000);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* The producer of the last post is still inside the call while the owner destroys the loop. */
static void end_it(void *arg)
{
    must_equal(vigil_loop_shutdown(arg, VIGIL_FOREVER), 0);
}

static void *post_the_end(void *loop)
{
    must_equal(vigil_loop_call(loop, end_it, NULL, loop), 0);
    return NULL;
}

static void *ref_and_unref(void *loop)
{
    int rc = vigil_loop_unref(loop);
    must_equal(rc, 0);
    return NULL;
}

static void a_loop_may_go_while_the_last_poster_leaves(void **state)
{
    (void)state;
    uint64_t rounds = scaled(5000, 50);
    for (uint64_t i = 0; i < rounds; i++) {
        vigil_loop_options options = VIGIL_LOOP_OPTIONS_INIT;
        options.stay = i % 3 != 2;
        options.fast_path = i % 2 == 0 ? VIGIL_FAST_PATH_AUTO : VIGIL_FAST_PATH_DISABLED;
        vigil_loop *loop = loop_with(&options);
        if (i % 3 == 2)
            must_equal(vigil_loop_ref(loop), 0);
        pthread_t thread = start_thread(i % 3 == 2 ? ref_and_unref : post_the_end, loop);
        must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
        must_equal(vigil_loop_destroy(loop), 0);
        join_thread(thread);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_hundred_producers_on_the_futex),
        test(a_hundred_producers_in_the_poller),
        test(the_internal_lane_goes_first),
        test(the_owners_own_posts_are_queued_and_run_in_later_turns),
        test(a_loop_may_go_while_the_last_poster_leaves),
    };
    return run_all(tests);
}
