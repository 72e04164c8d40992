/* SPDX-License-Identifier: MIT */
/*
 * stream.c - the life of a stream: made, watched, broken, closed. STREAMS.md has the rules.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "stream.h"

#include "base/options.h"
#include "base/why.h"
#include "listener.h"
#include "loop/guard.h"
#include "loop/micro.h"
#include "loop/note.h"
#include "loop/post.h"
#include "relay.h"
#include "shown.h"
#include "stream_filter.h"
#include "stream_pass.h"
#include "stream_promise.h"
#include "stream_read.h"
#include "stream_write.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the work ---------------------------------------------------------------------------------------------------- */

static void stream_run_work(vigil_post *post);

void vg_stream_want(vigil_stream *stream, uint32_t todo)
{
    const uint32_t behind_callback = VG_TODO_FLUSH | VG_TODO_READ;
    stream->todo |= todo;
    if ((stream->state & VG_STREAM_QUEUED) != 0 ||
        ((todo & ~behind_callback) == 0 && stream == stream->shared->running))
        return;
    /* Fails only behind the end, where nobody asks for it (stream_give_back). */
    if (vigil_loop_tick(stream->shared->loop, &stream->work) == 0)
        stream->state |= VG_STREAM_QUEUED;
}

/* What it waits for, as viewers see it. */
static void stream_show_waits(const vigil_stream *stream)
{
    vg_file_io *shown = stream->member.shown;
    if (shown == NULL)
        return;
    const uint64_t now = vigil_loop_now(stream->shared->loop);
    const bool works = (stream->state & VG_STREAM_CLOSED) == 0 && stream->error == 0;
    const bool starts = works && (stream->state & VG_STREAM_STARTING) != 0;
    vg_shown_since(&shown->reading,
                   works && !starts && vg_stream_has_reader(stream) && (stream->state & VG_STREAM_READ_END) == 0, now);
    vg_shown_since(&shown->sending,
                   works && !starts && stream->first != NULL && (stream->state & VG_STREAM_BLOCKED) != 0, now);
    vg_cell_set(&shown->unsent, stream->unsent);
    vg_shown_wait(&stream->member, starts ? VG_IO_WAITS_START : VG_IO_WAITS_NOT, now);
}

/* An event's callback often reads again: then nothing changes, and the loop is not released and held for each read. */
void vg_stream_reader_changed(vigil_stream *stream)
{
    if (stream->shared->running != stream)
        vg_stream_keep(stream);
}

void vg_stream_keep(vigil_stream *stream)
{
    if (stream->shared->ended)
        return;
    stream_show_waits(stream);
    const bool wanted =
        (stream->state & VG_STREAM_CLOSED) == 0 && stream->error == 0 &&
        ((vg_stream_has_reader(stream) && (stream->state & (VG_STREAM_READ_END | VG_STREAM_UNREF)) == 0) ||
         stream->first != NULL || stream->on_drained != NULL || (stream->state & VG_STREAM_STARTING) != 0 ||
         vg_stream_must_finish(stream));
    if (wanted == ((stream->state & VG_STREAM_KEEPS) != 0))
        return;
    stream->state ^= VG_STREAM_KEEPS;
    if (!wanted)
        vg_loop_unkeep(stream->shared->loop);
    else if (vg_loop_keep(stream->shared->loop) != 0)
        stream->state &= ~(uint32_t)VG_STREAM_KEEPS; /* the loop ends, and tells those who wait */
}

_Static_assert(sizeof(vigil_stream) <= 344,
               "an idle connection costs at most 512 bytes, with its watch and its number");

/* ---- broken, closed ---------------------------------------------------------------------------------------------- */

static void stream_stop_timer(vigil_stream *stream)
{
    if (stream->timer.id != 0 && !stream->shared->ended)
        (void)vigil_timer_cancel(stream->shared->loop, stream->timer);
    stream->timer.id = 0;
}

/* No more events, no descriptor. */
static void stream_leave_system(vigil_stream *stream)
{
    if ((stream->state & VG_STREAM_CLOSED) != 0)
        return;
    stream->state |= VG_STREAM_CLOSED;
    if (!stream->shared->ended && (stream->state & VG_STREAM_UNWATCHED) == 0)
        (void)vigil_watch_remove(stream->shared->loop, stream->watch);
    if ((stream->state & VG_STREAM_BORROWED) == 0)
        (void)close(stream->fd);
    stream->fd = -1;
    stream_stop_timer(stream);
    vg_stream_keep(stream);
    if (stream->listener != NULL)
        vg_listener_forget(stream);
}

void vg_stream_emptied(vigil_stream *stream)
{
    stream_leave_system(stream);
    vg_stream_want(stream, VG_TODO_CLOSED | VG_TODO_SENT);
}

void vg_stream_fail_sending(vigil_stream *stream, int error)
{
    if (stream->write_error != 0)
        return;
    stream->write_error = error;
    vg_stream_drop_writes(stream, error);
    if (stream->in_from != NULL)
        vg_relay_target_fails(stream->in_from, error);
    vg_stream_keep(stream);
    if ((stream->state & VG_STREAM_CLOSING) != 0)
        vg_stream_emptied(stream);
    else
        vg_stream_want(stream, VG_TODO_SENT | VG_TODO_DRAINED | (vg_stream_has_reader(stream) ? VG_TODO_READ : 0U));
}

void vg_stream_fail(vigil_stream *stream, int error)
{
    if (stream->error != 0)
        return;
    stream->error = error;
    stream_stop_timer(stream);
    vg_stream_fail_sending(stream, error);
    vg_stream_keep(stream);
    if ((stream->state & VG_STREAM_STARTING) != 0)
        vg_stream_want(stream, VG_TODO_STARTED);
    if (vg_stream_has_reader(stream))
        vg_stream_want(stream, VG_TODO_READ);
}

static void stream_free(vigil_stream *stream)
{
    if (stream->shared->running == stream)
        stream->shared->running = NULL;
    if ((stream->state & VG_STREAM_QUEUED) != 0) {
        stream->state |= VG_STREAM_OVER; /* the work frees it */
        return;
    }
    vg_io_leave(stream->shared, &stream->member);
    if (stream->filter != NULL)
        vg_filter_free(stream);
    vg_pass_free(stream);
    vg_limits_drop(stream->limits);
    free(stream->rest);
    free(stream);
}

/* Notify the user and free the memory. */
static void stream_say_closed(vigil_stream *stream)
{
    const vigil_closed_fn on_closed = stream->on_closed;
    void *user = stream->user;
    const vigil_stream_end end = {.size = sizeof end, .status = stream->write_error, .unsent = stream->lost};
    stream_free(stream);
    if (on_closed != NULL)
        on_closed(user, &end);
}

/* One thing that is to be done, with at most one call of the user's, at the end (C1). */
static void stream_work_once(vigil_stream *stream)
{
    if ((stream->todo & VG_TODO_START) != 0) {
        stream->todo &= ~(uint32_t)VG_TODO_START;
        if (stream->error == 0)
            vg_filter_start(stream);
    }
    if (stream->todo == (VG_TODO_FLUSH | VG_TODO_READ) && stream->rest != NULL && vg_stream_has_reader(stream) &&
        stream->unsent <= stream->limits->high_water) {
        stream->todo = 0;
        vg_stream_want(stream, VG_TODO_FLUSH); /* the answers to what is here already leave together */
        vg_stream_read_turn(stream);
        return;
    }
    if ((stream->todo & VG_TODO_FLUSH) != 0) {
        stream->todo &= ~(uint32_t)VG_TODO_FLUSH;
        vg_stream_flush(stream); /* may add to the work */
    }
    if ((stream->todo & VG_TODO_STARTED) != 0) {
        stream->todo &= ~(uint32_t)VG_TODO_STARTED;
        if (stream->todo != 0)
            vg_stream_want(stream, stream->todo);
        if (vg_filter_say_started(stream))
            return;
    }
    if ((stream->todo & VG_TODO_SENT) != 0) {
        if (stream->sent_first != NULL) {
            vigil_write *write = vg_stream_next_sent(stream);
            vg_stream_want(stream, stream->todo);
            write->done(write, write->vg_status);
            return;
        }
        stream->todo &= ~(uint32_t)VG_TODO_SENT;
    }
    if ((stream->todo & VG_TODO_DRAINED) != 0) {
        vigil_call_fn fn = stream->on_drained;
        void *arg = stream->drained_arg;
        stream->todo &= ~(uint32_t)VG_TODO_DRAINED;
        stream->on_drained = NULL;
        vg_stream_keep(stream);
        if (fn != NULL) {
            if (stream->todo != 0)
                vg_stream_want(stream, stream->todo);
            fn(arg);
            return;
        }
    }
    if ((stream->todo & VG_TODO_CLOSED) != 0) {
        stream_say_closed(stream);
        return;
    }
    if ((stream->todo & VG_TODO_READ) != 0) {
        stream->todo &= ~(uint32_t)VG_TODO_READ;
        vg_stream_read_turn(stream);
    }
}

/* The loop has ended and cancels its ticks: there is no later one. QUEUED holds the memory, whatever the user does. */
static void stream_work_to_the_end(vigil_stream *stream)
{
    while (stream->todo != 0 && (stream->state & VG_STREAM_OVER) == 0) {
        stream->state |= VG_STREAM_QUEUED;
        stream_work_once(stream);
    }
    stream->state &= ~(uint32_t)VG_STREAM_QUEUED;
    if ((stream->state & VG_STREAM_OVER) != 0)
        stream_free(stream);
}

static void stream_run_work(vigil_post *post)
{
    vigil_stream *stream = vg_container_of(post, vigil_stream, work);
    stream->state &= ~(uint32_t)VG_STREAM_QUEUED;
    if ((stream->state & VG_STREAM_OVER) != 0)
        stream_free(stream);
    else if (stream->shared->loop->ended)
        stream_work_to_the_end(stream);
    else
        stream_work_once(stream);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

enum {
    READ_EVENTS = VIGIL_FD_READ | VIGIL_FD_RDHUP,
    EVENT_READS = 64 /* of one event, from what it has brought */
};

static void stream_event(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg);

/* The callback of `running` was left by a raise: its writes leave as a tick. */
static void stream_left(vg_unfinished *it)
{
    vg_io_shared *shared = vg_container_of(it, vg_io_shared, unfinished);
    vigil_stream *stream = shared->running;
    shared->running = NULL;
    if (stream == NULL)
        return;
    if (stream->todo != 0)
        vg_stream_want(stream, stream->todo);
    vg_stream_keep(stream);
}

/* The callback has asked for more of what is here already, and nothing is to run before it. */
static bool stream_reads_on(const vigil_stream *stream)
{
    const vigil_loop *loop = stream->shared->loop;
    return (stream->todo & VG_TODO_READ) != 0 && (stream->state & VG_STREAM_QUEUED) == 0 && stream->read != NULL &&
           stream->rest != NULL && stream->error == 0 && stream->unsent <= stream->limits->high_water &&
           !vg_checkpoint_due(loop) && !vg_interrupted(loop);
}

/* Call who reads, then send what that has written, which saves ticks. The stream may be gone in between. */
static void stream_read_and_flush(vigil_stream *stream)
{
    vg_io_shared *shared = stream->shared;
    vigil_loop *loop = shared->loop;
    shared->running = stream;
    shared->unfinished.left = stream_left;
    for (unsigned left = EVENT_READS;; left--) {
        loop->unfinished = &shared->unfinished;
        vg_stream_read_turn(stream);
        loop->unfinished = NULL;
        if (shared->running == NULL)
            return;
        if (left == 1 || !stream_reads_on(stream))
            break;
        stream->todo &= ~(uint32_t)VG_TODO_READ;
        vg_loop_note_called(loop); /* each is a call of its own for the recorder */
        vg_loop_note_call(loop, (uintptr_t)stream_event);
    }
    shared->running = NULL;
    if ((stream->todo & VG_TODO_READ) != 0)
        vg_stream_want(stream, stream->todo);
    if ((stream->todo & VG_TODO_FLUSH) != 0 && (stream->state & VG_STREAM_QUEUED) == 0) {
        stream->todo &= ~(uint32_t)VG_TODO_FLUSH;
        vg_stream_flush(stream); /* which looks at what keeps the loop */
    } else {
        vg_stream_keep(stream);
    }
}

static void stream_event(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    vigil_stream *stream = arg;
    (void)loop;
    (void)watch;
    (void)fd;
    if ((events & VIGIL_FD_GONE) != 0) {
        stream->state |= VG_STREAM_BORROWED; /* the number may be somebody else's by now */
        stream_leave_system(stream);
        vg_stream_fail(stream, -EBADF);
        return;
    }
    if ((events & (VIGIL_FD_HANGUP | VIGIL_FD_ERROR)) != 0)
        stream->state |= VG_STREAM_HUNG_UP;
    if ((stream->state & VG_STREAM_STARTING) != 0 && stream->error == 0) {
        vg_filter_start(stream);
        return;
    }
    if (stream->filter != NULL)
        vg_filter_event(stream, events);
    if ((events & (VIGIL_FD_WRITE | VIGIL_FD_HANGUP | VIGIL_FD_ERROR)) != 0) {
        stream->state &= ~(uint32_t)VG_STREAM_BLOCKED;
        if (stream->first != NULL || vg_stream_must_finish(stream))
            vg_stream_want(stream, VG_TODO_FLUSH);
        else
            vg_stream_disarm(stream, VIGIL_FD_WRITE);
    }
    if (vg_stream_has_reader(stream)) {
        if ((events & ~(unsigned)VIGIL_FD_WRITE) != 0)
            stream_read_and_flush(stream); /* as the last step: C1 */
    } else if ((events & (VIGIL_FD_HANGUP | VIGIL_FD_ERROR)) != 0) {
        stream->state |= VG_STREAM_UNWATCHED; /* these are reported for as long as there is a watch */
        (void)vigil_watch_remove(stream->shared->loop, stream->watch);
    } else if ((events & READ_EVENTS) != 0) {
        vg_stream_disarm(stream, VIGIL_FD_READ);
    }
}

static void stream_set_events(vigil_stream *stream, unsigned wanted)
{
    int error = 0;
    if (stream->shared->ended || (stream->state & VG_STREAM_CLOSED) != 0)
        return;
    if ((stream->state & VG_STREAM_UNWATCHED) != 0) {
        error = vigil_watch_add(stream->shared->loop, stream->fd, wanted, VIGIL_WATCH_UNREF, stream_event, NULL, stream,
                                &stream->watch);
        if (error == 0)
            stream->state &= ~(uint32_t)VG_STREAM_UNWATCHED;
    } else if (wanted != stream->armed) {
        error = vigil_watch_modify(stream->shared->loop, stream->watch, wanted);
    }
    stream->armed = (uint16_t)wanted;
    if (error != 0 && error != -EBADF && error != -ENOENT) /* of these the watch's own event tells */
        vg_stream_fail(stream, error);
}

void vg_stream_arm(vigil_stream *stream, unsigned events)
{
    stream_set_events(stream, stream->armed | ((events & VIGIL_FD_READ) != 0 ? READ_EVENTS : 0U) |
                                  (events & (unsigned)VIGIL_FD_WRITE));
}

void vg_stream_disarm(vigil_stream *stream, unsigned events)
{
    if ((stream->state & VG_STREAM_UNWATCHED) == 0)
        stream_set_events(stream, stream->armed & ~(((events & VIGIL_FD_READ) != 0 ? READ_EVENTS : 0U) |
                                                    (events & (unsigned)VIGIL_FD_WRITE)));
}

/* The loop has ended: so has the stream, except for its memory. */
static void stream_loop_ended(vg_io_member *member)
{
    vigil_stream *stream = vg_container_of(member, vigil_stream, member);
    stream_leave_system(stream);
    vg_stream_fail(stream, -ESHUTDOWN);
}

/* ---- time limits ------------------------------------------------------------------------------------------------- */

static void stream_start_timer(vigil_stream *stream, int64_t delay_ns, vigil_timer_fn fn)
{
    vigil_timer_options options = VIGIL_TIMER_OPTIONS_INIT;
    options.delay_ns = delay_ns;
    options.slack_ns = delay_ns / 4 < INT64_C(4000000000) ? delay_ns / 4 : INT64_C(4000000000);
    options.flags = VIGIL_TIMER_UNREF;
    const int error = vigil_timer_start_with(stream->shared->loop, &options, fn, stream, &stream->timer);
    if (error != 0)
        vg_stream_fail(stream, error);
}

/* Of two limits, of which a negative one is none. */
static int64_t shorter_limit(int64_t one, int64_t other)
{
    return one < 0 || (other >= 0 && other < one) ? other : one;
}

/* What is left of life_ns; VIGIL_FOREVER: no limit. */
static int64_t stream_life_left(const vigil_stream *stream)
{
    const int64_t life_ns = stream->limits->life_ns;
    const int64_t age = (int64_t)(vigil_loop_now(stream->shared->loop) - stream->since);
    return life_ns < 0 ? VIGIL_FOREVER : age >= life_ns ? 0 : life_ns - age;
}

static void stream_watch_time(vigil_stream *stream);

/* The timer runs on through traffic and looks when it ends: a read or a send costs nothing here. */
static void stream_time_up(vigil_loop *loop, vigil_timer timer, void *arg)
{
    vigil_stream *stream = arg;
    (void)timer;
    stream->timer.id = 0;
    const int64_t quiet = (int64_t)(vigil_loop_now(loop) - stream->quiet);
    const int64_t idle_ns = stream->limits->idle_ns;
    if ((idle_ns >= 0 && quiet >= idle_ns) || stream_life_left(stream) == 0)
        vg_stream_fail(stream, -ETIMEDOUT);
    else
        stream_watch_time(stream);
}

static void stream_watch_time(vigil_stream *stream)
{
    const int64_t idle_ns = stream->limits->idle_ns;
    if (idle_ns < 0 && stream->limits->life_ns < 0)
        return;
    const int64_t quiet = (int64_t)(vigil_loop_now(stream->shared->loop) - stream->quiet);
    const int64_t delay_ns = shorter_limit(idle_ns < 0 ? idle_ns : idle_ns - quiet, stream_life_left(stream));
    if (delay_ns >= 0)
        stream_start_timer(stream, delay_ns, stream_time_up);
}

static void stream_flush_over(vigil_loop *loop, vigil_timer timer, void *arg)
{
    vigil_stream *stream = arg;
    (void)loop;
    (void)timer;
    stream->timer.id = 0;
    vg_stream_fail(stream, -ETIMEDOUT);
}

/* ---- making it --------------------------------------------------------------------------------------------------- */

int vg_stream_options_take(vigil_stream_options *ours, const vigil_stream_options *given)
{
    const vigil_stream_options plain = VIGIL_STREAM_OPTIONS_INIT;
    *ours = plain;
    if (given == NULL)
        return 0;
    int error = vg_options_take(ours, sizeof *ours, given, given->size, sizeof *ours, "options");
    if (error == 0 && ours->idle_ns == 0)
        error = vg_why(-EINVAL, "options.idle_ns is 0: the stream would fail at once; VIGIL_FOREVER is no limit");
    if (error == 0 && ours->life_ns == 0)
        error = vg_why(-EINVAL, "options.life_ns is 0: the stream would fail at once; VIGIL_FOREVER is no limit");
    return error;
}

static int stream_check_fd(int fd, uint32_t *state)
{
    struct stat what;
    int listens = 0;
    socklen_t length = sizeof listens;
    if (fstat(fd, &what) != 0)
        return vg_why_say(-errno, "fd %d: %s", fd, strerror(errno));
    if (S_ISREG(what.st_mode) || S_ISDIR(what.st_mode))
        return vg_why_say(-EOPNOTSUPP, "fd %d is a regular file or a directory, which is never waited for", fd);
    if (S_ISSOCK(what.st_mode)) {
        *state |= VG_STREAM_SOCKET;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens != 0)
            return vg_why_say(-EOPNOTSUPP, "fd %d listens for connections; see vigil_listener_open", fd);
    }
    return 0;
}

static int stream_set_nonblocking(int fd)
{
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || ((flags & O_NONBLOCK) == 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0))
        return vg_why_say(-errno, "fd %d: %s", fd, strerror(errno));
    return 0;
}

int vg_stream_make(vigil_stream **stream, vigil_loop *loop, int fd, uint32_t state, const vigil_stream_options *options)
{
    int error = 0;
    vigil_stream *it = calloc(1, sizeof *it);
    if (it == NULL)
        return vg_why(-ENOMEM, "no memory for a stream");
    it->member.ended = stream_loop_ended;
    it->shared = vg_io_enter(loop, &it->member, &error);
    if (it->shared == NULL) {
        free(it);
        return error;
    }
    it->limits = vg_limits_take(it->shared, options);
    if (it->limits == NULL)
        error = vg_why(-ENOMEM, "no memory for a stream");
    else if (options->takes_fds)
        error = vg_pass_begin(it);
    if (error != 0) {
        stream_free(it);
        return error;
    }
    it->fd = fd;
    it->state = state | (options->borrowed ? VG_STREAM_BORROWED : 0U);
    it->on_closed = options->on_closed;
    it->user = options->user;
    it->since = vigil_loop_now(loop);
    it->quiet = it->since;
    vigil_post_init(&it->work, stream_run_work, stream_run_work);
    vg_list_link_init(&it->in_listener);
    it->armed = READ_EVENTS; /* somebody will read from most of them at once */
    error = vigil_watch_add(loop, fd, it->armed, VIGIL_WATCH_UNREF, stream_event, NULL, it, &it->watch);
    if (error != 0) {
        stream_free(it);
        return error != -EOPNOTSUPP
                   ? error
                   : vg_why_say(error, "fd %d is of a device that is never waited for, such as /dev/null", fd);
    }
    stream_watch_time(it);
    *stream = it;
    return 0;
}

int vigil_stream_open(vigil_stream **stream, vigil_loop *loop, int fd, const vigil_stream_options *options)
{
    vigil_stream_options ours;
    uint32_t state = 0;
    if (stream == NULL)
        return VG_WHY_NULL("stream");
    int error = vg_guard_owner(loop);
    if (error == 0)
        error = vg_guard_open(loop);
    if (error == 0)
        error = vg_stream_options_take(&ours, options);
    if (error == 0)
        error = stream_check_fd(fd, &state);
    if (error == 0)
        error = stream_set_nonblocking(fd);
    if (error == 0)
        error = vg_stream_make(stream, loop, fd, state, &ours);
    if (error == 0)
        vg_shown_open_fd((*stream)->shared, &(*stream)->member, fd, (state & VG_STREAM_SOCKET) != 0);
    return error;
}

/* ---- giving it back ---------------------------------------------------------------------------------------------- */

int vg_stream_guard(const vigil_stream *stream)
{
    if (stream == NULL)
        return VG_WHY_NULL("stream");
    const int error = vg_io_guard(stream->shared);
    if (error == 0 && (stream->state & VG_STREAM_CLOSING) != 0)
        return vg_why(-EINVAL, "the stream was given back");
    return error;
}

int vigil_stream_on_closed(vigil_stream *stream, vigil_closed_fn fn, void *arg)
{
    const int error = vg_stream_guard(stream);
    if (error != 0)
        return error;
    stream->on_closed = fn;
    stream->user = arg;
    return 0;
}

/* In a child the loop may be gone: only what is ours. Posts that wait in the child's copy of the loop keep the
   memory. */
static void stream_close_in_child(vigil_stream *stream)
{
    if ((stream->state & (VG_STREAM_CLOSED | VG_STREAM_BORROWED)) == 0)
        (void)close(stream->fd);
    vg_stream_drop_writes(stream, -ECHILD); /* the user's are the parent's business */
    stream_free(stream);
}

static int stream_give_back(vigil_stream *stream, bool drop)
{
    if (stream == NULL)
        return 0;
    if (vg_io_forked(stream->shared)) {
        stream_close_in_child(stream);
        return 0;
    }
    const int error = stream->shared->ended ? 0 : vg_guard_owner(stream->shared->loop);
    if (error != 0)
        return error;
    if ((stream->state & VG_STREAM_CLOSING) != 0)
        return vg_why(-EINVAL, "the stream was given back");
    stream->state |= VG_STREAM_CLOSING;
    if (stream->shared->ended) { /* everything else was reported at the end; nobody can do this later */
        if ((stream->state & VG_STREAM_QUEUED) == 0)
            stream_say_closed(stream);
        else
            stream->todo |= VG_TODO_CLOSED;
        return 0;
    }
    vg_relay_stream_closes(stream);
    vg_stream_drop_promises(stream);
    stream->on_data = NULL;
    stream->read = NULL;
    stream->on_drained = NULL;
    if (stream->filter != NULL)
        vg_filter_drop_start(stream);
    stream->todo &= ~(uint32_t)(VG_TODO_READ | VG_TODO_DRAINED);
    if (drop)
        stream->state |= VG_STREAM_ABRUPT;
    if (stream->first != NULL && (drop || (stream->state & VG_STREAM_STARTING) != 0))
        vg_stream_fail(stream, -ECANCELED);
    if (stream->first != NULL || vg_stream_must_finish(stream)) { /* the rest is sent without the user */
        stream_stop_timer(stream);
        const int64_t flush_ns = shorter_limit(stream->limits->flush_ns, stream_life_left(stream));
        if (flush_ns >= 0)
            stream_start_timer(stream, flush_ns, stream_flush_over);
        vg_stream_want(stream, VG_TODO_FLUSH);
        vg_stream_keep(stream);
        return 0;
    }
    vg_stream_emptied(stream);
    return 0;
}

int vigil_stream_close(vigil_stream *stream)
{
    return stream_give_back(stream, false);
}

int vigil_stream_reset(vigil_stream *stream)
{
    if (stream != NULL && (stream->state & (VG_STREAM_CLOSED | VG_STREAM_SOCKET)) == VG_STREAM_SOCKET &&
        !vg_io_forked(stream->shared)) {
        const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
        (void)setsockopt(stream->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    return stream_give_back(stream, true);
}
