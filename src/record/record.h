/* SPDX-License-Identifier: MIT */
/*
 * record.h - how the rooms above write to the recorder.
 *
 * There is one recorder in a process. It comes with the first pool or loop and goes with the last. Each of these takes blocks from
 * it (vg_block_get): memory that lies in the recorder's file (format.h), or, when the recorder is off or the file has no
 * room, in anonymous memory, so that whoever counts never has to ask. Threads take a ring for their events from it.
 *
 * The price: an event is four stores and one more for the head, into memory of its own thread; the clock is read by the
 * caller, who often has the time already. A value for a histogram is three additions.
 *
 * Forks: the child's mappings are replaced by anonymous memory before it runs (record.c), so it can never write into its
 * parent's file. What it makes anew goes to a recorder of its own. `epoch` tells the two apart.
 */
#ifndef VG_RECORD_RECORD_H
#define VG_RECORD_RECORD_H
#include "base/clock.h"
#include "block.h"
#include "format_event.h"
#include "format_loop.h"
#include "format_pool.h"
#include "hist.h"
#include "life.h"
#include "ring.h"
#include "wait.h"

#include <stdbool.h>

#endif
