/* SPDX-License-Identifier: MIT */
#include "sinks.h"

#include "base/thread.h"

void vg_sinks_init(vg_sinks *sinks)
{
    atomic_store_explicit(&sinks->first, NULL, memory_order_relaxed);
    atomic_store_explicit(&sinks->phase, 0, memory_order_relaxed);
    atomic_store_explicit(&sinks->inside[0], 0, memory_order_relaxed);
    atomic_store_explicit(&sinks->inside[1], 0, memory_order_relaxed);
}

void vg_sinks_add(vg_sinks *sinks, vg_sink *sink)
{
    atomic_store_explicit(&sink->next, atomic_load_explicit(&sinks->first, memory_order_relaxed), memory_order_relaxed);
    /* release: the sink; pairs with the acquire in vg_sinks_put */
    atomic_store_explicit(&sinks->first, sink, memory_order_release);
}

/* Every reader that began before the call has left. */
static void wait_for_readers(vg_sinks *sinks)
{
    for (int round = 0; round < 2; round++) {
        const uint32_t before = atomic_load_explicit(&sinks->phase, memory_order_relaxed);
        atomic_store_explicit(&sinks->phase, before + 1, memory_order_relaxed);
        /* H2: the unlinking comes before the look at the readers; pairs with H1 in vg_sinks_put */
        atomic_thread_fence(memory_order_seq_cst);
        /* acquire: the readers' last touch; pairs with the release in vg_sinks_put */
        while (atomic_load_explicit(&sinks->inside[before & 1U], memory_order_acquire) != 0)
            vg_thread_yield();
    }
}

void vg_sinks_remove(vg_sinks *sinks, vg_sink *sink)
{
    _Atomic(vg_sink *) *link = &sinks->first;
    for (vg_sink *each; (each = atomic_load_explicit(link, memory_order_relaxed)) != sink;) {
        if (each == NULL)
            return;
        link = &each->next;
    }
    /* release: a reader that finds the next sink as the first sees what is in it; pairs with the acquire in
       vg_sinks_put */
    atomic_store_explicit(link, atomic_load_explicit(&sink->next, memory_order_relaxed), memory_order_release);
    wait_for_readers(sinks);
}

bool vg_sinks_put(vg_sinks *sinks, const vg_signal_record *record)
{
    const uint64_t bit = vg_sink_bit(record->signo);
    const uint32_t phase = atomic_load_explicit(&sinks->phase, memory_order_relaxed) & 1U;
    bool wanted = false;
    (void)atomic_fetch_add_explicit(&sinks->inside[phase], 1, memory_order_relaxed);
    /* H1: counted in before the list is read; pairs with H2 in wait_for_readers */
    atomic_thread_fence(memory_order_seq_cst);
    /* acquire: what is in the sink; pairs with the releases in vg_sinks_add and vg_sinks_remove. relaxed further on:
       what is behind a sink is older and was published before it */
    for (vg_sink *sink = atomic_load_explicit(&sinks->first, memory_order_acquire); sink != NULL;
         sink = atomic_load_explicit(&sink->next, memory_order_relaxed)) {
        if ((atomic_load_explicit(&sink->wanted, memory_order_relaxed) & bit) == 0)
            continue;
        wanted = true;
        sink->put(sink, record);
    }
    /* release: the last touch of the sinks; pairs with the acquire in wait_for_readers */
    (void)atomic_fetch_sub_explicit(&sinks->inside[phase], 1, memory_order_release);
    return wanted;
}
