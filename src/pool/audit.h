/* SPDX-License-Identifier: MIT */
/* audit.h - the audit for those who look again later anyway. */
#ifndef VG_POOL_AUDIT_H
#define VG_POOL_AUDIT_H

#include <vigil/pool.h>

/* vigil_pool_audit with two looks and no more. The watchdog must not give up its core: on a machine with twenty threads
   per core each yield takes a tenth of a second. */
int vg_pool_audit_at_once(vigil_pool *pool, vigil_audit *audit);

#endif
