/* SPDX-License-Identifier: MIT */
/*
 * stream_look.c - what a stream says about itself, and whether it keeps its loop.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "stream.h"

#include "base/options.h"
#include "base/why.h"
#include "loop/guard.h"
#include "shown.h"

#include <string.h>

int vigil_stream_stats_get(vigil_stream *stream, vigil_stream_stats *stats)
{
    int error = vg_stream_guard(stream);
    if (error != 0)
        return error;
    if (stats == NULL)
        return VG_WHY_NULL("stats");
    const uint64_t now = vigil_loop_now(stream->shared->loop);
    const vigil_stream_stats ours = {.size = sizeof ours,
                                     .bytes_read = stream->bytes_read,
                                     .bytes_sent = stream->bytes_sent,
                                     .unsent = stream->unsent,
                                     .unread = vg_stream_unread(stream),
                                     .since_ns = now - stream->since,
                                     .quiet_ns = now - stream->quiet,
                                     .reads = stream->reads,
                                     .sends = stream->sends,
                                     .error = stream->error != 0 ? stream->error : stream->write_error};
    return vg_options_give(stats, stats->size, &ours, sizeof ours, sizeof ours, "stats");
}

int vigil_stream_ref(vigil_stream *stream)
{
    const int error = vg_stream_guard(stream);
    if (error != 0)
        return error;
    stream->state &= ~(uint32_t)VG_STREAM_UNREF;
    vg_stream_keep(stream);
    return 0;
}

int vigil_stream_unref(vigil_stream *stream)
{
    const int error = vg_stream_guard(stream);
    if (error != 0)
        return error;
    stream->state |= VG_STREAM_UNREF;
    vg_stream_keep(stream);
    return 0;
}

int vigil_stream_name(vigil_stream *stream, const char *name)
{
    const int error = vg_stream_guard(stream);
    if (error != 0)
        return error;
    if (name == NULL)
        return VG_WHY_NULL("name");
    vg_shown_name(&stream->member, name);
    return 0;
}

int vigil_stream_fd(const vigil_stream *stream)
{
    if (stream == NULL)
        return VG_WHY_NULL("stream");
    return stream->fd >= 0 ? stream->fd : vg_why(-EBADF, "the descriptor of this stream is closed");
}

int vigil_stream_peer(const vigil_stream *stream, vigil_address *address)
{
    const int fd = vigil_stream_fd(stream);
    if (fd < 0)
        return fd;
    if (address == NULL)
        return VG_WHY_NULL("address");
    address->length = sizeof address->storage;
    if (getpeername(fd, &address->any, &address->length) != 0)
        return vg_why_say(-errno, "the peer of fd %d: %s", fd, strerror(errno));
    return 0;
}
