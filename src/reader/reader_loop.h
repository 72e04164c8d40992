/* SPDX-License-Identifier: MIT */
/*
 * reader_loop.h - loops of a snapshot.
 */
#ifndef VG_READER_READER_LOOP_H
#define VG_READER_READER_LOOP_H

#include "view.h"

typedef struct vg_raw vg_raw;

void vg_raw_loop(const vg_raw *raw, size_t at, vg_loop_view *view);

#endif
