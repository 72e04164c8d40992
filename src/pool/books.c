/* SPDX-License-Identifier: MIT */
/*
 * books.c - the sums of all counters. README.md, "File by file".
 */
#include "books.h"

#include "seats.h"

#include <string.h>

void vg_each_seat(vigil_pool *pool, void (*visit)(vg_seat *seat, void *arg), void *arg)
{
    for (unsigned i = 0; (i = vg_seat_next(pool, i)) < VG_MAX_SEATS; i++)
        visit(vg_seat_at(pool, i), arg);
}

typedef struct sums_of_class {
    unsigned class_;
    vg_class_sums *into;
} sums_of_class;

static void add_ends(vg_seat *seat, void *arg)
{
    sums_of_class *to = arg;
    to->into->completed += vg_read_counter(&seat->counts->of[to->class_].completed);
    to->into->failed += vg_read_counter(&seat->counts->of[to->class_].failed);
    to->into->cancelled += vg_read_counter(&seat->counts->of[to->class_].cancelled);
}

static void add_starts(vg_seat *seat, void *arg)
{
    sums_of_class *to = arg;
    to->into->started += vg_read_counter(&seat->counts->of[to->class_].started);
    to->into->withdrawn += vg_read_counter(&seat->counts->of[to->class_].withdrawn);
    to->into->refused += vg_read_counter(&seat->counts->of[to->class_].refused);
}

static void add_submits(vg_seat *seat, void *arg)
{
    sums_of_class *to = arg;
    to->into->submitted += vg_read_counter(&seat->counts->of[to->class_].submitted) +
                           vg_read_counter(&seat->counts->of[to->class_].spawned);
}

void vg_pool_sums(vigil_pool *pool, vg_class_sums by_class[VG_CLASSES])
{
    memset(by_class, 0, VG_CLASSES * sizeof *by_class);
    for (unsigned c = 0; c < VG_CLASSES; c++) {
        sums_of_class to = {.class_ = c, .into = &by_class[c]};
        vg_each_seat(pool, add_ends, &to);
        for (unsigned i = 0; i < VG_STRIPES; i++)
            by_class[c].cancelled += vg_read_counter(&pool->shared->stripes[i].cancelled[c]);
    }
    for (unsigned c = 0; c < VG_CLASSES; c++) {
        sums_of_class to = {.class_ = c, .into = &by_class[c]};
        vg_each_seat(pool, add_starts, &to);
        for (unsigned i = 0; i < VG_STRIPES; i++) {
            by_class[c].withdrawn += vg_read_counter(&pool->shared->stripes[i].withdrawn[c]);
            by_class[c].refused += vg_read_counter(&pool->shared->stripes[i].refused[c]);
        }
    }
    for (unsigned c = 0; c < VG_CLASSES; c++) {
        sums_of_class to = {.class_ = c, .into = &by_class[c]};
        vg_each_seat(pool, add_submits, &to);
        for (unsigned i = 0; i < VG_STRIPES; i++)
            by_class[c].submitted += vg_read_counter(&pool->shared->stripes[i].submitted[c]);
    }
}

void vg_pool_books(vigil_pool *pool, vg_books *books)
{
    vg_class_sums by_class[VG_CLASSES];
    vg_pool_sums(pool, by_class);
    *books = (vg_books){0};
    for (unsigned c = 0; c < VG_CLASSES; c++) {
        books->accepted += by_class[c].submitted - by_class[c].withdrawn;
        books->begun += by_class[c].started + by_class[c].cancelled;
        books->ended += by_class[c].completed + by_class[c].failed + by_class[c].cancelled;
    }
}
