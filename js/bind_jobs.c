/* SPDX-License-Identifier: MIT */
/* What lib/jobs.js sees: queues by number, their handlers, and how they end. */
#include "bind_jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "jobs_side.h"
#include "turn.h"

/* ---- options and values ------------------------------------------------------------------------------------------ */

double vg_option_number(vg_engine *engine, vg_val object, const char *name, double otherwise)
{
    vg_val thrown, value = vg_get(engine, object, name, &thrown);
    return value && vg_type_of(engine, value) == VG_NUMBER ? vg_to_number(engine, value) : otherwise;
}

char *vg_option_text(vg_engine *engine, vg_val object, const char *name)
{
    vg_val thrown, value = vg_get(engine, object, name, &thrown);
    return value && vg_type_of(engine, value) == VG_STRING ? vg_to_text(engine, value, NULL) : NULL;
}

bool vg_option_bool(vg_engine *engine, vg_val object, const char *name)
{
    vg_val thrown, value = vg_get(engine, object, name, &thrown);
    return value && vg_to_bool(engine, value);
}

int64_t vg_option_ns(vg_engine *engine, vg_val object, const char *name)
{
    double ms = vg_option_number(engine, object, name, 0);
    return ms > 0 && ms < 9e12 ? (int64_t)(ms * 1e6) : 0;
}

void vg_set_text(vg_engine *engine, vg_val object, const char *name, const char *text)
{
    vg_val thrown;
    vg_set(engine, object, name, vg_text(engine, text, strlen(text)), &thrown);
}

void vg_set_id(vg_engine *engine, vg_val object, const char *name, uint64_t id)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, id);
    vg_set_text(engine, object, name, text);
}

static void free_bytes(void *data, void *arg)
{
    (void)arg;
    free(data);
}

void vg_set_bytes(vg_engine *engine, vg_val object, const char *name, const void *bytes, size_t length)
{
    vg_val thrown, value = NULL;
    void *copy = bytes ? malloc(length + 1) : NULL;
    if (copy) {
        memcpy(copy, bytes, length);
        value = vg_bytes(engine, copy, length, free_bytes, NULL);
    }
    if (value)
        vg_set(engine, object, name, value, &thrown);
}

/* ---- queues ------------------------------------------------------------------------------------------------------ */

void vg_queue_hold(vg_queue *queue)
{
    /* relaxed: a holder may make another. */
    atomic_fetch_add_explicit(&queue->refs, 1, memory_order_relaxed);
}

void vg_queue_release(vg_queue *queue)
{
    /* acq_rel: the last one sees what all others did with the queue. */
    if (atomic_fetch_sub_explicit(&queue->refs, 1, memory_order_acq_rel) != 1)
        return;
    vigil_jobs_close(queue->jobs);
    vg_port_release(queue->port);
    (void)pthread_mutex_destroy(&queue->lock);
    free(queue);
}

vg_queue *vg_queue_of(vg_call *call)
{
    vigil_js *js = call->host;
    double id = vg_arg_number(call, 0);
    vg_queue *it = js->jobs_side ? js->jobs_side->queues : NULL;
    while (it && it->id != id)
        it = it->next;
    return it;
}

/* handle(queue, kind, options): 0 or a negative errno */
static vg_val handle(vg_call *call)
{
    vg_queue *queue = vg_queue_of(call);
    char *kind = vg_arg_text(call, 1, NULL);
    vg_val from = vg_arg(call, 2);
    vg_engine *engine = call->engine;
    vigil_jobs_kind options = VIGIL_JOBS_KIND_INIT;
    options.version = (unsigned)vg_option_number(engine, from, "version", 0);
    options.max_errors = (unsigned)vg_option_number(engine, from, "maxErrors", 0);
    options.backoff_ns = vg_option_ns(engine, from, "backoff");
    options.backoff_max_ns = vg_option_ns(engine, from, "backoffMax");
    options.limit_ns = vg_option_ns(engine, from, "limit");
    options.cap = (unsigned)vg_option_number(engine, from, "cap", 0);
    options.rate = (unsigned)vg_option_number(engine, from, "rate", 0);
    options.tenant_cap = (unsigned)vg_option_number(engine, from, "tenantCap", 0);
    options.tenant_rate = (unsigned)vg_option_number(engine, from, "tenantRate", 0);
    options.fair = vg_option_bool(engine, from, "fair");
    int error = !queue  ? -ESHUTDOWN
                : !kind ? -ENOMEM
                        : vigil_jobs_handle(queue->jobs, kind, vg_job_run_begin, queue, &options);
    free(kind);
    return vg_number(engine, error);
}

static void let_go(vigil_js *js, vg_queue *queue)
{
    vg_queue **at = &js->jobs_side->queues;
    while (*at && *at != queue)
        at = &(*at)->next;
    if (*at)
        *at = queue->next;
    if (queue->kept)
        vg_js_in_flight(js, -1);
    queue->kept = false;
    vg_queue_release(queue);
}

/* keep(queue, whether it keeps the program alive) */
static vg_val keep(vg_call *call)
{
    vg_queue *queue = vg_queue_of(call);
    bool wanted = vg_to_bool(call->engine, vg_arg(call, 1));
    if (queue && queue->kept != wanted)
        vg_js_in_flight(call->host, wanted ? 1 : -1);
    if (queue) {
        queue->kept = wanted;
        queue->running = queue->running || wanted;
    }
    return vg_undefined(call->engine);
}

/* abandon(queue): end all runs; it has been shut down. */
static vg_val abandon(vg_call *call)
{
    vg_queue *queue = vg_queue_of(call);
    if (queue) {
        queue->running = false;
        vg_job_runs_abandon(queue);
    }
    return vg_undefined(call->engine);
}

/* forget(queue): the last reference, of an operation that closes it, goes on. */
static vg_val forget(vg_call *call)
{
    vg_queue *queue = vg_queue_of(call);
    if (queue)
        let_go(call->host, queue);
    return vg_undefined(call->engine);
}

/* jobs(receive): the functions. receive(run, undefined) for a run that starts, receive(number, status) for one that is to stop. */
static vg_val open_jobs(vg_call *call)
{
    static const vg_binding_entry entries[] = {
        {"open", vg_job_op_open},
        {"verb", vg_job_op_verb},
        {"enqueue", vg_job_op_enqueue},
        {"look", vg_job_op_look},
        {"schedule", vg_job_op_schedule},
        {"wait", vg_job_op_wait},
        {"unwait", vg_job_op_unwait},
        {"handle", handle},
        {"keep", keep},
        {"abandon", abandon},
        {"forget", forget},
        {"progress", vg_job_run_progress},
        {"finish", vg_job_run_finish},
        {"checkpoint", vg_job_run_checkpoint},
    };
    vigil_js *js = call->host;
    vg_val object = vg_object(call->engine);
    if (!js->jobs_side)
        js->jobs_side = calloc(1, sizeof *js->jobs_side);
    if (!js->jobs_side || !vg_js_bind(js, object, entries, sizeof entries / sizeof *entries))
        return vg_throw(call, "no memory");
    js->jobs_side->receive = vg_arg(call, 0);
    vg_hold(call->engine, js->jobs_side->receive);
    return object;
}

bool vg_js_bind_jobs(vigil_js *js)
{
    static const vg_binding_entry entry = {"jobs", open_jobs};
    return vg_js_bind(js, js->binding, &entry, 1);
}

void vg_js_jobs_stop(vigil_js *js)
{
    for (vg_queue *queue = js->jobs_side ? js->jobs_side->queues : NULL; queue; queue = queue->next)
        if (queue->running)
            (void)vigil_jobs_shutdown(queue->jobs, 0);
}

void vg_js_jobs_end(vigil_js *js)
{
    vg_js_jobs_stop(js);
    while (js->jobs_side && js->jobs_side->queues) {
        vg_queue *queue = js->jobs_side->queues;
        vg_job_runs_abandon(queue);
        let_go(js, queue);
    }
}

void vg_js_jobs_forget(vigil_js *js)
{
    if (js->jobs_side && js->jobs_side->receive)
        vg_release(js->engine, js->jobs_side->receive);
    if (js->jobs_side)
        js->jobs_side->receive = NULL;
}

void vg_js_jobs_free(vigil_js *js)
{
    free(js->jobs_side);
    js->jobs_side = NULL;
}
