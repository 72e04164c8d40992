/* SPDX-License-Identifier: MIT */
/*
 * unhandled.h - rejections that nobody handles. Owner only.
 */
#ifndef VG_PROMISE_UNHANDLED_H
#define VG_PROMISE_UNHANDLED_H

#include "realm.h"

void vg_realm_rejected(vg_realm *realm, vigil_promise *promise);
void vg_realm_report(vg_upstairs *upstairs, vigil_loop *loop);

#endif
