/* SPDX-License-Identifier: MIT */
/*
 * outside.h - verdicts by somebody who only reads the record.
 *
 * For processes without a watchdog, with one that is late, and for stopped processes. Two snapshots, at least
 * VG_OUTSIDE_SPAN_NS apart, are compared; what moved in between is not blamed. It sees less than the watchdog: no
 * history, no stacks, no audit.
 */
#ifndef VG_READER_OUTSIDE_H
#define VG_READER_OUTSIDE_H

#include "view.h"

typedef struct vg_reader vg_reader;

#define VG_OUTSIDE_SPAN_NS UINT64_C(700000000)

/* Whether nobody has judged this process lately: there is no watchdog, it has not looked for long, or the process is
   stopped. */
bool vg_outside_needed(const vg_snapshot *now);

/* Add what is wrong to now->verdicts, with number 0. before: an older snapshot of the same process; NULL: only what one
   snapshot shows. Nothing is added for processes that have ended. 0; -ENOMEM. */
int vg_outside_judge(vg_reader *reader, const vg_snapshot *before, vg_snapshot *now);

#endif
