/* SPDX-License-Identifier: MIT */
/*
 * What a thread says of itself again and again, what it waits for and in which states it was, against its reader (reader_snapshot.c).
 * Property: a wait that is shown is one that was; a state is shown with the time since which it was; nothing is shown that lies
 * half under what came later.
 */
#include "recorder_file.h"

#include <stdlib.h>

/* ---- waits ---- */

static vg_file_wait *the_wait; /* of the body's thread; another goes on with it */

static void wait_for(uint64_t n)
{
    vg_wait_begin(the_wait, n % 2 != 0 ? VG_WAIT_GROUP : VG_WAIT_JOB, n, n + 100, 1);
}

static void check_wait(const vg_wait_view *wait)
{
    vgc_assert(wait->kind == VG_WAIT_NONE || (wait->where == wait->on + 100 && wait->on != 0 &&
                                              wait->kind == (wait->on % 2 != 0 ? VG_WAIT_GROUP : VG_WAIT_JOB)),
               "a wait that is shown is one that was");
}

static void *wait_twice(void *arg)
{
    (void)arg;
    vg_wait_end(the_wait);
    wait_for(2);
    vg_wait_end(the_wait);
    wait_for(3);
    return NULL;
}

static void *wait_once(void *arg)
{
    (void)arg;
    vg_wait_end(the_wait);
    wait_for(2);
    return NULL;
}

static vg_wait_view shown_wait(void)
{
    vg_snapshot *seen = recording_snapshot();
    vgc_assert(seen->thread_count == 1, "there is a thread");
    const vg_wait_view wait = seen->threads[0].wait;
    vg_snapshot_free(seen);
    return wait;
}

static pthread_t begin_waits(void *(*body)(void *))
{
    recording_begin();
    vg_ring_attach(VG_ROLE_WORKER, 0, 0);
    the_wait = &vg_my_ring.thread->wait;
    wait_for(1);
    recording_watch(the_wait, 4 * sizeof(vg_cell)); /* but since */
    recording_settle();
    return vgc_thread_start(body, NULL);
}

static void waits(void)
{
    void *(*body)(void *) = *(void *(*const *)(void *))vgc_arg();
    pthread_t owner = begin_waits(body);
    const vg_wait_view wait = shown_wait();
    check_wait(&wait);
    vgc_thread_join(owner);
    const vg_wait_view last = shown_wait();
    check_wait(&last);
    vgc_assert(last.on == (body == wait_once ? 2 : 3), "what lies still is shown");
    vg_reader_free_names(&recording_reader);
}

#define ONE_WAIT "a wait that is shown is one that was"
static void *(*const once)(void *) = wait_once;
VGC_REGISTER(once, "wait_again", waits, ONE_WAIT, .bound = "a wait ends and another begins, 1 reading", .arg = &once);
static void *(*const twice)(void *) = wait_twice;
VGC_REGISTER(twice, "wait_twice", waits, ONE_WAIT, .bound = "a wait ends and two others follow, 1 reading",
             .arg = &twice, .deep = true);

static void wait_never(void)
{
    pthread_t owner = begin_waits(wait_once);
    const vg_wait_view wait = shown_wait();
    const uint64_t shown = wait.kind != VG_WAIT_NONE ? wait.on : 0;
    vgc_assert(shown != (uint64_t)(uintptr_t)vgc_arg(), "it is shown");
    vgc_thread_join(owner);
    vg_reader_free_names(&recording_reader);
}

VGC_REGISTER(wait_none, "wait_can_be_hidden", wait_never, "a wait that changes is not shown", .arg = (const void *)0,
             .expect = VGC_ASSERTION);
VGC_REGISTER(wait_old, "wait_can_be_old", wait_never, "a wait that changes is shown as it was", .arg = (const void *)1,
             .expect = VGC_ASSERTION);
VGC_REGISTER(wait_new, "wait_can_be_new", wait_never, "a wait that changes is shown as it is", .arg = (const void *)2,
             .expect = VGC_ASSERTION);

/* ---- states ---- */

typedef struct plan {
    uint64_t before, beside;
    uint64_t step; /* between the times of two changes */
} plan;

/* Change n is to state n, at this time. */
static uint64_t time_of(uint64_t n)
{
    const plan *p = vgc_arg();
    return 1 + p->step * n;
}

static vg_file_loop *the_loop(void)
{
    return recording_place(0);
}

static void change(uint64_t n)
{
    vg_history_put(the_loop()->history, &the_loop()->changes, n, time_of(n));
}

static void *change_beside(void *arg)
{
    const plan *p = arg;
    for (uint64_t i = 0; i < p->beside; i++)
        change(p->before + i + 1);
    return NULL;
}

static vg_record_block the_block;

static void check_history(uint64_t serial, uint64_t all, bool at_rest)
{
    vg_snapshot *seen = recording_snapshot();
    vgc_assert(seen->loop_count <= 1 && (seen->loop_count == 1 || !at_rest), "there is a loop");
    for (size_t k = 0; k < seen->loop_count; k++) {
        const vg_loop_view *loop = &seen->loops[k];
        for (unsigned i = 0; i < loop->changes; i++) {
            const unsigned state = loop->history[i].state;
            vgc_assert(state + i == loop->history[0].state && state != 0, "one after the other");
            vgc_assert(loop->history[i].age_ns == seen->now_ticks - time_of(state), "a state is shown with its time");
        }
        vgc_assert(!at_rest || (loop->serial == serial && loop->state == all &&
                                loop->changes == (all < VG_FILE_HISTORY ? all : VG_FILE_HISTORY - 1)),
                   "what lies still is shown");
    }
    vg_snapshot_free(seen);
}

static void begin_history(uint64_t before)
{
    recording_begin();
    vg_the_recorder.max_bytes -= FILE_PLACE; /* one place */
    vgc_assert(vg_block_get(&the_block, VG_BLOCK_LOOP, sizeof(vg_file_loop), 0, 1) == 0, "a place");
    for (uint64_t i = 0; i < before; i++)
        change(i + 1);
    vg_block_show(&the_block);
    vg_cell_set(&recording_front.header.mark_ticks, 500); /* "now" of a process that does not live */
    recording_watch(&the_loop()->changes, sizeof(vg_cell));
}

static void history(void)
{
    const plan *p = vgc_arg();
    begin_history(p->before);
    recording_watch(the_loop()->history, sizeof the_loop()->history);
    recording_settle();
    pthread_t owner = vgc_thread_start(change_beside, (void *)(uintptr_t)p);
    check_history(1, p->before + p->beside, false);
    vgc_thread_join(owner);
    check_history(1, p->before + p->beside, true);
    vg_reader_free_names(&recording_reader);
}

#define CHANGES "a state is shown with its own time, and what is half overwritten is not shown"
static const plan plan_first = {.before = 1, .beside = 1, .step = 10};
VGC_REGISTER(first, "history_first", history, CHANGES, .bound = "a history of 3, 1 change and 1 more, 1 reading",
             .arg = &plan_first);
static const plan plan_over = {.before = 3, .beside = 1, .step = 10};
VGC_REGISTER(over, "history_over", history, CHANGES, .bound = "a history of 3 that is full, 1 change, 1 reading",
             .arg = &plan_over);
static const plan plan_two = {.before = 3, .beside = 2, .step = 10};
VGC_REGISTER(two, "history_over_two", history, CHANGES, .bound = "a history of 3 that is full, 2 changes, 1 reading",
             .arg = &plan_two);

/* The loop makes some changes more and goes; another gets its place. */
static void *change_and_go(void *arg)
{
    (void)change_beside(arg);
    vg_block_put(&the_block);
    vgc_assert(vg_block_get(&the_block, VG_BLOCK_LOOP, sizeof(vg_file_loop), 0, 1) == 0, "a place");
    vg_block_show(&the_block);
    return NULL;
}

static void history_of_two(void)
{
    const plan *p = vgc_arg();
    begin_history(p->before);
    for (unsigned i = 0; i < 2; i++) /* where the changes beside go; all are of one time */
        recording_watch(&the_loop()->history[i].state, sizeof(vg_cell));
    recording_watch(&recording_front.directory[0].serial, sizeof(vg_cell));
    recording_settle();
    pthread_t owner = vgc_thread_start(change_and_go, (void *)(uintptr_t)p);
    check_history(2, 0, false);
    vgc_thread_join(owner);
    check_history(2, 0, true);
    vg_reader_free_names(&recording_reader);
}

static const plan plan_next = {.before = 2};
VGC_REGISTER(next, "history_of_next", history_of_two, CHANGES,
             .bound = "a history of 2 changes, its loop goes and another comes, 1 reading", .arg = &plan_next);
static const plan plan_gone = {.before = 3, .beside = 2};
VGC_REGISTER(gone, "history_of_gone", history_of_two, CHANGES,
             .bound = "a history of 3 that is full, 2 changes, its loop goes and another comes, 1 reading",
             .arg = &plan_gone);
