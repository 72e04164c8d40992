/* SPDX-License-Identifier: MIT */
/*
 * conn.h - one connection of a server, and the request that it carries now. SERVER.md has the states and the rules.
 */
#ifndef VG_WEB_CONN_H
#define VG_WEB_CONN_H

#include "chunks.h"
#include "head.h"

typedef enum vg_web_state {
    VG_WEB_READ_HEAD, /* waits for a head, or is in the midst of one */
    VG_WEB_EXCHANGE,  /* a request is the user's, or the rest of its body is thrown away */
    VG_WEB_LINGER,    /* our side has ended; what still comes is thrown away, so that the last answer arrives */
    VG_WEB_GONE       /* there is no stream any more; the user still has the request */
} vg_web_state;

/* What a connection may be late with. Each kind has one limit, so its list is in the order of the deadlines. */
typedef enum vg_web_clock {
    VG_WEB_NO_CLOCK,
    VG_WEB_IDLE_CLOCK,
    VG_WEB_HEAD_CLOCK,
    VG_WEB_BODY_CLOCK,
    VG_WEB_SEND_CLOCK,
    VG_WEB_LINGER_CLOCK,
    VG_WEB_CLOCKS
} vg_web_clock;

/* How the end of the answer's body is known. */
typedef enum vg_web_framing {
    VG_WEB_NOT_STARTED,
    VG_WEB_BY_LENGTH,
    VG_WEB_BY_CHUNKS,
    VG_WEB_BY_END,
    VG_WEB_NO_BODY,
    VG_WEB_ANSWERED
} vg_web_framing;

typedef struct vigil_http_request vg_web_conn;

typedef struct vg_web_list {
    vg_web_conn *first, *last;
} vg_web_list;

struct vigil_http_server {
    vigil_loop *loop;
    vigil_listener *listener;
    vigil_http_server_options options;
    int64_t limits[VG_WEB_CLOCKS]; /* ns; negative: none */
    vg_web_list lists[VG_WEB_CLOCKS];
    vg_web_conn *all;
    uint64_t references; /* connections, and the user's own */
    vigil_timer timer;
    uint64_t timer_at;    /* when it fires; 0: it does not run */
    vg_web_conn *calling; /* the user has the turn, for this connection; a raise leaves it set */
    bool ending, closed;
    vigil_promise *ended; /* of the graceful end */
    vigil_timer end_timer;
    uint64_t cut;
    uint64_t connections, open, requests, waiting, refused;
    int64_t date_second;
    char date[32];
    vg_web_head head; /* of the request that is being given */
    char out[16384];
};

struct vigil_http_request {
    vigil_http_server *server;
    vigil_stream *stream;
    vg_web_conn *all_next, *all_before;
    vg_web_conn *clock_next, *clock_before;
    uint64_t clock_since;
    uint8_t clock;   /* vg_web_clock */
    uint8_t state;   /* vg_web_state */
    uint8_t framing; /* vg_web_framing */
    bool listed : 1;
    bool running : 1; /* vg_web_conn_run is below us */
    bool queued : 1;  /* post waits */
    bool reading : 1; /* the stream has our on_data */
    bool peer_ended : 1;
    bool close_after : 1;  /* with this answer the connection ends */
    bool users : 1;        /* the request is the user's: not ended yet */
    bool body_over : 1;    /* the request's body is complete, or will not be read */
    bool continue_due : 1; /* the client waits for 100 Continue */
    bool clogged : 1;      /* more is unsent than high_water */
    bool freed : 1;
    bool faulty : 1;     /* what came was no request; nothing more is used */
    bool in_chunks : 1;  /* the request's body */
    bool end_due : 1;    /* the body is complete, and its reader does not know yet */
    bool collecting : 1; /* vigil_promise_http_body reads; body_arg is its own */
    int failed;          /* why the request cannot be answered any more */
    size_t looked;       /* of the head that is being read */
    size_t behind;       /* what has come behind the step that runs */
    const char *behind_at;
    /* what has come and is not used yet */
    char *held;
    size_t held_at, held_length, held_room;
    /* the request */
    const vg_web_head *head;
    const char *head_bytes;
    void *kept; /* a copy of both, if the request outlives on_request */
    uint64_t body_left, body_seen;
    vg_web_chunks chunks;
    vigil_http_body_fn on_body;
    void *body_arg;
    vigil_call_fn on_gone, on_drained;
    void *gone_arg, *drained_arg;
    vigil_promise *drained_promise;
    uint64_t answer_left;
    vigil_post post;
};

/* A stream's connection. 0; -ENOMEM; and what vigil_stream_on_data answers. */
int vg_web_conn_open(vigil_http_server *server, vigil_stream *stream);
void vg_web_conn_free(vg_web_conn *conn);
/* Use what is held, and these bytes behind it (W1). */
void vg_web_conn_run(vg_web_conn *conn, const char *bytes, size_t length);
/* Read, or do not, as the state wants it. */
void vg_web_conn_want(vg_web_conn *conn);
/* Bytes for the stream. As vigil_stream_write; a failure cuts the connection and is -EPIPE. */
int vg_web_conn_write(vg_web_conn *conn, const void *bytes, size_t length);
/* The connection has no stream any more: it was closed, or is somebody else's. */
void vg_web_conn_left(vg_web_conn *conn);
/* The user has ended the request. */
void vg_web_conn_done(vg_web_conn *conn);
/* Whether so much of the body is left that the connection ends rather than read it. */
bool vg_web_body_is_long(const vg_web_conn *conn);
/* Answer with an error of our own; the connection ends. */
void vg_web_conn_refuse(vg_web_conn *conn, int status);
/* End the connection: at once, or, while something may still come, after the peer. */
void vg_web_conn_finish(vg_web_conn *conn);
/* Reset the connection and notify all waiters. */
void vg_web_conn_cut(vg_web_conn *conn, int error);
/* The deadline of the connection's clock has passed. */
void vg_web_conn_late(vg_web_conn *conn);

#endif
