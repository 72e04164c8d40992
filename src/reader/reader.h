/* SPDX-License-Identifier: MIT */
/*
 * reader.h - looking at a process from outside, through its recorder file (format.h).
 *
 * For the viewers, for tests, and for nobody inside a hot path. A reader needs nothing from the process that it looks
 * at and never makes it wait. It reads with pread, never through a mapping: a file that somebody cuts short gives an
 * error, not a signal. It believes nothing: every offset, count, index and text is bounded before use, whatever the
 * file says, and a file that makes no sense gives -EBADMSG.
 *
 *     vg_reader *reader;
 *     if (vg_reader_open_pid(&reader, pid) == 0) {
 *         vg_snapshot *now;
 *         if (vg_reader_snapshot(reader, &now) == 0) { ... vg_snapshot_free(now); }
 *         vg_reader_close(reader);
 *     }
 *
 * Times in a snapshot are nanoseconds. Moments are ages: how long before the snapshot's own moment (now_ticks) they
 * were; for a process that has died that moment is the last sign of life that is found in the file.
 *
 * Any thread; one thread at a time per reader. A snapshot is plain memory of the caller and shares nothing with its
 * reader.
 */
#ifndef VG_READER_READER_H
#define VG_READER_READER_H

#include "process.h"
#include "reader_events.h"
#include "reader_hists.h"
#include "reader_names.h"
#include "reader_snapshot.h"
#include "words.h"

/* Open a record by its path (also one that a dead process left behind).
   0; -ENOENT; -EACCES or -EPERM it is not ours; -EBADMSG it is no recorder file, or one that makes no sense; -EPROTO it
   is of another version; -ENOMEM; or what open(2) says. */
int vg_reader_open_path(vg_reader **result, const char *path);
void vg_reader_close(vg_reader *reader);

/* Foreign text with escapes for what is not safe to show (base/text.h); lines keeps new lines. */
void vg_copy_text(char *to, size_t room, const char *from, size_t from_room);
void vg_copy_lines(char *to, size_t room, const char *from, size_t from_room);

/* ---- for the other files of the reader ---- */

int vg_reader_read(const vg_reader *reader, uint64_t offset, void *memory, size_t bytes); /* all of it, or -EBADMSG */
bool vg_reader_holds(const vg_reader *reader, uint64_t offset, uint64_t bytes);           /* the file is that long */
void *vg_reader_copy(const vg_reader *reader, uint64_t offset, size_t bytes, int *error); /* of the caller */
int vg_reader_header(vg_reader *reader); /* read it again. 0; -EBADMSG; -EPROTO */

#endif
