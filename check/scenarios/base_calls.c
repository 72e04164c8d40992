/* SPDX-License-Identifier: MIT */
/*
 * What lies under everything, on one thread: the heap of timers, text that is made safe, structs that grow, the
 * way out of a callback, histograms, batches and names. There is one execution of each, but for allocations that fail.
 */
#include <vigil_check.h>

#include "base/forkguard.h"
#include "base/heap.h"
#include "base/options.h"
#include "base/raise.h"
#include "base/text.h"
#include "base/thread.h"
#include "record/batch.h"
#include "record/format.h"
#include "record/hist.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <vigil/base.h>
#include <vigil/record.h>
#include <vigil/version.h>

#define ALONE(id, function, property_text, ...) \
    VGC_REGISTER(id, "base_" #id, function, property_text, .bound = "1 thread", .opt.max_steps = 20000, ##__VA_ARGS__)

/* ---- the heap ---- */

enum {
    ENTRIES = 150
};

static vg_heap heap;
static int in_heap[ENTRIES];

static uint64_t key_of(uint32_t slot)
{
    return slot * 37 % 51; /* in no order; some alike */
}

static bool is_odd(const vg_heap_entry *entry, void *arg)
{
    vgc_assert(arg == &heap, "the argument is passed on");
    return entry->slot % 2 != 0;
}

static bool is_none(const vg_heap_entry *entry, void *arg)
{
    (void)entry;
    (void)arg;
    return false;
}

static void pop_in_order(size_t count)
{
    vg_heap_entry last = {0};
    vgc_assert(vg_heap_size(&heap) == count, "nothing is lost");
    for (size_t i = 0; i < count; i++) {
        const vg_heap_entry top = *vg_heap_peek(&heap);
        const vg_heap_entry popped = vg_heap_pop(&heap);
        vgc_assert(memcmp(&top, &popped, sizeof top) == 0, "what is due first is popped");
        vgc_assert(i == 0 || vg_heap_before(last, popped), "and comes in its order");
        in_heap[popped.slot]++;
        last = popped;
    }
    vgc_assert(vg_heap_peek(&heap) == NULL, "then there is nothing");
}

static void heap_order(void)
{
    vg_heap_init(&heap);
    vgc_assert(vg_heap_filter(&heap, is_odd, &heap) == 0, "nothing is dropped of nothing");
    vgc_assert(vg_heap_reserve(&heap, SIZE_MAX / 2) == -ENOMEM, "there is no such memory");
    for (uint32_t i = 0; i < ENTRIES; i++) {
        const int rc = vg_heap_push(&heap, (vg_heap_entry){.key = key_of(i), .seq = UINT32_MAX - 20 + i, .slot = i});
        vgc_assert(rc == 0 || rc == -ENOMEM, "it is there, or there is no memory");
        if (rc != 0) {
            vgc_assert(vg_heap_size(&heap) == i, "nothing has changed");
            vg_heap_destroy(&heap);
            return;
        }
    }
    vgc_assert(vg_heap_filter(&heap, is_none, NULL) == 0, "nothing is dropped");
    vgc_assert(vg_heap_filter(&heap, is_odd, &heap) == ENTRIES / 2, "what is dead is dropped");
    vg_heap_entry top = *vg_heap_peek(&heap);
    top.key = 1000; /* put off */
    vg_heap_replace_top(&heap, top);
    vgc_assert(vg_heap_peek(&heap)->key < 1000, "another is due first");
    vg_heap_give_back(&heap); /* so little memory stays */
    pop_in_order(ENTRIES / 2);
    for (uint32_t i = 0; i < ENTRIES; i++)
        vgc_assert(in_heap[i] == (i % 2 == 0), "each was there once");
    vg_heap_destroy(&heap);
}

/* Rooms of whole pages are moved, not copied; a heap that has become small gives them back. */
static void heap_large(void)
{
    vg_heap_init(&heap);
    const size_t room = 70000;
    if (vg_heap_reserve(&heap, room) == 0) {
        vgc_assert(heap.room >= room, "there is room for so many");
        for (uint32_t k = 0; k < 20; k++)
            vgc_assert(vg_heap_push(&heap, (vg_heap_entry){.key = key_of(k), .slot = k}) == 0, "without more memory");
        pop_in_order(20);
        vgc_assert(vg_heap_push(&heap, (vg_heap_entry){.key = 7, .slot = 1}) == 0, "this one moves with its room");
        (void)vg_heap_reserve(&heap, heap.room * 3 / 2);
        vgc_assert(vg_heap_size(&heap) == 1 && vg_heap_pop(&heap).key == 7, "it has moved, or stays where it is");
    }
    vg_heap_give_back(&heap);
    vgc_assert(vg_heap_size(&heap) == 0, "it stays empty");
    vg_heap_destroy(&heap);
}

ALONE(heap_large, heap_large, "a large heap moves when it grows", .opt.fail_alloc = 2);
ALONE(heap, heap_order, "entries come in the order of their keys", .opt.fail_alloc = 1);

/* ---- text, reasons, structs that grow ---- */

static void text_is(const char *from, bool lines, size_t room, const char *wanted)
{
    char to[64] = "unchanged", again[64];
    vg_text_copy(to, room, from, strlen(from), lines);
    vgc_assert(strcmp(to, wanted) == 0, "text is made safe");
    vg_text_copy(again, sizeof again, to, strlen(to), lines);
    vgc_assert(strcmp(again, to) == 0, "and stays so");
}

static void text(void)
{
    text_is("plain", false, 64, "plain");
    text_is("", false, 64, "");
    text_is("plain", false, 0, "unchanged");
    text_is("plain", false, 4, "pla");
    text_is("a\nb\x1b", true, 64, "a\nb\\x1b");
    text_is("a\nb", false, 64, "a\\x0ab");
    text_is("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", false, 64, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    text_is("\xc3\xa4\xe2\x82\xac", false, 5, "\xc3\xa4");                                 /* nothing is split */
    text_is("\xe2\x80\xae\xf3\xa0\x80\x81\xc2\xad", false, 64, "\\u202e\\U000e0001\\xad"); /* not to be seen */
    text_is("\xff\xc3(\xe0\x80\x80", false, 64, "\\xff\\xc3(\\xe0\\x80\\x80");             /* no characters */
    text_is("\xed\xa0\x80\xf4\x90\x80\x80", false, 64, "\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80");
    text_is("\xc3", false, 64, "\\xc3");
}

typedef struct grown {
    size_t size;
    int first;
    int second;
    int third;
} grown;

static void reasons(void)
{
    static const int known[] = {0,     EINVAL, ENOMEM, EAGAIN, EBUSY, ESHUTDOWN, ECANCELED, ETIMEDOUT, EDEADLK,
                                EPERM, ECHILD, ESTALE, ENOENT, EIO,   EALREADY,  EPIPE,     EXDEV,     ENODATA};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        vgc_assert(strlen(vigil_strerror(-known[i])) > 4 &&
                       strcmp(vigil_strerror(known[i]), vigil_strerror(-known[i])) == 0,
                   "each error has its sentence");
    vgc_assert(strstr(vigil_strerror(-99999), "99999") != NULL, "one that nobody knows has its number");
    vgc_assert(vigil_why_set(-EDOM, "a reason") == -EDOM && strcmp(vigil_why(), "a reason") == 0, "the reason is kept");
    vgc_assert(vigil_why_set(-EDOM, NULL) == -EDOM && strcmp(vigil_why(), "") == 0, "or there is none");
    vgc_assert(vg_why_forked() == -ECHILD && strstr(vigil_why(), "fork") != NULL, "a reason of the library's");
    vgc_assert(vigil_version() == VIGIL_VERSION_NUMBER && strchr(vigil_version_string(), '.') != NULL, "its version");
    struct {
        grown known;
        int unknown;
    } newer = {.known = {.size = sizeof newer, .first = 1, .second = 2, .third = 3}};
    grown ours = {0};
    vgc_assert(vg_options_take(&ours, sizeof ours, &newer, 4, 12, "it") == -EINVAL &&
                   strstr(vigil_why(), "it->size is 4") != NULL,
               "a struct that is too short is refused");
    vgc_assert(vg_options_take(&ours, sizeof ours, &newer, 16, 12, "it") == 0 && ours.second == 2 && ours.third == 0,
               "a shorter one gets zeros");
    vgc_assert(vg_options_take(&ours, sizeof ours, &newer, sizeof newer, 12, "it") == 0 && ours.third == 3,
               "a longer one is accepted");
    newer.unknown = 1;
    vgc_assert(vg_options_take(&ours, sizeof ours, &newer, sizeof newer, 12, "it") == -EINVAL,
               "unless it says what nobody knows");
    grown theirs = {.size = 12, .third = 9};
    vgc_assert(vg_options_give(&theirs, 4, &ours, sizeof ours, 12, "it") == -EINVAL, "too short");
    vgc_assert(vg_options_give(&theirs, 12, &ours, sizeof ours, 12, "it") == 0 && theirs.first == 1 &&
                   theirs.second == 0 && theirs.third == 9 && theirs.size == 12,
               "as much is given as fits");
}
ALONE(text, text, "foreign text is shown without what could deceive");
ALONE(reasons, reasons, "an error has its sentence, and a struct may be older or newer");

/* ---- the way out ---- */

static int cleaned_frames, cleaned_links;
static vg_raise_links links;

static void clean_frame(vg_raise_frame *frame)
{
    vgc_assert(vg_raise_top == frame->outer, "what is cleaned up is off the chain");
    cleaned_frames++;
}

static void clean_link(void *link)
{
    vgc_assert(link != NULL && links.newest != link, "what is cleaned up is off the chain");
    cleaned_links++;
}

static void *link_of[3];

static int raise_through(void *arg)
{
    vg_raise_frame section;
    vg_raise_push_on(&vg_raise_top, &section, clean_frame);
    for (int i = 1; i < 3; i++) {
        link_of[i] = links.newest;
        links.newest = &link_of[i];
    }
    vigil_raise(*(const int *)arg);
}

static void way_out(void)
{
    vg_raise_frame frame;
    bool raised = false;
    links = (vg_raise_links){.newest = &link_of[0], .clean = clean_link};
    vg_raise_links_here = &links;
    for (int status = -7; status <= 7; status += 14) {
        vg_raise_push(&frame);
        vgc_assert(vg_raise_call(&frame, raise_through, &status, &raised) == (status < 0 ? status : -EIO) && raised,
                   "the status comes out of it");
        vg_raise_pop(&frame);
        vgc_assert(vg_raise_top == NULL && links.newest == &link_of[0], "everything is as it was");
    }
    vgc_assert(cleaned_frames == 2 && cleaned_links == 4, "what lies between is cleaned up, and nothing else");
    vg_raise_links_here = &vg_raise_no_links;
}
ALONE(raise, way_out, "a raise cleans up on its way, and lands once");

/* ---- threads and forks ---- */

static void thread_and_fork(void)
{
    vg_forkguard guard;
    sigset_t mask;
    vg_thread_bind(-1);
    vg_thread_bind(CPU_SETSIZE);
    vg_thread_bind(0);
    vg_thread_mask_get(&mask);
    vgc_assert(sigismember(&mask, SIGSEGV) == 0, "a fault is never blocked");
    vg_thread_mask_set(&mask);
    const int rc = vg_forkguard_init(&guard);
    vgc_assert(rc == 0 || rc == -ENOMEM, "it is there, or there is no memory");
    if (rc != 0)
        return;
    vgc_assert(!vg_forked(&guard), "this is the process that made it");
    vg_forkguard by_pid = guard;
    by_pid.pid = 1;
    const uint32_t zero = 0;
    by_pid.page = &zero;
    vgc_assert(vg_forked(&by_pid), "another process is not");
    vg_forkguard_destroy(&guard);
}
ALONE(thread, thread_and_fork, "a child of a fork knows that it is one", .opt.fail_alloc = 1);

/* ---- what the recorder writes ---- */

static vg_file_hist hist, shared;

static void histogram(void)
{
    unsigned last = 0;
    uint64_t sum = 0, times = 0;
    for (uint64_t ticks = 0; ticks < (UINT64_C(1) << 50); ticks = ticks * 5 / 4 + 1) {
        const unsigned bucket = vg_hist_bucket(ticks);
        vgc_assert(bucket >= last && bucket < VG_HIST_BUCKETS, "larger values are in later buckets");
        vgc_assert(vg_hist_floor(bucket) <= ticks, "a bucket begins at or below its values");
        vgc_assert(bucket == VG_HIST_BUCKETS - 1 || ticks < vg_hist_floor(bucket + 1), "and ends behind them");
        last = bucket;
        vg_hist_put(&hist, ticks, 2);
        vg_hist_put_shared(&shared, ticks, 2);
        sum += 2 * ticks;
        times += 2;
    }
    vg_hist_put(&hist, 1, 1);
    vg_hist_put_shared(&shared, 1, 1);
    vgc_assert(atomic_load_explicit(&hist.sum, memory_order_relaxed) == sum + 1, "the sum is that of all");
    vgc_assert(memcmp(&hist, &shared, sizeof hist) == 0, "one thread or many count alike");
    for (unsigned i = 0; i < VG_HIST_BUCKETS; i++)
        times -= atomic_load_explicit(&hist.buckets[i], memory_order_relaxed);
    vgc_assert(times == UINT64_MAX, "each is in one bucket");
}

static void batches(void)
{
    uint64_t usual = 0;
    vg_batch_share share = vg_batch_divide(100, 10, &usual);
    vgc_assert(!share.has_long && share.short_runs == 10 && usual == 10, "short runs are alike");
    share = vg_batch_divide(3 * VG_BATCH_SPAN, 10, &usual);
    vgc_assert(share.has_long && share.short_runs == 9 && share.long_run == 3 * VG_BATCH_SPAN - 90, "one was long");
    usual = VG_BATCH_SPAN;
    share = vg_batch_divide(3 * VG_BATCH_SPAN, 10, &usual);
    vgc_assert(share.has_long && share.long_run == 0, "never less than nothing");
    share = vg_batch_divide(5 * VG_BATCH_SPAN, 1, &usual);
    vgc_assert(!share.has_long && share.short_runs == 1 && usual == 5 * VG_BATCH_SPAN, "one alone is what it is");
    vgc_assert(vg_batch_next(8, VG_BATCH_MOST, 2 * VG_BATCH_SPAN, true) == 1, "after a long one each is looked at");
    vgc_assert(vg_batch_next(8, VG_BATCH_MOST, VG_BATCH_SPAN + 1, true) == 4 &&
                   vg_batch_next(1, VG_BATCH_MOST, VG_BATCH_SPAN + 1, true) == 1,
               "fewer");
    vgc_assert(vg_batch_next(2, VG_BATCH_MOST, VG_BATCH_SPAN / 4, true) == 4 &&
                   vg_batch_next(2, VG_BATCH_MOST, VG_BATCH_SPAN / 4, false) == 2,
               "more, if it was full");
    vgc_assert(vg_batch_next(2, VG_BATCH_MOST, VG_BATCH_SPAN / 16, true) == 4 &&
                   vg_batch_next(2, VG_BATCH_MOST, VG_BATCH_SPAN / 16 - 1, true) == 16 &&
                   vg_batch_next(8, VG_BATCH_MOST, 10, true) == VG_BATCH_MOST,
               "many more, if all were short");
    vgc_assert(vg_batch_next(VG_BATCH_MOST, VG_BATCH_MOST, 10, true) == VG_BATCH_MOST, "but not without end");
}

static void some_function(void)
{
}

static void names(void)
{
    vgc_assert(vigil_record_name(NULL, "a name") == -EINVAL && vigil_record_name(some_function, NULL) == -EINVAL &&
                   vigil_record_name(some_function, "") == -EINVAL,
               "a name and a function are needed");
    const int rc = vigil_record_name(some_function, "a name");
    vgc_assert(rc == 0 || rc == -ENOMEM, "it is kept, or there is no memory");
    if (rc != 0)
        return;
    vgc_assert(vigil_record_name(some_function, "another name") == 0, "the last name stays");
    for (uintptr_t i = 1; i < VG_FILE_NAMES; i++)
        vgc_assert(vigil_record_name((void (*)(void))(i + 1), "many") == 0, "there is room for many"); /* NOLINT */
    vgc_assert(vigil_record_name((void (*)(void))(uintptr_t)5000, "too many") == -ENOSPC,
               "but not for all"); /* NOLINT */
    vgc_assert(vigil_record_name(some_function, "a name") == 0, "those that are there can change");
}
ALONE(hist, histogram, "a value is counted in the bucket that it lies in");
ALONE(batch, batches, "a long run is told from short ones");
ALONE(names, names, "a function has the name that it was given last", .opt.fail_alloc = 1, .opt.allow_leaks = true);
