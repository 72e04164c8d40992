/* SPDX-License-Identifier: MIT */
/*
 * run.c - one run. Its owner changes with its phase: the pool while it is queued, the handler while it works, then the
 * stack of ends, then the runner, which frees it. The heart only reads it, under the lock, while it is in flight.
 */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backoff.h"
#include "decimal.h"
#include "heart.h"
#include "runner.h"
#include "utf8.h"
#include "why.h"

static struct vg_jobs_run *of_seen(vigil_jobs_run *seen)
{
    return (struct vg_jobs_run *)(void *)seen;
}

void vg_jobs_run_push(struct vg_jobs_run *run, bool may_help)
{
    vigil_jobs *jobs = run->jobs;
    /* vigil_jobs_close waits for pushers: the queue stays until the wake is done. Pairs with the decrement. */
    (void)atomic_fetch_add_explicit(&jobs->pushing, 1, memory_order_relaxed);
    struct vg_jobs_run *head = atomic_load_explicit(&jobs->ends, memory_order_relaxed);
    do
        run->next_end = head;
    /* release: the runner's exchange sees the end that is inside */
    while (!atomic_compare_exchange_weak_explicit(&jobs->ends, &head, run, memory_order_release, memory_order_relaxed));
    /* The first on an empty stack wakes: the runner empties it as a whole, and looks at it after each wake. */
    if (head == NULL && !(may_help && vg_jobs_runner_help(jobs)))
        jobs->engine->ring(jobs->site);
    /* release: our last touch; pairs with the acquire in vigil_jobs_close */
    (void)atomic_fetch_sub_explicit(&jobs->pushing, 1, memory_order_release);
}

static void set_error(struct vg_jobs_run *run, int status)
{
    if (run->error != NULL)
        return;
    char text[160];
    (void)snprintf(text, sizeof text, "%s (%d)", vigil_strerror(status), status);
    run->error = strdup(text);
}

static void decide(struct vg_jobs_run *run, int status)
{
    const vigil_jobs_kind *kind = &run->handler->options;
    int aborted = atomic_load_explicit(&run->aborted, memory_order_relaxed);
    unsigned most = run->max_errors != 0 ? run->max_errors : kind->max_errors;
    run->end.result = run->result;
    run->end.result_length = run->result_length;
    if (status >= 0) {
        run->end.outcome = VG_JOBS_COMPLETE;
        return;
    }
    set_error(run, status);
    run->end.error = run->error;
    if (aborted == -ECANCELED)
        run->end.outcome = VG_JOBS_CANCEL;
    else if (aborted == -ESHUTDOWN)
        run->end.outcome = VG_JOBS_GIVE_BACK;
    else if (run->seen.errors + 1 >= most)
        run->end.outcome = VG_JOBS_BURY;
    else
        run->end.outcome = VG_JOBS_AGAIN;
    run->end.delay_ms =
        vg_jobs_backoff_ms(kind->backoff_ns / 1000000, kind->backoff_max_ns / 1000000, run->seen.errors);
}

/* The handler's part is over. */
static void end_run(struct vg_jobs_run *run, int status, bool may_help)
{
    vigil_jobs *jobs = run->jobs;
    decide(run, status);
    uint64_t took = 0;
    (void)pthread_mutex_lock(&jobs->lock);
    run->end.checkpoint = run->checkpoint;
    run->end.checkpoint_length = run->checkpoint_length;
    run->end.verdict = run->verdict;
    if (run->started_ms != 0)
        took = vg_jobs_now_ms() - run->started_ms;
    atomic_store_explicit(&run->phase, VG_JOBS_ENDED, memory_order_relaxed);
    (void)pthread_mutex_unlock(&jobs->lock);
    uint64_t mean = atomic_load_explicit(&jobs->run_ns, memory_order_relaxed);
    atomic_store_explicit(&jobs->run_ns, (mean * 7 + took * 1000000) / 8, memory_order_relaxed);
    vg_jobs_run_push(run, may_help);
}

/* The handler as a child of the run's task: vigil_raise then leaves the child alone, and the run still ends. */
struct inner {
    vigil_task task;
    struct vg_jobs_run *run;
    int status;
    bool returned;
};

/* The run is somebody else's now, and may have ended: it is there if it is in flight. */
static void leave_thread(vigil_jobs *jobs, uint64_t id, uint64_t number)
{
    (void)pthread_mutex_lock(&jobs->lock);
    for (struct vg_jobs_run *it = jobs->flying; it != NULL; it = it->next)
        if (it->end.id == id && it->end.number == number)
            atomic_store_explicit(&it->thread, 0, memory_order_relaxed);
    (void)pthread_mutex_unlock(&jobs->lock);
}

/* The kind, as much of it as fits, and the number of the job. */
static void label_task(const struct vg_jobs_run *run)
{
    enum {
        NAME = 18
    };
    char label[NAME + 1 + 24];
    size_t length = strnlen(run->handler->name, NAME);
    memcpy(label, run->handler->name, length);
    label[length++] = ' ';
    (void)vg_jobs_decimal((int64_t)run->seen.id, label + length);
    (void)vigil_task_label(label);
}

/* Asked for once: a child of fork has none of these threads. */
static int own_thread(void)
{
    static _Thread_local int own;
    if (own == 0)
        own = (int)syscall(SYS_gettid);
    return own;
}

static int call_handler(vigil_task *task)
{
    struct inner *inner = (struct inner *)(void *)task;
    struct vg_jobs_run *run = inner->run;
    label_task(run);
    vigil_jobs *jobs = run->jobs;
    uint64_t id = run->end.id, number = run->end.number;
    atomic_store_explicit(&run->thread, own_thread(), memory_order_relaxed);
    inner->status = run->handler->fn(&run->seen, run->handler->arg);
    if (inner->status == VIGIL_JOBS_LATER)
        leave_thread(jobs, id, number);
    inner->returned = true;
    return 0;
}

static int call_guarded(struct vg_jobs_run *run)
{
    struct inner inner = {.run = run};
    vigil_group group;
    vigil_task_init(&inner.task, call_handler, NULL);
    int error = vigil_group_init(&group, run->jobs->pool, 0);
    if (error == 0)
        error = vigil_group_spawn(&group, &inner.task);
    if (error == 0)
        error = vigil_group_wait(&group);
    if (inner.returned)
        return inner.status;
    return error < 0 ? error : -EIO;
}

static int work(vigil_task *task)
{
    struct vg_jobs_run *run = (struct vg_jobs_run *)(void *)((char *)task - offsetof(struct vg_jobs_run, task));
    vigil_jobs *jobs = run->jobs;
    if (atomic_load_explicit(&jobs->stopping, memory_order_relaxed) != 0) { /* has not started: straight back */
        run->end.outcome = VG_JOBS_GIVE_BACK;
        atomic_store_explicit(&run->phase, VG_JOBS_ENDED, memory_order_relaxed);
        vg_jobs_run_push(run, false);
        return 0;
    }
    (void)pthread_mutex_lock(&jobs->lock);
    bool returned = run->returned;
    run->started_ms = vg_jobs_now_ms();
    atomic_store_explicit(&run->phase, returned ? VG_JOBS_ENDED : VG_JOBS_WORKS, memory_order_relaxed);
    bool limited = run->limit_ms != 0;
    (void)pthread_mutex_unlock(&jobs->lock);
    if (returned) {
        run->end.outcome = VG_JOBS_GIVE_BACK;
        vg_jobs_run_push(run, false);
        return 0;
    }
    if (limited) { /* the heart computes the next limit anew */
        vg_jobs_heart_ring(jobs);
    }
    int status = call_guarded(run);
    if (status != VIGIL_JOBS_LATER)
        end_run(run, status, true);
    return 0;
}

/* The pool ended before the run started. */
static void not_run(vigil_task *task)
{
    struct vg_jobs_run *run = (struct vg_jobs_run *)(void *)((char *)task - offsetof(struct vg_jobs_run, task));
    run->end.outcome = VG_JOBS_GIVE_BACK;
    atomic_store_explicit(&run->phase, VG_JOBS_ENDED, memory_order_relaxed);
    vg_jobs_run_push(run, false);
}

struct vg_jobs_run *vg_jobs_run_create(vigil_jobs *jobs, const struct vg_jobs_row *row)
{
    size_t type = row->content_type != NULL ? strlen(row->content_type) + 1 : 0;
    struct vg_jobs_run *run = calloc(1, sizeof *run + row->length + 1 + row->checkpoint_length + type);
    if (run == NULL)
        return NULL;
    char *bytes = (char *)(run + 1);
    run->jobs = jobs;
    run->handler = &jobs->handlers[row->kind];
    run->seen = (vigil_jobs_run){.size = sizeof run->seen,
                                 .id = row->id | jobs->tag,
                                 .number = row->number,
                                 .kind = run->handler->name,
                                 .version = row->version,
                                 .payload = bytes,
                                 .payload_size = row->length,
                                 .errors = row->errors,
                                 .crashes = row->crashes,
                                 .content_type = ""};
    if (row->length > 0)
        memcpy(bytes, row->payload, row->length);
    bytes += row->length + 1; /* a zero after the payload, for those who treat it as text */
    if (row->checkpoint != NULL) {
        memcpy(bytes, row->checkpoint, row->checkpoint_length);
        run->seen.checkpoint = bytes;
        run->seen.checkpoint_size = row->checkpoint_length;
        bytes += row->checkpoint_length;
    }
    if (type != 0) {
        memcpy(bytes, row->content_type, type);
        run->seen.content_type = bytes;
    }
    run->end.id = row->id;
    run->end.number = row->number;
    run->end.batch = row->batch;
    run->end.capped = run->handler->options.cap != 0 || run->handler->options.tenant_cap != 0;
    run->max_errors = row->max_errors;
    run->quarantined = row->quarantined;
    int64_t limit_ns = run->handler->options.limit_ns;
    run->limit_ms = row->limit_ms != 0 ? row->limit_ms : limit_ns / 1000000 + (limit_ns % 1000000 != 0);
    run->progress = -1;
    vigil_task_init(&run->task, work, not_run);
    run->task.vg_class = (uint8_t)row->priority;
    return run;
}

void vg_jobs_run_free(struct vg_jobs_run *run)
{
    /* acquire: pairs with the exchange in vigil_jobs_token */
    vigil_cancel_destroy(atomic_load_explicit(&run->source, memory_order_acquire));
    free(run->text);
    free(run->verdict);
    free(run->checkpoint);
    free(run->result);
    free(run->error);
    free(run);
}

int vg_jobs_run_submit(struct vg_jobs_run *run)
{
    return vigil_pool_submit(run->jobs->pool, &run->task, (vigil_priority)run->task.vg_class);
}

int vigil_jobs_finish(vigil_jobs_run *seen, int status)
{
    if (seen == NULL || status > 0)
        return vg_jobs_why(-EINVAL, seen == NULL ? "run is NULL" : "status must be 0 or negative");
    end_run(of_seen(seen), status, false); /* a loop's thread must not wait for the disk */
    return 0;
}

static int copy_bytes(struct vg_jobs_run *run, const void *bytes, size_t length, void **copy)
{
    if (bytes == NULL && length > 0)
        return vg_jobs_why(-EINVAL, "bytes is NULL");
    if (length > run->jobs->options.max_payload)
        return vg_jobs_why(-EMSGSIZE, "%zu bytes; the most is %zu (max_payload)", length,
                           run->jobs->options.max_payload);
    *copy = malloc(length + 1);
    if (*copy == NULL)
        return -ENOMEM;
    if (length > 0)
        memcpy(*copy, bytes, length);
    return 0;
}

int vigil_jobs_progress(vigil_jobs_run *seen, double done, const char *text)
{
    if (seen == NULL || !(done >= 0 && done <= 1))
        return vg_jobs_why(-EINVAL, seen == NULL ? "run is NULL" : "done must be from 0 to 1");
    struct vg_jobs_run *run = of_seen(seen);
    char *copy = text != NULL ? vg_jobs_utf8_mend(strdup(text)) : NULL;
    if (text != NULL && copy == NULL)
        return -ENOMEM;
    (void)pthread_mutex_lock(&run->jobs->lock);
    run->progress = done;
    if (copy != NULL) {
        char *old = run->text;
        run->text = copy;
        copy = old;
    }
    run->beat_due = true;
    (void)pthread_mutex_unlock(&run->jobs->lock);
    free(copy);
    return 0;
}

int vigil_jobs_checkpoint(vigil_jobs_run *seen, const void *bytes, size_t length)
{
    if (seen == NULL)
        return vg_jobs_why(-EINVAL, "run is NULL");
    struct vg_jobs_run *run = of_seen(seen);
    void *copy;
    int error = copy_bytes(run, bytes, length, &copy);
    if (error != 0)
        return error;
    (void)pthread_mutex_lock(&run->jobs->lock);
    void *old = run->checkpoint;
    run->checkpoint = copy;
    run->checkpoint_length = length;
    run->beat_due = true;
    (void)pthread_mutex_unlock(&run->jobs->lock);
    free(old);
    return 0;
}

int vigil_jobs_result(vigil_jobs_run *seen, const void *bytes, size_t length)
{
    if (seen == NULL)
        return vg_jobs_why(-EINVAL, "run is NULL");
    struct vg_jobs_run *run = of_seen(seen);
    void *copy;
    int error = copy_bytes(run, bytes, length, &copy);
    if (error != 0)
        return error;
    free(run->result);
    run->result = copy;
    run->result_length = length;
    return 0;
}

int vigil_jobs_error(vigil_jobs_run *seen, const char *text)
{
    if (seen == NULL || text == NULL)
        return vg_jobs_why(-EINVAL, seen == NULL ? "run is NULL" : "text is NULL");
    char *copy = vg_jobs_utf8_mend(strdup(text));
    if (copy == NULL)
        return -ENOMEM;
    free(of_seen(seen)->error);
    of_seen(seen)->error = copy;
    return 0;
}
