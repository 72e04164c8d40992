/* SPDX-License-Identifier: MIT */
/* What lib/worker_threads.js sees of worker.c: workers by number, and the way to the parent. */
#include "bind_worker.h"

#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "worker.h"

static void free_bytes(void *data, void *arg)
{
    (void)arg;
    free(data);
}

static unsigned char *copy_of(vg_call *call, size_t i, size_t *length)
{
    unsigned char *data, *copy;
    if (!vg_to_bytes(call->engine, vg_arg(call, i), &data, length))
        return NULL;
    copy = malloc(*length + 1);
    if (copy && *length > 0)
        memcpy(copy, data, *length);
    return copy;
}

/* (script, isText, bytes, memory in bytes, callback): its number, or undefined */
static vg_val start(vg_call *call)
{
    vg_worker_options options = {.is_text = vg_to_bool(call->engine, vg_arg(call, 1)), .callback = vg_arg(call, 4)};
    vg_worker *worker;
    options.script = vg_arg_text(call, 0, NULL);
    options.data = copy_of(call, 2, &options.length);
    options.memory_max = (size_t)vg_arg_number(call, 3);
    options.module_cache = ((vigil_js *)call->host)->options.module_cache;
    if (!options.script || !options.data || !vg_is_function(call->engine, options.callback)) {
        free(options.script);
        free(options.data);
        return vg_throw(call, "a script, bytes and a function are expected");
    }
    worker = vg_worker_start(call->host, &options);
    return worker ? vg_number(call->engine, vg_worker_number(worker)) : NULL;
}

/* (number, bytes) */
static vg_val post(vg_call *call)
{
    vg_worker *worker = vg_worker_find(call->host, vg_arg_number(call, 0));
    unsigned char *data;
    size_t length;
    if (!vg_to_bytes(call->engine, vg_arg(call, 1), &data, &length))
        return vg_throw(call, "bytes are expected");
    if (worker && !vg_worker_post(worker, data, length))
        return vg_throw(call, "no memory");
    return NULL;
}

static vg_val terminate(vg_call *call)
{
    vg_worker *worker = vg_worker_find(call->host, vg_arg_number(call, 0));
    if (worker)
        vg_worker_terminate(worker);
    return NULL;
}

/* (number, on) */
static vg_val keep(vg_call *call)
{
    vg_worker *worker = vg_worker_find(call->host, vg_arg_number(call, 0));
    if (worker)
        vg_worker_ref(worker, vg_to_bool(call->engine, vg_arg(call, 1)));
    return NULL;
}

/* What this worker found when it began, and what to call for messages; undefined: this host is no worker. */
static vg_val begin(vg_call *call)
{
    vigil_js *js = call->host;
    const unsigned char *data;
    unsigned char *copy;
    size_t length;
    if (!js->worker)
        return NULL;
    if (vg_is_function(call->engine, vg_arg(call, 0)) && !js->worker_callback) {
        js->worker_callback = vg_arg(call, 0);
        vg_hold(call->engine, js->worker_callback);
    }
    data = vg_worker_data(js, &length);
    copy = malloc(length + 1);
    if (!copy)
        return vg_throw(call, "no memory");
    memcpy(copy, data, length);
    return vg_bytes(call->engine, copy, length, free_bytes, NULL);
}

static vg_val answer(vg_call *call)
{
    vigil_js *js = call->host;
    unsigned char *data;
    size_t length;
    if (!js->worker || !vg_to_bytes(call->engine, vg_arg(call, 0), &data, &length))
        return vg_throw(call, "bytes are expected, in a worker");
    if (!vg_worker_answer(js, data, length))
        return vg_throw(call, "no memory");
    return NULL;
}

static vg_val number(vg_call *call)
{
    vigil_js *js = call->host;
    return vg_number(call->engine, js->worker ? vg_worker_number(js->worker) : 0);
}

static const vg_binding_entry entries[] = {
    {"start", start}, {"post", post},     {"terminate", terminate}, {"keep", keep},
    {"begin", begin}, {"answer", answer}, {"number", number},
};

bool vg_js_bind_worker(vigil_js *js)
{
    vg_val table = vg_object(js->engine), thrown;
    return vg_js_bind(js, table, entries, sizeof entries / sizeof *entries) &&
           vg_set(js->engine, js->binding, "worker", table, &thrown);
}
