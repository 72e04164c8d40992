/* SPDX-License-Identifier: MIT */
/* File operations for lib/fs.js: now, on this thread; or on the pool, in a class of the program's choice. */
#include "bind_fs.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vigil/record.h>

#include "bind.h"
#include "fs_op.h"
#include "port.h"
#include "turn.h"

/* What JavaScript gets: an errno, a number, a text, bytes, or a list. n3 of READ_FILE: 1 for text. */
static void free_data(void *data, void *arg)
{
    (void)arg;
    free(data);
}

/* n3 of what gives names: 1 for their bytes, one in each character. Names need not be UTF-8. */
static vg_val name_of(const vg_fs_op *op, vg_engine *engine, const char *name, size_t length)
{
    return op->n3 == 1 ? vg_latin1(engine, (const unsigned char *)name, length) : vg_text(engine, name, length);
}

static vg_val list_of(vg_fs_op *op, vg_engine *engine)
{
    size_t count = 0;
    vg_val *items, array;
    for (size_t at = 0; at < op->data_length; at += strlen(op->data + at) + 2)
        count += 2;
    items = calloc(count + 1, sizeof *items);
    if (!items)
        return vg_number(engine, -ENOMEM);
    count = 0;
    for (size_t at = 0; at < op->data_length; at += strlen(op->data + at) + 2) {
        /* On the C heap the collector does not see the strings: they are held until the array has them. */
        items[count] = name_of(op, engine, op->data + at, strlen(op->data + at));
        vg_hold(engine, items[count++]);
        items[count++] = vg_number(engine, (unsigned char)op->data[at + strlen(op->data + at) + 1]);
    }
    array = vg_array(engine, count, items);
    for (size_t i = 0; i < count; i += 2)
        vg_release(engine, items[i]);
    free(items);
    return array;
}

/* The array owns the data from here on. */
static vg_val bytes_of(vg_fs_op *op, vg_engine *engine)
{
    char *data = op->data;
    op->data = NULL;
    return vg_bytes(engine, data, op->data_length, free_data, NULL);
}

static vg_val outcome(vg_fs_op *op, vg_engine *engine)
{
    vg_val value;
    if (op->result < 0)
        return vg_number(engine, (double)op->result);
    switch (op->kind) {
    case VG_FS_STAT:
    case VG_FS_LSTAT:
    case VG_FS_FSTAT:
    case VG_FS_STATFS: {
        vg_val items[VG_FS_STATS];
        for (int i = 0; i < VG_FS_STATS; i++)
            items[i] = vg_number(engine, op->stat[i]);
        return vg_array(engine, VG_FS_STATS, items);
    }
    case VG_FS_READ_NEW:
        if (op->result == 0)
            return vg_number(engine, 0);
        value = bytes_of(op, engine);
        return value ? value : vg_number(engine, -ENOMEM);
    case VG_FS_READ_FILE:
        if (op->n3 != 0) {
            value = vg_text(engine, op->data, op->data_length);
        } else {
            value = bytes_of(op, engine);
        }
        return value ? value : vg_number(engine, -ENOMEM);
    case VG_FS_READDIR:
        return list_of(op, engine);
    case VG_FS_REALPATH:
    case VG_FS_READLINK:
    case VG_FS_MKDTEMP:
    case VG_FS_MKDIR:
        return op->data ? name_of(op, engine, op->data, op->data_length) : vg_number(engine, 0);
    default:
        return vg_number(engine, (double)op->result);
    }
}

/* A path is a text, or bytes that are none. */
static char *path_of(vg_call *call, size_t i)
{
    unsigned char *bytes;
    size_t length;
    if (vg_arg_is(call, i, VG_STRING))
        return vg_arg_text(call, i, NULL);
    if (!vg_arg_is(call, i, VG_OBJECT) || !vg_to_bytes(call->engine, call->args[i], &bytes, &length))
        return NULL;
    return strndup((const char *)bytes, length);
}

/* (kind, path, path2, n1, n2, n3, bytes or text) from argument `first` on; NULL: no memory. */
static vg_fs_op *op_of(vg_call *call, size_t first)
{
    vg_fs_op *op = calloc(1, sizeof *op);
    double kind = vg_arg_number(call, first);
    if (!op)
        return NULL;
    op->kind = kind >= 0 && kind < VG_COUNT_fsOp ? (unsigned)kind : VG_COUNT_fsOp;
    op->path = path_of(call, first + 1);
    op->path2 = path_of(call, first + 2);
    op->n1 = vg_arg_number(call, first + 3);
    op->n2 = vg_arg_number(call, first + 4);
    op->n3 = vg_arg_number(call, first + 5);
    if (vg_arg_is(call, first + 6, VG_STRING)) {
        op->bytes = (unsigned char *)vg_arg_text(call, first + 6, &op->length);
        op->own_bytes = true;
        if (!op->bytes) {
            vg_fs_free(op);
            return NULL;
        }
    } else if (call->count > first + 6 && vg_to_bytes(call->engine, call->args[first + 6], &op->bytes, &op->length)) {
        op->held = call->args[first + 6];
    }
    atomic_init(&op->cancelled, 0U);
    return op;
}

static vg_val fs_now(vg_call *call)
{
    vg_fs_op *op = op_of(call, 0);
    vg_val value;
    if (!op)
        return vg_number(call->engine, -ENOMEM);
    vg_fs_run(op);
    value = outcome(op, call->engine);
    vg_fs_free(op);
    return value;
}

/* ---- on the pool ------------------------------------------------------------------------------------------------ */

static int run_task(vigil_task *task);

/* Each kind has a function of its own, so that viewers can tell them apart by name. */
#define RUN(kind, name, value)              \
    static int run_##name(vigil_task *task) \
    {                                       \
        return run_task(task);              \
    }
VG_EACH_fsOp(RUN)
#undef RUN

#define KIND(kind, name, value) {run_##name, "fs." #name},
    static const struct {
    vigil_task_fn run;
    const char *name;
} kinds[VG_COUNT_fsOp + 1] = {VG_EACH_fsOp(KIND){run_task, "fs"}};
#undef KIND

static int run_task(vigil_task *task)
{
    vg_fs_op *op = (vg_fs_op *)(void *)((char *)task - offsetof(vg_fs_op, task));
    vg_port *port = op->port;
    vigil_blocking_begin();
    vg_fs_run(op);
    vigil_blocking_end();
    vg_port_send(port, &op->done);
    vg_port_release(port);
    return 0;
}

static void cancel_task(vigil_task *task)
{
    vg_fs_op *op = (vg_fs_op *)(void *)((char *)task - offsetof(vg_fs_op, task));
    vg_port *port = op->port;
    op->result = -ECANCELED;
    vg_port_send(port, &op->done);
    vg_port_release(port);
}

static vg_fs_op *op_of_done(vg_done *done)
{
    return (vg_fs_op *)(void *)((char *)done - offsetof(vg_fs_op, done));
}

/* Asks for the array's memory only now: it may have shrunk, moved or gone since the call. */
static void hand_over(vg_fs_op *op, vg_engine *engine)
{
    unsigned char *target = NULL;
    size_t room = 0;
    if (vg_to_bytes(engine, op->held, &target, &room) && target)
        memcpy(target, op->bytes, (size_t)op->result < room ? (size_t)op->result : room);
}

static void deliver(vigil_js *js, vg_done *done)
{
    vg_fs_op *op = op_of_done(done);
    vg_val id = vg_number(js->engine, op->id), value = outcome(op, js->engine);
    if (op->reads && op->result > 0)
        hand_over(op, js->engine);
    if (op->held)
        vg_release(js->engine, op->held);
    *op->back = op->next;
    if (op->next)
        op->next->back = op->back;
    vg_js_in_flight(js, -1);
    vg_fs_free(op);
    vg_js_dispatch(js, VG_DISPATCH_COMPLETE, id, value, NULL);
}

/* The engine may be gone: what it held went with it. */
static void drop(vg_done *done)
{
    vg_fs_free(op_of_done(done));
}

static bool own_bytes(vg_fs_op *op)
{
    unsigned char *copy = malloc(op->length ? op->length : 1);
    if (!copy)
        return false;
    op->reads = op->kind == VG_FS_READ;
    if (!op->reads && op->length)
        memcpy(copy, op->bytes, op->length);
    op->bytes = copy;
    op->own_bytes = true;
    return true;
}

/* (id, priority, kind, ...): 0, or an errno if it was not begun. */
static vg_val fs_later(vg_call *call)
{
    vigil_js *js = call->host;
    vigil_pool *pool = vigil_js_pool(js);
    double priority = vg_arg_number(call, 1);
    vg_fs_op *op = pool ? op_of(call, 2) : NULL;
    int error;
    if (!op)
        return vg_number(call->engine, -ENOMEM);
    if (!js->fs_named) {
        js->fs_named = true;
        for (unsigned i = 0; i <= VG_COUNT_fsOp; i++)
            VIGIL_RECORD_NAME(kinds[i].run, kinds[i].name);
    }
    if (op->held && !own_bytes(op)) {
        vg_fs_free(op);
        return vg_number(call->engine, -ENOMEM);
    }
    op->id = vg_arg_number(call, 0);
    op->done.deliver = deliver;
    op->done.drop = drop;
    op->port = js->port;
    vg_port_hold(js->port);
    vigil_task_init(&op->task, kinds[op->kind].run, cancel_task);
    if (op->held)
        vg_hold(call->engine, op->held);
    op->next = js->fs_ops;
    op->back = &js->fs_ops;
    if (op->next)
        op->next->back = &op->next;
    js->fs_ops = op;
    vg_js_in_flight(js, 1);
    error = vigil_pool_submit(pool, &op->task,
                              priority >= 0 && priority < VIGIL_PRIORITIES ? (vigil_priority)priority : VIGIL_NORMAL);
    if (error < 0) {
        js->fs_ops = op->next;
        if (op->next)
            op->next->back = &js->fs_ops;
        vg_js_in_flight(js, -1);
        if (op->held)
            vg_release(call->engine, op->held);
        vg_port_release(js->port);
        vg_fs_free(op);
    }
    return vg_number(call->engine, error);
}

static vg_val fs_cancel(vg_call *call)
{
    vigil_js *js = call->host;
    double id = vg_arg_number(call, 0);
    for (vg_fs_op *op = js->fs_ops; op; op = op->next)
        if (op->id == id)
            /* relaxed: a wish, carrying nothing with it. */
            atomic_store_explicit(&op->cancelled, 1U, memory_order_relaxed);
    return NULL;
}

/* ---- what the module loader needs ------------------------------------------------------------------------------- */

static vg_val file_kind(vg_call *call)
{
    char *path = vg_arg_text(call, 0, NULL);
    struct stat found;
    int kind =
        path && stat(path, &found) == 0 ? (S_ISDIR(found.st_mode) ? VG_FILE_KIND_FOLDER : VG_FILE_KIND_FILE) : -1;
    free(path);
    return vg_number(call->engine, kind);
}

static vg_val read_text(vg_call *call)
{
    vg_fs_op *op = calloc(1, sizeof *op);
    vg_val value;
    if (!op)
        return vg_number(call->engine, -ENOMEM);
    op->kind = VG_FS_READ_FILE;
    op->path = vg_arg_text(call, 0, NULL);
    op->n2 = O_RDONLY;
    op->n3 = 1;
    vg_fs_run(op);
    value = outcome(op, call->engine);
    vg_fs_free(op);
    return value;
}

static vg_val real_path(vg_call *call)
{
    char *path = vg_arg_text(call, 0, NULL);
    char *real = path ? realpath(path, NULL) : NULL;
    vg_val value = vg_string(call->engine, real ? real : path ? path : "");
    free(path);
    free(real);
    return value;
}

/* What the system's headers say: the numbers differ between processors. */
#define NUMBER(name) {#name, name},
static const struct {
    const char *name;
    int value;
} numbers[] = {NUMBER(F_OK) NUMBER(R_OK) NUMBER(W_OK) NUMBER(X_OK) NUMBER(O_RDONLY) NUMBER(O_WRONLY) NUMBER(O_RDWR)
                   NUMBER(O_CREAT) NUMBER(O_EXCL) NUMBER(O_NOCTTY) NUMBER(O_TRUNC) NUMBER(O_APPEND) NUMBER(O_DIRECTORY)
                       NUMBER(O_NOFOLLOW) NUMBER(O_SYNC) NUMBER(O_NOATIME) NUMBER(O_DSYNC) NUMBER(O_NONBLOCK)
                           NUMBER(S_IFMT) NUMBER(S_IFREG) NUMBER(S_IFDIR) NUMBER(S_IFCHR) NUMBER(S_IFBLK)
                               NUMBER(S_IFIFO) NUMBER(S_IFLNK) NUMBER(S_IFSOCK) NUMBER(S_IRWXU) NUMBER(S_IRUSR)
                                   NUMBER(S_IWUSR) NUMBER(S_IXUSR) NUMBER(S_IRWXG) NUMBER(S_IRGRP) NUMBER(S_IWGRP)
                                       NUMBER(S_IXGRP) NUMBER(S_IRWXO) NUMBER(S_IROTH) NUMBER(S_IWOTH) NUMBER(S_IXOTH)};
#undef NUMBER

static vg_val fs_constants(vg_call *call)
{
    vg_val object = vg_object(call->engine);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        vg_set_number(call->engine, object, numbers[i].name, numbers[i].value);
    return object;
}

static const vg_binding_entry entries[] = {
    {"fsNow", fs_now},       {"fsLater", fs_later},         {"fsCancel", fs_cancel},
    {"fileKind", file_kind}, {"fsConstants", fs_constants}, {"readText", read_text},
    {"realpath", real_path},
};

bool vg_js_bind_fs(vigil_js *js)
{
    return vg_js_bind(js, js->binding, entries, sizeof entries / sizeof *entries);
}
