/* SPDX-License-Identifier: MIT */
/* From one to a million on a fresh loop: what is asked of the system is counted, not the time. And what a burst took
   is given back before the loop sleeps. */
#include "loop_test.h"

#include "base/pages.h"
#include "loop/registry.h"
#include "loop/struct.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

/* ---- what the library asks for ----------------------------------------------------------------------------------- */

void *__real_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *address, size_t length);
void *__real_mremap(void *old, size_t length, size_t wanted, int flags, void *place);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *address, size_t length);
void *__wrap_mremap(void *old, size_t length, size_t wanted, int flags, void *place);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static uint64_t asked_calls,
    asked_bytes;       /* of memory that can be used, new each time: a copy asks for all of it again */
static int64_t mapped; /* addresses now */
static bool no_remap;

void *__wrap_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    asked_calls++;
    if (length > VG_HUGE_PAGE && protection != PROT_NONE)
        asked_bytes += length - VG_HUGE_PAGE; /* the rest aligns it and goes back at once */
    mapped += (int64_t)length;
    return __real_mmap(address, length, protection, flags, fd, offset);
}

int __wrap_munmap(void *address, size_t length)
{
    mapped -= (int64_t)length;
    return __real_munmap(address, length);
}

void *__wrap_mremap(void *old, size_t length, size_t wanted, int flags, void *place)
{
    if (no_remap) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    asked_calls++;
    asked_bytes += wanted - length;
    mapped -= (int64_t)length; /* the place was counted when it was reserved */
    return __real_mremap(old, length, wanted, flags, place);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    asked_calls++;
    asked_bytes += size;
    return __real_aligned_alloc(alignment, size);
}

static void forget_what_was_asked(void)
{
    asked_calls = asked_bytes = 0;
    mapped = 0;
}

/* ---- timers ------------------------------------------------------------------------------------------------------ */

enum {
    LEAST = 100000, /* records of three groups */
    RECORD = 64,
    ENTRY = 16
};

static void on_timer(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)loop;
    (void)timer;
    ++*(uint64_t *)arg;
}

static void start_timers(vigil_loop *loop, vigil_timer *timers, size_t count, int64_t delay_ns, uint64_t *fired)
{
    for (size_t i = 0; i < count; i++)
        must_equal(vigil_timer_start(loop, delay_ns, on_timer, fired, &timers[i]), 0);
}

/* A turn that does not block is one that would have slept. */
static void one_turn(vigil_loop *loop)
{
    must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
}

static const int64_t hour = INT64_C(3600) * 1000 * 1000 * 1000;

static void each_decade_of_timers_asks_for_as_much_as_the_one_before(void **state)
{
    (void)state;
    const size_t most = scaled(1000000, LEAST);
    vigil_timer *timers = calloc(most, sizeof *timers);
    uint64_t fired = 0;
    must(timers != NULL);
    for (size_t n = 1; n <= most; n *= 10) {
        mapped = 0;
        vigil_loop *loop = loop_plain();
        asked_calls = asked_bytes = 0;
        start_timers(loop, timers, n, hour, &fired);
        /* Records once. The heap doubles: twice its size, and as much again for copies while it is small. */
        must(asked_bytes <= n * RECORD + 2 * n * ENTRY + 2 * (2 * VG_HUGE_PAGE));
        must(asked_calls <= 128 + n / 16384);
        must(loop_stats(loop).timer_bytes >= n * (RECORD + ENTRY));
        must(loop_stats(loop).timer_bytes <= n * (RECORD + 2 * ENTRY) + 2 * (2 * VG_HUGE_PAGE));
        must_equal(vigil_loop_destroy(loop), 0);
        must(mapped < VG_HUGE_PAGE); /* the recorder has its own */
    }
    free(timers);
}

static void what_a_burst_of_timers_took_is_given_back(void **state)
{
    (void)state;
    const size_t n = scaled(1000000, LEAST);
    vigil_timer *timers = calloc(n, sizeof *timers);
    uint64_t fired = 0;
    vigil_loop *loop = loop_that_stays();
    must(timers != NULL);
    for (int round = 0; round < 3; round++) {
        forget_what_was_asked();
        const bool fire = round == 1;
        start_timers(loop, timers, n, fire ? 0 : hour, &fired);
        must(loop_stats(loop).timer_bytes >= n * (RECORD + ENTRY));
        if (fire) {
            while (fired < n)
                one_turn(loop);
        } else {
            must_equal(vigil_timer_cancel_many(loop, timers, n), (int)n);
        }
        one_turn(loop);
        /* The first 64 chunks stay, and a heap of less than a huge page. */
        must(loop_stats(loop).timer_bytes <= 2 * VG_HUGE_PAGE);
        must(mapped < VG_HUGE_PAGE);
    }
    must_equal(vigil_loop_destroy(loop), 0);
    free(timers);
}

static void names_from_before_find_nothing_afterwards(void **state)
{
    (void)state;
    const size_t n = LEAST;
    vigil_timer *old = calloc(n, sizeof *old);
    vigil_timer *now = calloc(n, sizeof *now);
    uint64_t fired = 0;
    vigil_loop *loop = loop_that_stays();
    must(old != NULL && now != NULL);
    start_timers(loop, old, n, hour, &fired);
    for (int round = 0; round < 3; round++) {
        /* One stays, in the last group: the others of that group do, too. */
        for (size_t i = 0; i + 1 < n; i++)
            must_equal(vigil_timer_cancel(loop, old[i]), 0);
        const uint64_t before = loop_stats(loop).timer_bytes;
        one_turn(loop);
        must(loop_stats(loop).timer_bytes < before);
        for (size_t i = 0; i + 1 < n; i++)
            must_equal(vigil_timer_cancel(loop, old[i]), -ESTALE);
        start_timers(loop, now, n, hour, &fired);
        for (size_t i = 0; i + 1 < n; i++)
            must_equal(vigil_timer_cancel(loop, old[i]), -ESTALE);
        must_equal(vigil_timer_cancel(loop, old[n - 1]), 0);
        vigil_timer *other = old;
        old = now;
        now = other;
    }
    must_equal(vigil_timer_cancel_many(loop, old, n), (int)n);
    one_turn(loop);
    must_equal(fired, 0);
    must_equal(vigil_loop_destroy(loop), 0);
    free(old);
    free(now);
}

static void a_heap_that_cannot_move_keeps_its_timers(void **state)
{
    (void)state;
    const size_t n = 2 * VG_HUGE_PAGE / ENTRY; /* a heap of more than a huge page */
    uint64_t fired = 0;
    vigil_loop *loop = loop_that_stays();
    no_remap = true;
    size_t started = 0;
    int rc = 0;
    while (started < n && rc == 0) {
        rc = vigil_timer_start(loop, 0, on_timer, &fired, NULL);
        started += rc == 0;
    }
    must_equal(rc, -ENOMEM);
    no_remap = false;
    must_equal(vigil_timer_start(loop, 0, on_timer, &fired, NULL), 0);
    while (fired < started + 1)
        one_turn(loop);
    must_equal(vigil_loop_destroy(loop), 0);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void on_call(void *arg)
{
    ++*(uint64_t *)arg;
}

static void a_burst_of_calls_grows_in_blocks_and_is_given_back(void **state)
{
    (void)state;
    const size_t most = scaled(1000000, LEAST);
    for (size_t n = 1; n <= most; n *= 10) {
        uint64_t called = 0;
        vigil_loop *loop = loop_that_stays();
        forget_what_was_asked();
        for (size_t i = 0; i < n; i++)
            must_equal(vigil_loop_immediate_call(loop, on_call, NULL, &called), 0);
        must(asked_calls <= 16 + n / 16384);
        must(loop_stats(loop).call_bytes >= n * RECORD);
        must(loop_stats(loop).call_bytes <= 2 * n * RECORD + 4096);
        while (called < n)
            one_turn(loop);
        one_turn(loop);
        must(loop_stats(loop).call_bytes <= 128 * 1024);
        must(mapped < VG_HUGE_PAGE);
        must_equal(vigil_loop_immediate_call(loop, on_call, NULL, &called), 0); /* the store begins again */
        while (called < n + 1)
            one_turn(loop);
        must_equal(vigil_loop_destroy(loop), 0);
    }
}

/* ---- the registry alone ------------------------------------------------------------------------------------------ */

typedef struct thing {
    vg_registry_head head;
    uint64_t name;
} thing;

/* xorshift64: the same numbers in every run. */
static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void random_bursts_of_records_agree_with_a_list(void **state)
{
    (void)state;
    enum {
        MOST = 5 * VG_REGISTRY_GROUP * VG_REGISTRY_CHUNK
    };
    vg_registry slots;
    vg_registry_init(&slots, sizeof(thing));
    uint64_t *names = calloc(MOST, sizeof *names); /* of those that live */
    uint64_t *gone = calloc(MOST, sizeof *gone);   /* some that do not */
    uint64_t seed = 7;
    uint32_t live = 0;
    must(names != NULL && gone != NULL);
    for (unsigned round = 0; round < 12; round++) {
        const uint32_t up = (uint32_t)(random_next(&seed) % MOST);
        const uint32_t down = round % 3 == 0 ? 0 : (uint32_t)(random_next(&seed) % 64);
        while (live < up) {
            uint32_t slot;
            thing *made = vg_registry_alloc(&slots, &slot);
            must(made != NULL);
            made->name = names[live++] = vg_registry_name(slot, made);
        }
        uint32_t dead = 0;
        while (live > down) {
            const uint32_t which = (uint32_t)(random_next(&seed) % live);
            const uint32_t slot = vg_registry_find(&slots, names[which]);
            must(slot != UINT32_MAX);
            thing *found = vg_registry_at(&slots, slot);
            must(found->name == names[which]);
            vg_registry_free(&slots, slot, found);
            gone[dead++] = names[which];
            names[which] = names[--live];
        }
        vg_registry_give_back(&slots);
        must_equal(slots.live, live);
        must(slots.groups <= live); /* each has one that lives */
        for (uint32_t i = 0; i < dead; i++)
            must(vg_registry_find(&slots, gone[i]) == UINT32_MAX);
        for (uint32_t i = 0; i < live; i++)
            must(vg_registry_find(&slots, names[i]) != UINT32_MAX);
    }
    vg_registry_destroy(&slots);
    free(names);
    free(gone);
}

static void a_slot_whose_generations_are_used_up_stays(void **state)
{
    (void)state;
    vg_registry slots;
    uint32_t slot, other;
    vg_registry_init(&slots, sizeof(thing));
    thing *made = vg_registry_alloc(&slots, &slot);
    must(made != NULL);
    made->head.generation = UINT32_MAX - 2; /* odd: the last but one */
    vg_registry_free(&slots, slot, made);
    must(vg_registry_alloc(&slots, &other) != NULL);
    must(other != slot);
    vg_registry_destroy(&slots);
}

/* ---- dead entries of the heap ------------------------------------------------------------------------------------ */

static void count_fired(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)loop;
    (void)timer;
    ++*(unsigned *)arg;
}

/* Entries of cancelled timers are counted; a count that is too high would make a heap that must grow believe in room. */
static void entries_of_cancelled_timers_are_counted_until_they_go(void **state)
{
    (void)state;
    enum {
        MANY = 400 /* due at once, so many that they are taken together */
    };
    vigil_loop *loop = loop_plain();
    vigil_timer far, each[MANY];
    unsigned fired = 0;
    must_equal(vigil_timer_start(loop, INT64_C(3600000000000), count_fired, &fired, &far), 0);
    for (int i = 0; i < 3; i++) { /* they come to the top one by one */
        must_equal(vigil_timer_start(loop, 0, count_fired, &fired, &each[0]), 0);
        must_equal(vigil_timer_cancel(loop, each[0]), 0);
        must_equal(loop->timers.dead, 1);
        must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
        must_equal(vg_heap_size(&loop->timers.heap), 1);
        must_equal(loop->timers.dead, 0);
    }
    for (int i = 0; i < MANY; i++)
        must_equal(vigil_timer_start(loop, 0, count_fired, &fired, &each[i]), 0);
    for (int i = MANY / 2; i < MANY; i += 2)
        must_equal(vigil_timer_cancel(loop, each[i]), 0);
    must_equal(loop->timers.dead, MANY / 4);
    while (fired < MANY - MANY / 4)
        must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    must_equal(vg_heap_size(&loop->timers.heap), 1);
    must_equal(loop->timers.dead, 0);
    must_equal(vigil_timer_cancel(loop, far), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(each_decade_of_timers_asks_for_as_much_as_the_one_before),
        test(what_a_burst_of_timers_took_is_given_back),
        test(names_from_before_find_nothing_afterwards),
        test(a_heap_that_cannot_move_keeps_its_timers),
        test(a_burst_of_calls_grows_in_blocks_and_is_given_back),
        test(random_bursts_of_records_agree_with_a_list),
        test(a_slot_whose_generations_are_used_up_stays),
        test(entries_of_cancelled_timers_are_counted_until_they_go),
    };
    return run_all(tests);
}
