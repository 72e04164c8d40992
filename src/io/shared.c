/* SPDX-License-Identifier: MIT */
#include "shared.h"

#include "base/lineage.h"
#include "base/why.h"
#include "loop/guard.h"
#include "promise/realm.h"
#include "shown.h"
#include "stream_limits.h"

#include <stdlib.h>
#include <unistd.h>

/* What members have left behind. */
static void shared_tidy(vg_io_shared *shared)
{
    while (shared->pipe_count != 0) {
        shared->pipe_count--;
        (void)close(shared->pipes[shared->pipe_count][0]);
        (void)close(shared->pipes[shared->pipe_count][1]);
    }
    free(shared->spare_buffer);
    shared->spare_buffer = NULL;
    free(shared->spare_copy);
    shared->spare_copy = NULL;
}

static void shared_free(vg_io_shared *shared)
{
    vg_shown_end(shared);
    shared_tidy(shared);
    vg_limits_drop(shared->limits);
    free(shared);
}

static void shared_release(vg_io_shared *shared)
{
    if (--shared->refs == 0)
        shared_free(shared);
}

static void shared_loop_gone(void *io)
{
    shared_release(io);
}

static void shared_loop_ended(vigil_at_end *it)
{
    vg_io_shared *shared = vg_container_of(it, vg_io_shared, at_end);
    shared->realm->io = NULL;
    vg_shown_end(shared);
    shared->ended = true;
    vg_list_each_safe (link, after, &shared->members) {
        vg_io_member *member = vg_list_entry(link, vg_io_member, link);
        member->ended(member);
    }
    shared_release(shared);
}

/* vigil_loop_fork: the loop is this process's own now, and so are its streams. */
static void shared_after_fork(void *io)
{
    vg_io_shared *shared = io;
    shared->process = vg_lineage();
    vg_shown_end(shared); /* the table is the parent's; the child's comes with its next stream */
}

vg_io_shared *vg_io_enter(vigil_loop *loop, vg_io_member *member, int *error)
{
    vg_realm *realm = vg_realm_of_owner(loop, error);
    if (realm == NULL)
        return NULL;
    vg_io_shared *shared = realm->io;
    if (shared == NULL) {
        shared = malloc(sizeof *shared);
        if (shared == NULL) {
            *error = vg_why(-ENOMEM, "no memory for the buffer that streams share");
            return NULL;
        }
        shared->loop = loop;
        shared->realm = realm;
        shared->refs = 1; /* the loop's own */
        shared->ended = false;
        shared->pipe_count = 0;
        shared->spare_buffer = NULL;
        shared->spare_copy = NULL;
        shared->running = NULL;
        shared->limits = NULL;
        shared->shown = NULL;
        shared->shown_tried = false;
        vg_list_init(&shared->members);
        shared->process = vg_lineage();
        vigil_at_end_init(&shared->at_end, shared_loop_ended);
        *error = vigil_loop_at_end_add(loop, &shared->at_end);
        if (*error != 0) {
            free(shared);
            return NULL;
        }
        realm->io = shared;
        realm->io_forked = shared_after_fork;
        realm->io_gone = shared_loop_gone;
    }
    shared->refs++;
    member->shown = NULL;
    member->counted = false;
    vg_list_push_back(&shared->members, &member->link);
    return shared;
}

void vg_io_leave(vg_io_shared *shared, vg_io_member *member)
{
    vg_shown_close(shared, member);
    vg_list_remove(&member->link);
    if (vg_list_empty(&shared->members))
        shared_tidy(shared); /* the rest stays for the next one, and for the totals that viewers see */
    shared_release(shared);
}

bool vg_io_forked(const vg_io_shared *shared)
{
    return shared->process != vg_lineage();
}

int vg_io_guard(const vg_io_shared *shared)
{
    if (shared->ended)
        return vg_why(-ESHUTDOWN, "the loop of this stream or descriptor has ended");
    return vg_guard_owner(shared->loop);
}
