/* SPDX-License-Identifier: MIT */
/* inotify for lib/fs_watch.js: the descriptor is read as a link of node:net. */
#include "bind_inotify.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/inotify.h>

#include "bind.h"

/* open(): a descriptor, or a negative errno */
static vg_val do_open(vg_call *call)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    return vg_number(call->engine, fd < 0 ? -errno : fd);
}

/* add(descriptor, path, mask): the kernel's number of the watch, or a negative errno */
static vg_val do_add(vg_call *call)
{
    char *path = vg_arg_text(call, 1, NULL);
    int result = -ENOMEM;
    if (path) {
        result = inotify_add_watch((int)vg_arg_number(call, 0), path, (uint32_t)vg_arg_number(call, 2));
        result = result < 0 ? -errno : result;
    }
    free(path);
    return vg_number(call->engine, result);
}

/* remove(descriptor, number) */
static vg_val do_remove(vg_call *call)
{
    (void)inotify_rm_watch((int)vg_arg_number(call, 0), (int)vg_arg_number(call, 1));
    return NULL;
}

static vg_val open_inotify(vg_call *call)
{
    static const vg_binding_entry entries[] = {{"open", do_open}, {"add", do_add}, {"remove", do_remove}};
    vg_val object = vg_object(call->engine);
    if (!vg_js_bind(call->host, object, entries, sizeof entries / sizeof *entries))
        return vg_throw(call, "no memory");
    return object;
}

bool vg_js_bind_inotify(vigil_js *js)
{
    static const vg_binding_entry entry = {"inotify", open_inotify};
    return vg_js_bind(js, js->binding, &entry, 1);
}
