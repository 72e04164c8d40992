/* SPDX-License-Identifier: MIT */
/*
 * Fences and membarrier.
 *
 * An acquire fence takes over what the loads before it saw published; a release fence notes what the stores after it
 * publish. A seq_cst fence does both and takes its place in the order S (scorder.c). It does not add to
 * happens-before. membarrier is a seq_cst fence in its caller, then one in each other thread wherever that thread
 * stands, then one in the caller again.
 */
#include "internal.h"

enum {
    RELAXED = 0,
    ACQUIRE = 2,
    RELEASE = 3,
    ACQ_REL = 4,
    SEQ_CST = 5
};

static void take_over(struct thread *t)
{
    if (!BROKEN(VGC_RULE_ACQUIRE_FENCE))
        clock_join(&t->hb, &t->pending_hb);
}

static void publish_later(struct thread *t)
{
    if (!BROKEN(VGC_RULE_RELEASE_FENCE))
        t->fence_hb = t->hb;
}

void memory_fence(int order, const void *pc)
{
    struct thread *me = ME;
    if (order == RELAXED)
        return;
    if (!(G.alone && G.thread_count == 1)) /* nobody to be ordered with: labels are for those to come */
        step_label(G.current);
    if (order != RELEASE)
        take_over(me);
    if (order == SEQ_CST && !G.opt.sc_memory) {
        if (!BROKEN(VGC_RULE_SC_FENCE) && G.thread_count > 1)
            sc_fence(G.current, NULL);
        if (BROKEN(VGC_RULE_FENCE_NO_HB)) {
            clock_join(&me->hb, &G.sc_hb);
            G.sc_hb = me->hb;
        }
    }
    if (order >= RELEASE)
        publish_later(me);
    if (G.tracing)
        trace_add(OP_FENCE, pc)->order = (int8_t)order;
}

void memory_membarrier(const void *pc)
{
    struct op op = {.kind = OP_MEMBARRIER, .all = !G.opt.sc_memory, .pc = pc};
    sched_point(&op);
    if (G.thread_count == 1) {
        event_end();
        return;
    }
    take_over(ME);
    uint32_t first = sc_fence(G.current, NULL);
    publish_later(ME);
    clock_vec after = {0}, others = {0};
    sc_join_event(&after, first);
    for (int i = 0; i < G.thread_count && !BROKEN(VGC_RULE_MEMBARRIER); i++) {
        /* Those that have ended, too: their last stores are out. */
        if (i == G.current)
            continue;
        step_label(i);
        take_over(&G.threads[i]);
        sc_join_event(&others, sc_fence(i, &after));
        publish_later(&G.threads[i]);
    }
    step_label(G.current);
    sc_fence(G.current, &others);
    publish_later(ME);
    event_end();
    spin_progress();
    if (G.tracing)
        trace_add(OP_MEMBARRIER, pc);
}
