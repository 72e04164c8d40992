/* SPDX-License-Identifier: MIT */
#include "view_json.h"

#include <stdlib.h>
#include <string.h>

#include <vigil/loop.h>
#include <vigil/pool.h>

#include "kinds.h"
#include "recent.h"
#include "say.h"
#include "streams.h"

static void number(json_object *to, const char *key, uint64_t value)
{
    json_object_object_add(to, key, json_object_new_uint64(value));
}

static void real(json_object *to, const char *key, double value)
{
    json_object_object_add(to, key, json_object_new_double(value));
}

static void truth(json_object *to, const char *key, bool value)
{
    json_object_object_add(to, key, json_object_new_boolean(value));
}

/* Text from the file: at most `room` bytes, cleaned. */
static void text(json_object *to, const char *key, const char *value, size_t room)
{
    char clean[1024];
    clean_text(clean, sizeof clean, value, room, true);
    json_object_object_add(to, key, json_object_new_string(clean));
}

static void words(json_object *to, const char *key, const char *value)
{
    json_object_object_add(to, key, json_object_new_string(value));
}

static json_object *child(json_object *to, const char *key, json_object *value)
{
    json_object_object_add(to, key, value);
    return value;
}

static void histogram(json_object *to, const char *key, const vg_hist_view *hist)
{
    json_object *h = child(to, key, json_object_new_object());
    number(h, "count", hist->count);
    number(h, "sum_ns", hist->sum_ns);
    number(h, "p50_ns", vg_hist_quantile(hist, 0.5));
    number(h, "p90_ns", vg_hist_quantile(hist, 0.9));
    number(h, "p99_ns", vg_hist_quantile(hist, 0.99));
    number(h, "p999_ns", vg_hist_quantile(hist, 0.999));
    number(h, "longest_ns", hist->longest_ns);
}

static void function_name(struct look *look, json_object *to, const char *key, uint64_t address)
{
    char name[NAME_ROOM];
    if (address != 0)
        words(to, key, look_name(look, address, name));
}

static void wait(struct look *look, json_object *to, const vg_wait_view *view)
{
    if (view->kind == VG_WAIT_NONE || view->kind >= VG_WAIT_KINDS)
        return;
    json_object *w = child(to, "wait", json_object_new_object());
    words(w, "for", vg_wait_name(view->kind));
    number(w, "on", view->on);
    number(w, "since_ns", view->age_ns);
    function_name(look, w, "where", view->where);
}

static double rate_of(uint64_t now, uint64_t before, double seconds)
{
    return seconds > 0 && now > before ? (double)(now - before) / seconds : 0;
}

/* ---- pools ------------------------------------------------------------------------------------------------------- */

static void class_counts(json_object *c, const vg_class_view *view)
{
    number(c, "submitted", view->submitted);
    number(c, "queued", view->queued);
    number(c, "running", view->running);
    number(c, "completed", view->completed);
    number(c, "failed", view->failed);
    number(c, "cancelled", view->cancelled);
    number(c, "refused", view->refused);
    number(c, "spawned", view->spawned);
    number(c, "delayed", view->delayed);
    number(c, "oldest_ns", view->oldest_age_ns);
}

static json_object *class_json(struct look *look, const vg_pool_view *pool, const vg_pool_view *past, unsigned i,
                               bool live, const struct recent *recent)
{
    json_object *c = json_object_new_object();
    words(c, "class", class_name(i));
    class_counts(c, &pool->of[i]);
    histogram(c, "wait", &pool->wait[i]);
    histogram(c, "run", &pool->run[i]);
    if (!live) {
        /* Rings do not say which pool a run belongs to; with several pools the rates would mix. */
        if (look->now->pool_count == 1)
            real(c, "rate", recent->rate[i]);
        return c;
    }
    double seconds = seconds_between(look->past, look->now);
    uint64_t recent_p99 = 0;
    real(c, "rate", past != NULL ? rate_of(pool->of[i].completed, past->of[i].completed, seconds) : 0);
    if (past != NULL) {
        vg_hist_view *since = malloc(sizeof *since);
        if (since != NULL) {
            vg_hist_since(since, &pool->wait[i], &past->wait[i]);
            recent_p99 = vg_hist_quantile(since, 0.99);
            free(since);
        }
    }
    number(c, "recent_wait_p99_ns", recent_p99);
    return c;
}

static json_object *worker_json(struct look *look, const vg_pool_view *then, const vg_worker_view *w, bool live)
{
    json_object *j = json_object_new_object();
    uint64_t started = 0;
    for (unsigned i = 0; i < VG_FILE_CLASSES; i++)
        started += w->started[i];
    number(j, "id", w->index);
    truth(j, "spare", w->spare);
    number(j, "tid", (uint64_t)w->tid);
    words(j, "state", vg_worker_state_name(w->state));
    number(j, "since_ns", w->in_task && w->state == VIGIL_WORKER_RUNNING ? w->task_age_ns : w->state_age_ns);
    if (w->in_task) {
        function_name(look, j, "function", w->task_function);
        if (w->label[0] != '\0')
            text(j, "label", w->label, sizeof w->label);
        number(j, "task_since_ns", w->task_age_ns);
        number(j, "depth", w->depth);
    }
    wait(look, j, &w->wait);
    number(j, "started", started);
    number(j, "steals_tried", w->steals_tried);
    number(j, "steals_won", w->steals_won);
    number(j, "parks", w->parks);
    if (live) {
        struct shares shares = worker_shares(look->then, look->now, worker_in(then, w->index), w);
        json_object_object_add(j, "class", json_object_new_int(shares.class_));
        real(j, "run_share", shares.run);
        real(j, "search_share", shares.search);
        real(j, "parked_share", shares.park);
        real(j, "blocked_share", shares.block);
        return j;
    }
    number(j, "wakes_sent", w->wakes_sent);
    number(j, "wakes_useful", w->wakes_useful);
    number(j, "wakes_spurious", w->wakes_spurious);
    json_object *time = child(j, "time_ns", json_object_new_object());
    for (unsigned i = 0; i < VIGIL_WORKER_STATES; i++)
        if (w->time_ns[i] > 0)
            number(time, vg_worker_state_name(i), w->time_ns[i]);
    json_object *history = child(j, "history", json_object_new_array());
    for (unsigned i = 0; i < w->changes && i < VG_FILE_HISTORY; i++) {
        json_object *change = json_object_new_object();
        words(change, "state", vg_worker_state_name(w->history[i].state));
        number(change, "age_ns", w->history[i].age_ns);
        json_object_array_add(history, change);
    }
    return j;
}

static json_object *pool_json(struct look *look, const vg_pool_view *pool, bool live, const struct recent *recent)
{
    static const char *const phases[] = {"open", "draining", "discarding", "stopped"};
    json_object *p = json_object_new_object();
    const vg_pool_view *past = pool_in(look->past, pool->serial), *then = pool_in(look->then, pool->serial);
    struct crowd crowd = pool_crowd(pool);
    number(p, "id", pool->serial);
    text(p, "name", pool->name, sizeof pool->name);
    number(p, "age_ns", pool->age_ns);
    words(p, "phase", pool->phase < 4 ? phases[pool->phase] : "?");
    number(p, "workers_wanted", pool->workers_wanted);
    number(p, "threads", crowd.threads);
    number(p, "spares", crowd.spares);
    number(p, "running", crowd.running);
    number(p, "searching", crowd.searching);
    number(p, "parked", crowd.parked);
    number(p, "blocked", crowd.blocked);
    number(p, "max_queue", pool->max_queue);
    number(p, "spares_started", pool->spares_started);
    number(p, "spares_refused", pool->spares_refused);
    number(p, "steals_tried", pool->steals_tried);
    number(p, "steals_won", pool->steals_won);
    number(p, "steals_lost", pool->steals_lost);
    number(p, "parks", pool->parks);
    number(p, "wakes_sent", pool->wakes_sent);
    number(p, "wakes_useful", pool->wakes_useful);
    number(p, "wakes_spurious", pool->wakes_spurious);
    number(p, "ageing_picks", pool->ageing_picks);
    number(p, "work_ns", pool->work_ns);
    number(p, "search_ns", pool->search_ns);
    number(p, "idle_ns", pool->idle_ns);
    number(p, "blocked_ns", pool->blocked_ns);
    histogram(p, "wake", &pool->wake);
    json_object *total = child(p, "total", json_object_new_object());
    class_counts(total, &pool->total);
    if (pool->audited) {
        json_object *audit = child(p, "audit", json_object_new_object());
        truth(audit, "settled", pool->audit_settled);
        number(audit, "age_ns", pool->audit_age_ns);
        number(audit, "expected", pool->audit_expected);
        number(audit, "found", pool->audit_found);
        json_object_object_add(audit, "lost", json_object_new_int64(pool->audit_lost));
    }
    json_object *classes = child(p, "classes", json_object_new_array());
    for (unsigned i = 0; i < VG_FILE_CLASSES; i++)
        json_object_array_add(classes, class_json(look, pool, past, i, live, recent));
    json_object *workers = child(p, "workers", json_object_new_array());
    for (size_t i = 0; i < pool->worker_count; i++)
        if (pool->workers[i].tid != 0)
            json_object_array_add(workers, worker_json(look, then, &pool->workers[i], live));
    return p;
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

static json_object *loop_json(struct look *look, const vg_loop_view *loop, bool live)
{
    json_object *l = json_object_new_object();
    const vg_loop_view *past = loop_in(look->past, loop->serial);
    double seconds = past != NULL ? seconds_between(look->past, look->now) : 0;
    number(l, "id", loop->serial);
    text(l, "name", loop->name, sizeof loop->name);
    number(l, "age_ns", loop->age_ns);
    words(l, "state", vg_loop_state_name(loop->state));
    words(l, "phase", vg_loop_phase_name(loop->phase));
    number(l, "since_ns", loop->call_function != 0 ? loop->call_age_ns : loop->state_age_ns);
    number(l, "tid", (uint64_t)loop->tid);
    function_name(look, l, "function", loop->call_function);
    number(l, "turns", loop->turns);
    number(l, "posts_accepted", loop->posts_accepted);
    number(l, "posts_run", loop->posts_run);
    number(l, "posts_cancelled", loop->posts_cancelled);
    number(l, "posts_queued", loop->posts_queued);
    number(l, "posts_refused", loop->posts_refused);
    number(l, "ticks_run", loop->ticks_run);
    number(l, "microtasks_run", loop->microtasks_run);
    number(l, "microtask_breaches", loop->microtask_breaches);
    number(l, "timers_active", loop->timers_active);
    number(l, "timers_fired", loop->timers_fired);
    number(l, "fd_events", loop->fd_events);
    number(l, "watches_active", loop->watches);
    number(l, "uncaught", loop->uncaught);
    number(l, "sleeps", loop->sleeps);
    number(l, "wakes_sent", loop->wakes_sent);
    number(l, "wakes_useful", loop->wakes_useful);
    number(l, "wakes_spurious", loop->wakes_spurious);
    number(l, "work_ns", loop->work_ns);
    number(l, "poll_ns", loop->poll_ns);
    histogram(l, "callback", &loop->callback);
    histogram(l, "timer_delay", &loop->delay);
    histogram(l, "wake", &loop->wake);
    if (live) {
        real(l, "turn_rate", past != NULL ? rate_of(loop->turns, past->turns, seconds) : 0);
        real(l, "busy_share", past != NULL ? rate_of(loop->work_ns, past->work_ns, seconds) / 1e9 : 0);
    }
    number(l, "streams_opened", loop->ios_opened);
    number(l, "streams_open", loop->ios_open);
    number(l, "streams_unseen", loop->ios_unseen);
    number(l, "bytes_read", loop->io_bytes_read);
    number(l, "bytes_sent", loop->io_bytes_sent);
    child(l, "streams", streams_json(loop));
    json_object *phases = child(l, "phases", json_object_new_array());
    for (unsigned i = VIGIL_PHASE_INTERNAL; i < VIGIL_PHASES; i++) {
        json_object *phase = json_object_new_object();
        words(phase, "name", vg_loop_phase_name(i));
        number(phase, "callbacks", loop_callbacks(loop, i));
        number(phase, "time_ns", loop->phase_ns[i]);
        if (live) {
            real(phase, "share", past != NULL ? rate_of(loop->phase_ns[i], past->phase_ns[i], seconds) / 1e9 : 0);
            real(phase, "rate", past != NULL ? rate_of(loop_callbacks(loop, i), loop_callbacks(past, i), seconds) : 0);
        }
        json_object_array_add(phases, phase);
    }
    return l;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static json_object *verdict_json(struct look *look, const vg_verdict_view *v)
{
    const vg_snapshot *now = look->now;
    json_object *j = json_object_new_object();
    number(j, "id", v->number);
    words(j, "severity", severity_name(v->severity));
    words(j, "kind", stall_name(v->kind));
    char subject[NAME_ROOM];
    words(j, "subject", verdict_subject(now, v, subject));
    real(j, "at_s", (double)(int64_t)(now->age_ns - v->first_age_ns) / 1e9);
    truth(j, "active", !v->over);
    number(j, "first_age_ns", v->first_age_ns);
    number(j, "last_age_ns", v->last_age_ns);
    number(j, "repeats", v->repeats);
    number(j, "object", v->object);
    if (v->worker != UINT64_MAX)
        number(j, "worker", v->worker);
    function_name(look, j, "function", v->function);
    text(j, "reason", v->reason, sizeof v->reason);
    text(j, "evidence", v->evidence, sizeof v->evidence);
    text(j, "advice", v->advice, sizeof v->advice);
    if (stall_page(v->kind) != NULL)
        words(j, "explain", stall_page(v->kind)); /* the word for `vigil explain` */
    for (size_t i = 0; i < now->act_count; i++)
        if (now->acts[i].verdict == v->number) {
            text(j, "action", now->acts[i].text, sizeof now->acts[i].text);
            break;
        }
    return j;
}

static json_object *act_json(const vg_act_view *act)
{
    json_object *j = json_object_new_object();
    number(j, "id", act->number);
    number(j, "verdict", act->verdict);
    words(j, "kind", recovery_name(act->kind));
    json_object_object_add(j, "result", json_object_new_int(act->result));
    number(j, "age_ns", act->age_ns);
    text(j, "text", act->text, sizeof act->text);
    return j;
}

static const char *owner_name(const vg_snapshot *now, uint64_t serial)
{
    const vg_pool_view *pool = pool_in(now, serial);
    const vg_loop_view *loop = loop_in(now, serial);
    return pool != NULL ? pool->name : loop != NULL ? loop->name : "";
}

json_object *view_json(struct look *look, bool live)
{
    const vg_snapshot *now = look->now;
    char program[256];
    struct recent recent = {0};
    if (!live)
        recent_read(look, &recent);
    json_object *root = json_object_new_object();
    json_object *process = child(root, "process", json_object_new_object());
    real(root, "t", (double)now->age_ns / 1e9);
    number(process, "pid", (uint64_t)now->pid);
    words(process, "name", look_program(now, program, sizeof program));
    text(process, "command", now->command, sizeof now->command);
    words(process, "state", look_state(now));
    text(process, "version", now->library, sizeof now->library);
    words(process, "level", level_name(now->level));
    real(process, "uptime_s", (double)now->age_ns / 1e9);
    number(process, "record_bytes", now->file_bytes);
    number(process, "events_lost", now->events_dropped);
    number(process, "left_out", now->left_out);
    if (now->watch_age_ns != UINT64_MAX)
        number(process, "watchdog_age_ns", now->watch_age_ns);
    json_object *verdicts = child(root, "verdicts", json_object_new_array());
    for (size_t i = 0; i < now->verdict_count; i++)
        json_object_array_add(verdicts, verdict_json(look, &now->verdicts[i]));
    json_object *acts = child(root, "acts", json_object_new_array());
    for (size_t i = 0; i < now->act_count; i++)
        json_object_array_add(acts, act_json(&now->acts[i]));
    json_object *pools = child(root, "pools", json_object_new_array());
    for (size_t i = 0; i < now->pool_count; i++)
        json_object_array_add(pools, pool_json(look, &now->pools[i], live, &recent));
    json_object *loops = child(root, "loops", json_object_new_array());
    for (size_t i = 0; i < now->loop_count; i++)
        json_object_array_add(loops, loop_json(look, &now->loops[i], live));
    if (live)
        return root;
    json_object *wakes = child(root, "last_wakes", json_object_new_array());
    for (unsigned i = 0; i < recent.wake_count; i++) {
        json_object *wake = json_object_new_object();
        json_object_object_add(wake, "age_ns", json_object_new_int64(recent.wakes[i].age_ns));
        words(wake, "by", recent.wakes[i].by);
        text(wake, "object", owner_name(now, recent.wakes[i].object), 32);
        if (pool_in(now, recent.wakes[i].object) != NULL)
            number(wake, "worker", recent.wakes[i].worker);
        json_object_array_add(wakes, wake);
    }
    return root;
}
