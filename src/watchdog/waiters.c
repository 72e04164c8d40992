/* SPDX-License-Identifier: MIT */
#include "waiters.h"

#include "record/ring_copy.h"

enum {
    WAITS_MOST = 64
};

static void prefer(vg_waiter *best, vg_waiter candidate)
{
    if (best->thread == 0 || (candidate.certain && !best->certain) ||
        (candidate.certain == best->certain && candidate.since_ns > best->since_ns))
        *best = candidate;
}

vg_waiter vg_waiter_find(const vg_pool_history *history, const vg_worker_fact *worker, const vg_look *look,
                         uint64_t least_ns, bool quiet)
{
    vg_waiter best = {0};
    vg_ring_wait waits[WAITS_MOST];
    const unsigned count = vg_ring_waits(waits, WAITS_MOST);
    for (unsigned i = 0; i < count; i++) {
        const vg_ring_wait *one = &waits[i];
        if (one->thread == worker->thread || one->since_ns < least_ns)
            continue;
        const bool stop = one->kind == VG_WAIT_IDLE && one->on == history->serial;
        const bool job = one->kind == VG_WAIT_JOB && worker->job != 0 && one->on == worker->job;
        if (stop || job || (quiet && (one->kind == VG_WAIT_JOB || one->kind == VG_WAIT_GROUP)))
            prefer(&best,
                   (vg_waiter){.thread = one->thread, .stop = stop, .certain = stop || job, .since_ns = one->since_ns});
    }
    const vg_pool_facts *facts = &history->facts;
    for (size_t i = 0; quiet && i < facts->count; i++) {
        const vg_worker_fact *other = &facts->worker[i];
        const uint64_t since = other->wait.since_ns;
        if (other->self != worker->self && other->wait.what != VG_WAITS_NOT && look->real >= since + least_ns)
            prefer(&best, (vg_waiter){.thread = other->thread, .since_ns = look->real - since});
    }
    return best;
}
