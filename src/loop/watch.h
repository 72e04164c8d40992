/* SPDX-License-Identifier: MIT */
#ifndef VG_LOOP_WATCH_H
#define VG_LOOP_WATCH_H

#include "struct.h"

/* The first three under the lock. */
int vg_watch_enter(vigil_loop *loop, int fd);     /* register an fd that the poller does not know */
void vg_watch_all_gone(vigil_loop *loop, int fd); /* the fd was closed: end and report all its watches */
void vg_watch_over(vigil_loop *loop, vg_watch *watch, uint32_t flag); /* no callback starts any more */
int vg_watch_open_poller(vigil_loop *loop);                           /* under the lock */
int vg_watch_confirm(vigil_loop *loop, int fd); /* under the lock: -EBADF, -ENOENT: the number was closed */
void vg_watch_update_wanted(vigil_loop *loop);
int vg_watch_add_inner(vigil_loop *loop, vg_watch **watch, int fd, uint32_t events, vigil_watch_fn fn, void *arg,
                       bool keeps_alive);
void vg_watch_remove_inner(vigil_loop *loop, vg_watch *watch);
void vg_watch_ref_inner(vigil_loop *loop, vg_watch *watch, bool on); /* owner */

#endif
