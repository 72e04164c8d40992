/* SPDX-License-Identifier: MIT */
/*
 * The file, and the blocks in it, that come and go while the reader walks. Property: a file that can be read is complete; what is shown
 * of a serial is what the owner of that serial wrote: nothing of who had the place before, or got it after.
 */
#include "recorder_file.h"

#include <errno.h>
#include <stdlib.h>

/* Thread n belongs to owner n, and has n for its index. */
static void come(uint64_t n)
{
    vg_ring_attach(VG_ROLE_WORKER, n, n);
    vgc_assert(vg_my_ring.thread == recording_place(0), "it has the place");
}

static vg_own_ring first_ring; /* of the body's thread; another goes on with it */

static void *come_after(void *arg)
{
    if (first_ring.events != NULL) {
        vg_my_ring = first_ring;
        vg_ring_detach();
    }
    come((uint64_t)(uintptr_t)arg);
    return NULL;
}

/* Who is shown; 0: nobody. `first` is the serial of thread 1. */
static uint64_t shown(void)
{
    vg_snapshot *seen = recording_snapshot();
    vgc_assert(seen->thread_count <= 1, "there is one place");
    uint64_t who = 0;
    if (seen->thread_count == 1) {
        const vg_thread_view *thread = &seen->threads[0];
        who = thread->owner;
        vgc_assert(thread->serial == who && thread->index == who, "what is shown is the owner's");
    }
    vg_snapshot_free(seen);
    return who;
}

static pthread_t begin_rings(uint64_t before)
{
    recording_begin();
    vg_the_recorder.max_bytes -= FILE_PLACE; /* one place */
    if (before != 0) {
        come(1);
        first_ring = vg_my_ring;
    } else { /* so that the place is there, and stays where it is */
        vg_record_block block;
        vgc_assert(vg_block_get(&block, VG_BLOCK_RING, sizeof(vg_file_thread), 0, FILE_RING) == 0, "a place");
        vg_block_put(&block);
        vg_the_recorder.serials = 0;
    }
    vg_file_thread *thread = recording_place(0);
    vg_file_block *entry = &recording_front.directory[0];
    recording_watch(&entry->serial, sizeof(vg_cell));
    recording_watch(&thread->owner, 2 * sizeof(vg_cell)); /* and index */
    recording_settle();
    return vgc_thread_start(come_after, (void *)(uintptr_t)(before + 1));
}

static void ring_of_another(void)
{
    const uint64_t before = (uint64_t)(uintptr_t)vgc_arg();
    pthread_t thread = begin_rings(before);
    vgc_assert(shown() <= before + 1, "nobody is shown who was not there");
    vgc_thread_join(thread);
    vgc_assert(shown() == before + 1, "what lies still is shown");
    vg_reader_free_names(&recording_reader);
}

#define OWN "what is shown of a serial is its owner's"
VGC_REGISTER(first, "block_first", ring_of_another, OWN, .bound = "a place, 1 thread that comes, 1 reading",
             .arg = (const void *)0);
VGC_REGISTER(after, "block_again", ring_of_another, OWN,
             .bound = "a place, 1 thread that goes, 1 that comes, 1 reading", .arg = (const void *)1);

static void never(void)
{
    pthread_t thread = begin_rings(1);
    vgc_assert(shown() != (uint64_t)(uintptr_t)vgc_arg(), "it is shown");
    vgc_thread_join(thread);
    vg_reader_free_names(&recording_reader);
}

VGC_REGISTER(hidden, "block_can_be_hidden", never, "one that changes hands is not shown", .arg = (const void *)0,
             .expect = VGC_ASSERTION);
VGC_REGISTER(old, "block_can_be_old", never, "one that changes hands is the first's", .arg = (const void *)1,
             .expect = VGC_ASSERTION);
VGC_REGISTER(new, "block_can_be_new", never, "one that changes hands is the second's", .arg = (const void *)2,
             .expect = VGC_ASSERTION);

/* ---- a place that becomes another kind's ---- */

static vg_record_block the_loop;

static void *go(void *arg)
{
    (void)arg;
    vg_block_put(&the_loop);
    return NULL;
}

static void *come_after_loop(void *arg)
{
    (void)go(arg);
    come(2);
    return NULL;
}

/* What is shown: 1 the loop, 2 the thread, 0 neither. */
static unsigned kind_shown(void)
{
    vg_snapshot *seen = recording_snapshot();
    const unsigned what = seen->loop_count != 0 ? 1 : seen->thread_count != 0 ? 2 : 0;
    vgc_assert(seen->loop_count + seen->thread_count <= 1, "there is one place");
    vgc_assert(what != 1 || seen->loops[0].serial == 1, "the loop is shown as the loop");
    vgc_assert(what != 2 || (seen->threads[0].serial == 2 && seen->threads[0].index == 2), "the thread as the thread");
    vg_snapshot_free(seen);
    return what;
}

static void other_kind(void)
{
    const bool comes = vgc_arg() != NULL;
    recording_begin();
    vg_the_recorder.max_bytes -= FILE_PLACE;
    vgc_assert(vg_block_get(&the_loop, VG_BLOCK_LOOP, sizeof(vg_file_loop), 0, 1) == 0, "a place");
    vg_block_show(&the_loop);
    const vg_file_block *entry = &recording_front.directory[0];
    const vg_file_thread *thread = recording_place(0);
    recording_watch(&entry->serial, 2 * sizeof(vg_cell)); /* and kind */
    recording_watch(&entry->entries, sizeof(vg_cell));
    recording_watch(&thread->index, sizeof(vg_cell));
    recording_settle();
    pthread_t owner = vgc_thread_start(comes ? come_after_loop : go, NULL);
    (void)kind_shown();
    vgc_thread_join(owner);
    vgc_assert(kind_shown() == (comes ? 2 : 0), "what lies still is shown, and what has gone is not");
    vg_reader_free_names(&recording_reader);
}

VGC_REGISTER(gone, "block_gone", other_kind, OWN, .bound = "a loop goes, 1 reading");
VGC_REGISTER(other_kind, "block_other_kind", other_kind, OWN, .bound = "a loop goes, a thread comes, 1 reading",
             .arg = "a thread comes");

/* ---- the events of another ---- */

static void put_event(uint64_t n)
{
    vg_event_put(n, n, n, n);
}

static void *write_after(void *arg)
{
    (void)arg;
    vg_my_ring = first_ring;
    vg_ring_detach();
    come(2);
    put_event(20);
    return NULL;
}

/* Thread 1 has events 11 and 12, thread 2 has 20. */
static size_t read_events(uint64_t serial, uint64_t least, uint64_t most)
{
    vg_event *events = NULL;
    uint64_t first = 0;
    size_t count = 0;
    if (vg_reader_events(&recording_reader, serial, 0, &events, &first, &count) != 0)
        return 0; /* it has gone, or has not come */
    for (size_t i = 0; i < count; i++)
        vgc_assert(events[i].ticks >= least && events[i].ticks <= most && events[i].a == events[i].ticks,
                   "an event that is shown is its thread's");
    free(events);
    return count;
}

static void events_of_another(void)
{
    const uint64_t serial = (uint64_t)(uintptr_t)vgc_arg();
    recording_begin();
    vg_the_recorder.max_bytes -= FILE_PLACE;
    come(1);
    put_event(11);
    put_event(12);
    first_ring = vg_my_ring;
    recording_watch(&recording_front.directory[0].serial, sizeof(vg_cell));
    recording_watch(&first_ring.thread->head, sizeof(vg_cell));
    for (unsigned i = 0; i < FILE_RING; i++) { /* two words of each */
        recording_watch(&first_ring.events[i].ticks, sizeof(uint64_t));
        recording_watch(&first_ring.events[i].a, sizeof(uint64_t));
    }
    recording_settle();
    vgc_assert(vg_reader_header(&recording_reader) == 0, "the file can be read");
    pthread_t thread = vgc_thread_start(write_after, NULL);
    (void)(serial == 1 ? read_events(1, 11, 12) : read_events(2, 20, 20));
    vgc_thread_join(thread);
    vgc_assert(read_events(1, 11, 12) == 0 && read_events(2, 20, 20) == 1, "what lies still is shown");
}

VGC_REGISTER(events_1, "block_events_of_first", events_of_another, "an event that is shown is its thread's",
             .bound = "a ring of 2, 1 thread that goes, 1 that comes and writes 1 event, 1 reading of the first",
             .arg = (const void *)1);
VGC_REGISTER(events_2, "block_events_of_next", events_of_another, "an event that is shown is its thread's",
             .bound = "a ring of 2, 1 thread that goes, 1 that comes and writes 1 event, 1 reading of the next",
             .arg = (const void *)2);

/* ---- the file itself ---- */

static void *make_file(void *arg)
{
    uint32_t epoch = 0;
    (void)arg;
    vgc_assert(vg_record_hold(&epoch) == VIGIL_RECORD_EVENTS, "the recorder is on");
    return NULL;
}

static void header_made(void)
{
    recording_watch(&recording_front.header, offsetof(vg_file_header, drops));
    recording_settle();
    pthread_t thread = vgc_thread_start(make_file, NULL);
    const int seen = vg_reader_header(&recording_reader);
    vgc_assert(seen == 0 || seen == -EBADMSG, "it is complete, or not there");
    vgc_assert(seen != 0 || recording_reader.header.pid != 0, "whose it is is known");
    vgc_thread_join(thread);
    vgc_assert(vg_reader_header(&recording_reader) == 0, "what lies still can be read");
}

VGC_REGISTER(header, "header_made", header_made, "a file that can be read is complete",
             .bound = "a file that is being made, 1 reading");
