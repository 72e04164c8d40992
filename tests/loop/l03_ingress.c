/* SPDX-License-Identifier: MIT */
/* L3: the chunked queue alone: order across chunks, nothing of a chunk's past, memory that comes back, the door. */
#include "loop_test.h"

#include "loop/ingress.h"

static void nothing(void *arg)
{
    (void)arg;
}

static bool take(vg_ingress *queue, void **arg)
{
    vg_taken taken;
    if (!vg_ingress_take(queue, vg_ingress_end(queue), &taken))
        return false;
    *arg = taken.arg;
    return true;
}

static void push(vg_ingress *queue, uintptr_t number)
{
    vg_ingress_slot *place;
    must_equal(vg_ingress_push(queue, nothing, NULL, (void *)number, &place), 0);
    vg_ingress_leave(place, nothing);
}

/* Random pushes and takes against a plain count: what comes out is what went in, in order. */
static void random_pushes_and_takes_keep_the_order(void **state)
{
    (void)state;
    vg_ingress queue;
    must_equal(vg_ingress_init(&queue, 0), 0);
    uint64_t random = 88172645463325252U;
    uintptr_t in = 0;
    uintptr_t out = 0;
    uint64_t rounds = scaled(100000, 2000);
    for (uint64_t i = 0; i < rounds; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        for (uint64_t n = random % 300; n > 0; n--)
            push(&queue, in++);
        for (uint64_t n = (random >> 32) % 320; n > 0; n--) {
            void *arg;
            bool got = take(&queue, &arg);
            must_equal(got, out < in);
            if (got)
                must_equal((uintptr_t)arg, out++);
        }
        must_equal(vg_ingress_accepted(&queue), in);
        must_equal(vg_ingress_ready(&queue), out < in);
    }
    vg_ingress_destroy(&queue);
}

static void memory_comes_back_after_a_backlog(void **state)
{
    (void)state;
    vg_ingress queue;
    must_equal(vg_ingress_init(&queue, 0), 0);
    uint64_t backlog = scaled(10000000, 100000);
    for (uintptr_t i = 0; i < backlog; i++)
        push(&queue, i);
    uint64_t chunks = atomic_load_explicit(&queue.pool.held, memory_order_relaxed);
    must(chunks >= backlog / VG_CHUNK_SLOTS);
    must(chunks <= backlog / VG_CHUNK_SLOTS + VG_CHUNK_BLOCK_MOST + 1);
    void *arg;
    for (uintptr_t i = 0; i < backlog; i++) {
        must(take(&queue, &arg));
        must_equal((uintptr_t)arg, i);
    }
    must(!take(&queue, &arg));
    must(atomic_load_explicit(&queue.pool.held, memory_order_relaxed) <= VG_CHUNKS_KEPT + 2 * VG_CHUNK_BLOCK_MOST);
    vg_ingress_destroy(&queue);
}

static void a_recycled_chunk_holds_nothing_of_its_past(void **state)
{
    (void)state;
    vg_ingress queue;
    must_equal(vg_ingress_init(&queue, 0), 0);
    void *arg;
    for (uintptr_t i = 1; i <= 10 * VG_CHUNK_SLOTS; i++) {
        vg_ingress_slot *place;
        must_equal(vg_ingress_push(&queue, nothing, nothing, (void *)i, &place), 0);
        vg_ingress_leave(place, nothing);
        must(take(&queue, &arg));
    }
    uint64_t held = atomic_load_explicit(&queue.pool.held, memory_order_relaxed);
    must(held <= VG_CHUNK_BLOCK_LEAST); /* the same chunks again and again */
    vg_chunk_head *spare = vg_chunk_take(&queue.pool);
    must(spare != NULL);
    must(((vg_chunk *)spare)->slots[0].arg == NULL);
    for (size_t byte = sizeof *spare; byte < sizeof(vg_chunk); byte++)
        must_equal(((const char *)spare)[byte], 0);
    vg_chunk_give(&queue.pool, spare);
    vg_ingress_destroy(&queue);
}

static void a_chunk_is_not_reused_before_its_producers_have_left(void **state)
{
    (void)state;
    vg_ingress queue;
    must_equal(vg_ingress_init(&queue, 0), 0);
    vg_ingress_slot *straggler;
    void *arg;
    must_equal(vg_ingress_push(&queue, nothing, NULL, NULL, &straggler), 0);
    for (uintptr_t i = 1; i < 5 * VG_CHUNK_SLOTS; i++)
        push(&queue, i);
    for (uintptr_t i = 0; i < 5 * VG_CHUNK_SLOTS; i++)
        must(take(&queue, &arg));
    must(queue.limbo != NULL);
    must(&queue.limbo->slots[0] == straggler);
    vg_ingress_leave(straggler, nothing);
    for (uintptr_t i = 0; i <= VG_CHUNK_SLOTS; i++) {
        push(&queue, i);
        must(take(&queue, &arg));
    }
    must(queue.limbo == NULL);
    vg_ingress_destroy(&queue);
}

static void a_phase_sees_what_was_there_when_it_began(void **state)
{
    (void)state;
    vg_ingress queue;
    must_equal(vg_ingress_init(&queue, 0), 0);
    for (uintptr_t i = 0; i < 2 * VG_CHUNK_SLOTS; i++)
        push(&queue, i);
    vg_ingress_mark end = vg_ingress_end(&queue);
    push(&queue, 999);
    vg_taken taken;
    uintptr_t count = 0;
    while (vg_ingress_take(&queue, end, &taken))
        must_equal((uintptr_t)taken.arg, count++);
    must_equal(count, 2 * VG_CHUNK_SLOTS);
    must(vg_ingress_take(&queue, vg_ingress_end(&queue), &taken));
    must_equal((uintptr_t)taken.arg, 999);
    vg_ingress_destroy(&queue);
}

static void the_door_closes_in_one_instant(void **state)
{
    (void)state;
    vg_ingress queue;
    vg_ingress_slot *place;
    void *arg;
    must_equal(vg_ingress_init(&queue, 0), 0);
    push(&queue, 1);
    must(!vg_ingress_close_if_drained(&queue));
    must(take(&queue, &arg));
    must(vg_ingress_close_if_drained(&queue));
    must_equal(vg_ingress_push(&queue, nothing, NULL, NULL, &place), -ESHUTDOWN);
    must(vg_ingress_drained(&queue));
    vg_ingress_quiesce(&queue);
    vg_ingress_destroy(&queue);

    must_equal(vg_ingress_init(&queue, 0), 0);
    push(&queue, 1);
    vg_ingress_close(&queue);
    must_equal(vg_ingress_push(&queue, nothing, NULL, NULL, &place), -ESHUTDOWN);
    must(!vg_ingress_drained(&queue));
    must(take(&queue, &arg));
    must(vg_ingress_drained(&queue));
    vg_ingress_destroy(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(random_pushes_and_takes_keep_the_order),     test(memory_comes_back_after_a_backlog),
        test(a_recycled_chunk_holds_nothing_of_its_past), test(a_chunk_is_not_reused_before_its_producers_have_left),
        test(a_phase_sees_what_was_there_when_it_began),  test(the_door_closes_in_one_instant),
    };
    return run_all(tests);
}
