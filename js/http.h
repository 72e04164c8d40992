/* SPDX-License-Identifier: MIT */
/*
 * The HTTP/1.1 server's part in C: sockets on the loop, the parser, and one list of events for JavaScript.
 *
 *   http_parse.c   bytes -> heads, bodies, faults (the library http-parser, and checks that it leaves to its users)
 *   http_conn.c    one connection: reading, writing, deadlines, its end
 *   http_server.c  listening, accepting, the events' way to JavaScript
 *   http_bind.c    what lib/http_link.js calls
 *
 * Crossing between C and JavaScript costs as much as parsing a request, so it is done once per turn: what the descriptors of a turn
 * have brought is written into `events`, numbers that JavaScript reads in place, and one call hands over all of them.
 * Texts and bytes are fetched by JavaScript, and a head that is the same as the connection's last one is not fetched again.
 *
 * One request of a connection at a time: what a client sends ahead (pipelining) waits, first here, at most VG_HTTP_READ
 * bytes, then in the kernel. Bodies that nobody takes and answers that nobody reads stop the reading and the writing the same way.
 */
#ifndef VG_JS_HTTP_H
#define VG_JS_HTTP_H

#include <http_parser.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "host.h"

#define VG_HTTP_READ   65536U /* most that is read at once, and that waits */
#define VG_HTTP_EVENTS 512U
#define VG_HTTP_HIGH   16384U /* queued bytes from which JavaScript waits for the event DRAIN */

/* The numbers of lib/http_link.js. An event is (kind, connection, a, b). */
enum {
    VG_HTTP_OPEN = 1, /* a: server */
    VG_HTTP_REQUEST,  /* a: VG_HTTP_* flags, b: method */
    VG_HTTP_BODY,     /* bytes can be fetched; a: 1 and the body ends with them */
    VG_HTTP_END,      /* the body has ended */
    VG_HTTP_DRAIN,    /* everything was handed to the kernel */
    VG_HTTP_CLOSED,   /* a: errno, 0 for an end in order; the number may now be given to another */
    VG_HTTP_FAULT     /* a: the status to answer with; the text can be fetched */
};

/* What is known about a request when its head is complete. */
enum {
    VG_HTTP_SAME = 1, /* the head is that of the request before */
    VG_HTTP_KEEP = 2, /* the client wants to keep the connection */
    VG_HTTP_OLD = 4,  /* HTTP/1.0 */
    VG_HTTP_WHOLE = 8,
    VG_HTTP_CONTINUE = 16, /* Expect: 100-continue */
    VG_HTTP_EXPECTS = 32,  /* Expect: something else */
    VG_HTTP_NO_HOST = 64
};

/* How to send: the flags of vg_http_send. */
enum {
    VG_HTTP_LAST = 1, /* the answer ends with this */
    VG_HTTP_SHUT = 2, /* and so does the connection */
    VG_HTTP_LATIN1 = 4,
    VG_HTTP_HOLD = 8, /* only queue it: more follows before the next tick */
    VG_HTTP_CRLF = 16 /* a line's end behind it, as chunks have it */
};

typedef struct vg_buffer {
    unsigned char *data;
    size_t start, length, room;
} vg_buffer;
bool vg_buffer_add(vg_buffer *buffer, const void *data, size_t length);
void vg_buffer_free(vg_buffer *buffer);

typedef enum vg_http_state {
    VG_HTTP_READING,  /* waits for a head, or is in the midst of one */
    VG_HTTP_ANSWERING /* a head was handed over, the answer is not complete */
} vg_http_state;

typedef struct vg_http vg_http;
typedef struct vg_http_server vg_http_server;

typedef struct vg_http_conn {
    vg_http *http;
    vg_http_server *server;
    int fd; /* -1: closed, JavaScript has not been told yet */
    unsigned id;
    vigil_watch watch;
    unsigned watched; /* VIGIL_FD_* that the loop looks for */

    http_parser parser;
    vg_http_state state;
    bool whole;       /* the request's body has ended */
    bool paused;      /* JavaScript does not take the body now */
    bool dumping;     /* the answer is complete and the rest of the body is of no interest */
    bool answered;    /* the answer is complete; something of it may still be queued */
    bool shut_after;  /* the connection ends with the answer */
    bool ended;       /* the client sends no more */
    bool lingering;   /* our side is shut; what still comes is thrown away, so that the answer is not */
    bool faulty;      /* what came was no request; nothing more is parsed */
    bool in_turn;     /* on the list of those who go on with what waits */
    bool body_told;   /* an event for `body` is on its way */
    bool held;        /* what is queued waits for more */
    bool tell_drain;  /* JavaScript waits for the queue to be empty */
    unsigned request; /* index + 1 of this request's event, while it can be completed in place */

    vg_buffer head, last_head, trailer; /* "url\nname\nvalue\n..." */
    vg_buffer body, waiting, out;
    /* of the head that is being read */
    size_t name_at, value_at;
    bool in_value, in_trailer, has_host, has_length, has_coding;
    unsigned flags;
    int fault;
    const char *fault_name, *fault_text;

    uint64_t deadline, request_began; /* ns; 0: none */
    bool deadline_is_idle;
    struct vg_http_conn *next_in_turn;
} vg_http_conn;

struct vg_http_server {
    vg_http *http;
    int fd;
    unsigned id, held; /* connections that JavaScript does not know to be gone */
    vigil_watch watch;
    bool unref, closing, half_open, starved;
    char *path; /* of a socket in the file system */
    /* ns; 0: none */
    uint64_t headers_timeout, request_timeout, idle_timeout;
    size_t max_head;
};

struct vg_http {
    vigil_js *js;
    vg_done done; /* how a turn's events get into the poll phase */
    bool armed;
    unsigned delivering;
    vg_val receive; /* of JavaScript: called with the number of events */
    /* events[0]: how many JavaScript has taken, [1]: how many there are, [2] and [3]: arguments of sendText; then 4 numbers each,
       from index 4 on */
    double events[4 + 4 * VG_HTTP_EVENTS];
    vg_http_conn **conns;
    unsigned conn_room, free_hint;
    vg_http_server **servers;
    unsigned server_room;
    vg_http_conn *turn_first, **turn_end;
    vigil_watch timer;
    int timer_fd;
    uint64_t timer_at;
    unsigned starved; /* servers that wait for descriptors */
    unsigned char buffer[VG_HTTP_READ];
    unsigned char scratch[VG_HTTP_READ];
};

/* ---- http_parse.c */
void vg_http_parse_begin(vg_http_conn *conn);
/* Parse; adds events. What lies behind the end of the request goes to conn->waiting. */
void vg_http_parse(vg_http_conn *conn, const unsigned char *data, size_t length);
void vg_http_fault(vg_http_conn *conn, int status, const char *name, const char *text);

/* ---- http_conn.c */
vg_http_conn *vg_http_conn_new(vg_http_server *server, int fd);
/* Ends it now; `error` is what JavaScript is told, 0 for nothing wrong. */
void vg_http_conn_close(vg_http_conn *conn, int error);
/* Ends it in order, after what is queued. */
void vg_http_conn_finish(vg_http_conn *conn);
void vg_http_conn_free(vg_http_conn *conn);
void vg_http_conn_event(vigil_loop *loop, vigil_watch which, int fd, unsigned events, void *arg);
/* Go on with what waits, and tell what is to be told. */
void vg_http_conn_turn(vg_http_conn *conn);
/* Send what is queued and these pieces; returns the bytes that are queued, or -1: the connection is gone. */
double vg_http_send(vg_http_conn *conn, struct iovec *pieces, unsigned count, unsigned flags);
/* JavaScript takes the body, or not. */
void vg_http_conn_pause(vg_http_conn *conn, bool pause);
/* Whether nothing is under way on it. */
bool vg_http_conn_idle(const vg_http_conn *conn);
void vg_http_conn_deadline(vg_http_conn *conn, uint64_t after_ns, bool idle);
void vg_http_conn_expired(vg_http_conn *conn);

/* ---- http_server.c */
vg_http *vg_http_get(vigil_js *js);
/* Adds an event; only where vg_http_room was asked, which leaves room for what one reading brings. Returns its index. */
unsigned vg_http_add(vg_http *http, int kind, unsigned id, double a, double b);
bool vg_http_room(const vg_http *http);
void vg_http_arm(vg_http *http);
/* The connection's turn comes when the events that there are have been taken. */
void vg_http_later(vg_http_conn *conn);
void vg_http_timer_before(vg_http *http, uint64_t deadline);
int vg_http_listen(vg_http *http, const char *host, unsigned port, const char *path, int backlog, vg_http_server **out);
int vg_http_watch_server(vg_http_server *server);
void vg_http_server_close(vg_http_server *server);
/* A descriptor has become free: who waited for one looks again. */
void vg_http_fed(vg_http *http);
vg_http_conn *vg_http_conn_by_id(vg_http *http, double id);

#endif
