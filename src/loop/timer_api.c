/* SPDX-License-Identifier: MIT */
/*
 * timer_api.c - the calls of timers, and running a batch. TIMERS.md names the states of a record.
 */
#include "timer_api.h"
#include "clocks.h"
#include "guard.h"
#include "micro.h"
#include "note.h"
#include "sleep.h"
#include "tally.h"
#include "timer_sort.h"
#include "record/probes.h"

#include "base/options.h"

static uint32_t slot_of(const vg_timers *timers, vigil_timer timer)
{
    return vg_registry_find_sized(&timers->slots, timer.id, sizeof(vg_timer));
}

/* The next number comes with a sweep. */
static inline bool number_sweeps(const vg_timers *timers)
{
    return __builtin_expect((timers->next_number & ((1U << 30) - 1)) == 0, 0);
}

static inline uint32_t new_number(vg_timers *timers)
{
    if (number_sweeps(timers))
        vg_timers_sweep(timers);
    return timers->next_number++;
}

/* Room for one more entry, and for repeating timers of the batch. Only here are dead entries swept, when the heap would
   have to grow. */
static __attribute__((noinline)) int make_entry_room(vg_timers *timers, size_t need)
{
    if (timers->dead > vg_heap_size(&timers->heap) / 2) {
        need -= timers->dead;
        vg_timers_sweep(timers);
    }
    const int rc = need + VG_HEAP_ROOT <= timers->heap.room ? 0 : vg_heap_reserve(&timers->heap, 2 * need);
    vg_timers_count_bytes(timers);
    return rc;
}

static inline int reserve_entry(vg_timers *timers)
{
    size_t need = vg_heap_size(&timers->heap) + (timers->batch_count - timers->batch_next) + 1;
    return __builtin_expect(need + VG_HEAP_ROOT <= timers->heap.room, 1) ? 0 : make_entry_room(timers, need);
}

/* Give the timer a deadline. The heap has room. */
static inline void arm_timer(vg_timers *timers, vg_timer *timer, uint32_t slot, uint64_t deadline)
{
    const uint64_t before = vg_timer_due(timer);
    timer->deadline = deadline;
    const uint64_t due = vg_timer_due(timer);
    timer->number = new_number(timers);
    if ((timer->flags & VG_TIMER_QUEUED) != 0) {
        /* An entry that is too early is mended when it comes up. Only an earlier deadline needs a new one. */
        if (due >= before)
            return;
        timers->dead++;
    }
    timer->flags = (uint16_t)((timer->flags & ~VG_TIMER_BATCHED) | VG_TIMER_QUEUED);
    (void)vg_heap_push(&timers->heap, vg_timer_enter(timers, timer, slot)); /* room was reserved */
}

static void end_timer(vigil_loop *loop, vg_timer *timer, uint32_t slot)
{
    vg_timers *timers = &loop->timers;
    if ((timer->flags & VG_TIMER_REFD) != 0)
        timers->refd--;
    uint16_t flags = timer->flags;
    timer->flags = 0;
    vg_registry_free(&timers->slots, slot, timer);
    vg_tally(&loop->shared->timers_ended, 1);
    if ((flags & VG_TIMER_QUEUED) != 0)
        timers->dead++;
    if (timers->slots.live == 0) { /* then all of the heap is dead */
        timers->heap.end = VG_HEAP_ROOT;
        timers->dead = 0;
    }
}

/* ---- the public calls -------------------------------------------------------------------------------------------- */

static __attribute__((noinline, cold)) int refuse_delay(int64_t delay_ns)
{
    return vg_why_say(-EINVAL, "delay_ns is %lld; a delay is 0 or more", (long long)delay_ns);
}

/* At most INT64_MAX: on another clock more than that is below zero (vg_timer_moved). */
static uint64_t saturating_add(uint64_t a, uint64_t b)
{
    return a + b < a || a + b > INT64_MAX ? INT64_MAX : a + b;
}

/* The same for a time of the loop's clock and a delay that is not negative. */
static inline uint64_t delay_end(uint64_t now, int64_t delay_ns)
{
    const uint64_t end = now + (uint64_t)delay_ns;
    return end > INT64_MAX ? INT64_MAX : end;
}

static inline __attribute__((always_inline)) int start_timer(vigil_loop *loop, vigil_timer *timer,
                                                             const vigil_timer_options *options, vigil_timer_fn fn,
                                                             void *arg, const void *created, unsigned clock_flag)
{
    vg_timers *timers = &loop->timers;
    uint32_t slot;
    uint64_t now = atomic_load_explicit(&loop->now, memory_order_relaxed);
    uint64_t deadline = options->deadline_ns;
    if (deadline == 0)
        deadline = delay_end((options->flags & VIGIL_TIMER_FROM_TICK) != 0 ? now : vg_instant_now(&loop->instant),
                             options->delay_ns);
    else if (deadline == VG_NO_DEADLINE)
        deadline--;
    vg_timer *made =
        reserve_entry(timers) != 0 ? NULL : vg_registry_alloc_sized(&timers->slots, &slot, sizeof(vg_timer));
    if (made == NULL)
        return vg_why(-ENOMEM, "no memory for another timer");
    uint64_t slack = (uint64_t)options->slack_ns / VG_SLACK_UNIT;
    bool keeps_alive = (options->flags & VIGIL_TIMER_UNREF) == 0;
    made->interval = (uint64_t)options->interval_ns;
    made->fn = fn;
    made->arg = arg;
    made->created = created;
    made->slack = (uint16_t)(slack > UINT16_MAX ? UINT16_MAX : slack);
    made->since = (uint32_t)((now - loop->made_at) >> VG_SINCE_SHIFT);
    made->flags = (uint16_t)(VG_TIMER_QUEUED | (keeps_alive ? VG_TIMER_REFD : 0) | clock_flag);
    timers->refd += keeps_alive;
    made->deadline = deadline;
    made->number = new_number(timers);
    const uint64_t due = clock_flag != 0 ? vg_timer_due(made) : deadline;
    vg_heap_sift_up(&timers->heap, timers->heap.end++, /* room was reserved */
                    vg_timer_enter_at(timers, made, slot, due, clock_flag != 0));
    vg_tally(&loop->shared->timers_started, 1);
    if (timer != NULL)
        timer->id = vg_registry_name(slot, made);
    vg_loop_stir(loop);
    return 0;
}

/* On any clock. */
static int start_clock_timer(vigil_loop *loop, vigil_timer *timer, const vigil_timer_options *options,
                             vigil_timer_fn fn, void *arg, const void *created)
{
    const unsigned flag = options->clock == VIGIL_CLOCK_BOOTTIME ? VG_TIMER_BOOT : VG_TIMER_WALL;
    vigil_timer_options ours = *options;
    if (options->clock == VIGIL_CLOCK_MONOTONIC)
        return start_timer(loop, timer, options, fn, arg, created, 0);
    if (options->clock != VIGIL_CLOCK_BOOTTIME && options->clock != VIGIL_CLOCK_REALTIME)
        return vg_why(-EINVAL, "options->clock is not one of vigil_clock");
    if (flag == VG_TIMER_WALL && options->deadline_ns == 0)
        return vg_why(-EINVAL,
                      "a delay does not change when the time is set; with VIGIL_CLOCK_REALTIME give deadline_ns");
    int rc = vg_clocks_open(loop);
    if (rc != 0)
        return rc;
    if (ours.deadline_ns != 0)
        ours.deadline_ns = vg_clock_to_loop(loop, flag, ours.deadline_ns);
    return start_timer(loop, timer, &ours, fn, arg, created, flag);
}

static __attribute__((noinline)) int start_slow(vigil_loop *loop, vigil_timer *timer,
                                                const vigil_timer_options *options, vigil_timer_fn fn, void *arg,
                                                const void *created)
{
    int rc = vg_guard_owner(loop);
    if (rc == 0)
        rc = vg_guard_open(loop);
    if (rc != 0)
        return rc;
    if (fn == NULL || options == NULL)
        return vg_why(-EINVAL, "fn or options is NULL");
    vigil_timer_options ours;
    if (options->size != sizeof ours) {
        rc = vg_options_take(&ours, sizeof ours, options, options->size, sizeof ours, "options");
        if (rc != 0)
            return rc;
        options = &ours;
    }
    if ((options->flags & ~(VIGIL_TIMER_UNREF | VIGIL_TIMER_FROM_TICK)) != 0)
        return vg_why(-EINVAL, "options->flags has a flag that is not known");
    if ((options->delay_ns | options->interval_ns | options->slack_ns) < 0)
        return vg_why(-EINVAL, "options->delay_ns, interval_ns or slack_ns is negative");
    return start_clock_timer(loop, timer, options, fn, arg, created);
}

/* Options that start_slow accepts as they are, for the loop's own clock. */
static inline bool usual_options(const vigil_timer_options *options)
{
    return options != NULL && options->size == sizeof *options && /* a copy costs more than the timer */
           (options->flags & ~(VIGIL_TIMER_UNREF | VIGIL_TIMER_FROM_TICK)) == 0 &&
           (options->delay_ns | options->interval_ns | options->slack_ns) >= 0 &&
           options->clock == VIGIL_CLOCK_MONOTONIC;
}

int vigil_timer_start_with(vigil_loop *loop, const vigil_timer_options *options, vigil_timer_fn fn, void *arg,
                           vigil_timer *timer)
{
    if (__builtin_expect(vg_guard_owner_usual(loop) && vg_state(loop) < VIGIL_LOOP_TERMINATING && fn != NULL &&
                             usual_options(options),
                         1))
        return start_timer(loop, timer, options, fn, arg, __builtin_return_address(0), 0);
    return start_slow(loop, timer, options, fn, arg, __builtin_return_address(0));
}

int vigil_timer_start(vigil_loop *loop, int64_t delay_ns, vigil_timer_fn fn, void *arg, vigil_timer *timer)
{
    int rc = vg_guard_owner(loop);
    if (rc == 0)
        rc = vg_guard_open(loop);
    if (rc != 0)
        return rc;
    if (fn == NULL)
        return VG_WHY_NULL("fn");
    if (delay_ns < 0)
        return refuse_delay(delay_ns);
    vigil_timer_options options = {.size = sizeof options, .delay_ns = delay_ns};
    return start_timer(loop, timer, &options, fn, arg, __builtin_return_address(0), 0);
}

static int cancel_timer(vigil_loop *loop, vigil_timer timer)
{
    vg_timers *timers = &loop->timers;
    uint32_t slot = slot_of(timers, timer);
    if (slot == UINT32_MAX)
        return -ESTALE;
    vg_timer *found = vg_timer_at(timers, slot);
    if ((found->flags & (VG_TIMER_QUEUED | VG_TIMER_BATCHED)) == 0)
        return -EBUSY; /* it runs, and nothing is planned after that */
    end_timer(loop, found, slot);
    vg_tally(&loop->shared->timers_cancelled, 1);
    return 0;
}

static __attribute__((noinline)) int cancel_slow(vigil_loop *loop, vigil_timer timer)
{
    int rc = vg_guard_owner(loop);
    return rc != 0 ? rc : cancel_timer(loop, timer);
}

int vigil_timer_cancel(vigil_loop *loop, vigil_timer timer)
{
    return vg_guard_owner_usual(loop) ? cancel_timer(loop, timer) : cancel_slow(loop, timer);
}

int vigil_timer_cancel_many(vigil_loop *loop, const vigil_timer *timers, size_t count)
{
    int rc = vg_guard_owner(loop);
    if (rc != 0)
        return rc;
    if (count > INT32_MAX || (timers == NULL && count != 0))
        return vg_why(-EINVAL, "timers is NULL, or count is more than an int can hold");
    int cancelled = 0;
    for (size_t i = 0; i < count; i++)
        cancelled += cancel_timer(loop, timers[i]) == 0;
    return cancelled;
}

/* on_its_clock: the deadline is a time of the timer's own clock. */
static __attribute__((noinline)) int again_in_heap(vigil_loop *loop, vg_timer *timer, uint32_t slot, uint64_t deadline,
                                                   bool on_its_clock)
{
    if (on_its_clock && (timer->flags & VG_TIMER_CLOCKS) != 0)
        deadline = vg_clock_to_loop(loop, timer->flags & VG_TIMER_CLOCKS, deadline);
    if (reserve_entry(&loop->timers) != 0)
        return vg_why(-ENOMEM, "no memory to move the timer; it stays as it was");
    arm_timer(&loop->timers, timer, slot, deadline == VG_NO_DEADLINE ? deadline - 1 : deadline);
    vg_loop_stir(loop); /* a later deadline needs none: the loop looks again */
    return 0;
}

static inline int move_timer(vigil_loop *loop, vigil_timer name, uint64_t deadline, bool on_its_clock)
{
    vg_timers *timers = &loop->timers;
    uint32_t slot = slot_of(timers, name);
    if (slot == UINT32_MAX)
        return -ESTALE;
    vg_timer *timer = vg_timer_at(timers, slot);
    /* The usual case of arm_timer, in few instructions and without a call: the timer is not in the cache, and the
       caller goes on while it is fetched. */
    if ((timer->flags & VG_TIMER_QUEUED) != 0 && vg_timer_entry_serves(timers, timer, deadline) &&
        !number_sweeps(timers)) {
        timer->deadline = deadline;
        timer->number = timers->next_number++;
        return 0;
    }
    return again_in_heap(loop, timer, slot, deadline, on_its_clock);
}

static __attribute__((noinline)) int again_at_slow(vigil_loop *loop, vigil_timer timer, uint64_t deadline)
{
    int rc = vg_guard_owner(loop);
    return rc != 0 ? rc : move_timer(loop, timer, deadline, true);
}

int vigil_timer_again(vigil_loop *loop, vigil_timer timer, int64_t delay_ns)
{
    int rc = vg_guard_owner(loop);
    if (rc == 0 && delay_ns < 0)
        rc = refuse_delay(delay_ns);
    return rc != 0 ? rc : move_timer(loop, timer, delay_end(vg_instant_now(&loop->instant), delay_ns), false);
}

int vigil_timer_again_at(vigil_loop *loop, vigil_timer timer, uint64_t deadline_ns)
{
    return vg_guard_owner_usual(loop) ? move_timer(loop, timer, deadline_ns, true)
                                      : again_at_slow(loop, timer, deadline_ns);
}

static int set_timer_ref(vigil_loop *loop, vigil_timer timer, bool on)
{
    int rc = vg_guard_owner(loop);
    if (rc != 0)
        return rc;
    uint32_t slot = slot_of(&loop->timers, timer);
    if (slot == UINT32_MAX)
        return -ESTALE;
    vg_timer *found = vg_timer_at(&loop->timers, slot);
    bool is_on = (found->flags & VG_TIMER_REFD) != 0;
    if (on != is_on) {
        found->flags ^= VG_TIMER_REFD;
        loop->timers.refd += on ? 1 : UINT64_MAX;
    }
    return 0;
}

int vigil_timer_ref(vigil_loop *loop, vigil_timer timer)
{
    return set_timer_ref(loop, timer, true);
}

int vigil_timer_unref(vigil_loop *loop, vigil_timer timer)
{
    return set_timer_ref(loop, timer, false);
}

int vigil_timer_deadline(vigil_loop *loop, vigil_timer timer, uint64_t *deadline_ns)
{
    int rc = vg_guard_owner(loop);
    if (rc != 0)
        return rc;
    uint32_t slot = slot_of(&loop->timers, timer);
    if (slot == UINT32_MAX)
        return -ESTALE;
    if (deadline_ns == NULL)
        return VG_WHY_NULL("deadline_ns");
    *deadline_ns = vg_timer_at(&loop->timers, slot)->deadline;
    const unsigned flags = vg_timer_at(&loop->timers, slot)->flags & VG_TIMER_CLOCKS;
    if (flags != 0)
        *deadline_ns = vg_clock_from_loop(loop, flags, *deadline_ns);
    return 0;
}

/* ---- running a batch --------------------------------------------------------------------------------------------- */

/* After the callback, also if it raised: a timer that was not armed again is over. */
static void finish_timer(vigil_loop *loop)
{
    vg_timers *timers = &loop->timers;
    vigil_timer name = {.id = timers->running};
    timers->running = 0;
    uint32_t slot = slot_of(timers, name);
    if (name.id == 0 || slot == UINT32_MAX)
        return;
    vg_timer *timer = vg_timer_at(timers, slot);
    timer->flags &= (uint16_t)~VG_TIMER_RUNNING;
    if ((timer->flags & (VG_TIMER_QUEUED | VG_TIMER_BATCHED)) == 0)
        end_timer(loop, timer, slot);
}

/* The next point of the schedule after `now`. Missed points are skipped; the schedule does not shift. */
static uint64_t next_point(const vg_timer *timer, uint64_t now)
{
    if (vg_timer_before(timer)) /* the difference is right: it wraps as the deadline does */
        return saturating_add(now, timer->interval - (now - timer->deadline) % timer->interval);
    uint64_t next = saturating_add(timer->deadline, timer->interval);
    if (next <= now)
        next = saturating_add(next, ((now - next) / timer->interval + 1) * timer->interval);
    return next;
}

void vg_timers_run(vigil_loop *loop)
{
    vg_timers *timers = &loop->timers;
    uint64_t now = atomic_load_explicit(&loop->now, memory_order_relaxed);
    finish_timer(loop); /* of one that raised */
    while (timers->batch_next < timers->batch_count && !vg_interrupted(loop)) {
        vg_heap_entry entry = timers->batch[timers->batch_next++];
        if (timers->batch_next + 8 < timers->batch_count)
            __builtin_prefetch(vg_timer_at(timers, timers->batch[timers->batch_next + 8].slot), 1);
        vg_timer *timer = vg_timer_at(timers, entry.slot);
        if ((timer->flags & VG_TIMER_BATCHED) == 0 || timer->entry != entry.seq)
            continue; /* cancelled or armed again by a callback before it */
        timer->flags = (uint16_t)((timer->flags & ~VG_TIMER_BATCHED) | VG_TIMER_RUNNING);
        if (timer->interval != 0)
            arm_timer(timers, timer, entry.slot, next_point(timer, now));
        vigil_timer name = {.id = vg_registry_name(entry.slot, timer)};
        timers->running = name.id;
        vg_tally(&loop->shared->timers_fired, 1);
        const uint64_t late = now > entry.key ? now - entry.key : 0;
        VG_PROBE(timer, loop->block.serial, timer->fn, late);
        vg_loop_note_late(loop, late);
        vg_loop_note_call(loop, (uintptr_t)timer->fn);
        timer->fn(loop, name, timer->arg);
        vg_loop_note_called(loop);
        finish_timer(loop);
        vg_checkpoint(loop);
    }
    if (loop->late.width != 0)
        vg_loop_note_late_all(loop);
}

void vg_timers_drop(vigil_loop *loop)
{
    vg_timers *timers = &loop->timers;
    for (uint32_t slot = 0; slot < timers->slots.used; slot++) {
        vg_timer *timer = vg_timer_at(timers, slot);
        if ((timer->head.generation & 1U) == 0)
            continue;
        vg_tally(&loop->shared->timers_cancelled, 1);
        vg_tally(&loop->shared->timers_ended, 1);
        timer->flags = 0;
        vg_registry_free(&timers->slots, slot, timer);
    }
    vg_timers_sweep(timers);
    timers->refd = 0;
    timers->batch_next = timers->batch_count = 0;
    timers->running = 0;
}
