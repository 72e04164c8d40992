/* SPDX-License-Identifier: MIT */
/*
 * shown.h - what viewers see of a loop's streams, listeners, connections in the making, datagrams, children,
 * descriptors and queries (record/format_io.h). Owner only.
 *
 * The table lies in the recorder's file and comes with the first of them. It has room for VG_FILE_IOS; the others are
 * counted. With the recorder off there is no table, and each call here is one look at a pointer.
 */
#ifndef VG_IO_SHOWN_H
#define VG_IO_SHOWN_H

#include "record/format_io.h"
#include "shared.h"

#include <vigil/io.h>

/* Is the recorder on? */
bool vg_shown_wanted(const vigil_loop *loop);

/* Show a member: its address, or NULL, and its name, or NULL. */
void vg_shown_open(vg_io_shared *shared, vg_io_member *member, vg_io_kind kind, const vigil_address *address,
                   const char *name);
/* The same for a stream of any descriptor. */
void vg_shown_open_fd(vg_io_shared *shared, vg_io_member *member, int fd, bool socket);
void vg_shown_name(vg_io_member *member, const char *name);
void vg_shown_address(vg_io_member *member, const vigil_address *address);
void vg_shown_pid(vg_io_member *member, int64_t pid);
/* The member goes. */
void vg_shown_close(vg_io_shared *shared, vg_io_member *member);
/* The loop ends, or was moved to a child: nothing is shown from now on. */
void vg_shown_end(vg_io_shared *shared);

static inline void vg_shown_read(const vg_io_shared *shared, const vg_io_member *member, uint64_t bytes, uint64_t now)
{
    if (shared->shown == NULL)
        return;
    vg_cell_add(&shared->shown->bytes_read, bytes);
    if (member->shown != NULL) {
        vg_cell_add(&member->shown->bytes_read, bytes);
        vg_cell_set(&member->shown->read_at, now);
    }
}

static inline void vg_shown_sent(const vg_io_shared *shared, const vg_io_member *member, uint64_t bytes, uint64_t now)
{
    if (shared->shown == NULL)
        return;
    vg_cell_add(&shared->shown->bytes_sent, bytes);
    if (member->shown != NULL) {
        vg_cell_add(&member->shown->bytes_sent, bytes);
        vg_cell_set(&member->shown->sent_at, now);
    }
}

/* A cell that is a time while something holds, else 0. */
static inline void vg_shown_since(vg_cell *since, bool holds, uint64_t now)
{
    const bool held = atomic_load_explicit(since, memory_order_relaxed) != 0; /* it is our own */
    if (holds != held)
        vg_cell_set(since, holds ? now : 0);
}

static inline void vg_shown_wait(const vg_io_member *member, vg_io_wait wait, uint64_t now)
{
    vg_file_io *shown = member->shown;
    if (shown == NULL || atomic_load_explicit(&shown->wait, memory_order_relaxed) == (uint64_t)wait) /* our own */
        return;
    vg_cell_set(&shown->wait_since, now);
    vg_cell_set(&shown->wait, (uint64_t)wait);
}

#endif
