/* SPDX-License-Identifier: MIT */
/*
 * children.c - the end of child processes, by pidfd. No SIGCHLD and no wait for "any child", so nobody else in the
 * program loses a child.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "children.h"
#include "guard.h"
#include "note.h"
#include "run.h"
#include "tally.h"
#include "watch.h"
#include "base/clock.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WAIT_PIDFD = 3 /* P_PIDFD, which older headers do not have */
};

typedef struct watched_child {
    vg_registry_head head;
    uint32_t slot;
    pid_t pid;
    int pidfd;
    vg_watch *watch;
    vigil_child_fn fn;
    void *arg;
    const void *created;
    uint64_t since;
} watched_child;

struct vg_children {
    vg_registry slots;
};

static watched_child *child_at(const vg_children *children, uint32_t slot)
{
    watched_child *it = vg_registry_at(&children->slots, slot);
    return (it->head.generation & 1U) != 0 ? it : NULL;
}

static void close_pidfd(int fd)
{
    int saved = errno;
    (void)close(fd);
    errno = saved;
}

static void forget_child(vigil_loop *loop, watched_child *it)
{
    vg_watch_remove_inner(loop, it->watch);
    close_pidfd(it->pidfd);
    vg_registry_free(&loop->children->slots, it->slot, it);
}

/* Wait for this child; look: only ask whether it could be waited for. */
static int wait_for_child(int pidfd, siginfo_t *info, bool look)
{
    int saved = errno;
    memset(info, 0, sizeof *info);
    int rc;
    do {
        rc = waitid((idtype_t)WAIT_PIDFD, (id_t)pidfd, info, WEXITED | WNOHANG | (look ? WNOWAIT : 0));
    } while (rc != 0 && errno == EINTR);
    rc = rc == 0 ? 0 : -errno;
    errno = saved;
    return rc;
}

static void pidfd_readable(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)watch;
    (void)events;
    watched_child *it = arg;
    siginfo_t info;
    int rc = wait_for_child(fd, &info, false);
    if (rc == 0 && info.si_pid == 0)
        return; /* not yet: a thread of it has pidfd_readable */
    vigil_child name = {.id = vg_registry_name(it->slot, it)};
    vigil_child_fn fn = it->fn;
    void *user = it->arg;
    pid_t pid = it->pid;
    forget_child(loop, it);
    if (rc == 0)
        vg_tally(&loop->shared->children_reaped, 1);
    else /* somebody else waited for it, or SIGCHLD is ignored */
        vg_emit(loop, VIGIL_LOOP_CHILD_LOST, -1, rc, (uint64_t)pid,
                "a watched child has pidfd_readable, but somebody else has waited for it (or SIGCHLD is ignored); its "
                "status is "
                "lost");
    vg_loop_note_call(loop, (uintptr_t)fn); /* replaces our own, set by the watch */
    fn(loop, name, pid, rc == 0 ? info.si_code : 0, rc == 0 ? info.si_status : rc, user);
}

static int open_pidfd(pid_t pid)
{
    int saved = errno;
    long fd = syscall(SYS_pidfd_open, pid, 0);
    int rc = fd < 0 ? -errno : (int)fd;
    errno = saved;
    return rc;
}

int vigil_child_add(vigil_loop *loop, pid_t pid, vigil_child_fn fn, void *arg, vigil_child *result)
{
    int rc = vg_guard_owner(loop);
    if (rc == 0)
        rc = vg_guard_open(loop);
    if (rc != 0)
        return rc;
    if (fn == NULL || pid <= 0)
        return vg_why(-EINVAL, "fn is NULL, or pid is not the number of one child");
    if (loop->children == NULL) {
        loop->children = calloc(1, sizeof *loop->children);
        if (loop->children == NULL)
            return vg_why(-ENOMEM, "no memory for a child watch");
        vg_registry_init(&loop->children->slots, sizeof(watched_child));
    }
    int pidfd = open_pidfd(pid);
    if (pidfd < 0)
        return pidfd == -ESRCH ? vg_why(-ENOENT, "there is no process with that pid") : pidfd;
    siginfo_t info;
    if (wait_for_child(pidfd, &info, true) == -ECHILD) {
        close_pidfd(pidfd);
        return vg_why(-ENOENT, "that process is not a child of this one, so its end cannot be waited for");
    }
    uint32_t slot;
    watched_child *made = vg_registry_alloc(&loop->children->slots, &slot);
    if (made == NULL) {
        close_pidfd(pidfd);
        return vg_why(-ENOMEM, "no memory for a child watch");
    }
    made->slot = slot;
    made->pid = pid;
    made->pidfd = pidfd;
    made->fn = fn;
    made->arg = arg;
    made->created = __builtin_return_address(0);
    made->since = vg_now_ns();
    rc = vg_watch_add_inner(loop, &made->watch, pidfd, VIGIL_FD_READ, pidfd_readable, made, true);
    if (rc != 0) {
        close_pidfd(pidfd);
        vg_registry_free(&loop->children->slots, slot, made);
        return rc;
    }
    if (result != NULL)
        result->id = vg_registry_name(slot, made);
    return 0;
}

int vigil_child_remove(vigil_loop *loop, vigil_child name)
{
    int rc = vg_guard_owner(loop);
    if (rc != 0)
        return rc;
    uint32_t slot = loop->children == NULL ? UINT32_MAX : vg_registry_find(&loop->children->slots, name.id);
    if (slot == UINT32_MAX)
        return -ESTALE;
    forget_child(loop, vg_registry_at(&loop->children->slots, slot));
    return 0;
}

static int ref_child(vigil_loop *loop, vigil_child name, bool on)
{
    int rc = vg_guard_owner(loop);
    if (rc != 0)
        return rc;
    uint32_t slot = loop->children == NULL ? UINT32_MAX : vg_registry_find(&loop->children->slots, name.id);
    if (slot == UINT32_MAX)
        return -ESTALE;
    const watched_child *found = vg_registry_at(&loop->children->slots, slot);
    vg_watch_ref_inner(loop, found->watch, on);
    return 0;
}

int vigil_child_ref(vigil_loop *loop, vigil_child name)
{
    return ref_child(loop, name, true);
}

int vigil_child_unref(vigil_loop *loop, vigil_child name)
{
    return ref_child(loop, name, false);
}

void vg_children_drop(vigil_loop *loop)
{
    for (uint32_t slot = 0; loop->children != NULL && slot < loop->children->slots.used; slot++) {
        watched_child *it = child_at(loop->children, slot);
        if (it != NULL)
            forget_child(loop, it);
    }
}

void vg_children_after_fork(vigil_loop *loop)
{
    for (uint32_t slot = 0; loop->children != NULL && slot < loop->children->slots.used; slot++) {
        watched_child *it = child_at(loop->children, slot);
        if (it == NULL)
            continue;
        pid_t pid = it->pid;
        forget_child(loop, it);
        vg_emit(loop, VIGIL_LOOP_CHILD_LOST, -1, -ECHILD, (uint64_t)pid,
                "a watched child is the child of the parent of this fork; it is not watched here any more");
    }
}

void vg_children_close(vigil_loop *loop)
{
    for (uint32_t slot = 0; loop->children != NULL && slot < loop->children->slots.used; slot++) {
        watched_child *it = child_at(loop->children, slot);
        if (it != NULL)
            close_pidfd(it->pidfd);
    }
}

void vg_children_free(vigil_loop *loop)
{
    if (loop->children != NULL)
        vg_registry_destroy(&loop->children->slots);
    free(loop->children);
    loop->children = NULL;
}

uint32_t vg_children_list(const vigil_loop *loop, vigil_keeper *keepers, size_t room, uint64_t now)
{
    uint32_t count = 0;
    for (uint32_t slot = 0; loop->children != NULL && slot < loop->children->slots.used; slot++) {
        const watched_child *it = child_at(loop->children, slot);
        if (it == NULL || (it->watch->flags & VIGIL_WATCH_UNREF) != 0)
            continue;
        if (count < room)
            keepers[count] = (vigil_keeper){.kind = VIGIL_KEEPER_CHILD,
                                            .id = vg_registry_name(slot, it),
                                            .number = it->pid,
                                            .since_ns = now - it->since,
                                            .created = it->created};
        count++;
    }
    return count;
}
