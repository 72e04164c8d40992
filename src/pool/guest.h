/* SPDX-License-Identifier: MIT */
/*
 * guest.h - threads from outside that work for the pool for the time of a call.
 */
#ifndef VG_POOL_GUEST_H
#define VG_POOL_GUEST_H

#include "pool_struct.h"

void vg_guests_close(vigil_pool *pool); /* no more of them */

#endif
