/* SPDX-License-Identifier: MIT */
/* Child processes for lib/child_process.js. */
#include "bind_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bind.h"
#include "buffer.h"
#include "child_launch.h"
#include "port.h"
#include "turn.h"

/* ---- arguments -------------------------------------------------------------------------------------------------- */

static void free_list(char **list)
{
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
}

/* An array of texts; NULL: it is none, or no memory. */
static char **list_of(vg_call *call, vg_val array)
{
    vg_val thrown = NULL, length;
    unsigned count;
    char **list;
    if (vg_type_of(call->engine, array) != VG_OBJECT || !(length = vg_get(call->engine, array, "length", &thrown)))
        return NULL;
    count = (unsigned)vg_to_number(call->engine, length);
    list = calloc((size_t)count + 1, sizeof *list);
    for (unsigned i = 0; list && i < count; i++) {
        vg_val item = vg_get_index(call->engine, array, i, &thrown);
        list[i] = item ? vg_to_text(call->engine, item, NULL) : NULL;
        if (!list[i]) {
            free_list(list);
            return NULL;
        }
    }
    return list;
}

/* (file, argv, env, cwd, descriptors, detached, uid, gid) from argument 0 on. Descriptor -1: /dev/null; -2: a pair, whose other end is
   put into ours[i]. */
static int launch_of(vg_call *call, vg_launch *launch, int *ours, int *spare)
{
    vg_val thrown = NULL, length = vg_get(call->engine, vg_arg(call, 4), "length", &thrown);
    unsigned count = length ? (unsigned)vg_to_number(call->engine, length) : 0;
    int error = 0;
    memset(launch, 0, sizeof *launch);
    for (unsigned i = 0; i < VG_CHILD_MOST; i++)
        ours[i] = spare[i] = -1;
    if (count > VG_CHILD_MOST)
        return -E2BIG;
    launch->file = vg_arg_text(call, 0, NULL);
    launch->argv = list_of(call, vg_arg(call, 1));
    launch->env = list_of(call, vg_arg(call, 2));
    launch->cwd = vg_arg_is(call, 3, VG_STRING) ? vg_arg_text(call, 3, NULL) : NULL;
    launch->detached = vg_to_bool(call->engine, vg_arg(call, 5));
    launch->uid = (long)vg_arg_number(call, 6);
    launch->gid = (long)vg_arg_number(call, 7);
    if (!launch->file || !launch->argv || !launch->env)
        return -ENOMEM;
    for (launch->count = 0; launch->count < count && error == 0; launch->count++) {
        unsigned i = launch->count;
        vg_val item = vg_get_index(call->engine, call->args[4], i, &thrown);
        int fd = item ? (int)vg_to_number(call->engine, item) : -1, pair[2];
        if (fd == -1) {
            fd = spare[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
            error = fd < 0 ? -errno : 0;
        } else if (fd == -2 && (error = vg_child_pair(pair)) == 0) {
            ours[i] = pair[0];
            fd = spare[i] = pair[1];
        }
        launch->fds[i] = fd;
    }
    return error;
}

static void launch_end(vg_launch *launch, int *spare)
{
    free(launch->file);
    free(launch->cwd);
    free_list(launch->argv);
    free_list(launch->env);
    for (unsigned i = 0; i < VG_CHILD_MOST; i++)
        if (spare[i] >= 0)
            close(spare[i]);
}

static void close_all(int *fds)
{
    for (unsigned i = 0; i < VG_CHILD_MOST; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* ---- children on the loop --------------------------------------------------------------------------------------- */

typedef struct vg_child {
    struct vg_child *next, **back;
    vigil_js *js;
    vigil_child handle;
    double id;
    vg_done done;
    int code, status;
} vg_child;

static void child_free(vg_child *child)
{
    *child->back = child->next;
    if (child->next)
        child->next->back = child->back;
    free(child);
}

static void deliver(vigil_js *js, vg_done *done)
{
    vg_child *child = (vg_child *)(void *)((char *)done - offsetof(vg_child, done));
    vg_val id = vg_number(js->engine, child->id);
    bool exited = child->code == CLD_EXITED;
    vg_val code = vg_number(js->engine, exited ? child->status : -1),
           signo = vg_number(js->engine, exited || child->code == 0 ? 0 : child->status);
    child_free(child);
    vg_js_dispatch(js, VG_DISPATCH_COMPLETE, id, code, signo);
}

static void drop(vg_done *done)
{
    child_free((vg_child *)(void *)((char *)done - offsetof(vg_child, done)));
}

static void on_end(vigil_loop *loop, vigil_child handle, pid_t pid, int code, int status, void *arg)
{
    vg_child *child = arg;
    vigil_js *js = child->js;
    (void)loop;
    (void)handle;
    (void)pid;
    child->handle.id = 0;
    child->code = code;
    child->status = status;
    child->done.next = NULL;
    *js->ready_end = &child->done;
    js->ready_end = &child->done.next;
    vg_js_sync(js);
}

/* spawn(file, argv, env, cwd, descriptors, detached, uid, gid, number): [pid, our ends...] or a negative errno. The completion gets the
   exit status or -1, and the signal or 0. */
static vg_val do_spawn(vg_call *call)
{
    vigil_js *js = call->host;
    vg_launch launch;
    int ours[VG_CHILD_MOST], spare[VG_CHILD_MOST], error = launch_of(call, &launch, ours, spare);
    vg_child *child = calloc(1, sizeof *child);
    vg_val items[VG_CHILD_MOST + 1];
    pid_t pid = -1;
    if (!child)
        error = -ENOMEM;
    if (error == 0) {
        pid = vg_child_launch(&launch);
        error = pid < 0 ? pid : 0;
    }
    if (error == 0) {
        child->js = js;
        child->id = vg_arg_number(call, 8);
        child->done.deliver = deliver;
        child->done.drop = drop;
        error = vigil_child_add(js->loop, pid, on_end, child, &child->handle);
        if (error < 0) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
    }
    if (error == 0) {
        child->next = js->children;
        child->back = &js->children;
        if (child->next)
            child->next->back = &child->next;
        js->children = child;
        items[0] = vg_number(call->engine, pid);
        for (unsigned i = 0; i < launch.count; i++)
            items[i + 1] = vg_number(call->engine, ours[i]);
    } else {
        close_all(ours);
        free(child);
    }
    launch_end(&launch, spare);
    return error < 0 ? vg_number(call->engine, error) : vg_array(call->engine, launch.count + 1, items);
}

static vg_child *child_of(vg_call *call)
{
    vigil_js *js = call->host;
    double id = vg_arg_number(call, 0);
    vg_child *child = js->children;
    while (child && (child->id != id || !child->handle.id))
        child = child->next;
    return child;
}

/* unref(number, keepsAlive) */
static vg_val do_refer(vg_call *call)
{
    vigil_js *js = call->host;
    vg_child *child = child_of(call);
    if (child)
        (vg_to_bool(call->engine, vg_arg(call, 1)) ? vigil_child_ref : vigil_child_unref)(js->loop, child->handle);
    return NULL;
}

static vg_val do_kill(vg_call *call)
{
    int result = kill((pid_t)vg_arg_number(call, 0), (int)vg_arg_number(call, 1)) < 0 ? -errno : 0;
    return vg_number(call->engine, result);
}

/* ---- children that are waited for ------------------------------------------------------------------------------- */

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

typedef struct vg_sync {
    int ours[VG_CHILD_MOST];
    unsigned count;
    vg_buffer out[VG_CHILD_MOST];
    const unsigned char *input;
    size_t input_left, most;
    int pidfd, signo, error;
    pid_t pid;
    double deadline; /* ms; 0: none */
    bool killed;
} vg_sync;

static void stop(vg_sync *sync, int error)
{
    if (!sync->killed)
        kill(sync->pid, sync->signo);
    sync->killed = true;
    if (!sync->error)
        sync->error = error;
}

static void shut(vg_sync *sync, unsigned i)
{
    close(sync->ours[i]);
    sync->ours[i] = -1;
}

static void feed(vg_sync *sync)
{
    ssize_t count = send(sync->ours[0], sync->input, sync->input_left, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
        sync->input += count;
        sync->input_left -= (size_t)count;
    } else if (errno != EAGAIN && errno != EINTR) {
        sync->input_left = 0; /* it does not want it */
    }
    if (sync->input_left == 0)
        shutdown(sync->ours[0], SHUT_WR);
}

static void collect(vg_sync *sync, unsigned i)
{
    unsigned char bytes[65536];
    ssize_t count = recv(sync->ours[i], bytes, sizeof bytes, MSG_DONTWAIT);
    size_t take;
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0) {
        shut(sync, i);
        return;
    }
    take = (size_t)count;
    /* What was read is kept, also beyond the limit, as Node does. */
    if (sync->out[i].length + take > sync->most && i > 0)
        stop(sync, -ENOBUFS);
    if (i > 0 && !vg_buffer_add(&sync->out[i], bytes, take))
        stop(sync, -ENOMEM);
}

/* Until the child has ended and its streams too. */
static int wait_for(vg_sync *sync)
{
    int status = 0;
    bool ended = false;
    for (;;) {
        struct pollfd list[VG_CHILD_MOST + 1];
        unsigned which[VG_CHILD_MOST + 1], count = 0;
        int patience = -1;
        bool open = false;
        for (unsigned i = 0; i < sync->count; i++) {
            if (sync->ours[i] < 0)
                continue;
            open = open || i > 0;
            which[count] = i;
            list[count++] = (struct pollfd){.fd = sync->ours[i],
                                            .events = (short)(POLLIN | (i == 0 && sync->input_left > 0 ? POLLOUT : 0))};
        }
        if (ended && (!open || sync->killed))
            break;
        if (!ended) {
            which[count] = VG_CHILD_MOST;
            list[count++] = (struct pollfd){.fd = sync->pidfd, .events = POLLIN};
        }
        if (sync->deadline > 0 && !sync->killed) {
            double left = sync->deadline - now_ms();
            patience = left > 0 ? (int)left + 1 : 0;
        }
        if (poll(list, count, patience) == 0)
            stop(sync, -ETIMEDOUT);
        for (unsigned k = 0; k < count; k++) {
            if (!list[k].revents)
                continue;
            if (which[k] == VG_CHILD_MOST)
                ended = waitpid(sync->pid, &status, 0) == sync->pid || errno == ECHILD;
            else if (which[k] == 0 && list[k].revents & POLLOUT && sync->input_left > 0)
                feed(sync);
            else
                collect(sync, which[k]);
        }
    }
    return status;
}

static void free_bytes(void *data, void *arg)
{
    (void)arg;
    free(data);
}

static vg_val bytes_of(vg_engine *engine, vg_buffer *buffer)
{
    unsigned char *copy = malloc(buffer->length + 1);
    vg_val value = NULL;
    if (copy) {
        if (buffer->length)
            memcpy(copy, buffer->data + buffer->start, buffer->length);
        value = vg_bytes(engine, copy, buffer->length, free_bytes, NULL);
    }
    vg_buffer_free(buffer);
    return value ? value : vg_null(engine);
}

/* run(file, argv, env, cwd, descriptors, detached, uid, gid, input, timeout, signal, most): [pid, status or -1, signal or 0, error,
   what came on each descriptor...] or a negative errno */
static vg_val do_run(vg_call *call)
{
    vg_launch launch;
    vg_sync sync = {.pidfd = -1};
    int spare[VG_CHILD_MOST], error = launch_of(call, &launch, sync.ours, spare), status;
    double timeout = vg_arg_number(call, 9), most = vg_arg_number(call, 11);
    unsigned char *input;
    vg_val items[VG_CHILD_MOST + 4], result;
    if (error == 0) {
        sync.pid = vg_child_launch(&launch);
        error = sync.pid < 0 ? sync.pid : 0;
    }
    sync.count = launch.count;
    launch_end(&launch, spare);
    if (error == 0) {
        sync.pidfd = (int)syscall(SYS_pidfd_open, sync.pid, 0);
        if (sync.pidfd < 0) {
            error = -errno;
            kill(sync.pid, SIGKILL);
            waitpid(sync.pid, NULL, 0);
        }
    }
    if (error < 0) {
        close_all(sync.ours);
        return vg_number(call->engine, error);
    }
    sync.signo = (int)vg_arg_number(call, 10);
    sync.most = most >= 0 && most < 1e15 ? (size_t)most : SIZE_MAX;
    sync.deadline = timeout > 0 ? now_ms() + timeout : 0;
    if (vg_to_bytes(call->engine, vg_arg(call, 8), &input, &sync.input_left))
        sync.input = input;
    else
        sync.input_left = 0;
    if (sync.ours[0] >= 0 && sync.input_left == 0)
        shutdown(sync.ours[0], SHUT_WR);
    status = wait_for(&sync);
    close(sync.pidfd);
    close_all(sync.ours);
    items[0] = vg_number(call->engine, sync.pid);
    items[1] = vg_number(call->engine, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    items[2] = vg_number(call->engine, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    items[3] = vg_number(call->engine, sync.error);
    for (unsigned i = 0; i < sync.count; i++)
        items[i + 4] = bytes_of(call->engine, &sync.out[i]);
    result = vg_array(call->engine, sync.count + 4, items);
    return result;
}

static vg_val open_child(vg_call *call)
{
    static const vg_binding_entry entries[] = {
        {"spawn", do_spawn}, {"refer", do_refer}, {"kill", do_kill}, {"run", do_run}};
    vg_val object = vg_object(call->engine);
    if (!vg_js_bind(call->host, object, entries, sizeof entries / sizeof *entries))
        return vg_throw(call, "no memory");
    return object;
}

bool vg_js_bind_child(vigil_js *js)
{
    static const vg_binding_entry entry = {"child", open_child};
    return vg_js_bind(js, js->binding, &entry, 1);
}

void vg_js_child_end(vigil_js *js)
{
    while (js->children) {
        if (js->children->handle.id)
            vigil_child_remove(js->loop, js->children->handle);
        child_free(js->children);
    }
}
