/* SPDX-License-Identifier: MIT */
/* A label that is read while its task writes another: one of the two, whole, or none. */
#include "pool/label.h"
#include "pool/worker.h"

#include <string.h>
#include <vigil/pool.h>
#include <vigil_check.h>

static vg_file_worker record;
static vg_worker worker;
static const char first[] = "aaaaaaaaaaaaaaaa", second[] = "bbbbbbbbbbbbbbbb";

static void *labels_twice(void *arg)
{
    vg_current_worker = &worker;
    vgc_assert(vigil_task_label(first) == 0, "taken");
    vgc_clock_advance(1000); /* the time of a label is its number: two in one tick would be one */
    vgc_assert(vigil_task_label(second) == 0, "taken");
    vg_current_worker = NULL;
    return arg;
}

VGC_SCENARIO(label_again, "a label is shown whole or not at all", .bound = "2 labels, 1 look")
{
    worker.seat.counts = &record;
    worker.depth = 1;
    vgc_clock_advance(1000);
    pthread_t t = vgc_thread_start(labels_twice, NULL);
    vg_worker_fact fact;
    memset(&fact, 0, sizeof fact);
    vg_label_read(&record, &fact);
    vgc_assert(fact.label[0] == 0 || strcmp(fact.label, first) == 0 || strcmp(fact.label, second) == 0, "whole");
    vgc_thread_join(t);
}
