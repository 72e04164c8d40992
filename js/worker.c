/* SPDX-License-Identifier: MIT */
/*
 * Workers: hosts on threads of their own.
 *
 * Parent and worker send each other messages of bytes through their ports. What the parent sends before the worker's host is
 * there waits in `early`; the lock guards that, and the moment in which the worker's port comes and goes. The worker's last
 * message is its exit code; the parent then joins its thread, which is about to return.
 */
#include "worker.h"

#include <stdlib.h>
#include <string.h>

#include "port.h"
#include "turn.h"

/* How soon a worker that computes notices that it must end. */
#define LOOK_NS 20000000

struct vg_worker {
    vg_worker *next; /* of the parent's list */
    _Atomic uint32_t refs;
    _Atomic bool ending;
    pthread_mutex_t lock;
    vg_port *parent, *child;
    bool closed; /* the worker takes no more */
    vg_done *early, **early_end;
    pthread_t thread;
    double number;
    bool refed;
    vg_worker_options options;
};

typedef struct message {
    vg_done done;
    vg_worker *worker;
    int kind, code;
    size_t length;
    unsigned char bytes[];
} message;

static void release(vg_worker *worker)
{
    /* acq_rel: the last one sees what the other has done with it. */
    if (atomic_fetch_sub_explicit(&worker->refs, 1, memory_order_acq_rel) != 1)
        return;
    vg_port_release(worker->parent);
    pthread_mutex_destroy(&worker->lock);
    free(worker->options.script);
    free(worker->options.data);
    free(worker);
}

static void drop(vg_done *done)
{
    message *it = (message *)(void *)done;
    release(it->worker);
    free(it);
}

static message *message_new(vg_worker *worker, int kind, const void *bytes, size_t length)
{
    message *it = malloc(sizeof *it + length);
    if (!it)
        return NULL;
    *it = (message){.done = {.drop = drop}, .worker = worker, .kind = kind, .length = length};
    if (length > 0)
        memcpy(it->bytes, bytes, length);
    /* relaxed: a holder may make another. */
    atomic_fetch_add_explicit(&worker->refs, 1, memory_order_relaxed);
    return it;
}

static void free_bytes(void *data, void *arg)
{
    (void)data;
    free(arg);
}

/* Calls callback(kind, bytes or code). */
static void call(vigil_js *js, vg_val callback, message *it)
{
    vg_engine *engine = js->engine;
    vg_val args[2];
    release(it->worker);
    args[0] = vg_number(engine, it->kind);
    if (it->kind == VG_WORKER_MESSAGE) {
        args[1] = vg_bytes(engine, it->bytes, it->length, free_bytes, it);
    } else {
        args[1] = vg_number(engine, it->code);
        free(it);
    }
    if (args[1])
        vg_js_dispatch(js, VG_DISPATCH_CALL, callback, vg_undefined(engine), vg_array(engine, 2, args));
}

/* ---- the worker's side ------------------------------------------------------------------------------------------ */

static void deliver_to_child(vigil_js *js, vg_done *done)
{
    message *it = (message *)(void *)done;
    if (it->kind == VG_WORKER_EXIT) {
        drop(done);
        js->exit_code = 1;
        js->ended = true;
        vg_js_sync(js);
    } else if (js->worker_callback) {
        call(js, js->worker_callback, it);
    } else {
        drop(done);
    }
}

static bool stalled(void *user, const vigil_js_stall *stall)
{
    vg_worker *worker = user;
    (void)stall;
    /* relaxed: it is looked at again and again. */
    return atomic_load_explicit(&worker->ending, memory_order_relaxed);
}

/* From here on the parent's messages come; those that waited come first. */
static void open_for_messages(vg_worker *worker, vigil_js *js)
{
    pthread_mutex_lock(&worker->lock);
    worker->child = js->port;
    vg_port_hold(js->port);
    while (worker->early) {
        vg_done *done = worker->early;
        worker->early = done->next;
        vg_port_send(js->port, done);
    }
    worker->early_end = &worker->early;
    pthread_mutex_unlock(&worker->lock);
}

static void close_for_messages(vg_worker *worker)
{
    vg_port *port;
    vg_done *early;
    pthread_mutex_lock(&worker->lock);
    worker->closed = true;
    port = worker->child;
    worker->child = NULL;
    early = worker->early;
    worker->early = NULL;
    pthread_mutex_unlock(&worker->lock);
    if (port)
        vg_port_release(port);
    while (early) {
        vg_done *next = early->next;
        drop(early);
        early = next;
    }
}

static int run(vg_worker *worker)
{
    vigil_js_options options = VIGIL_JS_OPTIONS_INIT;
    vigil_js *js;
    int code;
    options.stall_ns = LOOK_NS;
    options.on_stall = stalled;
    options.user = worker;
    options.memory_max = worker->options.memory_max;
    options.module_cache = worker->options.module_cache;
    if (vigil_js_create(&js, &options) < 0)
        return 1;
    js->worker = worker;
    open_for_messages(worker, js);
    if (worker->options.is_text)
        vigil_js_run_text(js, worker->options.script, strlen(worker->options.script), "[worker eval]");
    else
        vigil_js_run_file(js, worker->options.script);
    code = vigil_js_run(js);
    close_for_messages(worker);
    if (js->worker_callback)
        vg_release(js->engine, js->worker_callback);
    vigil_js_destroy(js);
    return code < 0 ? 1 : code;
}

static void deliver_to_parent(vigil_js *js, vg_done *done);

static void *thread(void *arg)
{
    vg_worker *worker = arg;
    message *last = message_new(worker, VG_WORKER_EXIT, NULL, 0);
    int code = run(worker);
    close_for_messages(worker);
    if (last) {
        last->code = code;
        last->done.deliver = deliver_to_parent;
        vg_port_send(worker->parent, &last->done);
    }
    release(worker);
    return NULL;
}

bool vg_worker_answer(vigil_js *child, const void *bytes, size_t length)
{
    message *it = message_new(child->worker, VG_WORKER_MESSAGE, bytes, length);
    if (!it)
        return false;
    it->done.deliver = deliver_to_parent;
    vg_port_send(child->worker->parent, &it->done);
    return true;
}

const unsigned char *vg_worker_data(vigil_js *child, size_t *length)
{
    *length = child->worker->options.length;
    return child->worker->options.data;
}

/* ---- the parent's side ------------------------------------------------------------------------------------------ */

vg_worker *vg_worker_find(vigil_js *parent, double number)
{
    for (vg_worker *worker = parent->workers; worker; worker = worker->next)
        if (worker->number == number)
            return worker;
    return NULL;
}

double vg_worker_number(const vg_worker *worker)
{
    return worker->number;
}

void vg_worker_ref(vg_worker *worker, bool on)
{
    if (worker->refed != on)
        vg_js_in_flight(worker->parent->js, on ? 1 : -1);
    worker->refed = on;
}

/* Its thread is about to return. The callback is the caller's to release. */
static vg_val forget(vigil_js *js, vg_worker *worker)
{
    vg_worker **at = &js->workers;
    vg_val callback = worker->options.callback;
    while (*at != worker)
        at = &(*at)->next;
    *at = worker->next;
    pthread_join(worker->thread, NULL);
    vg_worker_ref(worker, false);
    release(worker);
    return callback;
}

static void deliver_to_parent(vigil_js *js, vg_done *done)
{
    message *it = (message *)(void *)done;
    vg_val callback = it->worker->options.callback;
    bool last = it->kind == VG_WORKER_EXIT;
    if (last)
        forget(js, it->worker);
    call(js, callback, it);
    if (last)
        vg_release(js->engine, callback);
}

vg_worker *vg_worker_start(vigil_js *parent, const vg_worker_options *options)
{
    static _Atomic uint32_t numbers;
    vg_worker *worker = calloc(1, sizeof *worker);
    if (!worker) {
        free(options->script);
        free(options->data);
        return NULL;
    }
    worker->options = *options;
    worker->early_end = &worker->early;
    worker->parent = parent->port;
    vg_port_hold(parent->port);
    pthread_mutex_init(&worker->lock, NULL);
    atomic_init(&worker->refs, 2); /* the parent's and the thread's */
    /* relaxed: only that they differ. */
    worker->number = atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed) + 1;
    if (pthread_create(&worker->thread, NULL, thread, worker) != 0) {
        release(worker);
        release(worker);
        return NULL;
    }
    vg_hold(parent->engine, options->callback);
    worker->next = parent->workers;
    parent->workers = worker;
    vg_worker_ref(worker, true);
    return worker;
}

static void send_to_child(vg_worker *worker, message *it)
{
    it->done.deliver = deliver_to_child;
    pthread_mutex_lock(&worker->lock);
    if (worker->closed) {
        pthread_mutex_unlock(&worker->lock);
        drop(&it->done);
        return;
    }
    if (worker->child) {
        vg_port_send(worker->child, &it->done);
    } else {
        it->done.next = NULL;
        *worker->early_end = &it->done;
        worker->early_end = &it->done.next;
    }
    pthread_mutex_unlock(&worker->lock);
}

bool vg_worker_post(vg_worker *worker, const void *bytes, size_t length)
{
    message *it = message_new(worker, VG_WORKER_MESSAGE, bytes, length);
    if (it)
        send_to_child(worker, it);
    return it != NULL;
}

void vg_worker_terminate(vg_worker *worker)
{
    message *it = message_new(worker, VG_WORKER_EXIT, NULL, 0);
    /* relaxed: the worker looks at it again and again. */
    atomic_store_explicit(&worker->ending, true, memory_order_relaxed);
    if (it)
        send_to_child(worker, it);
}

void vg_js_workers_end(vigil_js *parent)
{
    for (vg_worker *worker = parent->workers; worker; worker = worker->next)
        vg_worker_terminate(worker);
    while (parent->workers)
        vg_release(parent->engine, forget(parent, parent->workers));
}
