/* SPDX-License-Identifier: MIT */
/*
 * follow.h - jobs that start when others have ended.
 */
#ifndef VG_POOL_FOLLOW_H
#define VG_POOL_FOLLOW_H

#include "pool_struct.h"

void vg_follow_close(vigil_pool *pool); /* from here on only running tasks may add */

#endif
