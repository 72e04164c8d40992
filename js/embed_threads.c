/* SPDX-License-Identifier: MIT */
/* The embedding API of vigil/js.h: what other threads may do. */
#include "host.h"

#include <stdlib.h>

#include "port.h"
#include "turn.h"
#include "why.h"

/* A vigil_js_port is a vg_port: the public name only hides it. */
static vg_port *inner(vigil_js_port *port)
{
    return (vg_port *)(void *)port;
}

int vigil_js_port_open(vigil_js_port **port, vigil_js *js)
{
    if (!port || !js)
        return vg_js_why(-EINVAL, "port or js is NULL");
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
    posted *it;
    if (!port || !fn)
        return vg_js_why(-EINVAL, "port or fn is NULL");
    /* relaxed: a call that races with the shutdown may be on either side of it. */
    if (atomic_load_explicit(&inner(port)->refusing, memory_order_relaxed))
        return vg_js_why(-ESHUTDOWN, "the host is ending and accepts no further calls");
    it = malloc(sizeof *it);
    if (!it)
        return vg_js_why(-ENOMEM, "there is no memory for the call");
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
        return vg_js_why(-EINVAL, "promise, js or value is NULL");
    if (!promise)
        return vg_js_why(-ENOMEM, "there is no memory for a promise");
    made = vg_promise(js->engine, &promise->resolve, &promise->reject);
    if (!made) {
        free(promise);
        return vg_js_why(-ENOMEM, "there is no memory for a promise");
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
        return vg_js_why(-EINVAL, "promise is NULL");
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
