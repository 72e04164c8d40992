/* SPDX-License-Identifier: MIT */
/*
 * audit.c - are all tasks still there? Compares the counters with the queues. README.md, "The audit", holds the
 * argument.
 */
#include "audit.h"

#include "base/options.h"
#include "books.h"
#include "deque.h"
#include "idle.h"
#include "injector.h"
#include "seats.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#ifdef VIGIL_CHECK
#define VG_AUDIT_TRIES 1 /* two looks: more would repeat them */
#else
#define VG_AUDIT_TRIES 16
#endif

typedef struct audit_look {
    bool calm;
    uint64_t moves;
    uint64_t accepted;
    uint64_t ended;
    uint64_t expected;
    uint64_t found;      /* queue entries that are not husks */
    uint64_t husks_made; /* entries of jobs that are no longer queued */
    uint64_t husks;      /* of these: dropped */
} audit_look;

/* true: no worker is between a queue and a counter, and no call is in flight. Then *moves is a sum of numbers that only
   grow: if two sums are equal, no call and no move without a count came in between. */
static bool nobody_moves(vigil_pool *pool, uint64_t *moves)
{
    bool calm = true;
    *moves = 0;
    for (unsigned i = 0; (i = vg_seat_next(pool, i)) < VG_MAX_SEATS; i++) {
        const uint64_t handling = atomic_load_explicit(&vg_seat_at(pool, i)->handling, memory_order_relaxed);
        calm = calm && handling % 2 == 0;
        *moves += handling;
    }
    for (unsigned i = 0; i < VG_STRIPES; i++) {
        /* in this order: a call that has entered and not left is not overlooked */
        const uint64_t left = atomic_load_explicit(&pool->stripes[i].left, memory_order_relaxed);
        const uint64_t entered = atomic_load_explicit(&pool->stripes[i].entered, memory_order_relaxed);
        calm = calm && left == entered;
        *moves += entered;
    }
    return calm;
}

static void audit_look_at_seat(vg_seat *seat, audit_look *seen)
{
    seen->found += atomic_load_explicit(&seat->mail_pushed, memory_order_relaxed) -
                   atomic_load_explicit(&seat->mail_taken, memory_order_relaxed);
    for (unsigned c = 0; c < VG_CLASSES; c++) {
        seen->found += (uint64_t)vg_deque_tasks(seat->deques[c]);
        seen->husks_made += atomic_load_explicit(&seat->counts->of[c].husks_made, memory_order_relaxed);
        seen->husks += atomic_load_explicit(&seat->counts->of[c].husks, memory_order_relaxed);
    }
}

static audit_look audit_look_around(vigil_pool *pool)
{
    audit_look seen = {0};
    vg_books books;
    vg_pool_books(pool, &books);
    seen.accepted = books.accepted;
    uint64_t moves_before = 0;
    seen.calm = nobody_moves(pool, &moves_before);
    for (unsigned c = 0; c < VG_CLASSES; c++) {
        uint64_t count = 0;
        if (vg_injector_count(&pool->injectors[c], &count)) {
            /* A worker that looked in between relied on us (IDLE.md, invariant 4). full: the lists were let go
               (J11) before the look; pairs with A of the submitter and C of that worker. An empty class is not
               announced, so an audit of an idle pool wakes nobody. */
            atomic_thread_fence(memory_order_seq_cst);
            if (vg_injector_visible(&pool->injectors[c]))
                vg_announce(pool, c);
        } else {
            seen.calm = false;
        }
        seen.found += count + atomic_load_explicit(&pool->shared->delayed[c], memory_order_relaxed);
    }
    for (unsigned i = 0; (i = vg_seat_next(pool, i)) < VG_MAX_SEATS; i++)
        audit_look_at_seat(vg_seat_at(pool, i), &seen);
    for (unsigned i = 0; i < VG_STRIPES; i++) {
        for (unsigned c = 0; c < VG_CLASSES; c++) {
            seen.husks_made += atomic_load_explicit(&pool->stripes[i].counts->husks_made[c], memory_order_relaxed);
            seen.husks += atomic_load_explicit(&pool->stripes[i].counts->husks[c], memory_order_relaxed);
        }
    }
    seen.found -= seen.husks_made - seen.husks;
    /* heavy: a thread that took what we did not find shows that it handles it. A full fence is not enough: an
       owner that pops a task has only the light D3 behind its store. */
    vg_fence_heavy(pool->fences);
    seen.calm = nobody_moves(pool, &seen.moves) && seen.moves == moves_before && seen.calm;
    vg_pool_books(pool, &books);
    if (books.accepted != seen.accepted)
        seen.calm = false;
    seen.ended = books.ended;
    /* begun may include tasks accepted after our first step */
    seen.expected = seen.accepted > books.begun ? seen.accepted - books.begun : 0;
    return seen;
}

static bool looks_agree(const audit_look *a, const audit_look *b)
{
    return a->calm && b->calm && a->moves == b->moves && a->accepted == b->accepted && a->ended == b->ended &&
           a->expected == b->expected && a->found == b->found && a->husks_made == b->husks_made && a->husks == b->husks;
}

static void describe_audit(vigil_audit *audit)
{
    if (!audit->settled)
        (void)snprintf(audit->text, sizeof audit->text,
                       "tasks are moving: no two looks agreed; ask again when the pool is calm");
    else if (audit->lost > 0)
        (void)snprintf(audit->text, sizeof audit->text,
                       "%" PRId64 " task(s) lost: %" PRIu64 " accepted and not started, %" PRIu64 " in the queues",
                       audit->lost, audit->expected, audit->found);
    else if (audit->lost < 0)
        (void)snprintf(audit->text, sizeof audit->text,
                       "%" PRId64 " task(s) taken twice: %" PRId64 " accepted and not started, %" PRIu64
                       " in the queues",
                       -audit->lost, (int64_t)audit->expected, audit->found);
    else
        (void)snprintf(audit->text, sizeof audit->text, "every task is accounted for: %" PRIu64 " queued",
                       audit->found);
}

/* Look until two looks agree, but not oftener than that. yields: let others go on in between. */
static int audit_pool(vigil_pool *pool, int tries, bool yields, vigil_audit *given)
{
    int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    if (given == NULL)
        return VG_WHY_NULL("audit");
    vigil_audit filled = {0};
    vigil_audit *audit = &filled;
    audit_look before = audit_look_around(pool);
    audit_look now = before;
    audit->settled = false;
    for (int i = 0; i < tries && !audit->settled; i++) {
        if (yields)
            vg_thread_yield();
        before = now;
        now = audit_look_around(pool);
        audit->settled = looks_agree(&before, &now);
    }
    audit->expected = now.expected;
    audit->found = now.found;
    audit->lost = (int64_t)(now.expected - now.found);
    vg_file_pool *shared = pool->shared;
    vg_cell_set(&shared->audit_settled, audit->settled);
    vg_cell_set(&shared->audit_expected, audit->expected);
    vg_cell_set(&shared->audit_found, audit->found);
    vg_cell_set(&shared->audit_lost, (uint64_t)audit->lost);
    vg_cell_set(&shared->audited_at, vg_ticks());
    describe_audit(audit);
    error = vg_options_give(given, given->size, audit, sizeof *audit,
                            offsetof(vigil_audit, settled) + sizeof audit->settled, "audit");
    if (error != 0)
        return error;
    if (!audit->settled)
        return -EAGAIN;
    return audit->lost == 0 ? 0 : -EIO;
}

int vigil_pool_audit(vigil_pool *pool, vigil_audit *audit)
{
    return audit_pool(pool, VG_AUDIT_TRIES, true, audit);
}

int vg_pool_audit_at_once(vigil_pool *pool, vigil_audit *audit)
{
    return audit_pool(pool, 1, false, audit);
}
