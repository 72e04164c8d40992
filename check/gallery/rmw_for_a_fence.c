/* SPDX-License-Identifier: MIT */
/*
 * An atomic read-modify-write taken for a full fence.
 *
 * Claimed: the flag is raised by an exchange and the push is an exchange too, both acquire and release. A locked instruction drains the
 * store buffer, so nothing can pass it in either direction.
 *
 * True: on x86, yes. C promises less: acquire holds back what comes later against the *load* half, release holds what came
 * before against the *store* half, and a later load may still be done before the store half is visible. On Arm that is what
 * happens. Making the exchanges seq_cst is not enough as long as the loads are not (second exhibit). Either make all four
 * accesses seq_cst (third, which passes), or write the fence that is meant.
 */
#include "gallery.h"

struct orders {
    memory_order exchange, look;
};

static const struct orders *orders;
static _Atomic unsigned task, sleeping;

static unsigned exchange(_Atomic unsigned *word, unsigned value)
{
    if (orders->exchange == memory_order_acq_rel)
        return atomic_exchange_explicit(word, value, memory_order_acq_rel); /* meant as a fence, and is none */
    return atomic_exchange_explicit(word, value, memory_order_seq_cst);     /* in one order with seq_cst looks only */
}

static unsigned look(_Atomic unsigned *word)
{
    if (orders->look == memory_order_acquire)
        return atomic_load_explicit(word, memory_order_acquire); /* may be older than the exchange before it */
    return atomic_load_explicit(word, memory_order_seq_cst);     /* in one order with the exchanges */
}

static void *worker(void *arg)
{
    (void)arg;
    (void)exchange(&sleeping, 1);
    while (!look(&task))
        futex_wait(&sleeping, 1);
    return NULL;
}

static void one_task(void)
{
    orders = vgc_arg();
    pthread_t t = vgc_thread_start(worker, NULL);
    (void)exchange(&task, 1);
    if (look(&sleeping)) {
        (void)exchange(&sleeping, 0);
        futex_wake(&sleeping, 1);
    }
    vgc_thread_join(t);
}

static const struct orders acquire_release = {memory_order_acq_rel, memory_order_acquire};
static const struct orders only_exchanges = {memory_order_seq_cst, memory_order_acquire};
static const struct orders all_four = {memory_order_seq_cst, memory_order_seq_cst};

VGC_REGISTER(acquire_release, "rmw_for_a_fence", one_task, "a submitted task is run", .arg = &acquire_release,
             .expect = VGC_DEADLOCK, .bound = "1 worker, 1 task", .opt.time_limit = GALLERY_SECONDS);
VGC_REGISTER(only_exchanges, "rmw_seq_cst_for_a_fence", one_task, "a submitted task is run", .arg = &only_exchanges,
             .expect = VGC_DEADLOCK, .bound = "1 worker, 1 task", .opt.time_limit = GALLERY_SECONDS);
VGC_REGISTER(all_four, "all_four_seq_cst", one_task, "a submitted task is run", .arg = &all_four,
             .bound = "1 worker, 1 task", .opt.spurious = 1, .opt.time_limit = GALLERY_SECONDS);
