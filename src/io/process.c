/* SPDX-License-Identifier: MIT */
/*
 * process.c - children with their streams. launch.c starts the program; here is what comes after: its end, its time,
 * and who waits.
 *
 * The end comes as a callback of the child's watch. It sets `ended` and queues the work, which tells on_exit, then the
 * promise; each is the last step of its turn, as with streams (STREAMS.md, C1). A process that was given back stays
 * until the child has ended, so that it is reaped.
 */
#include "launch.h"
#include "shared.h"

#include "base/options.h"
#include "base/why.h"
#include "loop/guard.h"
#include "promise/op.h"
#include "shown.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The words of wait(2); musl has no names for making them. */
#ifndef W_EXITCODE
#define W_EXITCODE(status, signal) ((status) << 8 | (signal))
#endif
#ifndef WCOREFLAG
#define WCOREFLAG 0x80
#endif

struct vigil_process {
    vg_io_shared *shared;
    vg_io_member member;
    pid_t pid;
    bool group;
    bool ended, told; /* the child; on_exit */
    bool closed;      /* given back */
    bool watched, queued, timed_out;
    vigil_child child;
    vigil_timer timer; /* its limit, then its grace; id 0: none */
    int64_t grace_ns;
    vigil_process_end end;
    vigil_stream *streams[3];
    vg_op *op; /* who waits, or NULL */
    vigil_post work;
    void (*on_exit)(vigil_process *process, const vigil_process_end *end, void *user);
    void *user;
};

static void process_free(vigil_process *it)
{
    vg_io_leave(it->shared, &it->member);
    free(it);
}

static void process_stop_timer(vigil_process *it)
{
    if (it->timer.id != 0 && !it->shared->ended)
        (void)vigil_timer_cancel(it->shared->loop, it->timer);
    it->timer.id = 0;
}

/* ---- its end ----------------------------------------------------------------------------------------------------- */

static vigil_value process_result(const vigil_process *it)
{
    if (it->end.code == 0)
        return vigil_value_error(it->end.status);
    if (it->end.code == CLD_EXITED)
        return vigil_value_int(W_EXITCODE(it->end.status & 0xff, 0));
    return vigil_value_int(W_EXITCODE(0, it->end.status) | (it->end.code == CLD_DUMPED ? WCOREFLAG : 0));
}

static void process_want(vigil_process *it)
{
    if (!it->queued && vigil_loop_tick(it->shared->loop, &it->work) == 0)
        it->queued = true;
}

static void process_run_work(vigil_post *post)
{
    vigil_process *it = vg_container_of(post, vigil_process, work);
    it->queued = false;
    if (it->closed) {
        if (it->ended || it->shared->ended)
            process_free(it);
        return;
    }
    if (it->op != NULL && it->ended) { /* handlers run later: this is no call of the user's */
        vg_op *op = it->op;
        it->op = NULL;
        vg_op_finish(op, process_result(it));
    }
    if (it->ended && !it->told) {
        it->told = true;
        const vigil_process_end end = it->end;
        if (it->on_exit != NULL)
            it->on_exit(it, &end, it->user);
    }
}

static void process_has_ended(vigil_process *it, int code, int status)
{
    it->ended = true;
    it->watched = false;
    vg_shown_wait(&it->member, VG_IO_WAITS_NOT, 0);
    it->end = (vigil_process_end){.size = sizeof it->end, .code = code, .status = status, .timed_out = it->timed_out};
    process_stop_timer(it);
    process_want(it);
}

static void process_child_ended(vigil_loop *loop, vigil_child child, pid_t pid, int code, int status, void *arg)
{
    (void)loop;
    (void)child;
    (void)pid;
    process_has_ended(arg, code, status);
}

/* The loop has ended: nobody will reap the child, which goes on. */
static void process_loop_ended(vg_io_member *member)
{
    vigil_process *it = vg_container_of(member, vigil_process, member);
    it->watched = false;
    it->timer.id = 0;
    if (it->closed && !it->queued) {
        process_free(it);
        return;
    }
    if (!it->ended)
        process_has_ended(it, 0, -ESHUTDOWN);
}

/* ---- signals and time -------------------------------------------------------------------------------------------- */

static int process_guard(const vigil_process *it)
{
    if (it == NULL)
        return VG_WHY_NULL("process");
    if (it->closed)
        return vg_why(-EINVAL, "the process was given back");
    return vg_io_guard(it->shared);
}

static int process_send_signal(const vigil_process *it, int signo)
{
    if (it->ended)
        return vg_why(-ESRCH, "the child has ended");
    return kill(it->group ? -it->pid : it->pid, signo) == 0 ? 0 : -errno;
}

static void process_grace_over(vigil_loop *loop, vigil_timer timer, void *arg)
{
    vigil_process *it = arg;
    (void)loop;
    (void)timer;
    it->timer.id = 0;
    (void)process_send_signal(it, SIGKILL);
}

static int process_tell_to_end(vigil_process *it, int64_t grace_ns)
{
    process_stop_timer(it);
    if (grace_ns == 0)
        return process_send_signal(it, SIGKILL);
    const int error = process_send_signal(it, SIGTERM);
    if (error != 0 || grace_ns < 0)
        return error;
    vigil_timer_options options = VIGIL_TIMER_OPTIONS_INIT;
    options.delay_ns = grace_ns;
    options.flags = VIGIL_TIMER_UNREF; /* the child keeps the loop */
    return vigil_timer_start_with(it->shared->loop, &options, process_grace_over, it, &it->timer);
}

static void process_time_is_up(vigil_loop *loop, vigil_timer timer, void *arg)
{
    vigil_process *it = arg;
    (void)loop;
    (void)timer;
    it->timer.id = 0;
    it->timed_out = true;
    if (process_tell_to_end(it, it->grace_ns) == -ENOMEM)
        (void)process_send_signal(it, SIGKILL); /* no timer for the grace */
}

/* ---- making it --------------------------------------------------------------------------------------------------- */

static int take_process_options(vigil_process_options *ours, const vigil_process_options *given)
{
    if (given == NULL)
        return VG_WHY_NULL("options");
    const int error = vg_options_take(ours, sizeof *ours, given, given->size, sizeof *ours, "options");
    if (error != 0)
        return error;
    if (ours->argv == NULL || ours->argv[0] == NULL)
        return vg_why(-EINVAL, "options.argv is NULL or empty");
    if (ours->fd_count > VG_LAUNCH_FDS || (ours->fd_count != 0 && ours->fds == NULL))
        return vg_why_say(-EINVAL, "options.fds is %s and options.fd_count is %zu; the most is %d",
                          ours->fds == NULL ? "NULL" : "set", ours->fd_count, VG_LAUNCH_FDS);
    if (ours->identity != NULL && ours->identity->group_count != 0 && ours->identity->groups == NULL)
        return vg_why(-EINVAL, "options.identity has a group_count, and groups is NULL");
    if (ours->identity != NULL && (ours->identity->uid == (uid_t)-1 || ours->identity->gid == (gid_t)-1))
        return vg_why(-EINVAL, "options.identity has uid or gid -1, which is nobody's");
    for (int i = 0; i < 3; i++) {
        if ((unsigned)ours->stdio[i].kind > VIGIL_STDIO_FD)
            return vg_why_say(-EINVAL, "options.stdio[%d].kind is %d", i, (int)ours->stdio[i].kind);
        if (ours->stdio[i].kind == VIGIL_STDIO_FD && ours->stdio[i].fd < 0)
            return vg_why_say(-EINVAL, "options.stdio[%d].fd is negative", i);
    }
    return 0;
}

/* The child cannot be watched, or its streams cannot be made: nothing of it is to be seen. */
static void process_undo(vigil_process *it, const int *ends)
{
    int status;
    (void)kill(it->group ? -it->pid : it->pid, SIGKILL);
    while (waitpid(it->pid, &status, 0) < 0 && errno == EINTR)
        ;
    for (int i = 0; i < 3; i++) {
        if (it->streams[i] != NULL)
            (void)vigil_stream_reset(it->streams[i]);
        else if (ends[i] >= 0)
            (void)close(ends[i]);
    }
}

static int process_begin(vigil_process *it, vigil_loop *loop, const vigil_process_options *options)
{
    int ends[3];
    int error = vg_launch(options, ends, &it->pid);
    if (error != 0)
        return error;
    for (int i = 0; i < 3 && error == 0; i++)
        if (ends[i] >= 0)
            error = vigil_stream_open(&it->streams[i], loop, ends[i], NULL);
    if (error == 0 && options->timeout_ns >= 0) {
        vigil_timer_options timer = VIGIL_TIMER_OPTIONS_INIT;
        timer.delay_ns = options->timeout_ns;
        timer.flags = VIGIL_TIMER_UNREF;
        error = vigil_timer_start_with(loop, &timer, process_time_is_up, it, &it->timer);
    }
    if (error == 0)
        error = vigil_child_add(loop, it->pid, process_child_ended, it, &it->child);
    if (error != 0) {
        process_stop_timer(it);
        process_undo(it, ends);
        return error == -ENOENT ? vg_why(-ENOENT, "the system has forgotten the child: is SIGCHLD ignored?") : error;
    }
    it->watched = true;
    return 0;
}

int vigil_process_open(vigil_process **process, vigil_loop *loop, const vigil_process_options *options)
{
    vigil_process_options ours;
    if (process == NULL)
        return VG_WHY_NULL("process");
    int error = vg_guard_owner(loop);
    if (error == 0)
        error = vg_guard_open(loop);
    if (error == 0)
        error = take_process_options(&ours, options);
    if (error != 0)
        return error;
    vigil_process *it = calloc(1, sizeof *it);
    if (it == NULL)
        return vg_why(-ENOMEM, "no memory for a process");
    it->member.ended = process_loop_ended;
    it->shared = vg_io_enter(loop, &it->member, &error);
    if (it->shared == NULL) {
        free(it);
        return error;
    }
    it->group = ours.group || ours.session;
    it->grace_ns = ours.grace_ns;
    it->on_exit = ours.on_exit;
    it->user = ours.user;
    vigil_post_init(&it->work, process_run_work, process_run_work);
    error = process_begin(it, loop, &ours);
    if (error != 0) {
        process_free(it);
        return error;
    }
    const char *slash = strrchr(ours.argv[0], '/');
    vg_shown_open(it->shared, &it->member, VG_IO_CHILD, NULL, slash != NULL ? slash + 1 : ours.argv[0]);
    vg_shown_pid(&it->member, it->pid);
    vg_shown_wait(&it->member, VG_IO_WAITS_EXIT, vigil_loop_now(loop));
    *process = it;
    return 0;
}

/* In a child of the program: the process belongs to the parent. */
static void process_close_in_child(vigil_process *it)
{
    for (int i = 0; i < 3; i++)
        (void)vigil_stream_close(it->streams[i]);
    process_free(it);
}

int vigil_process_close(vigil_process *process)
{
    if (process == NULL)
        return 0;
    if (vg_io_forked(process->shared)) {
        process_close_in_child(process);
        return 0;
    }
    const bool loop_ended = process->shared->ended;
    const int error = loop_ended ? 0 : vg_guard_owner(process->shared->loop);
    if (error != 0)
        return error;
    if (process->closed)
        return vg_why(-EINVAL, "the process was given back");
    process->closed = true;
    process_stop_timer(process);
    for (int i = 0; i < 3; i++) {
        (void)vigil_stream_close(process->streams[i]);
        process->streams[i] = NULL;
    }
    if (process->op != NULL) {
        vg_op *op = process->op;
        process->op = NULL;
        vg_op_finish(op, vigil_value_error(-ECANCELED));
    }
    if (loop_ended && !process->queued)
        process_free(process);
    else if (process->watched)
        (void)vigil_child_unref(process->shared->loop, process->child); /* reaped if the loop is still there */
    else
        process_want(process);
    return 0;
}

/* ---- looking at it ----------------------------------------------------------------------------------------------- */

pid_t vigil_process_pid(const vigil_process *process)
{
    return process != NULL ? process->pid : -1;
}

vigil_stream *vigil_process_stream(vigil_process *process, int number)
{
    if (process == NULL || number < 0 || number > 2)
        return NULL;
    vigil_stream *stream = process->streams[number];
    process->streams[number] = NULL;
    return stream;
}

int vigil_process_signal(vigil_process *process, int signo)
{
    const int error = process_guard(process);
    return error != 0 ? error : process_send_signal(process, signo);
}

int vigil_process_stop(vigil_process *process, int64_t grace_ns)
{
    const int error = process_guard(process);
    return error != 0 ? error : process_tell_to_end(process, grace_ns);
}

int vigil_process_end_get(const vigil_process *process, vigil_process_end *end)
{
    if (process == NULL || end == NULL)
        return vg_why(-EINVAL, "process or end is NULL");
    if (!process->ended)
        return -EAGAIN;
    return vg_options_give(end, end->size, &process->end, sizeof process->end, sizeof process->end, "end");
}

static int process_keep(vigil_process *process, int (*how)(vigil_loop *loop, vigil_child child))
{
    const int error = process_guard(process);
    if (error != 0)
        return error;
    return process->watched ? how(process->shared->loop, process->child) : vg_why(-ESRCH, "the child has ended");
}

int vigil_process_ref(vigil_process *process)
{
    return process_keep(process, vigil_child_ref);
}

int vigil_process_unref(vigil_process *process)
{
    return process_keep(process, vigil_child_unref);
}

static void promised_exit_stop(vg_op *op)
{
    vigil_process *process = op->above[0];
    if (process != NULL && process->op == op)
        process->op = NULL;
}

int vigil_promise_exit(vigil_process *process, vigil_cancel_token *token, vigil_promise **promise)
{
    int error = process_guard(process);
    if (error == 0 && promise == NULL)
        error = vg_why(-EINVAL, "promise is NULL: there is nowhere to put the result");
    if (error == 0 && process->op != NULL)
        error = vg_why(-EBUSY, "somebody waits for the end of this child already");
    if (error != 0)
        return error;
    vg_realm *realm = vg_realm_of_owner(process->shared->loop, &error);
    vg_op *op = realm == NULL ? NULL : vg_op_new(realm, token, __builtin_return_address(0), &error);
    if (op == NULL)
        return error;
    op->above[0] = process;
    op->stop = promised_exit_stop;
    process->op = op;
    if (process->ended)
        process_want(process);
    return vg_op_arm(op, token, VIGIL_FOREVER, promise);
}
