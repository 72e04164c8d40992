/* SPDX-License-Identifier: MIT */
/*
 * post.c - handing work to the loop from any thread.
 */
#include "post.h"
#include "guard.h"
#include "note.h"
#include "sleep.h"

#include "base/container.h"

static __attribute__((noinline, cold)) int refuse_post(vigil_loop *loop, int error)
{
    (void)atomic_fetch_add_explicit(&loop->shared->refused, 1, memory_order_relaxed);
    if (error == -ESHUTDOWN)
        return vg_why(error, "the loop is ending or has ended and takes no more posts");
    if (error == -ENOMEM)
        return vg_why(error, "no memory for another chunk of posts; try again later");
    /* The queue is full, so the owner will come by and report the pressure. */
    uint32_t none = 0;
    (void)atomic_compare_exchange_strong_explicit(&loop->pressure, &none, 1, memory_order_relaxed,
                                                  memory_order_relaxed);
    return vg_why(error, "max_posts wait already; try again when on_event has said VIGIL_LOOP_PRESSURE_OFF");
}

VG_PUSHES static inline __attribute__((always_inline)) int push_post(vigil_loop *loop, vg_call_fn run,
                                                                     vg_call_fn cancel, void *arg, vigil_post **known)
{
    vg_ingress_slot *place;
    int rc = vg_ingress_push_known(&loop->ingress, run, cancel, arg, known, &place);
    if (__builtin_expect(rc != 0, 0))
        return refuse_post(loop, rc);
    vg_loop_wake_posted(loop);
    vg_ingress_leave(place, run); /* the last touch: the loop may be gone after it */
    return 0;
}

VG_PUSHES int vigil_loop_call(vigil_loop *loop, vigil_call_fn fn, vigil_call_fn cancel, void *arg)
{
    int rc = vg_guard_any(loop);
    if (rc != 0)
        return rc;
    if (fn == NULL)
        return vg_why(-EINVAL, "fn is NULL");
    return push_post(loop, fn, cancel, arg, NULL);
}

/* ---- posts that lie in the caller's memory ----------------------------------------------------------------------- */

void vg_run_post(void *arg)
{
    vigil_post *it = arg;
    /* relaxed: the next claimer writes nothing that we read; the place holds all there is */
    atomic_store_explicit(&it->vg_queued, 0, memory_order_relaxed);
    it->run(it);
}

static void cancel_post(void *arg)
{
    vigil_post *it = arg;
    vigil_post_fn cancel = it->cancel;
    atomic_store_explicit(&it->vg_queued, 0, memory_order_relaxed); /* as above */
    if (cancel != NULL)
        cancel(it);
}

static int claim_post(vigil_loop *loop, vigil_post *it)
{
    int rc = vg_guard_any(loop);
    if (rc != 0)
        return rc;
    if (it == NULL || it->run == NULL)
        return vg_why(-EINVAL, "post or post->run is NULL; set it up with vigil_post_init");
    return vg_post_claim(it) ? 0 : -EBUSY;
}

static void unclaim_post(vigil_post *it)
{
    atomic_store_explicit(&it->vg_queued, 0, memory_order_release); /* release: as in vg_fifo_run */
}

VG_PUSHES int vigil_loop_post(vigil_loop *loop, vigil_post *it)
{
    int rc = claim_post(loop, it);
    if (rc != 0)
        return rc;
    rc = push_post(loop, vg_run_post, cancel_post, it, &it->vg_next);
    if (rc != 0)
        unclaim_post(it);
    return rc;
}

static void run_removed(vigil_post *it)
{
    vg_container_of(it, vigil_loop, removed)->own_calls++;
}

/* False: it is not in the queue. O(n). */
static bool fifo_remove(vg_fifo *fifo, const vigil_post *post)
{
    vigil_post *previous = NULL;
    for (vigil_post *each = fifo->first; each != NULL; previous = each, each = each->vg_next) {
        if (each != post)
            continue;
        if (previous == NULL)
            fifo->first = each->vg_next;
        else
            previous->vg_next = each->vg_next;
        if (fifo->last == each)
            fifo->last = previous;
        fifo->count--;
        return true;
    }
    return false;
}

int vigil_loop_post_remove(vigil_loop *loop, vigil_post *post)
{
    int rc = vg_guard_owner(loop);
    if (rc != 0)
        return rc;
    if (post == NULL)
        return VG_WHY_NULL("post");
    if (atomic_load_explicit(&post->vg_queued, memory_order_relaxed) == 0) /* the owner's own store, if it has run */
        return -ENOENT;
    vigil_post_init(&loop->removed, run_removed, NULL);
    const uintptr_t place = (uintptr_t)__atomic_load_n(&post->vg_next, __ATOMIC_RELAXED);
    if (!vg_ingress_withdraw(&loop->ingress, place, post, &loop->removed) &&
        !fifo_remove(&loop->immediates_now, post) && !fifo_remove(&loop->immediates, post))
        return vg_why(-EBUSY,
                      "the post is a tick, a microtask or an internal post, is queued on another loop, or is being "
                      "posted by another thread at this moment");
    unclaim_post(post);
    return 0;
}

static int too_late(vigil_loop *loop, vigil_post *it)
{
    unclaim_post(it);
    (void)atomic_fetch_add_explicit(&loop->shared->internal_refused, 1, memory_order_relaxed);
    return vg_why(-ESHUTDOWN, "the loop has ended");
}

int vigil_loop_post_internal(vigil_loop *loop, vigil_post *it)
{
    int rc = claim_post(loop, it);
    if (rc != 0)
        return rc;
    if (vg_lane_is_closed(&loop->lane))
        return too_late(loop, it); /* not counted in flight: late posts do not delay the end */
    if (vg_is_owner(loop))
        loop->stream_rounds = 0;
    vg_inflight_begin(loop);
    vg_loop_note_post(loop, it); /* before the push: after it the post is not ours */
    if (vg_lane_push(&loop->lane, it)) {
        vg_loop_wake(loop);
    } else {
        rc = too_late(loop, it);
    }
    vg_inflight_end(loop);
    return rc;
}

/* In a signal handler, which may have interrupted anything: atomics and one system call, no lock, no allocation, no
   recorder. */
int vigil_loop_post_from_handler(vigil_loop *loop, vigil_post *post)
{
    if (loop == NULL || post == NULL || post->run == NULL) { /* not vg_why: the log is not for signal handlers */
        vg_why_text = loop == NULL   ? "loop is NULL"
                      : post == NULL ? "post is NULL"
                                     : "post->run is NULL; set it up with vigil_post_init";
        return -EINVAL;
    }
    if (vg_forked(&loop->guard))
        return -ECHILD;
    if (!vg_post_claim(post))
        return -EBUSY;
    vg_inflight_begin(loop);
    const bool accepted = vg_lane_push(&loop->lane, post);
    if (accepted)
        vg_loop_wake_from_handler(loop);
    else
        unclaim_post(post);
    vg_inflight_end(loop);
    return accepted ? 0 : -ESHUTDOWN;
}

/* ---- keeping it alive -------------------------------------------------------------------------------------------- */

static void run_nudge(void *arg)
{
    ((vigil_loop *)arg)->own_calls++;
}

int vg_loop_nudge(vigil_loop *loop)
{
    vg_ingress_slot *place;
    /* Past the bound: a full queue must not prevent a watch. */
    int rc = vg_ingress_push_unbounded(&loop->ingress, run_nudge, NULL, loop, &place);
    if (rc != 0)
        return refuse_post(loop, rc);
    vg_loop_wake_posted(loop);
    vg_ingress_leave(place, run_nudge);
    return 0;
}

int vg_loop_settle(vigil_loop *loop)
{
    if (!vg_is_owner(loop)) {
        /* K2: our addition comes before the look at the owner; pairs with K1 in run.c and R2 in ending.c */
        atomic_thread_fence(memory_order_seq_cst);
        /* acquire: if the owner has left for good, that the loop has ended; pairs with the release in ending.c,
           vg_loop_end */
        if (atomic_load_explicit(&loop->owner, memory_order_acquire) != 0)
            return vg_loop_nudge(loop);
    }
    return vg_guard_open(loop);
}

int vg_loop_keep(vigil_loop *loop)
{
    vg_inflight_begin(loop);
    (void)atomic_fetch_add_explicit(&loop->keep, 1, memory_order_relaxed);
    int rc = vg_loop_settle(loop);
    if (rc != 0)
        (void)atomic_fetch_sub_explicit(&loop->keep, 1, memory_order_relaxed);
    vg_inflight_end(loop);
    return rc;
}

void vg_loop_unkeep(vigil_loop *loop)
{
    vg_inflight_begin(loop);
    /* The last one makes the loop consider its end. The wake fences. */
    /* release: who sees the last reason gone sees that we are in flight; pairs with the acquire fence in vg_loop_end */
    if (atomic_fetch_sub_explicit(&loop->keep, 1, memory_order_release) == 1 && !vg_is_owner(loop))
        vg_loop_wake(loop);
    vg_inflight_end(loop);
}

int vigil_loop_ref(vigil_loop *loop)
{
    int rc = vg_guard_any(loop);
    if (rc == 0)
        rc = vg_guard_over(loop);
    if (rc != 0)
        return rc;
    vg_inflight_begin(loop); /* until the last touch: the loop may be ending */
    rc = vg_loop_keep(loop);
    if (rc == 0)
        (void)atomic_fetch_add_explicit(&loop->refs, 1, memory_order_relaxed);
    vg_inflight_end(loop);
    return rc;
}

int vigil_loop_unref(vigil_loop *loop)
{
    int rc = vg_guard_any(loop);
    if (rc != 0)
        return rc;
    int64_t refs = atomic_load_explicit(&loop->refs, memory_order_relaxed);
    do {
        if (refs == 0)
            return vg_why(-EINVAL, "an unref without a ref");
    } while (!atomic_compare_exchange_weak_explicit(&loop->refs, &refs, refs - 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    vg_loop_unkeep(loop);
    return 0;
}
