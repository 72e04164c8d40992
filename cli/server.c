/* SPDX-License-Identifier: MIT */
/*
 * The library keeps its sockets in an epoll descriptor of its own. Our loop watches that descriptor, and after each
 * poll gives the library a turn (MHD_run); before each poll it asks the library how long it may wait. So there is one
 * thread, and no lock.
 *
 * A reader of /events is a connection whose answer never ends. While it has nothing to send it is suspended; a timer
 * makes a sample, hands it to every reader that has sent its last one whole, and resumes them. A slow reader gets fewer
 * samples, never old ones, and costs one buffer. Without readers there are no samples and no wake-ups.
 */
#define _GNU_SOURCE
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <json.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "asset.h"
#include "command.h"
#include "examiner.h"
#include "history.h"
#include "machine.h"
#include "metrics.h"
#include "reader/process.h"
#include "say.h"
#include "trace.h"
#include "view_json.h"

enum {
    SAMPLE_NS = 200000000,
    IDLE_SECONDS = 5, /* until a connection that asks nothing is closed; readers of /events are not idle */
    LEAST_CONNECTIONS = 64,
    MOST_CONNECTIONS = 65536
};

struct reader {
    struct reader *next;
    struct server *server;
    struct MHD_Connection *connection;
    char *text; /* what is being sent */
    size_t size, sent;
    bool suspended;
};

struct server {
    vigil_loop *loop;
    struct look *look; /* NULL: a page about processes without Vigil */
    pid_t patient;     /* then: the one to begin with; 0: none */
    struct MHD_Daemon *daemon;
    struct reader *readers;
    vigil_watch watch;
    vigil_hook hook;
    vigil_timer timer;
    struct examiner *examiner;
    struct queues *queues; /* of jobs; may be NULL */
    bool sampling, closing, any_host;
    char *token;
    char cookie[32]; /* its name: cookies of all ports of a host are one set */
    char url[256];
};

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *type,
                              struct MHD_Response *response)
{
    if (response == NULL)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, "Content-Security-Policy",
                            "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
                            "frame-ancestors 'none'; base-uri 'none'; form-action 'none'");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned status, const char *text)
{
    return answer(connection, status, "text/plain; charset=utf-8",
                  MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY));
}

/* What `write` prints, as an answer. */
static enum MHD_Result answer_printed(struct server *server, struct MHD_Connection *connection, const char *type,
                                      void (*write)(FILE *, struct server *))
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    look_again(server->look); /* if it cannot be read now, the last look is the answer */
    if (memory != NULL)
        write(memory, server);
    if (memory == NULL || fclose(memory) != 0) {
        free(text);
        return answer_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "There is not enough memory.\n");
    }
    return answer(connection, MHD_HTTP_OK, type, MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE));
}

static void write_metrics(FILE *to, struct server *server)
{
    json_object *queues = queues_json(server->queues, QUEUES_WAIT_MS);
    metrics_write(to, server->look->now);
    queues_metrics(to, queues);
    json_object_put(queues);
}

static void write_report(FILE *to, struct server *server)
{
    json_object *view = view_json(server->look, false), *queues = queues_json(server->queues, QUEUES_WAIT_MS);
    if (view != NULL && queues != NULL)
        json_object_object_add(view, "queues", queues);
    else
        json_object_put(queues);
    if (view != NULL)
        fputs(json_object_to_json_string_ext(view, JSON_C_TO_STRING_PRETTY), to);
    json_object_put(view);
}

static void write_history(FILE *to, struct server *server)
{
    json_object *history = history_json(server->look);
    if (history != NULL)
        fputs(json_object_to_json_string_ext(history, JSON_C_TO_STRING_PLAIN), to);
    json_object_put(history);
}

static void write_trace(FILE *to, struct server *server)
{
    struct trace_summary summary;
    trace_write(to, server->look, &summary);
}

/* ---- the stream -------------------------------------------------------------------------------------------------- */

static char *sample_text(struct server *server, size_t *size)
{
    json_object *view = view_json(server->look, true), *queues = queues_json(server->queues, 0);
    if (view != NULL && queues != NULL)
        json_object_object_add(view, "queues", queues);
    else
        json_object_put(queues);
    const char *json = view != NULL ? json_object_to_json_string_ext(view, JSON_C_TO_STRING_PLAIN) : NULL;
    char *text = NULL;
    int length = json != NULL ? asprintf(&text, "event: sample\ndata: %s\n\n", json) : -1;
    json_object_put(view);
    *size = length > 0 ? (size_t)length : 0;
    return length > 0 ? text : NULL;
}

static void sample(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)loop;
    struct server *server = arg;
    if (server->readers == NULL) {
        vigil_timer_cancel(server->loop, timer);
        server->sampling = false;
        return;
    }
    look_again(server->look);
    size_t size;
    char *text = sample_text(server, &size);
    for (struct reader *r = server->readers; r != NULL && text != NULL; r = r->next) {
        char *copy;
        if (r->sent < r->size || (copy = malloc(size)) == NULL)
            continue;
        memcpy(copy, text, size);
        free(r->text);
        r->text = copy;
        r->size = size;
        r->sent = 0;
        if (r->suspended) {
            r->suspended = false;
            MHD_resume_connection(r->connection);
        }
    }
    free(text);
    MHD_run(server->daemon);
}

static ssize_t read_stream(void *arg, uint64_t position, char *room, size_t most)
{
    (void)position;
    struct reader *r = arg;
    if (r->server->closing)
        return MHD_CONTENT_READER_END_OF_STREAM;
    size_t left = r->size - r->sent;
    if (left == 0) {
        if (!r->suspended) {
            r->suspended = true;
            MHD_suspend_connection(r->connection);
        }
        return 0;
    }
    size_t take = left < most ? left : most;
    memcpy(room, r->text + r->sent, take);
    r->sent += take;
    return (ssize_t)take;
}

static void end_stream(void *arg)
{
    struct reader *r = arg;
    for (struct reader **at = &r->server->readers; *at != NULL; at = &(*at)->next)
        if (*at == r) {
            *at = r->next;
            break;
        }
    free(r->text);
    free(r);
}

static enum MHD_Result begin_stream(struct server *server, struct MHD_Connection *connection)
{
    struct reader *r = calloc(1, sizeof *r);
    if (r == NULL)
        return MHD_NO;
    r->server = server;
    r->connection = connection;
    r->text = strdup("retry: 1000\n\n");
    r->size = r->text != NULL ? strlen(r->text) : 0;
    r->next = server->readers;
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, read_stream, r, end_stream);
    if (response == NULL) {
        free(r->text);
        free(r);
        return MHD_NO;
    }
    server->readers = r;
    if (!server->sampling) {
        vigil_timer_options options = {.size = sizeof options, .delay_ns = SAMPLE_NS / 10, .interval_ns = SAMPLE_NS};
        server->sampling = vigil_timer_start_with(server->loop, &options, sample, server, &server->timer) == 0;
    }
    return answer(connection, MHD_HTTP_OK, "text/event-stream; charset=utf-8", response);
}

/* The process that the page is for; 0: none, or it cannot be seen from here. */
static pid_t chosen_process(const struct server *server)
{
    return server->look != NULL ? vg_reader_local_pid(server->look->reader) : server->patient;
}

static enum MHD_Result answer_machine(struct server *server, struct MHD_Connection *connection)
{
    json_object *o = machine_json(chosen_process(server), server->look != NULL);
    const char *text = o != NULL ? json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY) : NULL;
    enum MHD_Result result =
        text == NULL
            ? answer_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "There is not enough memory.\n")
            : answer(connection, MHD_HTTP_OK, "application/json",
                     MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY));
    json_object_put(o);
    return result;
}

/* What the doctor says. An examination takes a second: until it has ended, the page asks again. */
static enum MHD_Result answer_examination(struct server *server, struct MHD_Connection *connection)
{
    size_t size;
#ifndef VIGIL_HAVE_DOCTOR
    return answer_text(connection, MHD_HTTP_NOT_IMPLEMENTED, "This build has no doctor: libdw was missing.\n");
#endif
    const char *which = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "pid");
    pid_t pid = chosen_process(server);
    if (which != NULL) {
        char *end;
        const long number = strtol(which, &end, 10);
        pid = *end == '\0' && number > 0 && number <= INT32_MAX ? (pid_t)number : 0;
    }
    if (pid <= 0)
        return answer_text(connection, MHD_HTTP_BAD_REQUEST, "Say which process: doctor.json?pid=NUMBER.\n");
    if (!machine_may_examine(pid))
        return answer_text(connection, MHD_HTTP_FORBIDDEN,
                           "There is no such process, or it belongs to another user: run `vigil serve` as that user or "
                           "as root.\n");
    const char *text = examiner_ask(server->examiner, pid, &size);
    if (text == NULL)
        return answer_text(connection, MHD_HTTP_ACCEPTED, "The doctor is looking; ask again.\n");
    if (size == 0)
        return answer_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "The doctor could not look at it.\n");
    return answer(connection, MHD_HTTP_OK, "application/json",
                  MHD_create_response_from_buffer(size, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY));
}

/* ---- who may ask, and for what ----------------------------------------------------------------------------------- */

/* Takes the same time wherever the difference is. */
static bool same_secret(const char *a, const char *b)
{
    size_t la = strlen(a), lb = strlen(b);
    unsigned differs = la != lb;
    for (size_t i = 0; i < la && lb > 0; i++)
        differs |= (unsigned char)a[i] ^ (unsigned char)b[i % lb];
    return differs == 0;
}

static bool has_token(const struct server *server, struct MHD_Connection *connection)
{
    if (server->token == NULL)
        return true;
    const char *given = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token");
    const char *header = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
    if (header != NULL && strncasecmp(header, "Bearer ", 7) == 0)
        given = header + 7;
    if (given == NULL)
        given = MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, server->cookie);
    return given != NULL && same_secret(given, server->token);
}

/* A page elsewhere can make a browser ask us under a name of its own; our own page asks under these. */
static bool is_own_name(const struct server *server, struct MHD_Connection *connection)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    if (server->any_host || host == NULL)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t length = strlen(names[i]);
        if (strncasecmp(host, names[i], length) == 0 && (host[length] == ':' || host[length] == '\0'))
            return true;
    }
    return false;
}

static const struct asset *asset_at(const struct asset *table, const char *path)
{
    for (; table->path != NULL; table++)
        if (strcmp(path, table->path) == 0)
            return table;
    return NULL;
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **state)
{
    (void)version, (void)upload;
    static int seen;
    struct server *server = arg;
    if (*state == NULL) { /* the head has come; the answer follows when the whole request is here */
        *state = &seen;
        return MHD_YES;
    }
    if (*upload_size > 0) {
        *upload_size = 0;
        return MHD_YES;
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET is understood here.\n");
    if (!is_own_name(server, connection))
        return answer_text(connection, MHD_HTTP_FORBIDDEN,
                           "Ask for localhost or 127.0.0.1; other names are refused.\n");
    const struct asset *asset = asset_at(assets, url);
    if (asset == NULL)
        asset = asset_at(pages, url);
    /* The page's own files hold no secrets; what they show does. */
    if ((asset == NULL || strcmp(url, "/") == 0) && !has_token(server, connection))
        return answer_text(connection, MHD_HTTP_UNAUTHORIZED,
                           "A token is required: open the whole address that `vigil serve` printed.\n");
    if (asset != NULL) {
        struct MHD_Response *response =
            MHD_create_response_from_buffer(asset->size, (void *)(uintptr_t)asset->bytes, MHD_RESPMEM_PERSISTENT);
        if (response != NULL && server->token != NULL && strcmp(url, "/") == 0) {
            char cookie[256];
            snprintf(cookie, sizeof cookie, "%s=%s; HttpOnly; SameSite=Strict; Path=/", server->cookie, server->token);
            MHD_add_response_header(response, "Set-Cookie", cookie);
        }
        return answer(connection, MHD_HTTP_OK, asset->type, response);
    }
    if (strcmp(url, "/doctor.json") == 0)
        return answer_examination(server, connection);
    if (strcmp(url, "/processes.json") == 0)
        return answer_machine(server, connection);
    if (server->look == NULL)
        return answer_text(
            connection, MHD_HTTP_NOT_FOUND,
            "There is no such page: the process has no Vigil inside. /doctor.json and /processes.json are "
            "there.\n");
    if (strcmp(url, "/events") == 0)
        return begin_stream(server, connection);
    if (strcmp(url, "/metrics") == 0)
        return answer_printed(server, connection, METRICS_CONTENT_TYPE, write_metrics);
    if (strcmp(url, "/report.json") == 0)
        return answer_printed(server, connection, "application/json", write_report);
    if (strcmp(url, "/history.json") == 0)
        return answer_printed(server, connection, "application/json", write_history);
    if (strcmp(url, "/trace.json") == 0)
        return answer_printed(server, connection, "application/json", write_trace);
    return answer_text(connection, MHD_HTTP_NOT_FOUND, "There is no such page. Start at /.\n");
}

/* ---- on the loop ------------------------------------------------------------------------------------------------- */

static int64_t before_poll(vigil_loop *loop, void *arg)
{
    (void)loop;
    struct server *server = arg;
    MHD_UNSIGNED_LONG_LONG ms;
    if (MHD_get_timeout(server->daemon, &ms) != MHD_YES)
        return -1;
    return ms > 3600000 ? -1 : (int64_t)ms * 1000000;
}

static void after_poll(vigil_loop *loop, void *arg)
{
    (void)loop;
    MHD_run(((struct server *)arg)->daemon);
}

/* Its being readable has ended the poll; after_poll does the work. */
static void readable(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)loop, (void)watch, (void)fd, (void)events, (void)arg;
}

/* ---- listening --------------------------------------------------------------------------------------------------- */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool read_address(const char *host, unsigned port, union address *address, socklen_t *size, bool *loopback)
{
    memset(address, 0, sizeof *address);
    if (strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    if (inet_pton(AF_INET, host, &address->v4.sin_addr) == 1) {
        address->v4.sin_family = AF_INET;
        address->v4.sin_port = htons((uint16_t)port);
        *size = sizeof address->v4;
        *loopback = ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
        return true;
    }
    if (inet_pton(AF_INET6, host, &address->v6.sin6_addr) == 1) {
        address->v6.sin6_family = AF_INET6;
        address->v6.sin6_port = htons((uint16_t)port);
        *size = sizeof address->v6;
        *loopback = IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
        return true;
    }
    return false;
}

static int listen_at(struct server *server, const struct server_options *options, bool quiet)
{
    union address address;
    socklen_t size;
    bool loopback;
    if (!read_address(options->host, options->port, &address, &size, &loopback)) {
        say_error("serve: '%s' is no address; give one like 127.0.0.1, ::1 or 0.0.0.0", options->host);
        return -1;
    }
    server->any_host = !loopback;
    int one = 1, fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (fd < 0 || bind(fd, &address.any, size) < 0 || listen(fd, 16) < 0) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        if (error == EADDRINUSE && !quiet)
            say_error("serve: port %u of %s is taken; choose another with --port, or --port 0 for any that is free",
                      options->port, options->host);
        else if (error == EACCES)
            say_error("serve: port %u is reserved for root; choose 1024 or higher with --port", options->port);
        else if (error != EADDRINUSE)
            say_error("serve: cannot listen at %s, port %u: %s", options->host, options->port, strerror(error));
        errno = error;
        return -1;
    }
    getsockname(fd, &address.any, &size);
    char text[INET6_ADDRSTRLEN] = "";
    bool v6 = address.any.sa_family == AF_INET6;
    inet_ntop(address.any.sa_family, v6 ? (void *)&address.v6.sin6_addr : (void *)&address.v4.sin_addr, text,
              sizeof text);
    snprintf(server->cookie, sizeof server->cookie, "vigil-%u", ntohs(v6 ? address.v6.sin6_port : address.v4.sin_port));
    snprintf(server->url, sizeof server->url, "http://%s%s%s:%u/%s%s", v6 ? "[" : "", text, v6 ? "]" : "",
             ntohs(v6 ? address.v6.sin6_port : address.v4.sin_port), server->token != NULL ? "?token=" : "",
             server->token != NULL ? server->token : "");
    return fd;
}

/* As many as there are descriptors for: idle connections of others must not shut our own page out. */
static unsigned connection_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return LEAST_CONNECTIONS;
    limit.rlim_cur = limit.rlim_max < MOST_CONNECTIONS ? limit.rlim_max : MOST_CONNECTIONS;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 && getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return LEAST_CONNECTIONS;
    return limit.rlim_cur > 2 * LEAST_CONNECTIONS ? (unsigned)limit.rlim_cur - LEAST_CONNECTIONS : LEAST_CONNECTIONS;
}

int server_create(struct server **result, vigil_loop *loop, struct look *look, const struct server_options *options,
                  bool quiet)
{
    struct server *server = calloc(1, sizeof *server);
    if (server == NULL || (options->token != NULL && (server->token = strdup(options->token)) == NULL)) {
        free(server);
        say_error("serve: there is not enough memory");
        return EXIT_FAILED;
    }
    server->loop = loop;
    server->look = look;
    server->patient = options->patient;
    server->queues = options->queues;
    server->examiner = examiner_create(loop);
    if (server->examiner == NULL) {
        say_error("serve: there is not enough memory");
        free(server->token);
        free(server);
        return EXIT_FAILED;
    }
    int fd = listen_at(server, options, quiet);
    if (fd < 0) {
        int error = errno;
        examiner_destroy(server->examiner);
        free(server->token);
        free(server);
        return error == EADDRINUSE && quiet ? -EADDRINUSE : EXIT_FAILED;
    }
    server->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, server,
                                      MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, connection_limit(),
                                      MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_END);
    const union MHD_DaemonInfo *info =
        server->daemon != NULL ? MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    vigil_hook_calls calls = {.size = sizeof calls, .prepare = before_poll, .check = after_poll};
    int error = info != NULL ? 0 : -EIO;
    if (error == 0)
        error = vigil_watch_add(loop, info->epoll_fd, VIGIL_FD_READ, 0, readable, NULL, server, &server->watch);
    if (error == 0)
        error = vigil_hook_add(loop, &calls, server, &server->hook);
    if (error < 0) {
        say_error("serve: the server does not start: %s", vigil_strerror(error));
        if (server->daemon == NULL)
            close(fd);
        server_destroy(server);
        return EXIT_FAILED;
    }
    *result = server;
    return 0;
}

const char *server_url(const struct server *server)
{
    return server->url;
}

void server_destroy(struct server *server)
{
    if (server == NULL)
        return;
    server->closing = true;
    if (server->hook.id != 0)
        vigil_hook_remove(server->loop, server->hook);
    if (server->watch.id != 0)
        vigil_watch_remove(server->loop, server->watch);
    if (server->sampling)
        vigil_timer_cancel(server->loop, server->timer);
    for (struct reader *r = server->readers; r != NULL; r = r->next)
        if (r->suspended) {
            r->suspended = false;
            MHD_resume_connection(r->connection);
        }
    if (server->daemon != NULL) {
        MHD_run(server->daemon);
        MHD_stop_daemon(server->daemon);
    }
    examiner_destroy(server->examiner);
    free(server->token);
    free(server);
}
