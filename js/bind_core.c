/* SPDX-License-Identifier: MIT */
/* What lib/boot.js and the scheduler need from C: sources, compiling, time, draining, output, the end. */
#include "bind_core.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <vigil/version.h>

#include "bind.h"
#include "library.h"
#include "limit.h"
#include "names.h"
#include "port.h"
#include "turn.h"

static vg_val source(vg_call *call)
{
    char *name = vg_arg_text(call, 0, NULL);
    const vg_embedded *found = name ? vg_js_library_find(name) : NULL;
    free(name);
    return found ? vg_text(call->engine, (const char *)found->bytes, found->length) : vg_undefined(call->engine);
}

/* part(name, self): run a file of the library; false if there is none of that name. */
static vg_val part(vg_call *call)
{
    char *name = vg_arg_text(call, 0, NULL), file[72], url[72];
    const vg_embedded *found;
    vg_val thrown = NULL;
    snprintf(file, sizeof file, "%s.js", name ? name : "");
    snprintf(url, sizeof url, "vigil:%s", name ? name : "");
    free(name);
    found = vg_js_library_find(file);
    if (found && !vg_eval_as(call->engine, vg_arg(call, 1), (const char *)found->bytes, url, &thrown))
        call->thrown = thrown;
    return vg_bool(call->engine, found != NULL);
}

static vg_val compile(vg_call *call)
{
    vigil_js *js = call->host;
    vg_val thrown = NULL;
    vg_val result = vg_eval_value(call->engine, vg_arg(call, 0), vg_arg(call, 1), (int)vg_arg_number(call, 2), &thrown);
    call->thrown = thrown;
    if (js->records && !thrown) {
        char *url = vg_arg_text(call, 1, NULL);
        if (url)
            vg_js_names_learn(js, result, url);
        free(url);
    }
    return result;
}

/* (+1 or -1): the engine works on something whose result it will put off. */
static vg_val engine_work(vg_call *call)
{
    vigil_js *js = call->host;
    int change = vg_arg_number(call, 0) > 0 ? 1 : -1;
    js->engine_pending = (unsigned)((int)js->engine_pending + change);
    vg_js_in_flight(js, change);
    return NULL;
}

static vg_val shows(vg_call *call)
{
    vg_js_shows(call->host, vg_arg_is(call, 0, VG_OBJECT) ? call->args[0] : NULL);
    return NULL;
}

static double now(void *host)
{
    return vg_js_now_ms(host);
}

static double precise_now(void *host)
{
    vigil_js *js = host;
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)((uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec - js->base_ns) / 1e6;
}

static double drain(void *host)
{
    vigil_js *js = host;
    /* relaxed: read by the same thread, in the midst of the drain. */
    if (++js->drains == 0)
        js->drains = 1;
    atomic_store_explicit(&js->draining, js->drains, memory_order_relaxed);
    vg_engine_drain(js->engine);
    atomic_store_explicit(&js->draining, 0U, memory_order_relaxed);
    return 0;
}

static vg_val on_storm(vg_call *call)
{
    vigil_js *js = call->host;
    js->storm = vg_arg(call, 0);
    vg_hold(call->engine, js->storm);
    return NULL;
}

static vg_val deliver_now(vg_call *call)
{
    vigil_js *js = call->host;
    if (js->http)
        js->http_poll(js);
    vg_js_deliver_now(js);
    /* A delivery that ended the program was unwound down to here; what called us has to go as well. */
    if (js->ended)
        vg_js_unwind(js);
    return NULL;
}

static vg_val on_rejection(vg_call *call)
{
    return vg_bool(call->engine, vg_engine_on_rejection(call->engine, vg_arg(call, 0)));
}

static vg_val promise_state(vg_call *call)
{
    static const char *const names[] = {"pending", "fulfilled", "rejected"};
    vg_val result = NULL, items[3];
    bool handled = false;
    vg_promise_state state = vg_promise_look(call->engine, vg_arg(call, 0), &result, &handled);
    if (state == VG_PROMISE_UNKNOWN)
        return NULL;
    items[0] = vg_string(call->engine, names[state]);
    items[1] = result ? result : vg_undefined(call->engine);
    items[2] = vg_bool(call->engine, handled);
    return vg_array(call->engine, 3, items);
}

static vg_val promise_handled(vg_call *call)
{
    bool handled = false;
    vg_val result = NULL;
    vg_promise_look(call->engine, vg_arg(call, 0), &result, &handled);
    return vg_bool(call->engine, handled);
}

/* sameShape(value, samples): whether one of these arrays has the same properties */
static vg_val same_shape(vg_call *call)
{
    vg_val thrown = NULL, count = vg_get(call->engine, vg_arg(call, 1), "length", &thrown);
    unsigned most = count ? (unsigned)vg_to_number(call->engine, count) : 0;
    bool found = false;
    for (unsigned i = 0; i < most && !found; i++) {
        vg_val sample = vg_get_index(call->engine, call->args[1], i, &thrown);
        found = sample && vg_same_shape(call->engine, call->args[0], sample);
    }
    return vg_bool(call->engine, found);
}

static vg_val proxy_target(vg_call *call)
{
    return vg_proxy_target(call->engine, vg_arg(call, 0));
}

/* Standard output is often a pipe or a terminal, and somebody may have made it non-blocking: wait then. */
static int write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t done = write(fd, bytes, length);
        if (done >= 0) {
            bytes += done;
            length -= (size_t)done;
        } else if (errno == EAGAIN) {
            struct pollfd wait = {.fd = fd, .events = POLLOUT};
            if (poll(&wait, 1, -1) < 0 && errno != EINTR)
                return -errno;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

static vg_val write_out(vg_call *call)
{
    vigil_js *js = call->host;
    int fd = (int)vg_arg_number(call, 0), result = 0;
    char *text = NULL;
    unsigned char *bytes = NULL;
    size_t length = 0;
    if (vg_arg_is(call, 1, VG_STRING)) {
        text = vg_arg_text(call, 1, &length);
        if (!text)
            return vg_number(call->engine, -ENOMEM);
    } else if (!vg_to_bytes(call->engine, vg_arg(call, 1), &bytes, &length)) {
        return vg_number(call->engine, -EINVAL);
    }
    if (js->options.on_output)
        js->options.on_output(js->options.user, fd, text ? text : (const char *)bytes, length);
    else
        result = write_all(fd, text ? text : (const char *)bytes, length);
    free(text);
    return vg_number(call->engine, result);
}

static vg_val is_tty(vg_call *call)
{
    vigil_js *js = call->host;
    return vg_bool(call->engine, !js->options.on_output && isatty((int)vg_arg_number(call, 0)) == 1);
}

static vg_val window_size(vg_call *call)
{
    struct winsize size;
    vg_val items[2];
    if (ioctl((int)vg_arg_number(call, 0), TIOCGWINSZ, &size) < 0)
        return NULL;
    items[0] = vg_number(call->engine, size.ws_col);
    items[1] = vg_number(call->engine, size.ws_row);
    return vg_array(call->engine, 2, items);
}

static vg_val end_program(vg_call *call)
{
    vigil_js *js = call->host;
    js->exit_code = (int)vg_arg_number(call, 0);
    js->ended = true;
    vg_js_unwind(js);
    return NULL;
}

static vg_val end_process(vg_call *call)
{
    (void)call;
    abort();
}

static vg_val loop_times(vg_call *call)
{
    vigil_js *js = call->host;
    vigil_loop_stats stats = {.size = sizeof stats};
    vg_val object = vg_object(call->engine), thrown;
    vigil_loop_stats_get(js->loop, &stats);
    vg_set(call->engine, object, "idle", vg_number(call->engine, (double)stats.poll_ns / 1e6), &thrown);
    vg_set(call->engine, object, "active", vg_number(call->engine, (double)stats.work_ns / 1e6), &thrown);
    return object;
}

static vg_val collect(vg_call *call)
{
    vg_engine_collect(call->engine);
    return NULL;
}

static const vg_binding_entry entries[] = {
    {"source", source},
    {"part", part},
    {"compile", compile},
    {"shows", shows},
    {"engineWork", engine_work},
    {"onRejection", on_rejection},
    {"onStorm", on_storm},
    {"deliverNow", deliver_now},
    {"promiseState", promise_state},
    {"promiseHandled", promise_handled},
    {"proxyTarget", proxy_target},
    {"sameShape", same_shape},
    {"write", write_out},
    {"isTTY", is_tty},
    {"windowSize", window_size},
    {"exit", end_program},
    {"abort", end_process},
    {"collect", collect},
    {"loopTimes", loop_times},
};

/* What the scheduler calls for each callback. */
static const struct {
    const char *name;
    double (*fn)(void *host);
} leaves[] = {
    {"now", now},
    {"preciseNow", precise_now},
    {"drain", drain},
};

/* Globals that are made when a program first looks at them: file of the library -> names. */
static const struct {
    const char *part, *names;
} globals[] = {
    {"eventtarget", "AbortController AbortSignal EventTarget Event CustomEvent DOMException"},
    {"blob", "Blob File"},
    {"formdata", "FormData"},
    {"message_channel", "MessageChannel MessagePort MessageEvent BroadcastChannel"},
    {"stream_web",
     "ReadableStream ReadableStreamDefaultReader ReadableStreamBYOBReader ReadableStreamDefaultController "
     "ReadableByteStreamController ReadableStreamBYOBRequest WritableStream WritableStreamDefaultWriter "
     "WritableStreamDefaultController TransformStream TransformStreamDefaultController "
     "ByteLengthQueuingStrategy CountQueuingStrategy TextEncoderStream TextDecoderStream"},
    {"encoding", "TextEncoder TextDecoder atob btoa"},
    {"buffer", "Buffer"},
    {"url", "URL URLSearchParams"},
    {"urlpattern", "URLPattern"},
    {"crypto", "crypto Crypto"},
    {"subtle", "CryptoKey SubtleCrypto"},
    {"perf", "performance"},
    {"perf_timeline", "Performance PerformanceEntry PerformanceMark PerformanceMeasure PerformanceObserver "
                      "PerformanceObserverEntryList"},
    {"clone", "structuredClone"},
    {"zlib", "CompressionStream DecompressionStream"},
    {"http_fetch", "Headers Request Response fetch"},
    {"http_websocket", "WebSocket CloseEvent"},
};

/* What require and import know by name: public name -> file of the library. */
static const struct {
    const char *name, *file;
} builtins[] = {
    {"assert", "assert"},
    {"assert/strict", "assert_strict"},
    {"async_hooks", "async_hooks"},
    {"buffer", "buffer"},
    {"child_process", "child_process"},
    {"cluster", "cluster"},
    {"console", "console"},
    {"constants", "constants_module"},
    {"crypto", "node_crypto"},
    {"dgram", "dgram"},
    {"diagnostics_channel", "diagnostics_channel"},
    {"dns", "dns"},
    {"dns/promises", "dns_promises"},
    {"events", "events"},
    {"fs", "fs"},
    {"fs/promises", "fs_promises"},
    {"http", "http"},
    {"http2", "h2"},
    {"https", "https"},
    {"module", "modules"},
    {"net", "net"},
    {"os", "os"},
    {"path", "path"},
    {"path/posix", "path"},
    {"path/win32", "path_win32"},
    {"perf_hooks", "perf"},
    {"process", "process"},
    {"punycode", "punycode"},
    {"querystring", "querystring"},
    {"readline", "readline"},
    {"readline/promises", "readline_promises"},
    {"stream", "stream"},
    {"stream/consumers", "stream_consumers"},
    {"stream/promises", "stream_promises"},
    {"stream/web", "stream_web"},
    {"string_decoder", "string_decoder"},
    {"sys", "util"},
    {"test", "test"},
    {"timers", "timers"},
    {"timers/promises", "timers_promises"},
    {"tls", "tls"},
    {"tty", "tty"},
    {"url", "url"},
    {"util", "util"},
    {"util/types", "util_types"},
    {"v8", "v8"},
    {"vm", "vm"},
    {"worker_threads", "worker_threads"},
    {"zlib", "zlib"},
    {"vigil:http", "http_serve"},
    {"_http_agent", "http_agent"},
    {"_http_common", "http_common"},
    {"_stream_readable", "stream#Readable"},
    {"_stream_writable", "stream#Writable"},
    {"_stream_duplex", "stream#Duplex"},
    {"_stream_transform", "stream#Transform"},
    {"_stream_passthrough", "stream#PassThrough"},
    {"vigil:jobs", "jobs"},
    {"vigil:pool", "pool"},
    {"vigil:repl", "repl"},
    {"vigil:test", "test_run"},
    {"vigil:watch", "watch"},
};

static const struct {
    const char *package, *main;
} packages[] = {
    {"node-inspect-extracted", "dist/inspect.js"},
    {"whatwg-url", "index.js"},
    {"tr46", "index.js"},
    {"webidl-conversions", "lib/index.js"},
    {"punycode", "punycode.js"},
    {"acorn", "dist/acorn.js"},
    {"amaro", "dist/index.js"},
    {"buffer", "index.js"},
    {"base64-js", "index.js"},
    {"ieee754", "index.js"},
    {"web-streams-polyfill", "dist/ponyfill.js"},
    {"urlpattern-polyfill", "dist/urlpattern.cjs"},
};

/* A part may have been left out of this build. "stream#Readable" is something of the part "stream". */
static bool is_there(const char *part)
{
    char file[64];
    snprintf(file, sizeof file, "%.*s.js", (int)strcspn(part, "#"), part);
    return vg_js_library_find(file) != NULL;
}

bool vg_js_bind_core(vigil_js *js)
{
    vg_engine *engine = js->engine;
    vg_val thrown, table;
    char line[64] = "Vigil v";
    strncat(line, vigil_version_string(), sizeof line - 16);
    if (!vg_js_bind(js, js->binding, entries, sizeof entries / sizeof *entries))
        return false;
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        vg_val leaf = vg_leaf(engine, leaves[i].name, leaves[i].fn);
        if (!leaf || !vg_set(engine, js->binding, leaves[i].name, leaf, &thrown))
            return false;
    }
    table = vg_object(engine);
    for (size_t i = 0; i < sizeof globals / sizeof *globals; i++)
        if (is_there(globals[i].part))
            vg_set(engine, table, globals[i].part, vg_string(engine, globals[i].names), &thrown);
    vg_set(engine, js->binding, "globals", table, &thrown);
    table = vg_object(engine);
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (is_there(builtins[i].file))
            vg_set(engine, table, builtins[i].name, vg_string(engine, builtins[i].file), &thrown);
    vg_set(engine, js->binding, "builtins", table, &thrown);
    table = vg_object(engine);
#ifndef VG_JS_HTTP
    vg_set(engine, table, "http", vg_string(engine, "llhttp (Debian: node-llhttp)"), &thrown);
    vg_set(engine, table, "vigil:http", vg_string(engine, "llhttp (Debian: node-llhttp)"), &thrown);
#endif
#ifndef VG_HAVE_JOBS
    vg_set(engine, table, "vigil:jobs", vg_string(engine, "libvigil-jobs (SQLite; Debian: libsqlite3-dev)"), &thrown);
#endif
#ifndef VG_HAVE_OPENSSL
    vg_set(engine, table, "tls", vg_string(engine, "OpenSSL 3 (Debian: libssl-dev)"), &thrown);
    vg_set(engine, table, "https", vg_string(engine, "OpenSSL 3 (Debian: libssl-dev)"), &thrown);
#endif
#ifndef VG_HAVE_ZLIB
    vg_set(engine, table, "zlib", vg_string(engine, "zlib (Debian: zlib1g-dev)"), &thrown);
#endif
    vg_set(engine, js->binding, "leftOut", table, &thrown);
    table = vg_object(engine);
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++)
        vg_set(engine, table, packages[i].package, vg_string(engine, packages[i].main), &thrown);
    vg_set(engine, js->binding, "packageMains", table, &thrown);
    vg_set(engine, js->binding, "state", vg_doubles(engine, js->state, VG_STATE_COUNT), &thrown);
    vg_set(engine, js->binding, "canDrain", vg_bool(engine, vg_engine_can_drain(engine)), &thrown);
    vg_set(engine, js->binding, "safeNames", vg_string(engine, vg_js_safe_names), &thrown);
    vg_set(engine, js->binding, "versionLine", vg_string(engine, line), &thrown);
    return true;
}
