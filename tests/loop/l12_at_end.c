/* SPDX-License-Identifier: MIT */
/*
 * L12: vigil_loop_at_end_add: whoever waits for something on a loop hears of its end.
 */
#include "loop_test.h"

struct told {
    vigil_at_end node;
    struct journal *journal;
    vigil_loop *loop;
    char letter;
    vigil_at_end *other; /* removed when this one runs */
    bool raises;
};

static void in_microtask(void *arg)
{
    journal_add(arg, 'm');
}

static void tell(vigil_at_end *node)
{
    struct told *self = container_of(node, struct told, node);
    journal_add(self->journal, self->letter);
    must_equal(vigil_loop_state_get(self->loop), VIGIL_LOOP_TERMINATED);
    must_equal(vigil_loop_at_end_add(self->loop, node), -ESHUTDOWN);
    must_equal(vigil_loop_at_end_remove(self->loop, node), -ENOENT);
    must_equal(vigil_loop_call(self->loop, in_microtask, NULL, self->journal), -ESHUTDOWN);
    must_equal(vigil_loop_microtask_call(self->loop, in_microtask, NULL, self->journal), 0);
    if (self->other != NULL)
        must_equal(vigil_loop_at_end_remove(self->loop, self->other), 0);
    if (self->raises)
        vigil_raise(-EIO);
}

static struct told make(vigil_loop *loop, struct journal *journal, char letter)
{
    struct told it = {.journal = journal, .loop = loop, .letter = letter};
    vigil_at_end_init(&it.node, tell);
    return it;
}

static void they_are_told_in_order_once_and_may_remove_each_other(void **state)
{
    (void)state;
    struct journal journal = {0};
    vigil_loop *loop = loop_plain();
    struct told a = make(loop, &journal, 'a');
    struct told b = make(loop, &journal, 'b');
    struct told c = make(loop, &journal, 'c');
    struct told d = make(loop, &journal, 'd');
    struct told e = make(loop, &journal, 'e');
    must_equal(vigil_loop_at_end_add(loop, &a.node), 0);
    must_equal(vigil_loop_at_end_add(loop, &a.node), -EBUSY);
    must_equal(vigil_loop_at_end_add(loop, &b.node), 0);
    must_equal(vigil_loop_at_end_add(loop, &c.node), 0);
    must_equal(vigil_loop_at_end_add(loop, &d.node), 0);
    must_equal(vigil_loop_at_end_add(loop, &e.node), 0);
    must_equal(vigil_loop_at_end_remove(loop, &b.node), 0);
    must_equal(vigil_loop_at_end_remove(loop, &b.node), -ENOENT);
    must_equal(vigil_loop_at_end_add(loop, &b.node), 0); /* again, now last */
    c.other = &d.node;
    must_equal(vigil_loop_at_end_add(loop, NULL), -EINVAL);
    must_equal(vigil_loop_at_end_remove(loop, NULL), -EINVAL);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0); /* they do not keep it alive */
    must_read(&journal, "acebmmmm");
    must_equal(vigil_loop_destroy(loop), 0);
    must_read(&journal, "acebmmmm");
}

static void a_raise_of_one_leaves_the_others_their_turn(void **state)
{
    (void)state;
    struct journal journal = {0};
    vigil_loop *loop = loop_plain();
    struct told a = make(loop, &journal, 'a');
    struct told b = make(loop, &journal, 'b');
    a.raises = true;
    must_equal(vigil_loop_at_end_add(loop, &a.node), 0);
    must_equal(vigil_loop_at_end_add(loop, &b.node), 0);
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    must(strchr(journal.text, 'a') != NULL && strchr(journal.text, 'b') != NULL);
    must_equal((int)journal.length, 4);
    must_equal(loop_stats(loop).uncaught, 1);
    must_equal(vigil_loop_destroy(loop), 0);
}

static void a_closed_loop_tells_them_too(void **state)
{
    (void)state;
    struct journal journal = {0};
    vigil_loop *loop = loop_plain();
    struct told a = make(loop, &journal, 'a');
    must_equal(vigil_loop_at_end_add(loop, &a.node), 0);
    must_equal(vigil_loop_destroy(loop), 0);
    must_read(&journal, "a"); /* a closed loop runs no microtasks */
}

static void *from_elsewhere(void *arg)
{
    vigil_loop *loop = arg;
    vigil_at_end node;
    vigil_at_end_init(&node, tell);
    must_equal(vigil_loop_at_end_add(loop, &node), -EPERM);
    must_equal(vigil_loop_at_end_remove(loop, &node), -EPERM);
    must_equal(vigil_loop_shutdown(loop, VIGIL_FOREVER), 0);
    return NULL;
}

static void it_belongs_to_the_owner(void **state)
{
    (void)state;
    vigil_loop *loop = loop_that_stays();
    pthread_t runner = start_thread(loop_runner, loop);
    loop_wait_sleeping(loop);
    join_thread(start_thread(from_elsewhere, loop));
    join_thread(runner);
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(they_are_told_in_order_once_and_may_remove_each_other),
        test(a_raise_of_one_leaves_the_others_their_turn),
        test(a_closed_loop_tells_them_too),
        test(it_belongs_to_the_owner),
    };
    return run_all(tests);
}
