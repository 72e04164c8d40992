/* SPDX-License-Identifier: MIT */
/* zlib's streams for lib/zlib.js: a step at once, or on the pool. */
#include "bind_zip.h"

#ifdef VG_HAVE_ZLIB

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <vigil/record.h>
#include <zlib.h>

#include "bind.h"
#include "port.h"
#include "turn.h"
#include "zip_stream.h"

typedef struct zip_op {
    vg_done done;
    vigil_task task;
    vg_port *port;
    vg_zip *zip;
    double id;
    unsigned char *input;
    vg_zip_step step;
} zip_op;

static void finalize(void *pointer)
{
    vg_zip_release(pointer);
}

/* (pack, window bits, level, memory level, strategy, dictionary, whether it is Brotli) */
static vg_val zip_open(vg_call *call)
{
    vigil_js *js = call->host;
    vg_zip_options options = {
        .pack = vg_to_bool(call->engine, vg_arg(call, 0)),
        .window = (int)vg_arg_number(call, 1),
        .level = (int)vg_arg_number(call, 2),
        .memory = (int)vg_arg_number(call, 3),
        .strategy = (int)vg_arg_number(call, 4),
        .brotli = vg_to_bool(call->engine, vg_arg(call, 6)),
    };
    if (!vg_to_bytes(call->engine, vg_arg(call, 5), &options.dictionary, &options.dictionary_length))
        options.dictionary = NULL;
    if (!js->zip_class)
        js->zip_class = vg_class_new(call->engine, "ZipStream", finalize);
    vg_zip *zip = js->zip_class ? vg_zip_new(&options) : NULL;
    if (!zip)
        return vg_throw(call, "zlib refused the options, or there is no memory");
    vg_val value = vg_instance(call->engine, js->zip_class, NULL, zip);
    if (!value)
        vg_zip_release(zip);
    return value;
}

static vg_zip *zip_of(vg_call *call)
{
    vigil_js *js = call->host;
    return js->zip_class ? vg_instance_pointer(call->engine, js->zip_class, vg_arg(call, 0)) : NULL;
}

static void free_bytes(void *data, void *arg)
{
    (void)arg;
    free(data);
}

/* [bytes, input left, code, whether there is more output, message] */
static vg_val outcome(vg_engine *engine, vg_zip_step *step)
{
    vg_val items[5];
    items[0] = vg_bytes(engine, step->out, step->used, free_bytes, NULL);
    step->out = NULL;
    if (!items[0]) {
        items[0] = vg_undefined(engine);
        step->code = Z_MEM_ERROR;
    }
    items[1] = vg_number(engine, (double)step->length);
    items[2] = vg_number(engine, step->code);
    items[3] = vg_bool(engine, step->full);
    items[4] = vg_string(engine, step->message);
    return vg_array(engine, 5, items);
}

/* (stream, flush, bytes, most output) */
static bool step_of(vg_call *call, size_t first, vg_zip_step *step)
{
    unsigned char *data;
    double most = vg_arg_number(call, first + 2);
    *step = (vg_zip_step){.flush = (int)vg_arg_number(call, first), .most = most > 0 ? (size_t)most : 1};
    if (!vg_to_bytes(call->engine, vg_arg(call, first + 1), &data, &step->length))
        return false;
    step->in = data;
    return true;
}

static vg_val zip_now(vg_call *call)
{
    vg_zip *zip = zip_of(call);
    vg_zip_step step;
    if (!zip || !step_of(call, 1, &step))
        return vg_throw(call, "a stream and bytes are expected");
    vg_zip_step_run(zip, &step);
    return outcome(call->engine, &step);
}

static void free_op(zip_op *op)
{
    vg_zip_release(op->zip);
    free(op->input);
    free(op->step.out);
    free(op);
}

static zip_op *op_of_task(vigil_task *task)
{
    return (zip_op *)(void *)((char *)task - offsetof(zip_op, task));
}

static int run_task(vigil_task *task)
{
    zip_op *op = op_of_task(task);
    vg_port *port = op->port;
    vg_zip_step_run(op->zip, &op->step);
    vg_port_send(port, &op->done);
    vg_port_release(port);
    return 0;
}

static void cancel_task(vigil_task *task)
{
    zip_op *op = op_of_task(task);
    vg_port *port = op->port;
    op->step.code = Z_STREAM_ERROR;
    vg_port_send(port, &op->done);
    vg_port_release(port);
}

static zip_op *op_of_done(vg_done *done)
{
    return (zip_op *)(void *)((char *)done - offsetof(zip_op, done));
}

static void deliver(vigil_js *js, vg_done *done)
{
    zip_op *op = op_of_done(done);
    vg_val id = vg_number(js->engine, op->id), value = outcome(js->engine, &op->step);
    vg_js_in_flight(js, -1);
    free_op(op);
    vg_js_dispatch(js, VG_DISPATCH_COMPLETE, id, value, NULL);
}

/* The engine may be gone. */
static void drop(vg_done *done)
{
    free_op(op_of_done(done));
}

/* (id, stream, flush, bytes, most output): 0, or an errno if it was not begun. The bytes are copied: they are the program's. */
static vg_val zip_later(vg_call *call)
{
    vigil_js *js = call->host;
    vg_call rest = *call;
    rest.args++;
    rest.count = call->count > 0 ? call->count - 1 : 0;
    vg_zip *zip = zip_of(&rest);
    vigil_pool *pool = vigil_js_pool(js);
    zip_op *op = pool ? calloc(1, sizeof *op) : NULL;
    if (!op || !zip || !step_of(call, 2, &op->step) || !(op->input = malloc(op->step.length + 1))) {
        free(op);
        return vg_number(call->engine, -ENOMEM);
    }
    if (!js->zip_named) {
        js->zip_named = true;
        VIGIL_RECORD_NAME(run_task, "zlib");
    }
    if (op->step.length)
        memcpy(op->input, op->step.in, op->step.length);
    op->step.in = op->input;
    op->zip = zip;
    op->id = vg_arg_number(call, 0);
    op->done.deliver = deliver;
    op->done.drop = drop;
    op->port = js->port;
    vg_zip_hold(zip);
    vg_port_hold(js->port);
    vigil_task_init(&op->task, run_task, cancel_task);
    vg_js_in_flight(js, 1);
    int error = vigil_pool_submit(pool, &op->task, VIGIL_NORMAL);
    if (error < 0) {
        vg_js_in_flight(js, -1);
        vg_port_release(js->port);
        free_op(op);
    }
    return vg_number(call->engine, error);
}

static vg_val zip_reset(vg_call *call)
{
    vg_zip *zip = zip_of(call);
    return vg_number(call->engine, zip ? vg_zip_reset(zip) : Z_STREAM_ERROR);
}

/* (stream, level, strategy) */
static vg_val zip_params(vg_call *call)
{
    vg_zip *zip = zip_of(call);
    return vg_number(call->engine, zip ? vg_zip_params(zip, (int)vg_arg_number(call, 1), (int)vg_arg_number(call, 2))
                                       : Z_STREAM_ERROR);
}

/* (start, bytes) */
static vg_val zip_crc32(vg_call *call)
{
    unsigned char *data;
    size_t length;
    if (!vg_to_bytes(call->engine, vg_arg(call, 1), &data, &length))
        return vg_throw(call, "bytes are expected");
    return vg_number(call->engine, (double)crc32_z((uLong)vg_arg_number(call, 0), data, length));
}

static const vg_binding_entry entries[] = {
    {"zipOpen", zip_open},   {"zipNow", zip_now},       {"zipLater", zip_later},
    {"zipReset", zip_reset}, {"zipParams", zip_params}, {"zipCrc32", zip_crc32},
};

bool vg_js_bind_zip(vigil_js *js)
{
    vg_val thrown;
#ifdef VG_HAVE_BROTLI
    bool brotli = true;
#else
    bool brotli = false;
#endif
    if (!vg_set(js->engine, js->binding, "hasBrotli", vg_bool(js->engine, brotli), &thrown))
        return false;
    return vg_js_bind(js, js->binding, entries, sizeof entries / sizeof *entries);
}

#else

bool vg_js_bind_zip(vigil_js *js)
{
    (void)js;
    return true;
}

#endif

void vg_js_zip_end(vigil_js *js)
{
    if (js->zip_class)
        vg_class_free(js->zip_class);
    js->zip_class = NULL;
}
