/* SPDX-License-Identifier: MIT */
/*
 * vigil/http.h - HTTP/1.1 on streams (vigil/io.h): a server and a client. Its library is
 * libvigil-http.
 *
 * Threads: every call here is the owner's (vigil/loop.h). No call blocks. No callback runs inside
 * the call that asked for it, unless its comment says so.
 *
 * A server calls on_request for each request, one at a time per connection and in order. The
 * request is answered there, or later, exactly once: with vigil_http_answer, or with
 * vigil_http_start, vigil_http_send and vigil_http_end, or not at all with vigil_http_reset. Until
 * then the request is yours, also after its client has gone; afterwards its pointer is not valid.
 * A request that is answered inside on_request costs no allocation here; for one that is answered
 * later the head is copied once.
 *
 * What the server answers by itself, without a call of on_request:
 *
 *   400   not HTTP, or something by which requests are smuggled past a proxy: a length and a
 *         coding, two lengths, bare line feeds, folded lines, no Host or two, ...
 *   408   the head or the body took too long (head_ns, body_ns)
 *   413   the body is longer than body_bytes      414   the target is longer than target_bytes
 *   417   an Expect that is not 100-continue
 *   431   the head is longer than head_bytes, or has more than `fields`; trailers count too
 *   501   an unknown method or transfer coding; CONNECT without the option tunnels
 *   503   more than most_requests wait for an answer
 *   505   a version that is neither 1.0 nor 1.1
 *
 * The connection ends after each of them but 503. Callbacks should not leave by vigil_raise: it
 * costs the connection, which is reset when the server next has something to do.
 */
#ifndef VIGIL_HTTP_H
#define VIGIL_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vigil/base.h>
#include <vigil/cancel.h>
#include <vigil/io.h>
#include <vigil/loop.h>
#include <vigil/promise.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A piece of a head: not ended by a zero. at is NULL if there is none. */
typedef struct vigil_http_text {
    const char *at;
    size_t length;
} vigil_http_text;

/* A field that you send. Both are texts that end with a zero. */
typedef struct vigil_http_field {
    const char *name;
    const char *value;
} vigil_http_field;

/* Bytes that were collected: the body of a request. */
typedef struct vigil_http_bytes {
    size_t length;
    const char *data; /* a zero follows the last byte */
} vigil_http_bytes;

/* Whether the text is exactly `word`, without regard to the case of letters. Any thread; does not
   block. Returns true if so. */
VIGIL_API bool vigil_http_text_is(vigil_http_text text, const char *word);

/* ---- server ---------------------------------------------------------------------------------- */

typedef struct vigil_http_server vigil_http_server;
typedef struct vigil_http_request vigil_http_request;

/* A request has come; its head is complete. */
typedef void (*vigil_http_fn)(vigil_http_request *request, void *user);

/* Start from VIGIL_HTTP_SERVER_OPTIONS_INIT. Times: 0 is the default, negative is no limit. */
typedef struct vigil_http_server_options {
    size_t size;
    vigil_http_fn on_request; /* must be set */
    void *user;
    unsigned most_connections; /* more wait in the backlog; 0: no bound */
    unsigned most_requests;    /* waiting for their answer; more get 503. 0: no bound */
    unsigned fields;           /* of one head; 0: 100. The most is 128 */
    size_t head_bytes;         /* 0: 16 KiB; the most is 64 KiB */
    size_t target_bytes;       /* 0: 8 KiB */
    uint64_t body_bytes;       /* 0: 1 MiB */
    size_t high_water; /* more unsent bytes than this: vigil_http_send answers 1. 0: 64 KiB */
    int64_t head_ns;   /* from the first byte of a head to its last; 0: 10 s */
    int64_t body_ns;   /* between two pieces of a body that somebody waits for; 0: 30 s */
    int64_t idle_ns;   /* between requests; 0: 60 s */
    int64_t send_ns;   /* until the client has taken what waits; 0: 60 s */
    int backlog;       /* of the listener; 0: the system's most */
    bool reuse_port;   /* of the listener */
    bool tunnels; /* CONNECT is given to on_request too, see vigil_http_upgrade. Else it is 501 */
    /* Owner: accept(2) failed, see vigil_listener_options. May be NULL */
    void (*on_error)(vigil_http_server *server, int error, void *user);
} vigil_http_server_options;
#define VIGIL_HTTP_SERVER_OPTIONS_INIT VG_SIZED(vigil_http_server_options)

/* Serve at an address; address NULL: no listener, streams come by vigil_http_server_serve. Keeps
   the loop alive while it listens. Owner; does not block.
   0; -EINVAL; -ENOMEM; and what vigil_listener_open answers. */
VIGIL_API int vigil_http_server_open(vigil_http_server **server, vigil_loop *loop,
                                     const vigil_address *address,
                                     const vigil_http_server_options *options);

/* Where it listens. Owner; does not block.
   0; -EINVAL; -ENOTCONN it has no listener. */
VIGIL_API int vigil_http_server_address(const vigil_http_server *server, vigil_address *address);

/* Serve one more stream, from wherever it came. It is the server's from here on. Owner; does not
   block.
   0; -EINVAL; -ENOMEM; -ESHUTDOWN; -EPERM; -EBUSY somebody reads from it: it is still yours. */
VIGIL_API int vigil_http_server_serve(vigil_http_server *server, vigil_stream *stream);

/* End gracefully: stop to listen, close idle connections, let the requests that have begun finish,
   and reset what is left after timeout_ns. *promise (may be NULL) is fulfilled with the number of
   connections that were reset (VIGIL_INT). Then vigil_http_server_close is still needed. Owner;
   does not block.
   0; -EINVAL; -EALREADY; -ENOMEM; -EPERM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_http_finish(vigil_http_server *server, int64_t timeout_ns,
                                        vigil_promise **promise);

/* Stop to listen, reset every connection, and give the server back, before its loop is destroyed.
   Requests that are still yours stay so until you end them. NULL is allowed. Owner; does not
   block.
   0; -EPERM another thread runs the loop. */
VIGIL_API int vigil_http_server_close(vigil_http_server *server);

typedef struct vigil_http_server_stats {
    size_t size;
    uint64_t connections; /* accepted */
    uint64_t open;        /* connections that are open now */
    uint64_t requests;    /* given to on_request */
    uint64_t waiting;     /* given, and not answered yet */
    uint64_t refused;     /* answered with an error by the server itself */
} vigil_http_server_stats;
#define VIGIL_HTTP_SERVER_STATS_INIT VG_SIZED(vigil_http_server_stats)

/* Fill *stats, which starts from VIGIL_HTTP_SERVER_STATS_INIT. Owner; does not block.
   0; -EINVAL. */
VIGIL_API int vigil_http_server_stats_get(const vigil_http_server *server,
                                          vigil_http_server_stats *stats);

/* ---- a request: its head --------------------------------------------------------------------- */

/* The method: "GET". Owner; does not block. Returns a static text. */
VIGIL_API const char *vigil_http_method(const vigil_http_request *request);

/* The target as it came: "/a%20b?c=d". Owner; does not block. Returns the text, valid as long as
   the request. */
VIGIL_API vigil_http_text vigil_http_target(const vigil_http_request *request);

/* The target up to '?', not decoded. Owner; does not block. Returns the text, valid as long as
   the request. */
VIGIL_API vigil_http_text vigil_http_path(const vigil_http_request *request);

/* What is behind '?'; at is NULL without one. Owner; does not block. Returns the text, valid as
   long as the request. */
VIGIL_API vigil_http_text vigil_http_query(const vigil_http_request *request);

/* The value of the first field by this name; at is NULL if there is none. Owner; does not block.
   Returns the text, valid as long as the request. */
VIGIL_API vigil_http_text vigil_http_header(const vigil_http_request *request, const char *name);

/* The field at `index`, counted from 0, in the order in which they came. Owner; does not block.
   0; -ENOENT there are not so many. */
VIGIL_API int vigil_http_header_at(const vigil_http_request *request, size_t index,
                                   vigil_http_text *name, vigil_http_text *value);

/* The value of the first trailer by this name: of a field behind a body in chunks. at is NULL if
   there is none, and before the body is complete. Those that frame or route a message, say who
   sends it or how its content is to be read are dropped. Owner; does not block. Returns the text,
   valid as long as the request. */
VIGIL_API vigil_http_text vigil_http_trailer(const vigil_http_request *request, const char *name);

/* The trailer at `index`, counted from 0, in the order in which they came. Owner; does not block.
   0; -ENOENT there are not so many, or the body is not complete. */
VIGIL_API int vigil_http_trailer_at(const vigil_http_request *request, size_t index,
                                    vigil_http_text *name, vigil_http_text *value);

/* How many bytes the body has: 0 without one. Owner; does not block. Returns the length; -1
   unknown before its end, because it comes in chunks. */
VIGIL_API int64_t vigil_http_length(const vigil_http_request *request);

/* The client's address. Owner; does not block.
   0; -EINVAL; -ENOTCONN; -ENOTSOCK; -EBADF it has gone. */
VIGIL_API int vigil_http_peer(const vigil_http_request *request, vigil_address *address);

/* The loop that it came on. Owner; does not block. Returns the loop. */
VIGIL_API vigil_loop *vigil_http_loop(const vigil_http_request *request);

/* ---- a request: its body --------------------------------------------------------------------- */

/* data: `length` bytes, valid during the call. length 0: the body is complete, data is NULL;
   negative: it will not be complete (-EMSGSIZE, -ETIMEDOUT, -EBADMSG, -ECONNRESET ...), and the
   request is to be ended, with vigil_http_reset for one. Nothing comes after either. */
typedef void (*vigil_http_body_fn)(vigil_http_request *request, const void *data, int64_t length,
                                   void *arg);

/* Call fn for everything that comes of the body. fn NULL: not now; then nothing is read, and the
   client has to wait. The first call sends "100 Continue" to a client that asks for it. A body
   that nobody has read when the answer is complete is thrown away if it is short; otherwise the
   connection ends. Owner; does not block.
   0; -EINVAL; -EALREADY the body has ended, or has failed. */
VIGIL_API int vigil_http_on_body(vigil_http_request *request, vigil_http_body_fn fn, void *arg);

/* The whole body, at most `most` bytes: a promise for a vigil_http_bytes (VIGIL_POINTER), rejected
   with -EMSGSIZE if it is longer, and as vigil_http_body_fn says. Owner; does not block.
   0; -EINVAL; -EALREADY; -EBUSY somebody reads it; -ENOMEM; -ECANCELED; -EPERM; -ESHUTDOWN;
   -ECHILD. */
VIGIL_API int vigil_promise_http_body(vigil_http_request *request, size_t most,
                                      vigil_cancel_token *token, vigil_promise **promise);

/* Call fn(arg) when the client goes before the answer is complete, or the connection fails. The
   request is still to be ended. fn NULL: not any more. Owner; does not block.
   0; -EINVAL; -EALREADY it has gone. */
VIGIL_API int vigil_http_on_gone(vigil_http_request *request, vigil_call_fn fn, void *arg);

/* ---- the answer ------------------------------------------------------------------------------ */

/* Answer with a status, fields and a body; all are copied. Fields about the framing (connection,
   content-length, transfer-encoding, date) are the library's and refused. To HEAD, and with 204
   and 304, the body is not sent. The request is over if the answer is 0 or -EPIPE, and still
   yours otherwise. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EALREADY an answer was started; -EPIPE the client has gone. */
VIGIL_API int vigil_http_answer(vigil_http_request *request, int status,
                                const vigil_http_field *fields, size_t count, const void *body,
                                size_t length);

/* The same with a text as the body, and its type: "text/plain". Owner; does not block.
   0; -EINVAL; -ENOMEM; -EALREADY; -EPIPE. */
VIGIL_API int vigil_http_answer_text(vigil_http_request *request, int status, const char *type,
                                     const char *text);

/* Start an answer whose body follows with vigil_http_send. length: of the body; negative: not
   known, it is sent in chunks (to an HTTP/1.0 client until the connection ends). Owner; does not
   block.
   0; -EINVAL; -ENOMEM; -EALREADY; -EPIPE. */
VIGIL_API int vigil_http_start(vigil_http_request *request, int status,
                               const vigil_http_field *fields, size_t count, int64_t length);

/* Send a piece of the body; it is copied. Owner; does not block.
   0; 1 accepted, and more than high_water is unsent: wait for vigil_http_on_drained; -EINVAL no
   answer was started, or more than its length; -ENOMEM; -EPIPE the client has gone. */
VIGIL_API int vigil_http_send(vigil_http_request *request, const void *data, size_t length);

/* Call fn(arg) once, when most of what was sent has left; also if the client goes first. fn NULL:
   not any more. Owner; does not block.
   0; -EINVAL; -EBUSY somebody waits already. */
VIGIL_API int vigil_http_on_drained(vigil_http_request *request, vigil_call_fn fn, void *arg);

/* The same as a promise (VIGIL_NONE), rejected with -EPIPE if the client goes first. Owner; does
   not block.
   0; -EINVAL; -EBUSY; -ENOMEM; -ECANCELED; -EPERM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_http_drained(vigil_http_request *request, vigil_cancel_token *token,
                                         vigil_promise **promise);

/* The answer is complete. The request is over. If less was sent than its length, the connection
   is reset. Owner; does not block.
   0; -EINVAL no answer was started, and the request is not over; -ENODATA bytes are missing; -EPIPE
   the client has gone. */
VIGIL_API int vigil_http_end(vigil_http_request *request);

/* The same with trailers, fields behind a body in chunks: a sum of it, for one. Not sent where the
   body is not, or is not in chunks because the client speaks HTTP/1.0. Those that frame or route a
   message, say who sends it or how its content is to be read are refused. The request is still
   yours if the answer is -EINVAL or -ENOMEM. Owner; does not block.
   0; -EINVAL, also if the answer has a length; -ENOMEM; -ENODATA; -EPIPE. */
VIGIL_API int vigil_http_end_trailers(vigil_http_request *request, const vigil_http_field *trailers,
                                      size_t count);

/* End the request without an answer, or in the midst of one: the connection is reset. Owner; does
   not block.
   0; -EINVAL. */
VIGIL_API int vigil_http_reset(vigil_http_request *request);

/* ---- other protocols ------------------------------------------------------------------------- */

/* Whether the client asks to go on with this protocol ("websocket"): HTTP/1.1, and the fields
   connection and upgrade say it. Such a request need not be taken; it is answered as any other.
   Owner; does not block. Returns true if so. */
VIGIL_API bool vigil_http_asks_upgrade(const vigil_http_request *request, const char *protocol);

/* End HTTP on this connection and take its stream: answer 101 with this protocol and these fields,
   or, to CONNECT, 200 (protocol NULL). *rest: what has come behind the request, and belongs to the
   new protocol; at is NULL if nothing has. It is valid until your function returns to the loop;
   what comes later is read from the stream. The stream is yours: the server does not count it, has
   no limit of time for it but send_ns after vigil_stream_close, and neither
   vigil_promise_http_finish nor vigil_http_server_close waits for it or closes it. Close it
   yourself before the loop ends. Only most_connections goes on to count it until it is closed.
   The request is over if the answer is 0 or -EPIPE, and still yours otherwise. To CONNECT,
   vigil_http_answer and vigil_http_start refuse a status below 300, and the connection ends with
   their answer. Owner; does not block.
   0; -EINVAL, also if the client does not ask for it; -EALREADY an answer was started; -EBUSY the
   request has a body, which is to be read to its end first; -ENOMEM; -ESHUTDOWN; -EPIPE the client
   has gone. */
VIGIL_API int vigil_http_upgrade(vigil_http_request *request, const char *protocol,
                                 const vigil_http_field *fields, size_t count,
                                 vigil_http_text *rest, vigil_stream **stream);

/* ---- client ---------------------------------------------------------------------------------- */

typedef struct vigil_http_client vigil_http_client;

/* Start from VIGIL_HTTP_CLIENT_OPTIONS_INIT. */
typedef struct vigil_http_client_options {
    size_t size;
    unsigned most_per_host; /* connections to one host and port; further calls wait. 0: 8 */
    unsigned most_idle;     /* connections that are kept for later, of all hosts. 0: 64 */
    int64_t idle_ns;        /* how long they are kept; 0: 30 s, negative: no limit */
    int64_t connect_ns;     /* limit of one connection's making; 0: 10 s, negative: no limit */
    size_t head_bytes;      /* of an answer; 0: 32 KiB; the most is 64 KiB */
    /* Make a stream to a host that is a name, or for https. *promise is fulfilled as that of
       vigil_promise_connect is. NULL: only addresses ("http://127.0.0.1:80/") can be asked */
    int (*connect)(vigil_loop *loop, const char *host, unsigned port, bool secure, void *user,
                   vigil_promise **promise);
    void *user; /* of connect */
} vigil_http_client_options;
#define VIGIL_HTTP_CLIENT_OPTIONS_INIT VG_SIZED(vigil_http_client_options)

/* Make a client: connections that are kept and used again. options may be NULL. A client does
   not keep the loop alive; its calls do. Owner; does not block.
   0; -EINVAL; -ENOMEM. */
VIGIL_API int vigil_http_client_create(vigil_http_client **client, vigil_loop *loop,
                                       const vigil_http_client_options *options);

/* Close every connection and give the client back, before its loop is destroyed. Calls that wait
   are rejected with -ECANCELED. Allowed inside the callbacks of the client and of its calls. NULL
   is allowed. Owner; does not block. Returns 0. */
VIGIL_API int vigil_http_client_destroy(vigil_http_client *client);

/* What came back. It belongs to the promise; vigil_value_move takes it, and vigil_value_destroy
   ends it then. */
typedef struct vigil_http_response vigil_http_response;

/* What to ask. Start from VIGIL_HTTP_CALL_INIT. Everything is copied. */
typedef struct vigil_http_call {
    size_t size;
    const char *method; /* NULL: "GET", or "POST" with a body */
    const char *url;    /* "http://host:port/path?query" */
    const vigil_http_field *fields;
    size_t count;
    const void *body;
    size_t length;
    /* Owner: give the next piece of the body, in place of `body`. *promise is fulfilled with a
       vigil_http_bytes (VIGIL_POINTER), whose bytes are copied, or with VIGIL_NONE at the end; if
       it is rejected, or the answer is negative, the call is; with -ECANCELED if nobody can settle
       it any more. Asked for one piece at a time, and
       not before the server takes them. Such a call is not repeated, and a redirect that asks for
       the body again is not followed. May be NULL */
    int (*next_body)(void *user, vigil_promise **promise);
    /* of next_body: of all pieces, more is -EMSGSIZE and less -ENODATA; negative: not known, it is
       sent in chunks. The _INIT macro says -1 */
    int64_t body_length;
    /* Owner: called when next_body has given the last piece, without body_length: fields behind
       the body. They are copied, and checked as by vigil_http_end_trailers. A negative answer
       rejects the call. May be NULL */
    int (*trailers)(void *user, const vigil_http_field **fields, size_t *count);
    size_t most_body;   /* of the answer; more is -EMSGSIZE. 0: 16 MiB */
    unsigned redirects; /* how many are followed; 0: none, the answer is given as it is */
    int64_t timeout_ns; /* for everything; the _INIT macro says VIGIL_FOREVER */
    /* Owner: a piece of the answer's body, in place of collecting it; most_body is not looked at.
       May be NULL */
    void (*on_body)(vigil_http_response *response, const void *data, size_t length, void *user);
    void *user; /* of on_body, next_body and trailers */
    /* Protocols to go on with: "websocket", or "a, b/2" by preference. If the server takes one of
       them the status is 101, and vigil_http_response_take has the stream. If not, the answer is
       as any other. Without a body. May be NULL */
    const char *upgrade;
    /* "host:port": CONNECT to it, by the proxy at url. If the status is 200 to 299,
       vigil_http_response_take has the stream. Without method, body and upgrade. May be NULL */
    const char *tunnel;
} vigil_http_call;
#ifdef __cplusplus
#define VIGIL_HTTP_CALL_INIT vg_http_call_init()
#else
#define VIGIL_HTTP_CALL_INIT                                                            \
    {                                                                                   \
        .size = sizeof(vigil_http_call), .body_length = -1, .timeout_ns = VIGIL_FOREVER \
    }
#endif

/* Make a call. *promise is fulfilled with a vigil_http_response (VIGIL_POINTER) when the answer is
   complete, whatever its status; rejected with the failure of the connection, -EBADMSG if the
   answer is not HTTP, or goes on with a protocol that was not offered, -EMSGSIZE, -ELOOP too many
   redirects, -ETIMEDOUT, or the token's status. If it is rejected the connection is not used
   again. A call that finds its kept connection closed is made once more on another one, if its
   method may be repeated. Keeps the loop alive. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EOPNOTSUPP the url needs options.connect; -ECANCELED; -EPERM;
   -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_http(vigil_http_client *client, const vigil_http_call *call,
                                 vigil_cancel_token *token, vigil_promise **promise);

/* The status: 200. Owner; does not block. Returns the number. */
VIGIL_API int vigil_http_response_status(const vigil_http_response *response);

/* The value of the first field by this name; at is NULL if there is none. Owner; does not block.
   Returns the text, valid as long as the response. */
VIGIL_API vigil_http_text vigil_http_response_header(const vigil_http_response *response,
                                                     const char *name);

/* The field at `index`, counted from 0. Owner; does not block.
   0; -ENOENT there are not so many. */
VIGIL_API int vigil_http_response_header_at(const vigil_http_response *response, size_t index,
                                            vigil_http_text *name, vigil_http_text *value);

/* The body; a zero follows the last byte. Owner; does not block. Returns the text, valid as long
   as the response. */
VIGIL_API vigil_http_text vigil_http_response_body(const vigil_http_response *response);

/* The value of the first trailer by this name, as vigil_http_trailer. Owner; does not block.
   Returns the text, valid as long as the response. */
VIGIL_API vigil_http_text vigil_http_response_trailer(const vigil_http_response *response,
                                                      const char *name);

/* The trailer at `index`, counted from 0. Owner; does not block.
   0; -ENOENT there are not so many. */
VIGIL_API int vigil_http_response_trailer_at(const vigil_http_response *response, size_t index,
                                             vigil_http_text *name, vigil_http_text *value);

/* Take the stream of an answer to call.upgrade or call.tunnel. vigil_http_response_body is what has
   come behind the head, and belongs to the new protocol. The stream is yours, and the client does
   not count it any more. A stream that nobody takes is closed with the response. Owner; does not
   block.
   0; -EINVAL; -ENOTCONN it has none, or it was taken before. */
VIGIL_API int vigil_http_response_take(vigil_http_response *response, vigil_stream **stream);

typedef struct vigil_http_client_stats {
    size_t size;
    uint64_t calls;       /* made */
    uint64_t connections; /* made */
    uint64_t open, idle;  /* connections now; idle ones are kept for later */
    uint64_t waiting;     /* calls that wait for a connection */
} vigil_http_client_stats;
#define VIGIL_HTTP_CLIENT_STATS_INIT VG_SIZED(vigil_http_client_stats)

/* Fill *stats, which starts from VIGIL_HTTP_CLIENT_STATS_INIT. Owner; does not block.
   0; -EINVAL. */
VIGIL_API int vigil_http_client_stats_get(const vigil_http_client *client,
                                          vigil_http_client_stats *stats);

#ifdef __cplusplus
}

inline vigil_http_call vg_http_call_init()
{
    vigil_http_call it = vg_sized<vigil_http_call>();
    it.body_length = -1;
    it.timeout_ns = VIGIL_FOREVER;
    return it;
}
#endif
#endif
