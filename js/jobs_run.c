/* SPDX-License-Identifier: MIT */
/*
 * Runs of jobs whose handlers are in JavaScript.
 *
 * The queue calls vg_job_run_begin on a thread of its pool, which sends the run to the host and returns VIGIL_JOBS_LATER: no thread
 * waits for JavaScript. On the owner the run gets a number, its token a handler, and JavaScript is called. A run that the host can no
 * longer take stays until the queue is shut down, which gives its job back.
 */
#include <errno.h>
#include <stdlib.h>

#include "bind.h"
#include "jobs_side.h"
#include "turn.h"

typedef struct vg_job_run {
    vigil_cancel_handler handler; /* first: the handler's pointer is ours */
    vg_done done;
    vg_queue *queue;
    vigil_jobs_run *run;
    vigil_cancel_token *token; /* NULL: no handler was added */
    struct vg_job_run *next, *previous;
    double id;
} vg_job_run;

/* The token of a run was aborted. */
typedef struct vg_job_stop {
    vg_done done;
    double id;
    int status;
} vg_job_stop;

static void deliver_stop(vigil_js *js, vg_done *done)
{
    vg_job_stop *stop = (vg_job_stop *)(void *)((char *)done - offsetof(vg_job_stop, done));
    vg_val id = vg_number(js->engine, stop->id), status = vg_number(js->engine, stop->status);
    free(stop);
    if (js->jobs_side->receive)
        vg_js_dispatch(js, VG_DISPATCH_EVENT, js->jobs_side->receive, id, status);
}

static void drop_stop(vg_done *done)
{
    free((char *)done - offsetof(vg_job_stop, done));
}

static void send_stop(vg_job_run *it, int status)
{
    vg_job_stop *stop = calloc(1, sizeof *stop);
    if (!stop)
        return; /* the signal stays silent; what the handler returns is refused all the same */
    stop->done.deliver = deliver_stop;
    stop->done.drop = drop_stop;
    stop->id = it->id;
    stop->status = status;
    vg_port_send(it->queue->port, &stop->done);
}

static void on_abort(vigil_cancel_handler *handler, int status)
{
    send_stop((vg_job_run *)(void *)handler, status);
}

static vg_val run_object(vigil_js *js, const vg_job_run *it)
{
    vg_engine *engine = js->engine;
    const vigil_jobs_run *run = it->run;
    vg_val object = vg_object(engine);
    vg_set_number(engine, object, "queue", it->queue->id);
    vg_set_number(engine, object, "run", it->id);
    vg_set_id(engine, object, "id", run->id);
    vg_set_id(engine, object, "number", run->number);
    vg_set_text(engine, object, "kind", run->kind);
    vg_set_number(engine, object, "version", run->version);
    vg_set_text(engine, object, "contentType", run->content_type);
    vg_set_number(engine, object, "errors", run->errors);
    vg_set_number(engine, object, "crashes", run->crashes);
    vg_set_bytes(engine, object, "payload", run->payload, run->payload_size);
    vg_set_bytes(engine, object, "checkpoint", run->checkpoint, run->checkpoint_size);
    return object;
}

/* The run ends, and with it its token. */
static void end_run(vg_job_run *it, int status)
{
    if (it->token)
        (void)vigil_cancel_remove(it->token, &it->handler);
    (void)vigil_jobs_finish(it->run, status);
    free(it);
}

static void unlist(vg_job_run *it)
{
    if (it->next)
        it->next->previous = it->previous;
    if (it->previous)
        it->previous->next = it->next;
    else
        it->queue->runs = it->next;
}

static void deliver(vigil_js *js, vg_done *done)
{
    vg_job_run *it = (vg_job_run *)(void *)((char *)done - offsetof(vg_job_run, done));
    vg_queue *queue = it->queue;
    it->id = ++js->jobs_side->ids;
    it->next = queue->runs;
    if (it->next)
        it->next->previous = it;
    queue->runs = it;
    vg_val object = run_object(js, it);
    vigil_cancel_token *token = vigil_jobs_token(it->run);
    it->handler.fn = on_abort;
    if (token && vigil_cancel_add(token, &it->handler) == 0)
        it->token = token;
    else if (token)
        send_stop(it, vigil_cancel_status(token));
    vg_js_dispatch(js, VG_DISPATCH_EVENT, js->jobs_side->receive, object, NULL);
}

/* Any thread. To end it before the queue is shut down would be an error of the job. */
static void leave(vg_job_run *it)
{
    vg_queue *queue = it->queue;
    (void)pthread_mutex_lock(&queue->lock);
    bool shut = queue->shut;
    if (!shut) {
        it->next = queue->orphans;
        queue->orphans = it;
    }
    (void)pthread_mutex_unlock(&queue->lock);
    if (shut)
        end_run(it, -ESHUTDOWN);
}

static void drop(vg_done *done)
{
    leave((vg_job_run *)(void *)((char *)done - offsetof(vg_job_run, done)));
}

int vg_job_run_begin(vigil_jobs_run *run, void *arg)
{
    vg_queue *queue = arg;
    vg_job_run *it = calloc(1, sizeof *it);
    if (!it)
        return -ENOMEM;
    it->done.deliver = deliver;
    it->done.drop = drop;
    it->queue = queue;
    it->run = run;
    vg_port_send(queue->port, &it->done);
    return VIGIL_JOBS_LATER;
}

/* The run that argument 1 names, of the queue of argument 0; NULL: it has ended. */
static vg_job_run *run_of(vg_call *call)
{
    vg_queue *queue = vg_queue_of(call);
    double id = vg_arg_number(call, 1);
    vg_job_run *it = queue ? queue->runs : NULL;
    while (it && it->id != id)
        it = it->next;
    return it;
}

/* progress(queue, run, done, text) */
vg_val vg_job_run_progress(vg_call *call)
{
    vg_job_run *it = run_of(call);
    char *text = vg_arg_is(call, 3, VG_STRING) ? vg_arg_text(call, 3, NULL) : NULL;
    int error = it ? vigil_jobs_progress(it->run, vg_arg_number(call, 2), text) : -ESTALE;
    free(text);
    return vg_number(call->engine, error);
}

/* checkpoint(queue, run, bytes) */
vg_val vg_job_run_checkpoint(vg_call *call)
{
    vg_job_run *it = run_of(call);
    unsigned char *bytes = NULL;
    size_t length = 0;
    if (!vg_to_bytes(call->engine, vg_arg(call, 2), &bytes, &length))
        return vg_number(call->engine, -EINVAL);
    return vg_number(call->engine, it ? vigil_jobs_checkpoint(it->run, bytes, length) : -ESTALE);
}

/* finish(queue, run, result or undefined, error or undefined): 0, -EMSGSIZE the result is too large and the run goes on, -ESTALE */
vg_val vg_job_run_finish(vg_call *call)
{
    vg_job_run *it = run_of(call);
    unsigned char *bytes = NULL;
    size_t length = 0;
    int status = 0;
    if (!it)
        return vg_number(call->engine, -ESTALE);
    if (vg_arg_is(call, 3, VG_STRING)) {
        char *text = vg_arg_text(call, 3, NULL);
        (void)vigil_jobs_error(it->run, text ? text : "no memory");
        free(text);
        status = -EIO;
    } else if (vg_to_bytes(call->engine, vg_arg(call, 2), &bytes, &length)) {
        int error = vigil_jobs_result(it->run, bytes, length);
        if (error < 0)
            return vg_number(call->engine, error);
    }
    unlist(it);
    end_run(it, status);
    return vg_number(call->engine, 0);
}

void vg_job_runs_abandon(vg_queue *queue)
{
    (void)pthread_mutex_lock(&queue->lock);
    vg_job_run *orphan = queue->orphans;
    queue->orphans = NULL;
    queue->shut = true;
    (void)pthread_mutex_unlock(&queue->lock);
    while (orphan) {
        vg_job_run *next = orphan->next;
        end_run(orphan, -ESHUTDOWN);
        orphan = next;
    }
    while (queue->runs) {
        vg_job_run *it = queue->runs;
        unlist(it);
        end_run(it, -ESHUTDOWN);
    }
}
