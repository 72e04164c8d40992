/* SPDX-License-Identifier: MIT */
/*
 * client.h - a client: hosts, the links to them (connections), and the calls on them.
 *
 * A call has a link, or waits in its host's queue. A link has a call, or is idle, or is being made. A link that is being made
 * belongs to its host; when it is there, the first call that waits takes it.
 */
#ifndef VG_WEB_CLIENT_H
#define VG_WEB_CLIENT_H

#include "chunks.h"
#include "head.h"
#include "url.h"

typedef struct vg_web_link vg_web_link;
typedef struct vg_web_call vg_web_call;
typedef struct vg_web_upload vg_web_upload;

typedef struct vg_web_host {
    struct vg_web_host *next; /* of the same bucket */
    vigil_http_client *client;
    unsigned links, making;    /* connections, and those that are not there yet */
    unsigned waiting;          /* calls in the queue */
    unsigned holds;            /* somebody looks at it: it stays */
    vg_web_call *first, *last; /* that wait for a link */
    bool secure;
    unsigned port;
    bool brackets;
    char name[];
} vg_web_host;

enum {
    VG_WEB_BUCKETS = 256
};

struct vigil_http_client {
    vigil_loop *loop;
    vigil_http_client_options options;
    vg_web_host *buckets[VG_WEB_BUCKETS];
    vg_web_link *links;                  /* all */
    vg_web_link *idle_first, *idle_last; /* the oldest first */
    vigil_timer timer;                   /* id 0: none */
    unsigned idle;
    uint64_t calls, connections, open, waiting;
    uint64_t references; /* the user's, and of calls that look at it */
    bool destroyed;
    vg_web_head head;
};

struct vigil_http_response {
    const vg_web_head *head;
    const char *head_bytes;
    void *kept;
    char *body;
    size_t length, room;
    vg_web_trailers *trailers;
    vigil_stream *stream; /* of another protocol, until the user takes it */
};

struct vg_web_call {
    vigil_http_client *client;
    vg_web_host *host; /* whose queue it waits in, or whose link it has */
    vg_web_link *link;
    vg_web_call *next;
    vigil_promise *inner, *outer;
    vigil_reaction reaction; /* on outer: the end of the call */
    bool settled, waits, repeated, cross;
    char *url;
    char method[24];
    char *upgrade;            /* the protocols that are offered, or NULL */
    char *tunnel;             /* the target of CONNECT, or NULL */
    vigil_http_field *fields; /* one block with their texts */
    size_t count;
    char *body;
    size_t length, most_body;
    int (*next_body)(void *user, vigil_promise **promise);
    int (*trailers)(void *user, const vigil_http_field **fields, size_t *count);
    int64_t body_length;
    vg_web_upload *upload; /* what of the body is still to come, or NULL */
    unsigned redirects, followed;
    void (*on_body)(vigil_http_response *response, const void *data, size_t length, void *user);
    void *user;
    vigil_http_response *response;
};

/* A link has come free, or there may be room for one more: the first call that waits takes it. */
void vg_web_host_next(vg_web_host *host);
/* The host of a url; made if it is new. NULL: no memory. */
vg_web_host *vg_web_host_of(vigil_http_client *client, const vg_web_url *url);
/* It has neither links nor calls: it goes. */
void vg_web_host_maybe_free(vg_web_host *host);
void vg_web_client_unref(vigil_http_client *client);

#endif
