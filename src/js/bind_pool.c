/* SPDX-License-Identifier: MIT */
/*
 * Work for lib/pool.js: handed to the pool in a class of the program's choice, and back.
 *
 * Each piece is a job of the pool, because a job can be cancelled exactly: one that has not started never runs, and one that
 * runs goes on to its end (or to its next look at `cancelled`) with nobody waiting for it. The program's promise is rejected by
 * lib/pool.js at once in both cases; what arrives here afterwards is only cleared away.
 *
 * Every kind has a function of its own, so that viewers can tell them apart by name.
 */
#include "work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vigil/watch.h>

#define NAMED_TASKS 32
#define BUCKETS     40 /* powers of two of microseconds */

typedef struct exposed {
    struct exposed *next;
    vigil_js_task_fn fn;
    void *data;
    unsigned flags, number;
    unsigned slot; /* which function of ours runs it: counted over all hosts */
    char name[64];
} exposed;

typedef struct times {
    uint64_t count, sum_ns, longest_ns;
    uint32_t buckets[BUCKETS];
} times;

typedef struct vg_pool_side {
    struct piece *under_way;
    exposed *tasks;
    unsigned task_count;
    times waited[VIGIL_PRIORITIES], ran[VIGIL_PRIORITIES];
} vg_pool_side;

typedef struct piece {
    vg_done done;
    vg_work work;
    vg_port *port;
    vigil_pool *pool;
    vigil_job job;
    struct piece *next, **back;
    double id;
    vigil_priority priority;
    vg_work_fn fn;
    vigil_js_task_fn task; /* instead of fn; the host may go before the work does, so it is no pointer into its list */
    bool blocks;
    uint64_t submitted_ns, started_ns, ended_ns;
    int status;
    vigil_js_datum args[]; /* their data are ours */
} piece;

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

static vg_pool_side *side_of(vigil_js *js)
{
    if (!js->pool_side)
        js->pool_side = calloc(1, sizeof *js->pool_side);
    return js->pool_side;
}

void vg_js_pool_side_end(vigil_js *js)
{
    if (!js->pool_side)
        return;
    while (js->pool_side->tasks) {
        exposed *task = js->pool_side->tasks;
        js->pool_side->tasks = task->next;
        free(task);
    }
    free(js->pool_side);
    js->pool_side = NULL;
}

/* ---- what the work itself may call ------------------------------------------------------------------------------ */

bool vg_work_cancelled(vg_work *work)
{
    /* relaxed: a wish, carrying nothing with it. */
    return atomic_load_explicit(&work->cancelled, memory_order_relaxed) != 0;
}

void vg_work_give(vg_work *work, void *bytes, size_t length)
{
    free(work->out);
    work->out = bytes;
    work->pub.result = (vigil_js_datum){.kind = VIGIL_JS_DATUM_BYTES, .data = bytes, .length = length};
}

int vg_work_fail(vg_work *work, int error, const char *message)
{
    snprintf(work->pub.message, sizeof work->pub.message, "%s", message);
    return error;
}

bool vigil_js_work_cancelled(const vigil_js_work *work)
{
    return vg_work_cancelled((vg_work *)(uintptr_t)work);
}

int vigil_js_work_give(vigil_js_work *work, vigil_js_datum_kind kind, const void *data, size_t length)
{
    unsigned char *copy;
    if (!work || (kind != VIGIL_JS_DATUM_TEXT && kind != VIGIL_JS_DATUM_BYTES) || (length && !data))
        return -EINVAL;
    copy = malloc(length ? length : 1);
    if (!copy)
        return -ENOMEM;
    if (length)
        memcpy(copy, data, length);
    vg_work_give((vg_work *)(void *)work, copy, length);
    work->result.kind = kind;
    return 0;
}

/* ---- on the pool ------------------------------------------------------------------------------------------------ */

static void send(piece *it)
{
    vg_port *port = it->port;
    vg_port_send(port, &it->done);
    vg_port_release(port);
}

static int run(piece *it)
{
    it->started_ns = now_ns();
    if (it->blocks)
        vigil_blocking_begin();
    it->status = it->task ? it->task(&it->work.pub) : it->fn(&it->work);
    if (it->blocks)
        vigil_blocking_end();
    it->ended_ns = now_ns();
    send(it);
    return 0; /* what failed is the program's business */
}

static void never_ran(void *arg)
{
    piece *it = arg;
    it->status = -ECANCELED;
    send(it);
}

#define KIND(name)                  \
    static int run_##name(void *it) \
    {                               \
        return run(it);             \
    }
KIND(hash)
KIND(hashFile)
KIND(pbkdf2)
KIND(scrypt)
KIND(deflate)
KIND(inflate)
#undef KIND
static int (*const kinds[])(void *it) = {run_hash, run_hashFile, run_pbkdf2, run_scrypt, run_deflate, run_inflate};
static const char *const kind_names[] = {"pool.hash",   "pool.hashFile", "pool.pbkdf2",
                                         "pool.scrypt", "pool.deflate",  "pool.inflate"};

#define FOUR(name, at) TASK(name##0, at) TASK(name##1, (at) + 1) TASK(name##2, (at) + 2) TASK(name##3, (at) + 3)
#define ALL            FOUR(a, 0) FOUR(b, 4) FOUR(c, 8) FOUR(d, 12) FOUR(e, 16) FOUR(f, 20) FOUR(g, 24) FOUR(h, 28)
#define TASK(name, at)                   \
    static int run_task_##name(void *it) \
    {                                    \
        return run(it);                  \
    }
ALL
#undef TASK
#define TASK(name, at) run_task_##name,
    static int (*const task_runs[NAMED_TASKS + 1])(void *it) = {ALL NULL};
#undef TASK

static int run_other_task(void *it)
{
    return run(it);
}

static int (*run_of(const exposed *task))(void *it)
{
    return task->slot < NAMED_TASKS ? task_runs[task->slot] : run_other_task;
}

/* ---- back ------------------------------------------------------------------------------------------------------- */

static void note(times *to, uint64_t ns)
{
    uint64_t us = ns / 1000;
    unsigned bucket = us ? 64U - (unsigned)__builtin_clzll(us) : 0;
    to->count++;
    to->sum_ns += ns;
    if (ns > to->longest_ns)
        to->longest_ns = ns;
    to->buckets[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
}

static void free_piece(piece *it)
{
    for (size_t i = 0; i < it->work.pub.count; i++)
        free((void *)(uintptr_t)it->args[i].data);
    free(it->work.out);
    free(it);
}

static void free_bytes(void *data, void *arg)
{
    (void)arg;
    free(data);
}

static vg_val result_of(piece *it, vg_engine *engine)
{
    const vigil_js_datum *result = &it->work.pub.result;
    unsigned char *bytes;
    switch (result->kind) {
    case VIGIL_JS_DATUM_BOOL:
        return vg_bool(engine, result->number != 0);
    case VIGIL_JS_DATUM_NUMBER:
        return vg_number(engine, result->number);
    case VIGIL_JS_DATUM_TEXT:
        return vg_text(engine, result->data, result->length);
    case VIGIL_JS_DATUM_BYTES:
        bytes = it->work.out;
        it->work.out = NULL; /* the array's from here on */
        return vg_bytes(engine, bytes, result->length, free_bytes, NULL);
    default:
        return vg_undefined(engine);
    }
}

static void unlink_piece(piece *it)
{
    *it->back = it->next;
    if (it->next)
        it->next->back = it->back;
}

static void deliver(vigil_js *js, vg_done *done)
{
    piece *it = (piece *)(void *)done;
    vg_val id = vg_number(js->engine, it->id), value = NULL, message = NULL;
    unlink_piece(it);
    if (it->started_ns) {
        note(&js->pool_side->waited[it->priority], it->started_ns - it->submitted_ns);
        note(&js->pool_side->ran[it->priority], it->ended_ns - it->started_ns);
    }
    if (it->status >= 0) {
        value = result_of(it, js->engine);
        if (!value)
            it->status = -ENOMEM;
    }
    if (it->status < 0) {
        value = vg_number(js->engine, it->status);
        it->work.pub.message[sizeof it->work.pub.message - 1] = 0;
        message = vg_string(js->engine, it->work.pub.message);
    }
    vigil_job_release(it->pool, it->job);
    vg_js_in_flight(js, -1);
    free_piece(it);
    vg_js_dispatch(js, VG_COMPLETE, id, value, message);
}

static void drop(vg_done *done)
{
    free_piece((piece *)(void *)done);
}

/* ---- from JavaScript -------------------------------------------------------------------------------------------- */

static bool copy_argument(vg_call *call, vg_val value, vigil_js_datum *datum)
{
    unsigned char *bytes, *copy;
    switch (vg_type_of(call->engine, value)) {
    case VG_BOOL:
        *datum = (vigil_js_datum){.kind = VIGIL_JS_DATUM_BOOL, .number = vg_to_bool(call->engine, value)};
        return true;
    case VG_NUMBER:
        *datum = (vigil_js_datum){.kind = VIGIL_JS_DATUM_NUMBER, .number = vg_to_number(call->engine, value)};
        return true;
    case VG_STRING:
        datum->kind = VIGIL_JS_DATUM_TEXT;
        datum->data = vg_to_text(call->engine, value, &datum->length);
        return datum->data != NULL;
    case VG_OBJECT:
        if (!vg_to_bytes(call->engine, value, &bytes, &datum->length))
            return false;
        datum->kind = VIGIL_JS_DATUM_BYTES;
        datum->data = copy = malloc(datum->length ? datum->length : 1);
        if (copy && datum->length)
            memcpy(copy, bytes, datum->length);
        return copy != NULL;
    default:
        return true;
    }
}

static const exposed *task_number(vg_pool_side *side, double number)
{
    for (const exposed *task = side->tasks; task; task = task->next)
        if (task->number == (unsigned)number)
            return task;
    return NULL;
}

/* What to run, and under which function of ours; NULL: there is no such thing. */
static int (*choose(piece *it, vg_pool_side *side, double kind, double number))(void *it)
{
    if (kind == VG_WORK_EXPOSED) {
        const exposed *task = task_number(side, number);
        if (!task)
            return NULL;
        it->task = task->fn;
        it->blocks = task->flags & VIGIL_JS_TASK_BLOCKS;
        it->work.pub.data = task->data;
        return run_of(task);
    }
    if (!(kind >= 0 && kind < VG_WORK_EXPOSED))
        return NULL;
    it->fn = vg_work_hash_kind((vg_work_kind)kind);
    if (!it->fn)
        it->fn = vg_work_zip_kind((vg_work_kind)kind);
    it->blocks = kind == VG_WORK_HASH_FILE;
    return it->fn ? kinds[(int)kind] : NULL;
}

/* (id, priority, kind, task number, arguments...): 0, or an errno if it was not begun. */
static vg_val later(vg_call *call)
{
    vigil_js *js = call->host;
    vg_pool_side *side = side_of(js);
    vigil_pool *pool = vigil_js_pool(js);
    const size_t count = call->count > 4 ? call->count - 4 : 0;
    piece *it = side && pool ? calloc(1, sizeof *it + count * sizeof *it->args) : NULL;
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    int (*fn)(void *it), error = 0;
    if (!it)
        return vg_number(call->engine, -ENOMEM);
    it->id = vg_arg_number(call, 0);
    it->priority = (vigil_priority)vg_arg_number(call, 1);
    it->work.pub.size = sizeof it->work.pub;
    it->work.pub.args = it->args;
    atomic_init(&it->work.cancelled, 0U);
    fn = choose(it, side, vg_arg_number(call, 2), vg_arg_number(call, 3));
    if (!fn)
        error = -ENOSYS;
    while (error == 0 && it->work.pub.count < count) {
        if (!copy_argument(call, call->args[4 + it->work.pub.count], &it->args[it->work.pub.count]))
            error = -ENOMEM;
        it->work.pub.count++;
    }
    if (error == 0) {
        it->done.deliver = deliver;
        it->done.drop = drop;
        it->pool = pool;
        it->port = js->port;
        options.priority = it->priority;
        options.cancel = never_ran;
        it->next = side->under_way;
        it->back = &side->under_way;
        if (it->next)
            it->next->back = &it->next;
        side->under_way = it;
        it->submitted_ns = now_ns();
        vg_port_hold(js->port);
        error = vigil_job_submit(pool, &it->job, fn, it, &options);
        if (error < 0) {
            vg_port_release(js->port);
            unlink_piece(it);
        } else {
            vg_js_in_flight(js, 1);
        }
    }
    if (error < 0)
        free_piece(it);
    return vg_number(call->engine, error);
}

/* (id): true if it will never run. */
static vg_val cancel(vg_call *call)
{
    vigil_js *js = call->host;
    double id = vg_arg_number(call, 0);
    for (piece *it = js->pool_side ? js->pool_side->under_way : NULL; it; it = it->next) {
        if (it->id != id)
            continue;
        /* relaxed: as in vg_work_cancelled. */
        atomic_store_explicit(&it->work.cancelled, 1U, memory_order_relaxed);
        return vg_bool(call->engine, vigil_job_cancel(it->pool, it->job) == 0);
    }
    return vg_bool(call->engine, false);
}

static vg_val workers(vg_call *call)
{
    vigil_pool *pool = vigil_js_pool(call->host);
    return vg_number(call->engine, pool ? vigil_pool_workers(pool) : 0);
}

static vg_val resize(vg_call *call)
{
    vigil_pool *pool = vigil_js_pool(call->host);
    double count = vg_arg_number(call, 0);
    if (!(count >= 1 && count <= VIGIL_MAX_WORKERS))
        return vg_number(call->engine, -EINVAL);
    return vg_number(call->engine, pool ? vigil_pool_resize(pool, (unsigned)count) : -ENOMEM);
}

static void put(vg_engine *engine, vg_val object, const char *name, double value)
{
    vg_val thrown;
    vg_set(engine, object, name, vg_number(engine, value), &thrown);
}

/* The upper end of the bucket in which the share lies, in ms. */
static double share(const times *from, double part)
{
    uint64_t wanted = (uint64_t)ceil((double)from->count * part), seen = 0;
    for (unsigned i = 0; i < BUCKETS; i++)
        if ((seen += from->buckets[i]) >= wanted && from->count)
            return fmin((double)(UINT64_C(1) << i) / 1e3, (double)from->longest_ns / 1e6);
    return 0;
}

static vg_val times_of(vg_engine *engine, const times *from)
{
    vg_val object = vg_object(engine);
    put(engine, object, "count", (double)from->count);
    put(engine, object, "mean", from->count ? (double)from->sum_ns / (double)from->count / 1e6 : 0);
    put(engine, object, "p50", share(from, 0.5));
    put(engine, object, "p99", share(from, 0.99));
    put(engine, object, "max", (double)from->longest_ns / 1e6);
    return object;
}

static void counts_of(vg_engine *engine, vg_val object, const vigil_class_stats *stats)
{
    put(engine, object, "submitted", (double)stats->submitted);
    put(engine, object, "queued", (double)stats->queued);
    put(engine, object, "running", (double)stats->running);
    put(engine, object, "completed", (double)stats->completed);
    put(engine, object, "failed", (double)stats->failed);
    put(engine, object, "cancelled", (double)stats->cancelled);
    put(engine, object, "oldest", (double)stats->oldest_age_ns / 1e6);
}

static vg_val stats(vg_call *call)
{
    static const char *const names[VIGIL_PRIORITIES] = {"critical", "high", "normal", "low", "idle"};
    vigil_js *js = call->host;
    vg_engine *engine = call->engine;
    vigil_pool *pool = vigil_js_pool(js);
    vg_pool_side *side = side_of(js);
    vigil_pool_stats all = {.size = sizeof all};
    vg_val object = vg_object(engine), classes = vg_object(engine), thrown;
    if (!pool || !side || vigil_pool_stats_get(pool, &all) < 0)
        return vg_throw(call, "the pool could not be made");
    put(engine, object, "workers", all.workers);
    put(engine, object, "threads", all.threads);
    put(engine, object, "spares", all.spares);
    put(engine, object, "parked", all.parked);
    put(engine, object, "searching", all.searching);
    put(engine, object, "blocked", all.blocked);
    counts_of(engine, object, &all.total);
    for (int i = 0; i < VIGIL_PRIORITIES; i++) {
        vg_val one = vg_object(engine);
        counts_of(engine, one, &all.by_class[i]);
        vg_set(engine, one, "wait", times_of(engine, &side->waited[i]), &thrown);
        vg_set(engine, one, "run", times_of(engine, &side->ran[i]), &thrown);
        vg_set(engine, classes, names[i], one, &thrown);
    }
    vg_set(engine, object, "classes", classes, &thrown);
    return object;
}

/* (name): the length of its digest, 0 if it is none. */
static vg_val digest_length(vg_call *call)
{
    char *name = vg_arg_text(call, 0, NULL);
    unsigned length = name ? vg_work_digest_length(name) : 0;
    free(name);
    return vg_number(call->engine, length);
}

/* An object of task name -> number. */
static vg_val tasks(vg_call *call)
{
    vigil_js *js = call->host;
    vg_val object = vg_object(call->engine);
    for (const exposed *task = js->pool_side ? js->pool_side->tasks : NULL; task; task = task->next)
        put(call->engine, object, task->name, task->number);
    return object;
}

static const vg_binding_entry entries[] = {
    {"later", later},   {"cancel", cancel}, {"workers", workers},
    {"resize", resize}, {"stats", stats},   {"digestLength", digest_length},
    {"tasks", tasks},
};

/* The rest of the binding, when lib/pool.js is loaded: programs that never do pay for one function. */
static vg_val pool_binding(vg_call *call)
{
    vigil_js *js = call->host;
    vg_val object = vg_object(call->engine), names = vg_array(call->engine, 0, NULL), thrown;
    if (!vg_js_bind(js, object, entries, sizeof entries / sizeof *entries))
        return vg_throw(call, "no memory");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        VIGIL_WATCH_NAME(kinds[i], kind_names[i]);
    if (vg_work_digests()) {
        vg_val items[32];
        size_t count = 0;
        for (; vg_work_digests()[count]; count++)
            items[count] = vg_string(call->engine, vg_work_digests()[count]);
        names = vg_array(call->engine, count, items);
    }
    vg_set(call->engine, object, "digests", names, &thrown);
    vg_set(call->engine, object, "hasZip", vg_bool(call->engine, vg_work_zip_kind(VG_WORK_DEFLATE) != NULL), &thrown);
    return object;
}

bool vg_js_bind_pool(vigil_js *js)
{
    static const vg_binding_entry entry[] = {{"pool", pool_binding}};
    return vg_js_bind(js, js->binding, entry, 1);
}

int vigil_js_task_expose(vigil_js *js, const char *name, vigil_js_task_fn fn, void *data, unsigned flags)
{
    static _Atomic unsigned slots;
    vg_pool_side *side = js ? side_of(js) : NULL;
    char shown[64];
    exposed *task;
    if (!js || !name || !*name || strlen(name) >= sizeof task->name || !fn || (flags & ~VIGIL_JS_TASK_BLOCKS))
        return -EINVAL;
    for (task = side ? side->tasks : NULL; task; task = task->next)
        if (strcmp(task->name, name) == 0)
            return -EEXIST;
    task = side ? calloc(1, sizeof *task) : NULL;
    if (!task)
        return -ENOMEM;
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
    VIGIL_WATCH_NAME(run_of(task), shown);
    return 0;
}
