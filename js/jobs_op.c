/* SPDX-License-Identifier: MIT */
/*
 * Operations of vigil:jobs that may block, because there is a disk or a server behind them: each is a task of the pool, and its answer
 * comes back through the port. Waiting for the end of a job is a promise of the loop instead: no thread waits.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "jobs_side.h"
#include "turn.h"

enum verb {
    VERB_OPEN,
    VERB_START,
    VERB_ENQUEUE,
    VERB_CANCEL,
    VERB_RETRY,
    VERB_REMOVE,
    VERB_PAUSE,
    VERB_RESUME,
    VERB_BATCH,
    VERB_BATCH_END,
    VERB_ACCOUNT,
    VERB_LOOK,
    VERB_SCHEDULE,
    VERB_UNSCHEDULE,
    VERB_SHUTDOWN,
    VERB_CLOSE,
    VERB_WAIT
};

/* One job to enqueue, with all that it points to. */
typedef struct vg_job_new {
    vigil_jobs_job options;
    char *kind, *content_type, *key, *tenant;
    void *payload;
    size_t length;
} vg_job_new;

typedef struct vg_job_seen {
    struct vg_job_seen *next;
    vigil_jobs_info info;
} vg_job_seen;

typedef struct vg_job_op {
    vg_done done;
    vigil_task task;
    vg_queue *queue;
    enum verb verb;
    double answer; /* the number that JavaScript expects it under */
    char *text;    /* where, kind or name */
    uint64_t job;
    int64_t ns;
    vigil_jobs_options options;
    vigil_jobs_filter filter;
    vigil_jobs_schedule schedule;
    vigil_jobs_account account;
    size_t count;
    vg_job_new *news;
    vigil_jobs_item *items;
    vg_job_seen *first, **last;
    vigil_value end; /* of a wait */
    vigil_cancel_source *source;
    struct vg_job_op *next; /* waits that can be given up; owner */
    int status;
    char *why;
} vg_job_op;

static void op_free(vg_job_op *op)
{
    for (size_t i = 0; op->news && i < op->count; i++) {
        free(op->news[i].kind);
        free(op->news[i].content_type);
        free(op->news[i].key);
        free(op->news[i].tenant);
        free(op->news[i].payload);
    }
    while (op->first) {
        vg_job_seen *seen = op->first;
        op->first = seen->next;
        free(seen);
    }
    free(op->news);
    free(op->items);
    free(op->text);
    free(op->why);
    free((void *)(uintptr_t)op->options.spool);
    free((void *)(uintptr_t)op->schedule.kind);
    free((void *)(uintptr_t)op->schedule.cron);
    free((void *)(uintptr_t)op->schedule.zone);
    free((void *)(uintptr_t)op->schedule.payload);
    free((void *)(uintptr_t)op->filter.kind);
    vigil_value_destroy(&op->end);
    vigil_cancel_destroy(op->source);
    vg_queue_release(op->queue);
    free(op);
}

/* ---- on the pool ------------------------------------------------------------------------------------------------- */

static char *copy_text(char **to, const char *text)
{
    char *at = *to;
    *to = stpcpy(at, text) + 1;
    return at;
}

/* A copy in one piece. */
static void see(const vigil_jobs_info *info, void *arg)
{
    vg_job_op *op = arg;
    size_t length = sizeof(vg_job_seen) + info->payload_size + info->result_size + 8 + strlen(info->kind) +
                    strlen(info->text) + strlen(info->error) + strlen(info->worker) + strlen(info->key) +
                    strlen(info->tenant) + strlen(info->verdict);
    vg_job_seen *seen = malloc(length);
    if (!seen) {
        op->status = -ENOMEM;
        return;
    }
    char *to = (char *)(seen + 1);
    seen->next = NULL;
    seen->info = *info;
    seen->info.kind = copy_text(&to, info->kind);
    seen->info.text = copy_text(&to, info->text);
    seen->info.error = copy_text(&to, info->error);
    seen->info.worker = copy_text(&to, info->worker);
    seen->info.key = copy_text(&to, info->key);
    seen->info.tenant = copy_text(&to, info->tenant);
    seen->info.verdict = copy_text(&to, info->verdict);
    if (info->payload)
        seen->info.payload = memcpy(to, info->payload, info->payload_size);
    to += info->payload_size;
    if (info->result)
        seen->info.result = memcpy(to, info->result, info->result_size);
    *op->last = seen;
    op->last = &seen->next;
}

static void refer_items(vg_job_op *op)
{
    for (size_t i = 0; i < op->count; i++) {
        vg_job_new *one = &op->news[i];
        one->options.content_type = one->content_type;
        one->options.key = one->key;
        one->options.tenant = one->tenant;
        op->items[i] = (vigil_jobs_item){
            .kind = one->kind, .payload = one->payload, .length = one->length, .options = &one->options};
    }
}

static int perform(vg_job_op *op)
{
    vigil_jobs *jobs = op->queue->jobs;
    int status;
    switch (op->verb) {
    case VERB_OPEN:
        return vigil_jobs_open(&op->queue->jobs, op->text, &op->options);
    case VERB_START:
        return vigil_jobs_start(jobs);
    case VERB_ENQUEUE:
        refer_items(op);
        if (op->count > 1)
            return vigil_jobs_enqueue_many(jobs, op->items, op->count);
        status = vigil_jobs_enqueue(jobs, op->items[0].kind, op->items[0].payload, op->items[0].length,
                                    op->items[0].options, &op->items[0].id);
        return status == 0 ? 1 : status;
    case VERB_CANCEL:
        return vigil_jobs_cancel(jobs, op->job);
    case VERB_RETRY:
        return vigil_jobs_retry(jobs, op->job);
    case VERB_REMOVE:
        return vigil_jobs_remove(jobs, op->job);
    case VERB_PAUSE:
        return vigil_jobs_pause(jobs, op->text);
    case VERB_RESUME:
        return vigil_jobs_resume(jobs, op->text);
    case VERB_BATCH:
        return vigil_jobs_batch(jobs, &op->job);
    case VERB_BATCH_END:
        return vigil_jobs_batch_end(jobs, op->job);
    case VERB_ACCOUNT:
        status = vigil_jobs_audit(jobs, &op->account);
        return status;
    case VERB_LOOK:
        status = vigil_jobs_look(jobs, &op->filter, see, op);
        return op->status < 0 ? op->status : status;
    case VERB_SCHEDULE:
        return vigil_jobs_schedule_set(jobs, op->text, &op->schedule);
    case VERB_UNSCHEDULE:
        return vigil_jobs_schedule_remove(jobs, op->text);
    case VERB_SHUTDOWN:
        return vigil_jobs_shutdown(jobs, op->ns);
    case VERB_CLOSE:
        vigil_jobs_close(jobs);
        op->queue->jobs = NULL;
        return 0;
    case VERB_WAIT:
    default:
        return -EINVAL;
    }
}

static vg_job_op *of_task(vigil_task *task)
{
    return (vg_job_op *)(void *)((char *)task - offsetof(vg_job_op, task));
}

static void send(vg_job_op *op)
{
    vg_port *port = op->queue->port;
    vg_port_hold(port); /* the queue may go with the operation */
    vg_port_send(port, &op->done);
    vg_port_release(port);
}

static int run(vigil_task *task)
{
    vg_job_op *op = of_task(task);
    vigil_blocking_begin();
    op->status = perform(op);
    if (op->status < 0)
        op->why = strdup(vigil_jobs_why());
    vigil_blocking_end();
    send(op);
    return 0;
}

static void not_run(vigil_task *task)
{
    vg_job_op *op = of_task(task);
    op->status = -ECANCELED;
    send(op);
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

static vg_val info_object(vg_engine *engine, const vigil_jobs_info *info)
{
    static const char *const states[] = {"waiting", "running", "held", "quarantine", "completed", "dead", "cancelled"};
#define NAME(kind, name, value) [VIGIL_##kind] = #name,
    static const char *const classes[VIGIL_PRIORITIES] = {VG_EACH_priority(NAME)};
#undef NAME
    vg_val object = vg_object(engine);
    vg_set_id(engine, object, "id", info->id);
    vg_set_id(engine, object, "number", info->number);
    vg_set_text(engine, object, "state", states[info->state]);
    vg_set_text(engine, object, "priority", classes[info->priority]);
    vg_set_text(engine, object, "kind", info->kind);
    vg_set_number(engine, object, "version", info->version);
    vg_set_number(engine, object, "errors", info->errors);
    vg_set_number(engine, object, "crashes", info->crashes);
    vg_set_number(engine, object, "created", (double)info->created_ms);
    vg_set_number(engine, object, "due", (double)info->due_ms);
    vg_set_number(engine, object, "started", (double)info->started_ms);
    vg_set_number(engine, object, "ended", (double)info->ended_ms);
    vg_set_number(engine, object, "progress", info->progress);
    vg_set_text(engine, object, "text", info->text);
    vg_set_text(engine, object, "error", info->error);
    vg_set_text(engine, object, "worker", info->worker);
    vg_set_text(engine, object, "key", info->key);
    vg_set_text(engine, object, "tenant", info->tenant);
    vg_set_text(engine, object, "verdict", info->verdict);
    vg_set_bytes(engine, object, "payload", info->payload, info->payload_size);
    vg_set_bytes(engine, object, "result", info->result, info->result_size);
    return object;
}

static vg_val account_object(vg_engine *engine, const vigil_jobs_account *account)
{
    vg_val object = vg_object(engine);
    vg_set_number(engine, object, "enqueued", (double)account->enqueued);
    vg_set_number(engine, object, "waiting", (double)account->waiting);
    vg_set_number(engine, object, "running", (double)account->running);
    vg_set_number(engine, object, "completed", (double)account->completed);
    vg_set_number(engine, object, "dead", (double)account->dead);
    vg_set_number(engine, object, "cancelled", (double)account->cancelled);
    return object;
}

/* Lists go as objects with numbers for names: "0", "1" and so on, and how many. */
static vg_val list_object(vg_engine *engine, const vg_job_op *op)
{
    vg_val object = vg_object(engine), thrown;
    char name[24];
    size_t count = 0;
    for (const vg_job_seen *seen = op->first; seen; seen = seen->next) {
        (void)snprintf(name, sizeof name, "%zu", count++);
        vg_set(engine, object, name, info_object(engine, &seen->info), &thrown);
    }
    for (size_t i = 0; i < op->count; i++) {
        (void)snprintf(name, sizeof name, "%zu", count++);
        vg_set_id(engine, object, name, op->items[i].id);
    }
    vg_set_number(engine, object, "length", (double)count);
    return object;
}

static vg_val answer_of(vg_engine *engine, const vg_job_op *op)
{
    switch (op->verb) {
    case VERB_ENQUEUE:
    case VERB_LOOK:
        return list_object(engine, op);
    case VERB_ACCOUNT:
        return account_object(engine, &op->account);
    case VERB_WAIT:
        return info_object(engine, op->end.pointer);
    case VERB_BATCH: {
        vg_val object = vg_object(engine);
        vg_set_id(engine, object, "id", op->job);
        return object;
    }
    default:
        return vg_number(engine, op->status);
    }
}

static void unlist(vigil_js *js, vg_job_op *op)
{
    (void)js;
    vg_job_op **at = &op->queue->waits;
    while (*at && *at != op)
        at = &(*at)->next;
    if (*at)
        *at = op->next;
}

static void deliver(vigil_js *js, vg_done *done)
{
    vg_job_op *op = (vg_job_op *)(void *)((char *)done - offsetof(vg_job_op, done));
    vg_engine *engine = js->engine;
    vg_val answer = vg_number(engine, op->answer), value, why = NULL;
    if (op->status < 0) {
        value = vg_number(engine, op->status);
        why = vg_string(engine, op->why ? op->why : "");
        /* With -EEXIST the job that holds the key is known. */
        if (op->verb == VERB_ENQUEUE && op->status == -EEXIST) {
            vg_val both = vg_object(engine), thrown;
            vg_set_number(engine, both, "status", op->status);
            vg_set(engine, both, "why", why, &thrown);
            vg_set_id(engine, both, "holder", op->items[0].id);
            value = both;
            why = NULL;
        }
    } else {
        value = answer_of(engine, op);
    }
    if (op->verb == VERB_WAIT)
        unlist(js, op);
    op_free(op);
    vg_js_in_flight(js, -1);
    vg_js_dispatch(js, VG_DISPATCH_COMPLETE, answer, value, why);
}

static void drop(vg_done *done)
{
    op_free((vg_job_op *)(void *)((char *)done - offsetof(vg_job_op, done)));
}

/* ---- beginning --------------------------------------------------------------------------------------------------- */

static vg_job_op *op_new(vg_call *call, vg_queue *queue, enum verb verb)
{
    vg_job_op *op = queue ? calloc(1, sizeof *op) : NULL;
    if (!op)
        return NULL;
    vg_queue_hold(queue);
    op->queue = queue;
    op->verb = verb;
    op->answer = vg_arg_number(call, 1);
    op->done.deliver = deliver;
    op->done.drop = drop;
    op->last = &op->first;
    op->options = (vigil_jobs_options)VIGIL_JOBS_OPTIONS_INIT;
    op->filter = (vigil_jobs_filter)VIGIL_JOBS_FILTER_INIT;
    op->schedule = (vigil_jobs_schedule)VIGIL_JOBS_SCHEDULE_INIT;
    op->account = (vigil_jobs_account)VIGIL_JOBS_ACCOUNT_INIT;
    op->end = vigil_value_none();
    return op;
}

static vg_val begin(vg_call *call, vg_job_op *op)
{
    vigil_js *js = call->host;
    vigil_pool *pool = op ? vigil_js_pool(js) : NULL;
    int error = op ? pool ? 0 : -ENOMEM : -ESHUTDOWN;
    if (error == 0) {
        vigil_task_init(&op->task, run, not_run);
        error = vigil_pool_submit(pool, &op->task, VIGIL_NORMAL);
    }
    if (error == 0)
        vg_js_in_flight(js, 1);
    else if (op)
        op_free(op);
    return vg_number(call->engine, error);
}

/* open(number of the new queue, answer, where, options) */
vg_val vg_job_op_open(vg_call *call)
{
    vigil_js *js = call->host;
    vg_engine *engine = call->engine;
    vg_val from = vg_arg(call, 3);
    vg_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return vg_number(engine, -ENOMEM);
    atomic_init(&queue->refs, 1U);
    (void)pthread_mutex_init(&queue->lock, NULL);
    queue->port = js->port;
    vg_port_hold(js->port);
    queue->id = vg_arg_number(call, 0);
    queue->next = js->jobs_side->queues;
    js->jobs_side->queues = queue;
    vg_job_op *op = op_new(call, queue, VERB_OPEN);
    if (!op)
        return vg_number(engine, -ENOMEM);
    op->text = vg_arg_text(call, 2, NULL);
    op->options.workers = (unsigned)vg_option_number(engine, from, "concurrency", 0);
    op->options.no_prefetch = true; /* a handler in JavaScript has no worker that could be busy */
    op->options.lease_ns = vg_option_ns(engine, from, "lease");
    op->options.poll_ns = vg_option_ns(engine, from, "poll");
    op->options.max_payload = (size_t)vg_option_number(engine, from, "maxPayload", 0);
    op->options.keep_completed_ns = vg_option_ns(engine, from, "keepCompleted");
    op->options.keep_dead_ns = vg_option_ns(engine, from, "keepDead");
    op->options.keep_completed_most = (uint64_t)vg_option_number(engine, from, "keepCompletedMost", 0);
    op->options.keep_dead_most = (uint64_t)vg_option_number(engine, from, "keepDeadMost", 0);
    op->options.fast = vg_option_bool(engine, from, "fast");
    op->options.max_waiting = (uint64_t)vg_option_number(engine, from, "maxWaiting", 0);
    op->options.full_wait_ns = vg_option_ns(engine, from, "fullWait");
    op->options.spool = vg_option_text(engine, from, "spool");
    op->options.must_last = vg_option_bool(engine, from, "mustLast");
    if (!op->text) {
        op_free(op);
        return vg_number(engine, -ENOMEM);
    }
    return begin(call, op);
}

static uint64_t id_of(vg_call *call, size_t i)
{
    char *text = vg_arg_is(call, i, VG_STRING) ? vg_arg_text(call, i, NULL) : NULL;
    uint64_t id = text ? strtoull(text, NULL, 10) : 0;
    free(text);
    return id;
}

/* verb(queue, answer, name of the verb, id or text or undefined, ms) */
vg_val vg_job_op_verb(vg_call *call)
{
    static const struct {
        const char *name;
        enum verb verb;
        bool id;
    } verbs[] = {
        {"start", VERB_START, false},  {"cancel", VERB_CANCEL, true},          {"retry", VERB_RETRY, true},
        {"remove", VERB_REMOVE, true}, {"pause", VERB_PAUSE, false},           {"resume", VERB_RESUME, false},
        {"batch", VERB_BATCH, false},  {"endBatch", VERB_BATCH_END, true},     {"account", VERB_ACCOUNT, false},
        {"close", VERB_CLOSE, false},  {"unschedule", VERB_UNSCHEDULE, false}, {"shutdown", VERB_SHUTDOWN, false},
    };
    char *name = vg_arg_text(call, 2, NULL);
    size_t i = 0;
    while (name && i < sizeof verbs / sizeof *verbs && strcmp(verbs[i].name, name) != 0)
        i++;
    bool known = name && i < sizeof verbs / sizeof *verbs;
    free(name);
    if (!known)
        return vg_number(call->engine, -EINVAL);
    vg_job_op *op = op_new(call, vg_queue_of(call), verbs[i].verb);
    if (op && verbs[i].id)
        op->job = id_of(call, 3);
    else if (op && vg_arg_is(call, 3, VG_STRING))
        op->text = vg_arg_text(call, 3, NULL);
    if (op) {
        double ms = vg_arg_number(call, 4);
        op->ns = ms >= 0 && ms < 9e12 ? (int64_t)(ms * 1e6) : VIGIL_FOREVER;
    }
    return begin(call, op);
}

static void *copy_bytes(vg_engine *engine, vg_val value, size_t *length)
{
    unsigned char *bytes;
    if (!vg_to_bytes(engine, value, &bytes, length))
        *length = 0;
    void *copy = malloc(*length + 1);
    if (copy && *length > 0)
        memcpy(copy, bytes, *length);
    return copy;
}

static uint64_t option_id(vg_engine *engine, vg_val from, const char *name)
{
    char *text = vg_option_text(engine, from, name);
    uint64_t id = text ? strtoull(text, NULL, 10) : 0;
    free(text);
    return id;
}

static bool read_job(vg_engine *engine, vg_val from, vg_job_new *to)
{
    vg_val thrown, payload = vg_get(engine, from, "payload", &thrown);
    to->options = (vigil_jobs_job)VIGIL_JOBS_JOB_INIT;
    to->options.priority = (vigil_priority)vg_option_number(engine, from, "priority", VIGIL_NORMAL);
    to->options.delay_ns = vg_option_ns(engine, from, "delay");
    to->options.at_ms = (int64_t)vg_option_number(engine, from, "at", 0);
    to->options.version = (unsigned)vg_option_number(engine, from, "version", 0);
    to->options.unique = vg_option_bool(engine, from, "untilStart") ? VIGIL_JOBS_UNTIL_START : VIGIL_JOBS_UNTIL_END;
    to->options.unique_ns = vg_option_ns(engine, from, "uniqueFor");
    to->options.max_errors = (unsigned)vg_option_number(engine, from, "maxErrors", 0);
    to->options.limit_ns = vg_option_ns(engine, from, "limit");
    to->options.batch = option_id(engine, from, "batch");
    to->options.after_batch = option_id(engine, from, "afterBatch");
    to->kind = vg_option_text(engine, from, "kind");
    to->content_type = vg_option_text(engine, from, "contentType");
    to->key = vg_option_text(engine, from, "key");
    to->tenant = vg_option_text(engine, from, "tenant");
    to->payload = copy_bytes(engine, payload ? payload : vg_undefined(engine), &to->length);
    return to->kind && to->payload;
}

/* enqueue(queue, answer, list of jobs, how many) */
vg_val vg_job_op_enqueue(vg_call *call)
{
    vg_job_op *op = op_new(call, vg_queue_of(call), VERB_ENQUEUE);
    double count = vg_arg_number(call, 3);
    if (!op)
        return vg_number(call->engine, -ESHUTDOWN);
    op->count = count >= 1 && count <= 1e6 ? (size_t)count : 0;
    op->news = calloc(op->count + 1, sizeof *op->news);
    op->items = calloc(op->count + 1, sizeof *op->items);
    bool whole = op->count > 0 && op->news && op->items;
    for (size_t i = 0; i < op->count && whole; i++) {
        vg_val thrown, one = vg_get_index(call->engine, vg_arg(call, 2), (unsigned)i, &thrown);
        whole = one && read_job(call->engine, one, &op->news[i]);
    }
    if (!whole) {
        op_free(op);
        return vg_number(call->engine, -ENOMEM);
    }
    return begin(call, op);
}

/* look(queue, answer, filter) */
vg_val vg_job_op_look(vg_call *call)
{
    vg_job_op *op = op_new(call, vg_queue_of(call), VERB_LOOK);
    vg_val from = vg_arg(call, 2);
    if (op) {
        op->filter.id = option_id(call->engine, from, "id");
        op->filter.above_id = option_id(call->engine, from, "above");
        op->filter.states = (unsigned)vg_option_number(call->engine, from, "states", 0);
        op->filter.kind = vg_option_text(call->engine, from, "kind");
        op->filter.most = (unsigned)vg_option_number(call->engine, from, "most", 0);
    }
    return begin(call, op);
}

/* schedule(queue, answer, name, options) */
vg_val vg_job_op_schedule(vg_call *call)
{
    vg_job_op *op = op_new(call, vg_queue_of(call), VERB_SCHEDULE);
    vg_engine *engine = call->engine;
    vg_val from = vg_arg(call, 3), thrown;
    if (op) {
        vg_val payload = vg_get(engine, from, "payload", &thrown);
        op->text = vg_arg_text(call, 2, NULL);
        op->schedule.kind = vg_option_text(engine, from, "kind");
        op->schedule.cron = vg_option_text(engine, from, "cron");
        op->schedule.zone = vg_option_text(engine, from, "zone");
        op->schedule.catch_up = (vigil_jobs_catch_up)vg_option_number(engine, from, "catchUp", 0);
        op->schedule.payload = copy_bytes(engine, payload ? payload : vg_undefined(engine), &op->schedule.length);
    }
    return begin(call, op);
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

static vigil_value ended(vigil_value *value, void *arg)
{
    ((vg_job_op *)arg)->end = vigil_value_move(value);
    return vigil_value_none();
}

static vigil_value not_ended(vigil_value *value, void *arg)
{
    ((vg_job_op *)arg)->status = value->status;
    return vigil_value_none();
}

static void waited(void *arg)
{
    vg_job_op *op = arg;
    if (op->status == 0 && op->end.pointer == NULL)
        op->status = -ESHUTDOWN; /* neither ran */
    send(op);
}

/* wait(queue, answer, id) */
vg_val vg_job_op_wait(vg_call *call)
{
    vigil_js *js = call->host;
    vg_job_op *op = op_new(call, vg_queue_of(call), VERB_WAIT);
    vigil_promise *promise = NULL;
    int error = op ? vigil_cancel_create(&op->source) : -ESHUTDOWN;
    if (error == 0)
        error =
            vigil_promise_jobs(op->queue->jobs, js->loop, id_of(call, 2), vigil_cancel_token_of(op->source), &promise);
    if (error == 0) {
        vigil_handlers handlers = VIGIL_HANDLERS_INIT;
        handlers.fulfilled = ended;
        handlers.rejected = not_ended;
        handlers.arg = op;
        handlers.done = waited;
        error = vigil_promise_then_with(promise, &handlers, NULL);
        vigil_promise_unref(promise);
    }
    if (error == 0) {
        op->next = op->queue->waits;
        op->queue->waits = op;
        vg_js_in_flight(js, 1);
    } else if (op) {
        op_free(op);
    }
    return vg_number(call->engine, error);
}

/* unwait(queue, answer): the wait with this number ends with -ECANCELED. */
vg_val vg_job_op_unwait(vg_call *call)
{
    vg_queue *queue = vg_queue_of(call);
    double answer = vg_arg_number(call, 1);
    for (vg_job_op *op = queue ? queue->waits : NULL; op; op = op->next)
        if (op->answer == answer) {
            (void)vigil_cancel_abort(op->source, -ECANCELED, NULL);
            break;
        }
    return vg_undefined(call->engine);
}
