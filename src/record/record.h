/* SPDX-License-Identifier: MIT */
/*
 * record.h - all that the rooms above need to write to the recorder (FORMAT.md).
 */
#ifndef VG_RECORD_RECORD_H
#define VG_RECORD_RECORD_H
#include "base/clock.h"
#include "block.h"
#include "format_event.h"
#include "hist.h"
#include "life.h"
#include "ring.h"
#include "wait.h"

#include <stdbool.h>

#endif
