/* SPDX-License-Identifier: MIT */
/* The embedding API of vigil/js.h: what other threads may do. */
#include "host.h"

#include <stdlib.h>

#include "port.h"
#include "turn.h"

/* A vigil_js_port is a vg_port: the public name only hides it. */
static vg_port *inner(vigil_js_port *port)
{
    return (vg_port *)(void *)port;
}

int vigil_js_port_open(vigil_js_port **port, vigil_js *js)
{
    if (!port || !js)
        return -EINVAL;
    vg_port_hold(js->port);
    *port = (vigil_js_port *)(void *)js->port;
    return 0;
}

void vigil_js_port_close(vigil_js_port *port)
{
    if (port)
        vg_port_release(inner(port));
}

typedef struct posted {
    vg_done done;
    void (*fn)(vigil_js *js, void *arg);
    void (*dropped)(void *arg);
    void *arg;
} posted;

static void deliver_post(vigil_js *js, vg_done *done)
{
    posted it = *(posted *)(void *)done;
    free(done);
    it.fn(js, it.arg);
    vg_js_sync(js);
}

static void drop_post(vg_done *done)
{
    posted it = *(posted *)(void *)done;
    free(done);
    if (it.dropped)
        it.dropped(it.arg);
}

int vigil_js_port_call(vigil_js_port *port, void (*fn)(vigil_js *js, void *arg), void (*dropped)(void *arg), void *arg)
{
    posted *it = port && fn ? malloc(sizeof *it) : NULL;
    if (!port || !fn)
        return -EINVAL;
    if (!it)
        return -ENOMEM;
    *it = (posted){{NULL, deliver_post, drop_post}, fn, dropped, arg};
    vg_port_send(inner(port), &it->done);
    return 0;
}

/* ---- promises --------------------------------------------------------------------------------------------------- */

struct vigil_js_promise {
    vg_done done;
    vg_port *port;
    vg_val resolve, reject; /* held by the host's engine */
    bool fulfil;
    vigil_js_value (*make)(vigil_js *js, void *arg);
    void (*dropped)(void *arg);
    void *arg;
};

static vigil_js_promise *promise_of(vg_done *done)
{
    return (vigil_js_promise *)(void *)((char *)done - offsetof(vigil_js_promise, done));
}

static void free_promise(vigil_js_promise *promise)
{
    vg_port_release(promise->port);
    free(promise);
}

static void deliver_promise(vigil_js *js, vg_done *done)
{
    vigil_js_promise *promise = promise_of(done);
    vg_val function = promise->fulfil ? promise->resolve : promise->reject, value;
    vg_js_in_flight(js, -1);
    value = promise->make ? promise->make(js, promise->arg) : NULL;
    vg_js_dispatch(js, VG_DISPATCH_EVENT, function, value, NULL);
    vg_release(js->engine, promise->resolve);
    vg_release(js->engine, promise->reject);
    free_promise(promise);
}

static void drop_promise(vg_done *done)
{
    vigil_js_promise *promise = promise_of(done);
    if (promise->dropped)
        promise->dropped(promise->arg);
    free_promise(promise);
}

int vigil_js_promise_create(vigil_js_promise **out, vigil_js *js, vigil_js_value *value)
{
    vigil_js_promise *promise = js && out && value ? calloc(1, sizeof *promise) : NULL;
    vg_val made;
    if (!js || !out || !value)
        return -EINVAL;
    if (!promise)
        return -ENOMEM;
    made = vg_promise(js->engine, &promise->resolve, &promise->reject);
    if (!made) {
        free(promise);
        return -ENOMEM;
    }
    vg_hold(js->engine, promise->resolve);
    vg_hold(js->engine, promise->reject);
    promise->done.deliver = deliver_promise;
    promise->done.drop = drop_promise;
    promise->port = js->port;
    vg_port_hold(js->port);
    vg_js_in_flight(js, 1);
    vg_js_sync(js);
    *out = promise;
    *value = made;
    return 0;
}

int vigil_js_promise_settle(vigil_js_promise *promise, bool fulfil, vigil_js_value (*make)(vigil_js *js, void *arg),
                            void (*dropped)(void *arg), void *arg)
{
    vg_port *port;
    if (!promise)
        return -EINVAL;
    port = promise->port;
    promise->fulfil = fulfil;
    promise->make = make;
    promise->dropped = dropped;
    promise->arg = arg;
    /* The promise is another's as soon as it is sent: hold the port over the call. */
    vg_port_hold(port);
    vg_port_send(port, &promise->done);
    vg_port_release(port);
    return 0;
}
