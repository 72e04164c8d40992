/* SPDX-License-Identifier: MIT */
/*
 * reader_events.h - the events of a thread.
 */
#ifndef VG_READER_READER_EVENTS_H
#define VG_READER_READER_EVENTS_H

#include "record/format.h"
#include <stddef.h>

typedef struct vg_reader vg_reader;

/*
 * The events of one thread (by its serial), oldest first, from number `from` on (0: as old as there are). *events is
 * memory of the caller, to be freed; *first is the number of its first event, *count how many. What has been
 * overwritten before it could be read is left out: then *first > from. To follow a ring, ask next from *first + *count.
 * 0; -ENOENT no such thread (any more); -EBADMSG; -ENOMEM. The kinds are not checked: skip what you do not know.
 */
int vg_reader_events(vg_reader *reader, uint64_t thread, uint64_t from, vg_event **events, uint64_t *first,
                     size_t *count);

/* The steps of a worker's past (record/format_past.h), oldest first; those that were being written are left out. As
   above. A thread that is no worker has none. */
int vg_reader_past(vg_reader *reader, uint64_t thread, vg_file_past **steps, size_t *count);

#endif
