/* SPDX-License-Identifier: MIT */
/*
 * How a host ends.
 *
 *   shutdown  takes the timers away, closes the servers to new connections and refuses calls through ports. The run goes on
 *             until nothing is in flight; then it emits exit. A timer of the loop, `patience`, drops the rest.
 *   close     cuts every way from outside to the host, and ends its own pool.
 *   destroy   closes, then frees.
 *
 * All three belong to the owner: another thread asks it through a port.
 */
#include "ending.h"

#include <stdlib.h>

#include "bind_child.h"
#include "bind_crypto.h"
#include "bind_decode.h"
#include "bind_hash.h"
#include "bind_jobs.h"
#include "bind_modules.h"
#include "bind_net.h"
#include "bind_zip.h"
#include "bind_pool.h"
#include "bind_system.h"
#include "bind_tls.h"
#include "bind_vm.h"
#include "bind_watch.h"
#include "embed.h"
#include "http_answer.h"
#include "names.h"
#include "port.h"
#include "turn.h"
#include "why.h"
#include "worker.h"

static bool in_flight(vigil_js *js)
{
    return js->in_flight > 0 || js->ready || js->state[VG_STATE_IMMEDIATE_REFS] > 0 ||
           (js->http && js->http_busy(js)) || vg_js_net_busy(js);
}

int vg_js_drain(vigil_js *js)
{
    while (!js->ended && !js->unwound) {
        int alive;
        vg_js_deliver_now(js); /* calls through ports do not keep the loop alive, but were accepted */
        vg_js_sync(js);
        if (!in_flight(js))
            return 0;
        alive = vigil_loop_run(js->loop, VIGIL_RUN_ONCE);
        if (alive < 0)
            return alive;
    }
    return 1;
}

static void give_up(vigil_js *js)
{
    js->ended = true;
    vg_js_sync(js);
}

static void out_of_patience(vigil_loop *loop, vigil_timer timer, void *arg)
{
    vigil_js *js = arg;
    (void)loop;
    (void)timer;
    js->patience.id = 0;
    give_up(js);
}

int vigil_js_shutdown(vigil_js *js, int64_t timeout_ns)
{
    int error = vg_js_why_not_owner(js);
    bool inside;
    if (error < 0)
        return error;
    if (js->ended)
        return 0;
    inside = js->depth > 0 || vigil_loop_is_owner(js->loop);
    if (timeout_ns >= 0) {
        vigil_timer_options options = VIGIL_TIMER_OPTIONS_INIT;
        uint64_t deadline = vigil_loop_now_update(js->loop) + (uint64_t)timeout_ns;
        if (!js->patience.id || deadline < js->patience_ns) { /* a second call may only shorten the time */
            if (js->patience.id)
                vigil_timer_cancel(js->loop, js->patience);
            options.deadline_ns = deadline;
            options.flags = VIGIL_TIMER_UNREF;
            js->patience_ns = deadline;
            error = vigil_timer_start_with(js->loop, &options, out_of_patience, js, &js->patience);
            if (error < 0) {
                js->patience.id = 0;
                return error;
            }
        }
    }
    if (!js->ending) {
        js->ending = true;
        /* relaxed: a call that races with this may be on either side of it. */
        atomic_store_explicit(&js->port->refusing, true, memory_order_relaxed);
        if (js->http || js->net)
            vg_js_dispatch(js, VG_DISPATCH_SHUTDOWN, NULL, NULL, NULL);
        vg_js_sync(js);
    }
    if (inside) {
        vigil_loop_pause(js->loop); /* the run sees `ending` and drains */
        return 0;
    }
    error = vg_js_run_to_end(js);
    vg_js_unpark(js);
    return error < 0 ? error : 0;
}

/* Nothing leads to the host after this: no port, signal, descriptor, timer or hook. */
static void cut(vigil_js *js)
{
    if (js->closed)
        return;
    js->ended = js->closed = true;
    vg_js_workers_end(js);
    if (js->port)
        vg_port_close(js->port);
#ifdef VG_HAVE_JOBS
    vg_js_jobs_end(js);
#endif
    while (js->signals) {
        vg_signal_watch *watch = js->signals;
        js->signals = watch->next;
        vg_js_forward_signal(watch->signo, false);
        vigil_signal_remove(js->loop, watch->handle);
        free(watch);
    }
    if (js->http)
        js->http_end(js);
    vg_js_net_end(js);
    vg_js_child_end(js);
    if (js->loop) {
        if (js->patience.id)
            vigil_timer_cancel(js->loop, js->patience);
        vg_js_turn_end(js);
    }
}

int vigil_js_close(vigil_js *js, int64_t timeout_ns)
{
    int error = vg_js_why_not_owner(js);
    if (error < 0)
        return error;
    if (js->depth > 0 || vigil_loop_is_owner(js->loop))
        return vg_js_why(-EDEADLK,
                         "this is inside of JavaScript or of a callback of the loop; use vigil_js_shutdown here");
    cut(js);
    return js->own_pool ? vigil_pool_close(js->pool, timeout_ns) : 0;
}

int vigil_js_destroy(vigil_js *js)
{
    if (!js)
        return 0;
    if (js->depth > 0 || (js->loop && vigil_loop_is_owner(js->loop)))
        return vg_js_why(-EDEADLK, "this is inside of JavaScript or of a callback of the loop");
    cut(js);
    if (js->own_pool)
        vigil_pool_destroy(js->pool);
    if (js->engine) {
        vg_js_unpark(js);
        if (js->http)
            js->http_end(js); /* a getter may have opened something after the close */
        vg_js_net_end(js);
        vg_js_child_end(js);
        vg_js_embed_end(js, false);
        vg_js_watch_side_end(js);
#ifdef VG_HAVE_JOBS
        vg_js_jobs_forget(js);
#endif
        if (js->storm)
            vg_release(js->engine, js->storm);
        if (js->dispatch)
            vg_release(js->engine, js->dispatch);
        if (js->binding)
            vg_release(js->engine, js->binding);
        vg_engine_free(js->engine);
        vg_js_embed_end(js, true);
        vg_js_decode_end(js);
        vg_js_zip_end(js);
        vg_js_hash_end(js);
        vg_js_vm_end(js);
#ifdef VG_HAVE_OPENSSL
        vg_js_crypto_end(js);
        vg_js_tls_end(js);
#endif
#ifdef VG_JS_HTTP
        vg_js_answer_end(js);
#endif
    }
    if (js->port)
        vg_port_release(js->port);
    vg_js_pool_side_end(js);
    vg_js_names_end(js);
#ifdef VG_HAVE_JOBS
    vg_js_jobs_free(js);
#endif
    vg_js_modules_end(js);
    if (js->own_loop)
        vigil_loop_destroy(js->loop);
    free(js->http);
    vg_js_net_free(js);
    free(js);
    return 0;
}
