/* SPDX-License-Identifier: MIT */
/*
 * reader_entries.h - sections whose entries change while they are read; verdicts and acts.
 */
#ifndef VG_READER_READER_ENTRIES_H
#define VG_READER_READER_ENTRIES_H

#include "reader.h"

typedef struct vg_raw vg_raw;

/* The first `used` entries of a section, in memory of the caller. Each has `bytes` and begins with its count of writes,
   which is 0 in the copy if the entry is empty or was being written. *count: the most that are wanted, then how many
   there are. *error: 0; -EBADMSG; -ENOMEM. */
void *vg_reader_entries(const vg_reader *reader, uint64_t offset, size_t bytes, uint64_t used, size_t *count,
                        int *error);
int vg_raw_verdicts(vg_raw *raw); /* and acts. 0; -EBADMSG; -ENOMEM */

#endif
