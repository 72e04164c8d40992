/* SPDX-License-Identifier: MIT */
/* What lib/pool.js sees: work by number, the pool's size and counters, the names that there are. */
#include "bind_pool.h"

#include <stdlib.h>

#include "bind.h"
#include "pool_names.h"
#include "pool_piece.h"
#include "pool_side.h"
#include "pool_times.h"
#include "work_hash.h"
#include "work_zip.h"

vg_pool_side *vg_pool_side_of(vigil_js *js)
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
        vg_exposed *task = js->pool_side->tasks;
        js->pool_side->tasks = task->next;
        free(task);
    }
    free(js->pool_side);
    js->pool_side = NULL;
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

static void counts_of(vg_engine *engine, vg_val object, const vigil_class_stats *stats)
{
    vg_set_number(engine, object, "submitted", (double)stats->submitted);
    vg_set_number(engine, object, "queued", (double)stats->queued);
    vg_set_number(engine, object, "running", (double)stats->running);
    vg_set_number(engine, object, "completed", (double)stats->completed);
    vg_set_number(engine, object, "failed", (double)stats->failed);
    vg_set_number(engine, object, "cancelled", (double)stats->cancelled);
    vg_set_number(engine, object, "oldest", (double)stats->oldest_age_ns / 1e6);
}

static vg_val stats(vg_call *call)
{
#define NAME(kind, name, value) [VIGIL_##kind] = #name,
    static const char *const names[VIGIL_PRIORITIES] = {VG_EACH_priority(NAME)};
#undef NAME
    vigil_js *js = call->host;
    vg_engine *engine = call->engine;
    vigil_pool *pool = vigil_js_pool(js);
    vg_pool_side *side = vg_pool_side_of(js);
    vigil_pool_stats all = {.size = sizeof all};
    vg_val object = vg_object(engine), classes = vg_object(engine), thrown;
    if (!pool || !side || vigil_pool_stats_get(pool, &all) < 0)
        return vg_throw(call, "the pool could not be made");
    vg_set_number(engine, object, "workers", all.workers);
    vg_set_number(engine, object, "threads", all.threads);
    vg_set_number(engine, object, "spares", all.spares);
    vg_set_number(engine, object, "parked", all.parked);
    vg_set_number(engine, object, "searching", all.searching);
    vg_set_number(engine, object, "blocked", all.blocked);
    counts_of(engine, object, &all.total);
    for (int i = 0; i < VIGIL_PRIORITIES; i++) {
        vg_val one = vg_object(engine);
        counts_of(engine, one, &all.by_class[i]);
        vg_set(engine, one, "wait", vg_times_of(engine, &side->waited[i]), &thrown);
        vg_set(engine, one, "run", vg_times_of(engine, &side->ran[i]), &thrown);
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
    for (const vg_exposed *task = js->pool_side ? js->pool_side->tasks : NULL; task; task = task->next)
        vg_set_number(call->engine, object, task->name, task->number);
    return object;
}

static const vg_binding_entry entries[] = {
    {"later", vg_piece_later}, {"cancel", vg_piece_cancel},     {"workers", workers}, {"resize", resize},
    {"stats", stats},          {"digestLength", digest_length}, {"tasks", tasks},
};

/* The rest of the binding, when lib/pool.js is loaded: programs that never do pay for one function. */
static vg_val pool_binding(vg_call *call)
{
    vigil_js *js = call->host;
    vg_val object = vg_object(call->engine), names = vg_array(call->engine, 0, NULL), thrown;
    if (!vg_js_bind(js, object, entries, sizeof entries / sizeof *entries))
        return vg_throw(call, "no memory");
    vg_pool_name_kinds();
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
