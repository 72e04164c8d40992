/* SPDX-License-Identifier: MIT */
/*
 * Every kind of work, and every task of the embedder's up to 32 of them, is run by a function of its own: viewers know functions by their
 * address, and so tell them apart by name. All of them do the same.
 */
#include "pool_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vigil/record.h>

#include "bind_pool.h"
#include "pool_piece.h"
#include "pool_side.h"
#ifdef VG_HAVE_OPENSSL
#include "work_crypto.h"
#endif
#include "work_hash.h"
#include "work_zip.h"
#include "why.h"

#define NAMED_TASKS 32

#define RUN(kind, name, value)      \
    static int run_##name(void *it) \
    {                               \
        return vg_piece_run(it);    \
    }
VG_EACH_work(RUN)
#undef RUN

#define KIND(kind, name, value) {run_##name, "pool." #name},
    static const struct {
    vg_job_fn run;
    const char *name;
} kinds[VG_COUNT_work] = {VG_EACH_work(KIND)};
#undef KIND

#define FOUR(name) TASK(name##0) TASK(name##1) TASK(name##2) TASK(name##3)
#define ALL        FOUR(a) FOUR(b) FOUR(c) FOUR(d) FOUR(e) FOUR(f) FOUR(g) FOUR(h)
#define TASK(name)                       \
    static int run_task_##name(void *it) \
    {                                    \
        return vg_piece_run(it);         \
    }
ALL
#undef TASK
#define TASK(name) run_task_##name,
    static const vg_job_fn task_runs[NAMED_TASKS + 1] = {ALL NULL};
#undef TASK

static int run_other_task(void *it)
{
    return vg_piece_run(it);
}

static vg_job_fn run_of(const vg_exposed *task)
{
    return task->slot < NAMED_TASKS ? task_runs[task->slot] : run_other_task;
}

void vg_pool_name_kinds(void)
{
    for (unsigned i = 0; i < VG_COUNT_work; i++)
        VIGIL_RECORD_NAME(kinds[i].run, kinds[i].name);
}

static const vg_exposed *task_number(const vg_pool_side *side, double number)
{
    for (const vg_exposed *task = side->tasks; task; task = task->next)
        if (task->number == (unsigned)number)
            return task;
    return NULL;
}

vg_job_fn vg_pool_choose(vg_piece *it, const vg_pool_side *side, double kind, double number)
{
    if (kind == VG_WORK_EXPOSED) {
        const vg_exposed *task = task_number(side, number);
        if (!task)
            return NULL;
        it->task = task->fn;
        it->blocks = task->flags & VIGIL_JS_TASK_BLOCKS;
        it->work.pub.data = task->data;
        return run_of(task);
    }
    if (!(kind >= 0 && kind < VG_WORK_EXPOSED))
        return NULL;
    it->fn = vg_work_hash_kind((unsigned)kind);
    if (!it->fn)
        it->fn = vg_work_zip_kind((unsigned)kind);
#ifdef VG_HAVE_OPENSSL
    if (kind == VG_WORK_CRYPTO)
        it->fn = vg_crypto_run;
#endif
    it->blocks = kind == VG_WORK_HASH_FILE;
    return it->fn ? kinds[(int)kind].run : NULL;
}

int vigil_js_task_expose(vigil_js *js, const char *name, vigil_js_task_fn fn, void *data, unsigned flags)
{
    static _Atomic unsigned slots;
    vg_pool_side *side = js ? vg_pool_side_of(js) : NULL;
    char shown[64];
    vg_exposed *task;
    if (!js || !fn)
        return vg_js_why(-EINVAL, "js or fn is NULL");
    if (!name || !*name || strlen(name) >= sizeof task->name)
        return vg_js_why(-EINVAL, "name is NULL, empty or too long");
    if (flags & ~VIGIL_JS_TASK_BLOCKS)
        return vg_js_why(-EINVAL, "flags has a bit that is none of VIGIL_JS_TASK_*");
    for (task = side ? side->tasks : NULL; task; task = task->next)
        if (strcmp(task->name, name) == 0)
            return vg_js_why(-EEXIST, "there is a task of this name");
    task = side ? calloc(1, sizeof *task) : NULL;
    if (!task)
        return vg_js_why(-ENOMEM, "there is no memory for a task");
    task->fn = fn;
    task->data = data;
    task->flags = flags;
    task->number = side->task_count++;
    /* relaxed: only the numbers must differ. */
    task->slot = atomic_fetch_add_explicit(&slots, 1, memory_order_relaxed);
    memcpy(task->name, name, strlen(name));
    task->next = side->tasks;
    side->tasks = task;
    snprintf(shown, sizeof shown, "task %.50s", task->slot < NAMED_TASKS ? name : "(exposed)");
    VIGIL_RECORD_NAME(run_of(task), shown);
    return 0;
}
