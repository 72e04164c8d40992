/* SPDX-License-Identifier: MIT */
/*
 * From rings of events to the trace event format.
 *
 * What lasted becomes a slice ("X") on its thread; what happened at a moment becomes an instant ("i"), except submits,
 * posts and settles: these become slices of no length, because an arrow needs a slice to begin and end at. Every arrow
 * has an id of its own, one "s" and one "f", and is drawn only if the record still has both of its ends: rings forget,
 * and an arrow from nowhere would be a lie.
 *
 * Begin and end of a slice are converted from ticks each by itself. The conversion is monotonic, so slices that were
 * nested in ticks are nested in the trace, to the last digit.
 */
#include "trace.h"

#include <errno.h>
#include <inttypes.h>
#include <json.h>
#include <stdlib.h>
#include <string.h>

#include <vigil/loop.h>
#include <vigil/pool.h>

#include "kinds.h"
#include "say.h"
#include "trace_streams.h"

struct item {
    int64_t begin, end; /* ns since the recorder was made */
    uint64_t id;        /* of what began elsewhere: stamp of the submit or post; 0: none */
    uint64_t function;
    uint32_t thread; /* index in the snapshot */
    uint16_t status; /* of a run */
    uint8_t kind;    /* vg_event_kind */
    uint8_t small;   /* class, phase, ... */
    uint64_t a, b;   /* as in the event */
    bool unfinished;
    bool used;                               /* a label that its task shows */
    char label[2 * VG_FILE_LABEL_WORDS * 8]; /* of a run; "": none */
};

struct trace {
    FILE *to;
    struct look *look;
    struct item *items;
    size_t count, room;
    size_t written, arrows;
    uint64_t *tids; /* of each thread, made unique */
};

/* ---- collecting -------------------------------------------------------------------------------------------------- */

static struct item *new_item(struct trace *trace)
{
    if (trace->count == trace->room) {
        size_t room = trace->room > 0 ? trace->room * 2 : 4096;
        struct item *items = realloc(trace->items, room * sizeof *items);
        if (items == NULL)
            return NULL;
        trace->items = items;
        trace->room = room;
    }
    struct item *item = &trace->items[trace->count++];
    memset(item, 0, sizeof *item);
    return item;
}

static bool lasts(unsigned kind)
{
    return kind == VG_EVENT_RUN || kind == VG_EVENT_PARK || kind == VG_EVENT_WAIT || kind == VG_EVENT_CALL ||
           kind == VG_EVENT_SLEEP || kind == VG_EVENT_RUNS || kind == VG_EVENT_CALLS;
}

static int collect_ring(struct trace *trace, uint32_t thread)
{
    const vg_snapshot *now = trace->look->now;
    vg_event *events;
    uint64_t first;
    size_t count;
    int error = vg_reader_events(trace->look->reader, now->threads[thread].serial, 0, &events, &first, &count);
    if (error < 0) /* a ring that is gone by now, or damaged, is one lane less */
        return error == -ENOMEM ? error : 0;
    for (size_t i = 0; i < count; i++) {
        const vg_event *event = &events[i];
        unsigned kind = vg_event_kind_of(event);
        if (kind == VG_EVENT_NONE || kind >= VG_EVENT_KINDS || kind == VG_EVENT_IO) /* trace_streams.c */
            continue;
        struct item *item = new_item(trace);
        if (item == NULL) {
            free(events);
            return -ENOMEM;
        }
        uint64_t duration = lasts(kind) ? vg_event_duration(event) : 0;
        duration = duration > event->ticks ? event->ticks : duration;
        item->begin = vg_snapshot_time(now, event->ticks - duration);
        item->end = vg_snapshot_time(now, event->ticks);
        item->kind = (uint8_t)kind;
        item->small = (uint8_t)vg_event_small(event);
        item->thread = thread;
        item->a = event->a;
        item->b = event->b;
        if (kind == VG_EVENT_MARK || kind == VG_EVENT_LABEL)
            item->function = event->what; /* it carries text */
        else
            item->function = vg_event_address(event);
        if (kind == VG_EVENT_RUN || kind == VG_EVENT_CALL || kind == VG_EVENT_CANCEL)
            item->id = event->a;
        if (kind == VG_EVENT_SUBMIT || kind == VG_EVENT_POST)
            item->id = event->ticks;
        if (kind == VG_EVENT_RUN)
            item->status = (uint16_t)vg_event_status(event);
    }
    free(events);
    return 0;
}

static int thread_of(const vg_snapshot *now, uint64_t serial)
{
    for (size_t i = 0; serial != 0 && i < now->thread_count; i++)
        if (now->threads[i].serial == serial)
            return (int)i;
    return -1;
}

static int unfinished(struct trace *trace, uint64_t thread, unsigned kind, unsigned small, uint64_t function,
                      uint64_t age_ns, uint64_t id, const char *label)
{
    const vg_snapshot *now = trace->look->now;
    int index = thread_of(now, thread);
    struct item *item = index >= 0 ? new_item(trace) : NULL;
    if (item == NULL)
        return index >= 0 ? -ENOMEM : 0;
    item->end = now->age_ns < INT64_MAX ? (int64_t)now->age_ns : INT64_MAX;
    item->begin = age_ns < (uint64_t)item->end ? item->end - (int64_t)age_ns : 0;
    item->kind = (uint8_t)kind;
    item->small = (uint8_t)small;
    item->function = function;
    item->thread = (uint32_t)index;
    item->id = id;
    item->unfinished = true;
    clean_text(item->label, sizeof item->label, label, strlen(label), false);
    return 0;
}

/* What runs at the snapshot's moment has no event yet, and is often what one is looking for. */
static int collect_unfinished(struct trace *trace)
{
    const vg_snapshot *now = trace->look->now;
    int error = 0;
    for (size_t p = 0; p < now->pool_count; p++)
        for (size_t w = 0; w < now->pools[p].worker_count && error == 0; w++) {
            const vg_worker_view *worker = &now->pools[p].workers[w];
            if (worker->in_task)
                error = unfinished(trace, worker->thread, VG_EVENT_RUN, 0xff, worker->task_function,
                                   worker->task_age_ns, worker->task_id, worker->label);
            else if (worker->tid != 0 && worker->state == VIGIL_WORKER_PARKED)
                error = unfinished(trace, worker->thread, VG_EVENT_PARK, 0, 0, worker->state_age_ns, 0, "");
        }
    for (size_t l = 0; l < now->loop_count && error == 0; l++)
        if (now->loops[l].call_function != 0)
            error = unfinished(trace, now->loops[l].thread, VG_EVENT_CALL, now->loops[l].phase,
                               now->loops[l].call_function, now->loops[l].call_age_ns, 0, "");
        else if (now->loops[l].state == VIGIL_LOOP_SLEEPING)
            error = unfinished(trace, now->loops[l].thread, VG_EVENT_SLEEP, 0, 0, now->loops[l].state_age_ns, 0, "");
    return error;
}

/* By thread, then by begin, the longer first: the order in which slices nest. */
static int in_order(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

/* A slice that cuts the end of the one around it would not be drawn at all. It happens where one moment was recorded
   twice (a snapshot taken while a task ended); the inner one is cut. */
static void nest(struct trace *trace)
{
    enum {
        DEPTH = 256
    };
    int64_t ends[DEPTH];
    size_t depth = 0;
    for (size_t i = 0; i < trace->count; i++) {
        struct item *item = &trace->items[i];
        if (i > 0 && trace->items[i - 1].thread != item->thread)
            depth = 0;
        while (depth > 0 && ends[depth - 1] <= item->begin)
            depth--;
        if (depth > 0 && item->end > ends[depth - 1])
            item->end = ends[depth - 1];
        if (item->end > item->begin && depth < DEPTH)
            ends[depth++] = item->end;
    }
}

/* What vigil_task_label has written of its text. */
static void label_text(const struct item *item, char *room, size_t size)
{
    char text[22];
    memcpy(text, &item->function, 6);
    memcpy(text + 6, &item->a, 8);
    memcpy(text + 14, &item->b, 8);
    const size_t length = item->function >> 48 & 0xff;
    clean_text(room, size, text, length < sizeof text ? length : sizeof text, false);
}

/* A label belongs to the innermost task around it. The items are in order. */
static void give_labels(struct trace *trace)
{
    enum {
        DEPTH = 256
    };
    struct item *runs[DEPTH];
    size_t depth = 0;
    for (size_t i = 0; i < trace->count; i++) {
        struct item *item = &trace->items[i];
        while (depth > 0 && (runs[depth - 1]->thread != item->thread || runs[depth - 1]->end < item->begin))
            depth--;
        if (item->kind == VG_EVENT_RUN && depth < DEPTH)
            runs[depth++] = item;
        if (item->kind != VG_EVENT_LABEL || depth == 0)
            continue;
        item->used = true;
        if (runs[depth - 1]->label[0] == '\0' || !runs[depth - 1]->unfinished) /* else the whole one is known */
            label_text(item, runs[depth - 1]->label, sizeof runs[depth - 1]->label);
    }
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void put(struct trace *trace, json_object *event)
{
    fputs(trace->written++ > 0 ? ",\n" : "\n", trace->to);
    fputs(json_object_to_json_string_ext(event, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE), trace->to);
    json_object_put(event);
}

/* Microseconds with three digits, exactly. */
static void add_us(json_object *event, const char *key, int64_t ns)
{
    char text[40];
    const char *sign = ns < 0 ? "-" : "";
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns; /* INT64_MIN has no positive */
    snprintf(text, sizeof text, "%s%" PRIu64 ".%03" PRIu64, sign, size / 1000, size % 1000);
    json_object_object_add(event, key, json_object_new_double_s((double)ns / 1e3, text));
}

static json_object *new_event(const struct trace *trace, const char *phase, const char *category, const char *name,
                              uint32_t thread, int64_t at)
{
    json_object *event = json_object_new_object();
    json_object_object_add(event, "ph", json_object_new_string(phase));
    json_object_object_add(event, "cat", json_object_new_string(category));
    json_object_object_add(event, "name", json_object_new_string(name));
    json_object_object_add(event, "pid", json_object_new_int64(trace->look->now->pid));
    json_object_object_add(event, "tid", json_object_new_uint64(trace->tids[thread]));
    add_us(event, "ts", at);
    return event;
}

static void put_metadata(struct trace *trace, const char *what, uint64_t tid, const char *key, json_object *value)
{
    json_object *event = json_object_new_object(), *args = json_object_new_object();
    json_object_object_add(event, "ph", json_object_new_string("M"));
    json_object_object_add(event, "name", json_object_new_string(what));
    json_object_object_add(event, "pid", json_object_new_int64(trace->look->now->pid));
    json_object_object_add(event, "tid", json_object_new_uint64(tid));
    json_object_object_add(args, key, value);
    json_object_object_add(event, "args", args);
    put(trace, event);
}

static void put_threads(struct trace *trace)
{
    const vg_snapshot *now = trace->look->now;
    char name[256];
    put_metadata(trace, "process_name", 0, "name", json_object_new_string(look_program(now, name, sizeof name)));
    for (size_t i = 0; i < now->thread_count; i++) {
        const vg_thread_view *thread = &now->threads[i];
        clean_text(name, sizeof name, thread->name, sizeof thread->name, false);
        size_t length = strlen(name);
        snprintf(name + length, sizeof name - length, "%s", thread->ended ? " (ended)" : "");
        put_metadata(trace, "thread_name", trace->tids[i], "name", json_object_new_string(name));
        int order = thread->role == VG_ROLE_LOOP     ? 0
                    : thread->role == VG_ROLE_WORKER ? 1000 + (int)(thread->index % 4096)
                                                     : 8000;
        put_metadata(trace, "thread_sort_index", trace->tids[i], "sort_index", json_object_new_int(order));
    }
}

/* The words for an item: name and category. */
static const char *item_name(struct trace *trace, const struct item *item, char *room, size_t size)
{
    char name[NAME_ROOM];
    switch (item->kind) {
    case VG_EVENT_RUN:
    case VG_EVENT_CALL:
        snprintf(room, size, item->label[0] != '\0' ? "%s \"%s\"" : "%s",
                 item->function != 0 ? look_name(trace->look, item->function, name) : "?", item->label);
        return item->kind == VG_EVENT_RUN ? "task" : "loop";
    case VG_EVENT_LABEL:
        label_text(item, room, size);
        return "mark";
    case VG_EVENT_RUNS:
    case VG_EVENT_CALLS:
        snprintf(room, size, "short %s: %s", item->kind == VG_EVENT_RUNS ? "tasks" : "callbacks",
                 item->function != 0 ? look_name(trace->look, item->function, name) : "?");
        return item->kind == VG_EVENT_RUNS ? "task" : "loop";
    case VG_EVENT_SUBMIT:
        snprintf(room, size, "submit %s", item->function != 0 ? look_name(trace->look, item->function, name) : "");
        return "submit";
    case VG_EVENT_POST:
        snprintf(room, size, "post %s", item->function != 0 ? look_name(trace->look, item->function, name) : "");
        return "submit";
    case VG_EVENT_WAIT:
        snprintf(room, size, "wait: %s", vg_wait_name(item->small));
        return "idle";
    case VG_EVENT_PARK:
        snprintf(room, size, "parked");
        return "idle";
    case VG_EVENT_SLEEP:
        snprintf(room, size, "asleep");
        return "idle";
    case VG_EVENT_MARK: {
        /* The first six characters in the low bytes of what, the others in b. */
        char text[15];
        memcpy(text, &item->function, 6);
        memcpy(text + 6, &item->b, 8);
        size_t length = item->function >> 48 & 0xff;
        clean_text(room, size, text, length < 14 ? length : 14, false);
        return "mark";
    }
    default:
        snprintf(room, size, "%s", vg_event_name(item->kind));
        return "sign";
    }
}

static void add_arguments(struct trace *trace, json_object *event, const struct item *item)
{
    json_object *args = json_object_new_object();
    char name[NAME_ROOM];
    switch (item->kind) {
    case VG_EVENT_RUN:
    case VG_EVENT_RUNS:
    case VG_EVENT_SUBMIT:
    case VG_EVENT_CANCEL:
    case VG_EVENT_STEAL:
    case VG_EVENT_PROMISIFY:
        if (item->small < VG_FILE_CLASSES)
            json_object_object_add(args, "class", json_object_new_string(class_name(item->small)));
        if (item->kind == VG_EVENT_RUNS)
            json_object_object_add(args, "tasks", json_object_new_uint64(item->a));
        if (item->kind == VG_EVENT_SUBMIT && (uint32_t)item->a > 1)
            json_object_object_add(args, "tasks", json_object_new_uint64((uint32_t)item->a));
        if (item->label[0] != '\0')
            json_object_object_add(args, "label", json_object_new_string(item->label));
        if (item->status != 0)
            json_object_object_add(args, "failed", json_object_new_string(strerror(item->status)));
        if (item->kind == VG_EVENT_STEAL)
            json_object_object_add(args, "victim", json_object_new_uint64(item->a >> 32));
        break;
    case VG_EVENT_CALLS:
        json_object_object_add(args, "callbacks", json_object_new_uint64(item->a));
        json_object_object_add(args, "phase", json_object_new_string(vg_loop_phase_name(item->small)));
        break;
    case VG_EVENT_CALL:
        json_object_object_add(args, "phase", json_object_new_string(vg_loop_phase_name(item->small)));
        break;
    case VG_EVENT_WAIT:
        if (item->function != 0)
            json_object_object_add(args, "where", json_object_new_string(look_name(trace->look, item->function, name)));
        break;
    case VG_EVENT_WAKE:
        json_object_object_add(args, "worker", json_object_new_uint64((uint32_t)item->a));
        break;
    case VG_EVENT_MARK:
        json_object_object_add(args, "value", json_object_new_uint64(item->a));
        break;
    case VG_EVENT_SETTLE:
        json_object_object_add(args, "how", json_object_new_string(item->small == 1 ? "fulfilled" : "rejected"));
        break;
    default:
        break;
    }
    if (item->unfinished)
        json_object_object_add(args, "unfinished", json_object_new_boolean(true));
    json_object_object_add(event, "args", args);
}

static bool is_slice(unsigned kind)
{
    return lasts(kind) || kind == VG_EVENT_SUBMIT || kind == VG_EVENT_POST || kind == VG_EVENT_SETTLE ||
           kind == VG_EVENT_PROMISIFY;
}

static size_t put_items(struct trace *trace)
{
    size_t slices = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const struct item *item = &trace->items[i];
        char name[NAME_ROOM + sizeof item->label + 16];
        if (item->used)
            continue;
        const char *category = item_name(trace, item, name, sizeof name);
        bool slice = is_slice(item->kind);
        json_object *event = new_event(trace, slice ? "X" : "i", category, name, item->thread, item->begin);
        if (slice)
            add_us(event, "dur", item->end - item->begin);
        else
            json_object_object_add(event, "s", json_object_new_string("t"));
        add_arguments(trace, event, item);
        put(trace, event);
        slices += slice;
    }
    return slices;
}

/* ---- arrows ------------------------------------------------------------------------------------------------------ */

static int by_id(const void *a, const void *b)
{
    const struct item *x = *(const struct item *const *)a, *y = *(const struct item *const *)b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static const struct item *with_id(const struct item *const *list, size_t count, uint64_t id)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && list[low]->id == id ? list[low] : NULL;
}

static void put_arrow(struct trace *trace, const char *name, const struct item *from, int64_t from_at,
                      const struct item *to, int64_t to_at)
{
    if (to_at < from_at)
        return; /* clocks of two processors may differ by a little; an arrow into the past helps nobody */
    trace->arrows++;
    json_object *begin = new_event(trace, "s", "flow", name, from->thread, from_at);
    json_object_object_add(begin, "id", json_object_new_uint64(trace->arrows));
    put(trace, begin);
    json_object *end = new_event(trace, "f", "flow", name, to->thread, to_at);
    json_object_object_add(end, "id", json_object_new_uint64(trace->arrows));
    json_object_object_add(end, "bp", json_object_new_string("e"));
    put(trace, end);
}

static int put_arrows(struct trace *trace)
{
    const struct item **from = calloc(trace->count + 1, sizeof *from), **runs = calloc(trace->count + 1, sizeof *runs);
    size_t sources = 0, run_count = 0;
    if (from == NULL || runs == NULL) {
        free(from);
        free(runs);
        return -ENOMEM;
    }
    for (size_t i = 0; i < trace->count; i++) {
        const struct item *item = &trace->items[i];
        if (item->kind == VG_EVENT_SUBMIT || item->kind == VG_EVENT_POST)
            from[sources++] = item;
        else if (item->kind == VG_EVENT_RUN && item->id != 0)
            runs[run_count++] = item;
    }
    qsort(from, sources, sizeof *from, by_id);
    qsort(runs, run_count, sizeof *runs, by_id);
    for (size_t i = 0; i < trace->count; i++) {
        const struct item *item = &trace->items[i];
        if ((item->kind == VG_EVENT_RUN || item->kind == VG_EVENT_CALL) && item->id != 0) {
            const struct item *source = with_id((const struct item *const *)from, sources, item->id);
            if (source != NULL)
                put_arrow(trace, item->kind == VG_EVENT_RUN ? "submit" : "post", source, source->begin, item,
                          item->begin);
        } else if (item->kind == VG_EVENT_SETTLE && item->b != 0) {
            const struct item *run = with_id((const struct item *const *)runs, run_count, item->b);
            if (run != NULL)
                put_arrow(trace, "settle", run, run->begin, item, item->begin);
        }
    }
    free(from);
    free(runs);
    return 0;
}

static void put_verdicts(struct trace *trace)
{
    const vg_snapshot *now = trace->look->now;
    for (size_t i = 0; i < now->verdict_count; i++) {
        const vg_verdict_view *v = &now->verdicts[i];
        char reason[sizeof v->reason + 1], name[96];
        clean_text(reason, sizeof reason, v->reason, sizeof v->reason, true);
        snprintf(name, sizeof name, "%s: %s", severity_name(v->severity), stall_name(v->kind));
        int64_t at =
            v->first_age_ns < now->age_ns && now->age_ns < INT64_MAX ? (int64_t)(now->age_ns - v->first_age_ns) : 0;
        json_object *event = new_event(trace, "i", "verdict", name, 0, at), *args = json_object_new_object();
        json_object_object_add(event, "s", json_object_new_string("p"));
        json_object_object_add(args, "reason", json_object_new_string(reason));
        json_object_object_add(event, "args", args);
        put(trace, event);
    }
}

/* Thread numbers are used again by the system; two rings with one number must not become one track. */
static bool number_threads(struct trace *trace)
{
    const vg_snapshot *now = trace->look->now;
    trace->tids = calloc(now->thread_count + 1, sizeof *trace->tids);
    if (trace->tids == NULL)
        return false;
    for (size_t i = 0; i < now->thread_count; i++) {
        bool twice = now->threads[i].tid <= 0;
        for (size_t k = 0; k < now->thread_count && !twice; k++)
            twice = k != i && now->threads[k].tid == now->threads[i].tid;
        trace->tids[i] = twice ? 1000000000U + now->threads[i].serial : (uint64_t)now->threads[i].tid;
    }
    return true;
}

int trace_write(FILE *to, struct look *look, struct trace_summary *summary)
{
    struct trace trace = {.to = to, .look = look};
    int error = number_threads(&trace) ? 0 : -ENOMEM;
    for (size_t i = 0; i < look->now->thread_count && error == 0; i++)
        error = collect_ring(&trace, (uint32_t)i);
    if (error == 0)
        error = collect_unfinished(&trace);
    if (error == 0) {
        if (trace.count > 0)
            qsort(trace.items, trace.count, sizeof *trace.items, in_order);
        nest(&trace);
        give_labels(&trace);
        fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", to);
        put_threads(&trace);
        summary->slices = put_items(&trace);
        put_verdicts(&trace);
        trace.written += trace_streams(to, look);
        error = put_arrows(&trace);
        fputs("\n]}\n", to);
    }
    summary->arrows = trace.arrows;
    summary->threads = look->now->thread_count;
    free(trace.items);
    free(trace.tids);
    return error;
}
