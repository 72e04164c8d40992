/* SPDX-License-Identifier: MIT */
/* link.h - one connection of a client. */
#ifndef VG_WEB_LINK_H
#define VG_WEB_LINK_H

#include "client.h"

struct vg_web_link {
    vigil_http_client *client;
    vg_web_host *host;
    vg_web_call *call;
    vigil_stream *stream;                 /* NULL: being made */
    vg_web_link *next, *before;           /* of all */
    vg_web_link *idle_next, *idle_before; /* if idle */
    uint64_t idle_since;
    bool idle, reused, got_any, running, freed;
    /* the answer */
    char *held;
    size_t held_length, held_room, looked;
    bool in_body, in_chunks, to_end, keep;
    uint64_t left;
    vg_web_chunks chunks;
};

/* 0 if the host is an address, which needs nobody to look it up; -EOPNOTSUPP. */
int vg_web_link_can(const vg_web_url *url);
/* Make a connection to the host. 0, or an error. */
int vg_web_link_make(vg_web_host *host);
/* An idle link of the host that is still connected; NULL: none. */
vg_web_link *vg_web_link_idle(vg_web_host *host);
/* Send the call on the link. */
void vg_web_link_use(vg_web_link *link, vg_web_call *call);
/* End the link; its call, if it has one, is failed or repeated. */
void vg_web_link_end(vg_web_link *link, int error);
/* The idle ones that are too old, and those above the limit; all: every one. */
void vg_web_link_expire(vigil_http_client *client, bool all);

#endif
