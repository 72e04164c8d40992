/* SPDX-License-Identifier: MIT */
/* How other threads hand finished work to a host. */
#ifndef VG_JS_PORT_H
#define VG_JS_PORT_H

#include "host.h"

/* Something that another thread has finished. deliver runs on the owner, in the poll phase; drop, in its place, on any thread
   when the host is gone. Each must free it. */
struct vg_done {
    vg_done *next;
    void (*deliver)(vigil_js *js, vg_done *done);
    void (*drop)(vg_done *done);
};

/* The part of a host that other threads may hold: it outlives the host. */
struct vg_port {
    _Atomic uint32_t refs;
    _Atomic uint32_t inside; /* threads between "is it open" and the end of their post; bit 31: closed */
    _Atomic(vg_done *) stack;
    _Atomic bool refusing; /* the host is ending: no further calls; results of work in flight still come */
    vigil_loop *loop;
    vigil_js *js;
    vigil_post post;
};

vg_port *vg_port_new(vigil_js *js);
void vg_port_hold(vg_port *port);
void vg_port_release(vg_port *port);
/* Hand over what is finished. Any thread. Takes `done` in any case. */
void vg_port_send(vg_port *port, vg_done *done);
/* No delivery after this. Owner. */
void vg_port_close(vg_port *port);
/* Everything that is there now, also what no post has brought yet. */
void vg_js_deliver_now(vigil_js *js);
void vg_js_deliver(vigil_js *js);

#endif
