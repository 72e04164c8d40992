/* SPDX-License-Identifier: MIT */
/*
 * The HTTP/1.1 server's part in C: sockets on the loop, the parser, and one list of events for JavaScript.
 *
 *   http_parse.c   bytes -> heads, bodies, faults (llhttp, and checks that it leaves to its users)
 *   http_lines.c   line ends, before the parser
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

#include <llhttp.h>
#include <stdbool.h>

#include "buffer.h"
#include "host.h"
#include "http_lines.h"
#include "port.h"

#define VG_HTTP_READ   65536U /* most that is read at once, and that waits */
#define VG_HTTP_EVENTS 512U

typedef enum vg_http_state {
    VG_HTTP_READING,  /* waits for a head, or is in the midst of one */
    VG_HTTP_ANSWERING /* a head was handed over, the answer is not complete */
} vg_http_state;

typedef struct vg_http vg_http;
typedef struct vg_http_server vg_http_server;

typedef struct vg_http_conn {
    vg_http *http;
    vg_http_server *server;
    int fd; /* -1: closed, JavaScript does not know yet */
    unsigned id;
    vigil_watch watch;
    unsigned watched; /* VIGIL_FD_* that the loop looks for */

    llhttp_t parser;
    vg_http_lines lines;
    vg_http_state state;
    bool whole;       /* the request's body has ended */
    bool paused;      /* JavaScript does not take the body now */
    bool dumping;     /* the answer is complete; the rest of the body is thrown away */
    bool answered;    /* the answer is complete; something of it may still be queued */
    bool shut_after;  /* the connection ends with the answer */
    bool ended;       /* the client sends no more */
    bool lingering;   /* our side is shut; what still comes is thrown away, so that the answer is not */
    bool faulty;      /* what came was no request; nothing more is parsed */
    bool told;        /* of the fault: the program answers, or nobody does */
    bool in_turn;     /* on the list of connections with waiting bytes */
    bool body_queued; /* an event for `body` is on its way */
    bool held;        /* what is queued waits for more */
    bool tell_drain;  /* JavaScript waits for the queue to be empty */
    unsigned request; /* index + 1 of this request's event, while it can be completed in place */

    vg_buffer head, last_head, trailer; /* "url\nname\nvalue\n..." */
    vg_buffer body, waiting, out;
    /* of the head that is being read */
    size_t name_at, value_at, extension_length;
    bool in_name, in_value, in_trailer, has_host, has_length, has_coding;
    unsigned flags;
    int fault;
    const char *fault_name, *fault_text;
    vg_buffer fault_packet; /* the bytes in which it was found, and how many of them were good */
    size_t fault_parsed;

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
    bool upgrades, tunnels; /* somebody waits for such requests */
    char *path;             /* of a socket in the file system */
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

#endif
