/* SPDX-License-Identifier: MIT */
/*
 * A piece of work of vigil:pool: handed to the pool in a class of the program's choice, and back.
 *
 * Each piece is a job of the pool, because a job can be cancelled exactly: one that has not started never runs, and one that
 * runs goes on to its end (or to its next look at `cancelled`) with nobody waiting for it. The program's promise is rejected by
 * lib/pool.js at once in both cases; what arrives here afterwards is only cleared away.
 */
#include "pool_piece.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bind.h"
#include "bind_pool.h"
#include "pool_names.h"
#include "pool_side.h"
#include "pool_times.h"
#include "port.h"
#include "turn.h"
#include "work.h"

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

/* ---- on the pool ------------------------------------------------------------------------------------------------ */

static void send(vg_piece *it)
{
    vg_port *port = it->port;
    vg_port_send(port, &it->done);
    vg_port_release(port);
}

int vg_piece_run(void *arg)
{
    vg_piece *it = arg;
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
    vg_piece *it = arg;
    it->status = -ECANCELED;
    send(it);
}

/* ---- back ------------------------------------------------------------------------------------------------------- */

static void free_piece(vg_piece *it)
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

static vg_val result_of(vg_piece *it, vg_engine *engine)
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

static void unlink_piece(vg_piece *it)
{
    *it->back = it->next;
    if (it->next)
        it->next->back = it->back;
}

static void deliver(vigil_js *js, vg_done *done)
{
    vg_piece *it = (vg_piece *)(void *)done;
    vg_val id = vg_number(js->engine, it->id), value = NULL, message = NULL;
    unlink_piece(it);
    if (it->started_ns) {
        vg_times_note(&js->pool_side->waited[it->priority], it->started_ns - it->submitted_ns);
        vg_times_note(&js->pool_side->ran[it->priority], it->ended_ns - it->started_ns);
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
    vigil_job_unref(it->pool, it->job);
    vg_js_in_flight(js, -1);
    free_piece(it);
    vg_js_dispatch(js, VG_DISPATCH_COMPLETE, id, value, message);
}

static void drop(vg_done *done)
{
    free_piece((vg_piece *)(void *)done);
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

vg_val vg_piece_later(vg_call *call)
{
    vigil_js *js = call->host;
    vg_pool_side *side = vg_pool_side_of(js);
    vigil_pool *pool = vigil_js_pool(js);
    const size_t count = call->count > 4 ? call->count - 4 : 0;
    vg_piece *it = side && pool ? calloc(1, sizeof *it + count * sizeof *it->args) : NULL;
    vigil_job_options options = VIGIL_JOB_OPTIONS_INIT;
    vg_job_fn fn;
    int error = 0;
    if (!it)
        return vg_number(call->engine, -ENOMEM);
    it->id = vg_arg_number(call, 0);
    it->priority = (vigil_priority)vg_arg_number(call, 1);
    it->work.pub.size = sizeof it->work.pub;
    it->work.pub.args = it->args;
    atomic_init(&it->work.cancelled, 0U);
    fn = vg_pool_choose(it, side, vg_arg_number(call, 2), vg_arg_number(call, 3));
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
        error = vigil_job_call(pool, fn, it, &options, &it->job);
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

vg_val vg_piece_cancel(vg_call *call)
{
    vigil_js *js = call->host;
    double id = vg_arg_number(call, 0);
    for (vg_piece *it = js->pool_side ? js->pool_side->under_way : NULL; it; it = it->next) {
        if (it->id != id)
            continue;
        /* relaxed: as in vg_work_cancelled. */
        atomic_store_explicit(&it->work.cancelled, 1U, memory_order_relaxed);
        return vg_bool(call->engine, vigil_job_cancel(it->pool, it->job) == 0);
    }
    return vg_bool(call->engine, false);
}
