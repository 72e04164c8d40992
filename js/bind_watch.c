/* SPDX-License-Identifier: MIT */
/* Counters and verdicts for lib/watch.js: what the recorder and the watchdog of this process know. */
#include "bind_watch.h"

#include <stdlib.h>
#include <string.h>
#include <vigil/record.h>
#include <vigil/watchdog.h>

#include "bind.h"
#include "port.h"
#include "turn.h"

#define VERDICTS 64

/* What the watchdog's thread needs; freed when it has stopped. */
typedef struct vg_watch_side {
    vg_port *port;
    vg_val listener;
} vg_watch_side;

static void put_text(vg_engine *engine, vg_val object, const char *name, const char *text)
{
    vg_val thrown;
    vg_set(engine, object, name, vg_string(engine, text), &thrown);
}

static void put_value(vg_engine *engine, vg_val object, const char *name, vg_val value)
{
    vg_val thrown;
    vg_set(engine, object, name, value, &thrown);
}

/* As the header has them: programs compare these; people read vigil_stall_name. */
static const char *stall_code(vigil_stall stall)
{
    static const char *const codes[VIGIL_STALLS] = {
        [VIGIL_STALL_NONE] = "NONE",
        [VIGIL_STALL_LOST_WAKEUP] = "LOST_WAKEUP",
        [VIGIL_STALL_ALL_BLOCKED] = "ALL_BLOCKED",
        [VIGIL_STALL_HOG] = "HOG",
        [VIGIL_STALL_WAIT_CYCLE] = "WAIT_CYCLE",
        [VIGIL_STALL_STARVED_CLASS] = "STARVED_CLASS",
        [VIGIL_STALL_LOST_TASK] = "LOST_TASK",
        [VIGIL_STALL_GROWING_QUEUE] = "GROWING_QUEUE",
        [VIGIL_STALL_LOOP_BLOCKED] = "LOOP_BLOCKED",
        [VIGIL_STALL_NO_CPU] = "NO_CPU",
        [VIGIL_STALL_FROZEN_WORKER] = "FROZEN_WORKER",
        [VIGIL_STALL_DRIFT] = "DRIFT",
        [VIGIL_STALL_LOOP_SPINS] = "LOOP_SPINS",
        [VIGIL_STALL_THREAD_GONE] = "THREAD_GONE",
        [VIGIL_STALL_OLD_WAIT] = "OLD_WAIT",
    };
    return (unsigned)stall < VIGIL_STALLS && codes[stall] ? codes[stall] : "?";
}

/* ---- counters --------------------------------------------------------------------------------------------------- */

static vg_val recorder(vg_engine *engine)
{
    static const char *const levels[] = {"default", "off", "counters", "events"};
    vigil_record_stats stats = {.size = sizeof stats};
    vg_val object = vg_object(engine);
    char path[4096];
    vigil_record_stats_get(&stats);
    put_text(engine, object, "level", (unsigned)stats.level < 4 ? levels[stats.level] : "?");
    if (vigil_record_path(path, sizeof path) > 0)
        put_text(engine, object, "path", path);
    vg_set_number(engine, object, "bytes", (double)stats.file_bytes);
    vg_set_number(engine, object, "leftOut", (double)stats.left_out);
    vg_set_number(engine, object, "threads", (double)stats.threads);
    vg_set_number(engine, object, "events", (double)stats.events);
    vg_set_number(engine, object, "dropped", (double)stats.dropped);
    vg_set_number(engine, object, "names", (double)stats.names);
    return object;
}

static vg_val loop_counts(vigil_js *js, vg_engine *engine)
{
    static const struct {
        const char *name;
        size_t offset;
    } counts[] = {
#define COUNT(name, field) {name, offsetof(vigil_loop_stats, field)}
        COUNT("turns", turns),
        COUNT("postsAccepted", posts_accepted),
        COUNT("postsRun", posts_run),
        COUNT("postsQueued", posts_queued),
        COUNT("internalRun", internal_run),
        COUNT("timersFired", timers_fired),
        COUNT("timersActive", timers_active),
        COUNT("fdEvents", fd_events),
        COUNT("watchesActive", watches_active),
        COUNT("signalsDelivered", signals_delivered),
        COUNT("hooksRun", hooks_run),
        COUNT("sleeps", sleeps),
        COUNT("wakesSent", wakes_sent),
        COUNT("wakesUseful", wakes_useful),
        COUNT("wakesSpurious", wakes_spurious),
        COUNT("pollCalls", poll_calls),
#undef COUNT
    };
    vigil_loop_stats stats = {.size = sizeof stats};
    vg_val object = vg_object(engine);
    vigil_loop_stats_get(js->loop, &stats);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        vg_set_number(engine, object, counts[i].name, (double)*(uint64_t *)(void *)((char *)&stats + counts[i].offset));
    vg_set_number(engine, object, "blocked", (double)stats.poll_ns / 1e6);
    vg_set_number(engine, object, "active", (double)stats.work_ns / 1e6);
    return object;
}

static vg_val watchdog(vg_engine *engine)
{
    vigil_watchdog_stats stats = {.size = sizeof stats};
    vg_val object = vg_object(engine), raised = vg_object(engine);
    vigil_watchdog_stats_get(&stats);
    for (int i = 1; i < VIGIL_STALLS; i++)
        if (stats.raised[i])
            vg_set_number(engine, raised, stall_code((vigil_stall)i), (double)stats.raised[i]);
    put_value(engine, object, "running", vg_bool(engine, stats.running));
    vg_set_number(engine, object, "looks", (double)stats.looks);
    vg_set_number(engine, object, "standing", (double)stats.standing);
    vg_set_number(engine, object, "actions", (double)stats.actions);
    vg_set_number(engine, object, "suspicions", (double)stats.suspicions);
    vg_set_number(engine, object, "cpu", (double)stats.cpu_ns / 1e6);
    put_value(engine, object, "raised", raised);
    return object;
}

static vg_val snapshot(vg_call *call)
{
    vigil_js *js = call->host;
    vg_val object = vg_object(call->engine);
    put_value(call->engine, object, "recorder", recorder(call->engine));
    put_value(call->engine, object, "loop", loop_counts(js, call->engine));
    put_value(call->engine, object, "watchdog", watchdog(call->engine));
    /* The pool's own come from vigil:pool, if there is a pool. */
    put_value(call->engine, object, "pool", vg_bool(call->engine, js->pool != NULL));
    return object;
}

/* ---- verdicts --------------------------------------------------------------------------------------------------- */

static vg_val verdict_of(vigil_js *js, const vigil_verdict *from)
{
    static const char *const classes[VIGIL_PRIORITIES] = {"critical", "high", "normal", "low", "idle"};
    vg_engine *engine = js->engine;
    vg_val object = vg_object(engine);
    char *text;
    int length = vigil_verdict_text(from, NULL, 0);
    vg_set_number(engine, object, "number", (double)from->number);
    put_text(engine, object, "stall", stall_code(from->stall));
    put_text(engine, object, "title", vigil_stall_name(from->stall));
    put_text(engine, object, "severity", vigil_severity_name(from->severity));
    put_text(engine, object, "state", vigil_verdict_state_name(from->state));
    /* On performance.now's clock, like everything else that a program can compare it with. */
    vg_set_number(engine, object, "at", ((double)from->at_ns - (double)js->base_ns) / 1e6);
    vg_set_number(engine, object, "since", ((double)from->since_ns - (double)js->base_ns) / 1e6);
    put_text(engine, object, "subject", from->name);
    if (from->worker >= 0)
        vg_set_number(engine, object, "worker", from->worker);
    if (from->thread > 0)
        vg_set_number(engine, object, "thread", from->thread);
    if (from->priority >= 0 && from->priority < VIGIL_PRIORITIES)
        put_text(engine, object, "priority", classes[from->priority]);
    put_text(engine, object, "reason", from->reason);
    put_text(engine, object, "evidence", from->evidence);
    put_text(engine, object, "advice", from->advice);
    put_text(engine, object, "stacks", from->stacks);
    put_text(engine, object, "action", from->action);
    text = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (text) {
        vigil_verdict_text(from, text, (size_t)length + 1);
        put_text(engine, object, "text", text);
    }
    free(text);
    return object;
}

static vg_val verdicts(vg_call *call)
{
    vigil_js *js = call->host;
    vigil_verdict *all = calloc(VERDICTS, sizeof *all);
    vg_val items[VERDICTS];
    int count = 0;
    if (!all)
        return vg_throw(call, "no memory");
    for (int i = 0; i < VERDICTS; i++)
        all[i].size = sizeof all[i];
    count = vigil_watchdog_verdicts(all, VERDICTS);
    for (int i = 0; i < count; i++)
        items[i] = verdict_of(js, &all[i]);
    free(all);
    return vg_array(call->engine, count > 0 ? (size_t)count : 0, items);
}

typedef struct news {
    vg_done done;
    vigil_verdict verdict;
} news;

static void deliver(vigil_js *js, vg_done *done)
{
    news *it = (news *)(void *)done;
    vg_watch_side *side = js->watch_side;
    vg_val verdict = side ? verdict_of(js, &it->verdict) : NULL;
    free(it);
    if (side)
        vg_js_dispatch(js, VG_DISPATCH_EVENT, side->listener, verdict, NULL);
}

static void drop(vg_done *done)
{
    free(done);
}

/* On the watchdog's thread. Without memory the event is lost; verdicts() still has the verdict. */
static void on_verdict(void *user, const vigil_verdict *verdict)
{
    vg_watch_side *side = user;
    news *it = calloc(1, sizeof *it);
    if (!it)
        return;
    it->done.deliver = deliver;
    it->done.drop = drop;
    it->verdict = *verdict;
    vg_port_send(side->port, &it->done);
}

/* (listener, interval, hog, loop, stuck, growth, repeat, recover, least): 0 or an errno. */
static vg_val start(vg_call *call)
{
    vigil_js *js = call->host;
    vigil_watchdog_options options = VIGIL_WATCHDOG_OPTIONS_INIT;
    vg_watch_side *side = js->watch_side ? NULL : calloc(1, sizeof *side);
    int error;
    if (!side)
        return vg_number(call->engine, js->watch_side ? -EALREADY : -ENOMEM);
    side->port = js->port;
    side->listener = vg_arg(call, 0);
    options.interval_ms = (unsigned)vg_arg_number(call, 1);
    options.hog_ms = (unsigned)vg_arg_number(call, 2);
    options.loop_ms = (unsigned)vg_arg_number(call, 3);
    options.stuck_ms = (unsigned)vg_arg_number(call, 4);
    options.growth_ms = (unsigned)vg_arg_number(call, 5);
    options.repeat_ms = (unsigned)vg_arg_number(call, 6);
    options.recover = (uint32_t)vg_arg_number(call, 7);
    options.least = (vigil_severity)vg_arg_number(call, 8);
    options.on_verdict = on_verdict;
    options.user = side;
    vg_port_hold(js->port);
    vg_hold(call->engine, side->listener);
    error = vigil_watchdog_start(&options);
    if (error < 0) {
        vg_release(call->engine, side->listener);
        vg_port_release(js->port);
        free(side);
        return vg_number(call->engine, error);
    }
    js->watch_side = side;
    return vg_number(call->engine, 0);
}

void vg_js_watch_side_end(vigil_js *js)
{
    vg_watch_side *side = js->watch_side;
    if (!side)
        return;
    js->watch_side = NULL;
    vigil_watchdog_stop(); /* waits for a hook that runs: nobody has `side` any more */
    vg_release(js->engine, side->listener);
    vg_port_release(side->port);
    free(side);
}

static vg_val stop(vg_call *call)
{
    vigil_js *js = call->host;
    bool ran = js->watch_side != NULL;
    vg_js_watch_side_end(js);
    return vg_bool(call->engine, ran);
}

/* (name, value): 0 or an errno. */
static vg_val mark(vg_call *call)
{
    char *name = vg_arg_text(call, 0, NULL);
    double value = vg_arg_number(call, 1);
    int error = name ? vigil_record_mark(name, (uint64_t)value) : -ENOMEM;
    free(name);
    return vg_number(call->engine, error);
}

static const vg_binding_entry entries[] = {
    {"snapshot", snapshot}, {"verdicts", verdicts}, {"start", start}, {"stop", stop}, {"mark", mark},
};

static vg_val watch_binding(vg_call *call)
{
    vg_val object = vg_object(call->engine);
    if (!vg_js_bind(call->host, object, entries, sizeof entries / sizeof *entries))
        return vg_throw(call, "no memory");
    return object;
}

bool vg_js_bind_watch(vigil_js *js)
{
    static const vg_binding_entry entry[] = {{"watch", watch_binding}};
    return vg_js_bind(js, js->binding, entry, 1);
}
