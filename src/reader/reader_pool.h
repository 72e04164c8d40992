/* SPDX-License-Identifier: MIT */
/*
 * reader_pool.h - pools of a snapshot.
 */
#ifndef VG_READER_READER_POOL_H
#define VG_READER_READER_POOL_H

#include "view.h"

typedef struct vg_raw vg_raw;

int vg_raw_pool(const vg_raw *raw, size_t at, vg_pool_view *view); /* 0; -ENOMEM */

#endif
