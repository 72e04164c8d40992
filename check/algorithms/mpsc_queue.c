/* SPDX-License-Identifier: MIT */
/*
 * Vyukov's queue for many producers and one consumer: an exchange on the tail, then a link. Between the two the queue looks shorter
 * than it is; a consumer that takes "no next" for "empty" and sleeps loses whatever comes behind the gap.
 */
#include <vigil_check.h>
#include <stdatomic.h>
#include <stddef.h>

struct item {
    struct item *_Atomic next;
    int value;
};

static struct item stub, items[2];
static struct item *_Atomic newest;
static struct item *oldest;

static void push(struct item *it, memory_order link)
{
    atomic_store_explicit(&it->next, NULL, memory_order_relaxed);
    struct item *before = atomic_exchange_explicit(&newest, it, memory_order_acq_rel);
    atomic_store_explicit(&before->next, it, link);
}

static struct item *pop(void)
{
    struct item *next = atomic_load_explicit(&oldest->next, memory_order_acquire);
    if (next != NULL)
        oldest = next;
    return next;
}

struct push_args {
    int number;
    memory_order link;
};

static void *producer(void *arg)
{
    const struct push_args *p = arg;
    items[p->number].value = p->number + 1;
    push(&items[p->number], p->link);
    return NULL;
}

static void run(memory_order link, bool gap_is_empty)
{
    static struct push_args args[2];
    atomic_store_explicit(&newest, &stub, memory_order_relaxed);
    oldest = &stub;
    args[0] = (struct push_args){0, link};
    args[1] = (struct push_args){1, link};
    pthread_t a = vgc_thread_start(producer, &args[0]), b = vgc_thread_start(producer, &args[1]);
    int sum = 0, taken = 0;
    if (gap_is_empty) {
        vgc_thread_join(b);
        const struct item *it = pop();
        vgc_assert(it != NULL, "the item of a producer that has returned can be taken");
        vgc_thread_join(a);
        return;
    }
    while (taken < 2) {
        const struct item *it = pop();
        if (it != NULL) {
            sum += it->value;
            taken++;
        }
    }
    vgc_assert(sum == 3, "each once");
    vgc_thread_join(a);
    vgc_thread_join(b);
}

VGC_SCENARIO(mpsc_queue, "each item once", .bound = "2 producers x 1")
{
    run(memory_order_release, false);
}

VGC_SCENARIO(mpsc_queue_link_relaxed, "the item is not there yet", .expect = VGC_DATA_RACE)
{
    run(memory_order_relaxed, false);
}

VGC_SCENARIO(mpsc_queue_gap, "a gap hides items behind it", .expect = VGC_ASSERTION)
{
    run(memory_order_release, true);
}
