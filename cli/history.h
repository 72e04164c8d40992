/* SPDX-License-Identifier: MIT */
/* history.h - the last minute of a process from its rings, so that a page that was opened now begins with the past. */
#ifndef CLI_HISTORY_H
#define CLI_HISTORY_H

#include <json.h>

#include "look.h"

/*
 * {"t": seconds of the process at the end, "step": seconds of a bin,
 *  "pools": [{"id", "queued": [[five numbers of a bin] or null], "rate": the same, "wait_ms": the same with null for
 *             nothing, "workers": {"ID": [[class, run, blocked] or null]}}]}
 * The last bin is the newest. null: the rings remember no more of it. NULL: no memory.
 */
json_object *history_json(struct look *look);

#endif
