/* SPDX-License-Identifier: MIT */
/*
 * Streams overlap as they like, so they are no slices of a thread but asynchronous events ("b" and "e"), which viewers
 * draw on lanes of their own. An open one comes from the table of its loop, with its waits nested in it; one that has
 * ended comes from the event that was written at its end.
 */
#include "trace_streams.h"

#include <inttypes.h>
#include <json.h>
#include <stdlib.h>

#include "reader/reader_io.h"
#include "reader/words.h"
#include "streams.h"

struct lane {
    FILE *to;
    int64_t pid;
    uint64_t tid;
    char id[48];
    size_t written;
};

static void put(struct lane *lane, const char *phase, const char *name, int64_t at_ns, json_object *args)
{
    json_object *event = json_object_new_object();
    char us[40];
    const uint64_t ns = at_ns > 0 ? (uint64_t)at_ns : 0;
    snprintf(us, sizeof us, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
    json_object_object_add(event, "ph", json_object_new_string(phase));
    json_object_object_add(event, "cat", json_object_new_string("stream"));
    json_object_object_add(event, "name", json_object_new_string(name));
    json_object_object_add(event, "id", json_object_new_string(lane->id));
    json_object_object_add(event, "pid", json_object_new_int64(lane->pid));
    json_object_object_add(event, "tid", json_object_new_uint64(lane->tid));
    json_object_object_add(event, "ts", json_object_new_double_s((double)ns / 1e3, us));
    if (args != NULL)
        json_object_object_add(event, "args", args);
    fprintf(lane->to, ",\n%s",
            json_object_to_json_string_ext(event, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(event);
    lane->written++;
}

static int64_t begin_of(int64_t end, uint64_t age_ns)
{
    return age_ns < (uint64_t)end ? end - (int64_t)age_ns : 0;
}

static void put_wait(struct lane *lane, const char *what, uint64_t ns, const vg_io_view *io, int64_t end)
{
    char name[64];
    snprintf(name, sizeof name, "waits: %s", what);
    put(lane, "b", name, begin_of(end, ns < io->age_ns ? ns : io->age_ns), NULL);
    put(lane, "e", name, end, NULL);
}

static void put_open(struct lane *lane, const vg_snapshot *now, const vg_io_view *io)
{
    const int64_t end = now->age_ns < INT64_MAX ? (int64_t)now->age_ns : INT64_MAX;
    json_object *args = json_object_new_object();
    char title[160], words[256];
    stream_title(io, title, sizeof title);
    stream_words(io, words, sizeof words);
    json_object_object_add(args, "unfinished", json_object_new_boolean(true));
    json_object_object_add(args, "state", json_object_new_string(words));
    json_object_object_add(args, "bytes_read", json_object_new_uint64(io->bytes_read));
    json_object_object_add(args, "bytes_sent", json_object_new_uint64(io->bytes_sent));
    put(lane, "b", title, begin_of(end, io->age_ns), args);
    if (io->wait != VG_IO_WAITS_NOT)
        put_wait(lane, vg_io_wait_name(io->wait), io->wait_ns, io, end);
    if (io->reading)
        put_wait(lane, "read", io->reading_ns, io, end);
    if (io->sending)
        put_wait(lane, "write", io->sending_ns, io, end);
    put(lane, "e", title, end, NULL);
}

static void put_ended(struct lane *lane, const vg_snapshot *now, const vg_event *event)
{
    const uint64_t duration = vg_event_duration(event), peer = vg_event_address(event);
    char address[32] = "", title[64];
    if (peer != 0)
        vg_io_ipv4_text(address, sizeof address, (uint32_t)(peer >> 16), (unsigned)(peer & 0xffffU));
    snprintf(title, sizeof title, "%s%s%s", vg_io_kind_name(vg_event_small(event)), peer != 0 ? " " : "", address);
    snprintf(lane->id, sizeof lane->id, "%" PRIu64 ".%u", event->a >> 32, (unsigned)(uint32_t)event->a);
    put(lane, "b", title, vg_snapshot_time(now, event->ticks - (duration < event->ticks ? duration : event->ticks)),
        NULL);
    put(lane, "e", title, vg_snapshot_time(now, event->ticks), NULL);
}

size_t trace_streams(FILE *to, struct look *look)
{
    const vg_snapshot *now = look->now;
    struct lane lane = {.to = to, .pid = now->pid};
    for (size_t i = 0; i < now->thread_count; i++) {
        vg_event *events;
        uint64_t first;
        size_t count;
        if (vg_reader_events(look->reader, now->threads[i].serial, 0, &events, &first, &count) < 0)
            continue; /* the ring is gone by now */
        lane.tid = (uint64_t)now->threads[i].tid;
        for (size_t k = 0; k < count; k++)
            if (vg_event_kind_of(&events[k]) == VG_EVENT_IO)
                put_ended(&lane, now, &events[k]);
        free(events);
    }
    for (size_t i = 0; i < now->loop_count; i++) {
        lane.tid = (uint64_t)now->loops[i].tid;
        for (size_t k = 0; k < now->loops[i].io_count; k++) {
            snprintf(lane.id, sizeof lane.id, "%" PRIu64 ".%" PRIu64, now->loops[i].serial,
                     now->loops[i].ios[k].number);
            put_open(&lane, now, &now->loops[i].ios[k]);
        }
    }
    return lane.written;
}
