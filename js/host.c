/* SPDX-License-Identifier: MIT */
/* A host: making it, running programs on it, its end. */
#include "host.h"

#include <stdlib.h>
#include <string.h>

#include "bind_buffer.h"
#include "bind_child.h"
#include "bind_core.h"
#include "bind_crypto.h"
#include "bind_datagram.h"
#include "bind_decode.h"
#include "bind_dns.h"
#include "bind_jobs.h"
#include "bind_fs.h"
#include "bind_hash.h"
#include "bind_inotify.h"
#include "bind_interfaces.h"
#include "bind_modules.h"
#include "bind_net.h"
#include "bind_pool.h"
#include "bind_system.h"
#include "bind_text.h"
#include "bind_tls.h"
#include "bind_url.h"
#include "bind_vm.h"
#include "bind_watch.h"
#include "bind_worker.h"
#include "bind_zip.h"
#include "ending.h"
#include "http_answer.h"
#include "http_bind.h"
#include "library.h"
#include "port.h"
#include "turn.h"
#include "why.h"

/* ---- making ----------------------------------------------------------------------------------------------------- */

/* Runs a file that is a function of the binding; NULL: it threw. */
static vg_val run_first(vigil_js *js, const char *file, const char *url)
{
    const vg_embedded *source = vg_js_library_find(file);
    vg_val thrown = NULL, result, args[1];
    vg_val function = vg_eval(js->engine, (const char *)source->bytes, source->length, url, 1, &thrown);
    if (!function)
        return NULL;
    args[0] = js->binding;
    js->depth++;
    result = vg_apply(js->engine, function, NULL, 1, args, &thrown);
    js->depth--;
    return result;
}

static bool boot(vigil_js *js)
{
    vg_engine *engine = js->engine;
    vg_val thrown;
    js->binding = vg_object(engine);
    vg_hold(engine, js->binding);
    if (!vg_js_bind_core(js) || !vg_js_bind_system(js) || !vg_js_bind_text(js) || !vg_js_bind_decode(js) ||
        !vg_js_bind_buffer(js) || !vg_js_bind_url(js) || !vg_js_bind_fs(js) || !vg_js_bind_pool(js) ||
        !vg_js_bind_watch(js) || !vg_js_bind_zip(js) || !vg_js_bind_hash(js) || !vg_js_bind_worker(js) ||
        !vg_js_bind_net(js) || !vg_js_bind_dns(js) || !vg_js_bind_child(js) || !vg_js_bind_vm(js) ||
        !vg_js_bind_inotify(js) || !vg_js_bind_datagram(js) || !vg_js_bind_interfaces(js) || !vg_js_bind_modules(js))
        return false;
#ifdef VG_HAVE_OPENSSL
    if (!vg_js_bind_crypto(js) || !vg_js_bind_tls(js))
        return false;
#endif
#ifdef VG_HAVE_JOBS
    if (!vg_js_bind_jobs(js))
        return false;
#endif
#ifdef VG_JS_HTTP
    if (!vg_js_bind_http(js) || !vg_js_bind_answer(js))
        return false;
#endif
    if (!run_first(js, "safe.js", "vigil:safe") || !(js->dispatch = run_first(js, "boot.js", "vigil:boot")))
        return false;
    vg_hold(engine, js->dispatch);
    js->enter = vg_get(engine, js->binding, "enter", &thrown);
    js->entered = vg_get(engine, js->binding, "entered", &thrown);
    return js->enter && js->entered;
}

static void before_exit(void *arg);

int vigil_js_create(vigil_js **out, const vigil_js_options *options)
{
    vigil_js *js;
    const char *why;
    int error = 0;
    if (!out)
        return vg_js_why(-EINVAL, "js is NULL");
    if (options && (options->size == 0 || options->size > sizeof *options))
        return vg_js_why(-EINVAL, "options->size is not that of this version; start from VIGIL_JS_OPTIONS_INIT");
    if (options && options->argc < 0)
        return vg_js_why(-EINVAL, "options.argc is negative");
    js = calloc(1, sizeof *js);
    if (!js)
        return vg_js_why(-ENOMEM, "there is no memory for a host");
    if (options)
        memcpy(&js->options, options, options->size);
    js->options.size = sizeof js->options;
    js->owner = pthread_self();
    js->loop = js->options.loop;
    js->pool = js->options.pool;
    if (!js->loop) {
        vigil_loop_options loop_options = VIGIL_LOOP_OPTIONS_INIT;
        loop_options.name = "js";
        loop_options.on_before_exit = before_exit;
        loop_options.user = js;
        error = vigil_loop_create(&js->loop, &loop_options);
        js->own_loop = error == 0;
    }
    if (error == 0)
        error = vg_js_turn_init(js);
    if (error == 0 && !(js->port = vg_port_new(js)))
        error = vg_js_why(-ENOMEM, "there is no memory for a host");
    if (error == 0 && !(js->engine = vg_engine_new(js, &why)))
        error = vg_js_why(-ENOMEM, why);
    if (error == 0) {
        bool ok;
        vg_engine_enter(js->engine);
        ok = boot(js);
        vg_engine_leave(js->engine);
        if (!ok)
            error = vg_js_why(-ENOMEM, "the engine could not load the host's own library");
    }
    if (error < 0) {
        vigil_js_destroy(js);
        return error;
    }
    vg_js_sync(js);
    *out = js;
    return 0;
}

vigil_loop *vigil_js_loop(vigil_js *js)
{
    return js->loop;
}

vigil_pool *vigil_js_pool(vigil_js *js)
{
    if (!js->pool) {
        vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
        /* Its tasks are file operations that mostly wait: at least four, as programs expect. */
        unsigned cpus = vigil_cpu_count();
        options.name = "js";
        options.workers = cpus < 4 ? 4 : cpus;
        if (vigil_pool_create(&js->pool, &options) < 0)
            js->pool = NULL;
        js->own_pool = js->pool != NULL;
    }
    return js->pool;
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

/* The engine stays entered between a program's own code and its run: leaving it would run microtasks that a failed callback
   has left for later. Locks of engines must nest, so only one host of a thread can have that at a time; another one's
   program then runs such microtasks a little earlier. */
static _Thread_local vigil_js *parked;

static void park(vigil_js *js)
{
    if (!parked && vg_engine_can_drain(js->engine)) {
        vg_engine_enter(js->engine);
        parked = js;
    }
}

void vg_js_unpark(vigil_js *js)
{
    if (parked == js) {
        vg_engine_leave(js->engine);
        parked = NULL;
    }
}

static int may_enter(vigil_js *js)
{
    int error = vg_js_why_not_owner(js);
    if (error < 0)
        return error;
    if (js->depth > 0)
        return vg_js_why(-EDEADLK, "JavaScript of this host is on the stack; use vigil_js_eval or vigil_js_call there");
    return js->ended ? vg_js_why(-ECANCELED, "the program has ended") : 0;
}

int vigil_js_run_file(vigil_js *js, const char *path)
{
    int error = path ? may_enter(js) : vg_js_why(-EINVAL, "path is NULL");
    if (error < 0)
        return error;
    park(js);
    vg_js_dispatch(js, VG_DISPATCH_FILE, vg_string(js->engine, path), NULL, NULL);
    return 0;
}

int vigil_js_run_text(vigil_js *js, const char *text, size_t length, const char *name)
{
    int error = text && name ? may_enter(js) : vg_js_why(-EINVAL, "text or name is NULL");
    vg_val source;
    if (error < 0)
        return error;
    source = vg_text(js->engine, text, length);
    if (!source)
        return vg_js_why(-ENOMEM, "there is no memory for the text");
    park(js);
    vg_js_dispatch(js, VG_DISPATCH_TEXT, source, vg_string(js->engine, name), NULL);
    return 0;
}

static void before_exit(void *arg)
{
    vigil_js *js = arg;
    if (js->ending)
        return; /* beforeExit is where a program goes on; this one was asked to end */
    vg_js_dispatch(js, VG_DISPATCH_BEFORE_EXIT, NULL, NULL, NULL);
}

/* A loop of somebody else's: one turn at a time, because only then it stays fit for another run, which beforeExit may need. */
static int run_turns(vigil_js *js)
{
    int alive = 1;
    while (!js->ended && !js->ending && !js->unwound) {
        alive = vigil_loop_run(js->loop, VIGIL_RUN_ONCE);
        if (alive < 0)
            return alive;
        if (alive > 0 || js->ended)
            continue;
        before_exit(js);
        if (js->ended || vigil_loop_keepers(js->loop, NULL, 0) == 0)
            return 0;
    }
    return 1;
}

static int run_loop(vigil_js *js)
{
    if (js->ending)
        return vg_js_drain(js);
    return js->own_loop ? vigil_loop_run(js->loop, VIGIL_RUN) : run_turns(js);
}

static vg_val run_inside(vg_call *call)
{
    vigil_js *js = call->host;
    vg_engine_enter(js->engine);
    js->run_result = run_loop(js);
    vg_engine_leave(js->engine);
    return NULL;
}

int vg_js_run_to_end(vigil_js *js)
{
    static const char caller[] = "(function (f) { f(); })";
    vg_val outer, inner, thrown = NULL;
    if (js->ended)
        return js->exit_code & 0xff;
    outer = vg_eval(js->engine, caller, sizeof caller - 1, "vigil:run", 1, &thrown);
    inner = vg_function(js->engine, "run", run_inside, NULL, NULL);
    if (!outer || !inner)
        return vg_js_why(-ENOMEM, "there is no memory to begin a run");
    /* The loop runs inside one call from JavaScript: then the engine's watch over its running time starts once, and not with
       each callback, which costs more than most callbacks do. What it ends unwinds all of it; then it is begun again. */
    while (!js->ended) {
        if (js->unwound) {
            js->unwound = false;
            vg_js_dispatch(js, VG_DISPATCH_UNWOUND, NULL, NULL, NULL);
        }
        js->run_result = 1;
        if (vg_engine_can_drain(js->engine))
            vg_apply(js->engine, outer, NULL, 1, &inner, &thrown);
        else
            js->run_result = run_loop(js);
        if (js->run_result < 0)
            return js->run_result;
        if (js->run_result == 0)
            break;
    }
    if (!js->ended) {
        int code = vg_js_dispatch(js, VG_DISPATCH_EXIT, NULL, NULL, NULL);
        if (!js->ended) {
            js->ended = true;
            js->exit_code = code;
        }
        vg_js_sync(js);
    }
    return js->exit_code & 0xff;
}

int vigil_js_run(vigil_js *js)
{
    int result = vg_js_why_not_owner(js);
    if (result < 0)
        return result;
    if (js->depth > 0)
        return vg_js_why(-EDEADLK, "the host runs already: this is inside of its JavaScript");
    result = vg_js_run_to_end(js);
    vg_js_unpark(js);
#ifdef VG_HAVE_JOBS
    if (js->ended)
        vg_js_jobs_stop(js);
#endif
    return result;
}

bool vigil_js_ended(const vigil_js *js, int *code)
{
    if (js->ended && code)
        *code = js->exit_code & 0xff;
    return js->ended;
}

bool vigil_js_busy(const vigil_js *js)
{
    return js->in_flight > 0;
}
