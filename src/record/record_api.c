/* SPDX-License-Identifier: MIT */
/*
 * watch.c - the public side of the recorder.
 */
#include "base/why.h"
#include "life.h"
#include "recorder.h"
#include "ring.h"

#include "base/clock.h"

#include "base/options.h"
#include "base/thread.h"

#include <stdio.h>
#include <string.h>

enum {
    RECORD_DEFAULT_BYTES = 64 << 20,
    RECORD_LEAST_BYTES = 1 << 20,
    RECORD_DEFAULT_EVENTS = 4096,
    RECORD_LEAST_EVENTS = 64,
    RECORD_MOST_EVENTS = 1 << 20,
    MARK_IN_WHAT = 6, /* characters of a mark that fit beside its kind */
    MARK_IN_B = 8
};

static int take_record_config(vg_record_config *config, const vigil_record_options *given)
{
    vigil_record_options options = VIGIL_RECORD_OPTIONS_INIT;
    if (given != NULL) {
        int error = vg_options_take(&options, sizeof options, given, given->size,
                                    offsetof(vigil_record_options, level) + sizeof options.level, "options");
        if (error != 0)
            return error;
    }
    if ((unsigned)options.level > VIGIL_RECORD_EVENTS)
        return vg_why_say(-EINVAL, "options.level is %d; it must be one of vigil_record_level", (int)options.level);
    if (options.ring_events > RECORD_MOST_EVENTS)
        return vg_why_say(-EINVAL, "options.ring_events is %u; the most is %u", options.ring_events,
                          (unsigned)RECORD_MOST_EVENTS);
    if (options.max_bytes != 0 && options.max_bytes < RECORD_LEAST_BYTES)
        return vg_why_say(-EINVAL, "options.max_bytes is %llu; the least is %llu",
                          (unsigned long long)options.max_bytes, (unsigned long long)RECORD_LEAST_BYTES);
    *config = (vg_record_config){.log = options.log, .user = options.user};
    config->level = options.level == VIGIL_RECORD_DEFAULT ? VIGIL_RECORD_EVENTS : (unsigned)options.level;
    config->max_bytes = options.max_bytes != 0 ? options.max_bytes : RECORD_DEFAULT_BYTES;
    uint64_t events = RECORD_LEAST_EVENTS;
    while (events < (options.ring_events != 0 ? options.ring_events : RECORD_DEFAULT_EVENTS))
        events *= 2;
    config->ring_events = events;
    if (options.directory != NULL) {
        if (strlen(options.directory) >= sizeof config->directory)
            return -ENAMETOOLONG;
        memcpy(config->directory, options.directory, strlen(options.directory) + 1);
    }
    return 0;
}

int vigil_record_configure(const vigil_record_options *options)
{
    vg_record_config config;
    int error = take_record_config(&config, options);
    if (error != 0)
        return error;
    vg_mutex_lock(&vg_the_recorder.lock);
    if (vg_the_recorder.users != 0)
        error = vg_why(-EBUSY, "there are pools or loops; configure the recorder before the first or after the last");
    else
        vg_the_record_config = config;
    vg_mutex_unlock(&vg_the_recorder.lock);
    return error;
}

int vigil_record_path(char *path, size_t room)
{
    int length = -ENOENT;
    vg_mutex_lock(&vg_the_recorder.lock);
    if (vg_the_recorder.file.bytes != 0)
        length = snprintf(path, path == NULL ? 0 : room, "%s", vg_the_recorder.file.path);
    vg_mutex_unlock(&vg_the_recorder.lock);
    return length;
}

/* Add up the threads' heads. Under the lock. */
static void count_events(const vg_recorder *recorder, vigil_record_stats *stats)
{
    for (unsigned i = 0; i < recorder->extent_count; i++) {
        const vg_file_block *entry = &recorder->front->directory[i];
        if (!recorder->extents[i].used ||
            atomic_load_explicit(&entry->kind, memory_order_relaxed) != (uint64_t)VG_BLOCK_RING)
            continue;
        const vg_file_thread *thread = recorder->extents[i].memory;
        stats->threads++;
        stats->events += atomic_load_explicit(&thread->head, memory_order_relaxed);
    }
    for (unsigned i = 0; i < VG_FILE_STRIPES; i++)
        stats->dropped += atomic_load_explicit(&recorder->front->header.drops[i].events, memory_order_relaxed);
}

int vigil_record_stats_get(vigil_record_stats *given)
{
    if (given == NULL)
        return VG_WHY_NULL("stats");
    const vg_recorder *recorder = &vg_the_recorder;
    vigil_record_stats stats = {.size = sizeof stats, .level = VIGIL_RECORD_OFF};
    vg_mutex_lock(&vg_the_recorder.lock);
    if (recorder->users != 0 && recorder->front != NULL) {
        stats.level = (vigil_record_level)recorder->level;
        stats.file_bytes = recorder->file.bytes;
        stats.left_out = atomic_load_explicit(&recorder->front->header.left_out, memory_order_relaxed);
        stats.names = atomic_load_explicit(&recorder->front->header.names, memory_order_relaxed);
        count_events(recorder, &stats);
    }
    vg_mutex_unlock(&vg_the_recorder.lock);
    return vg_options_give(given, given->size, &stats, sizeof stats,
                           offsetof(vigil_record_stats, level) + sizeof stats.level, "stats");
}

/*
 * No pool or loop holds the recorder for a mark, so the caller becomes a user of it.
 */
int vigil_record_mark(const char *name, uint64_t value)
{
    if (name == NULL)
        return VG_WHY_NULL("name");
    vg_recorder *recorder = &vg_the_recorder;
    vg_mutex_lock(&recorder->lock);
    const bool on = recorder->users != 0 && recorder->level == VIGIL_RECORD_EVENTS;
    const uint32_t epoch = atomic_load_explicit(&vg_record_epoch, memory_order_relaxed);
    recorder->users += on;
    vg_mutex_unlock(&recorder->lock);
    if (!on)
        return -ENOENT;
    const size_t length = strnlen(name, MARK_IN_WHAT + MARK_IN_B);
    uint64_t first = 0;
    uint64_t rest = 0;
    for (size_t i = 0; i < length; i++) {
        const uint64_t character = (unsigned char)name[i];
        if (i < MARK_IN_WHAT)
            first |= character << (8 * i);
        else
            rest |= character << (8 * (i - MARK_IN_WHAT));
    }
    vg_event_put(vg_ticks(), vg_event_what(VG_EVENT_MARK, (unsigned)length, first), value, rest);
    const bool dropped = vg_my_ring.events == NULL;
    vg_record_release(epoch);
    return dropped ? -EAGAIN : 0;
}
