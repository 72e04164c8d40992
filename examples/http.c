/* SPDX-License-Identifier: MIT */
/*
 * An HTTP server: the loop speaks HTTP (through libmicrohttpd, whose epoll descriptor is one more that the loop watches), and
 * whatever would block or take long goes to the pool, with a priority. The connection sleeps during that time, not the loop.
 *
 *     GET /              answered on the loop
 *     GET /primes/N      counts the primes below N on a worker, LOW above a million: long ones do not hold up short ones
 *
 *     http 8080          serves until Ctrl-C
 *     http               asks itself a few things, over the loopback, and ends
 */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vigil/loop.h>
#include <vigil/pool.h>

struct server {
    vigil_loop *loop;
    vigil_pool *pool;
    struct MHD_Daemon *http;
    vigil_watch watch;
    vigil_timer timer;
};

/* One question that is worked on. */
struct question {
    vigil_task task;
    vigil_post post;
    struct server *server;
    struct MHD_Connection *connection;
    unsigned long below;
    unsigned long primes;
    bool answered;
    bool refused;
};

#define question_of(pointer, member) ((struct question *)(void *)((char *)(pointer)-offsetof(struct question, member)))

/* ---- libmicrohttpd on our loop ----------------------------------------------------------------------------------- */

static void http_timeout(vigil_loop *loop, vigil_timer timer, void *arg);

/* Let it do what it can, then ask how long it may be left alone. */
static void http_turn(struct server *server)
{
    MHD_UNSIGNED_LONG_LONG ms;
    (void)MHD_run(server->http);
    (void)vigil_timer_cancel(server->loop, server->timer);
    if (MHD_get_timeout(server->http, &ms) == MHD_YES)
        (void)vigil_timer_start(server->loop, (int64_t)ms * 1000000, http_timeout, server, &server->timer);
}

static void http_timeout(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)loop;
    (void)timer;
    http_turn(arg);
}

static void http_ready(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)loop;
    (void)watch;
    (void)fd;
    (void)events;
    http_turn(arg);
}

static enum MHD_Result say(struct MHD_Connection *connection, unsigned code, const char *text)
{
    /* The older call is meant: it is there in every version, and takes the text as it is. */
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    if (response == NULL)
        return MHD_NO;
    enum MHD_Result queued = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return queued;
}

/* ---- work ---------------------------------------------------------------------------------------------------------- */

/* On a worker. */
static int count_primes(vigil_task *task)
{
    struct question *question = question_of(task, task);
    for (unsigned long n = 2; n < question->below; n++) {
        bool prime = true;
        for (unsigned long d = 2; d * d <= n && prime; d++)
            prime = n % d != 0;
        question->primes += prime;
    }
    return vigil_loop_post_internal(question->server->loop, &question->post);
}

/* The pool was stopped before. */
static void not_counted(vigil_task *task)
{
    struct question *question = question_of(task, task);
    question->refused = true;
    (void)vigil_loop_post_internal(question->server->loop, &question->post);
}

/* On the loop: the connection wakes up, and its handler is called again. */
static void counted(vigil_post *post)
{
    struct question *question = question_of(post, post);
    question->answered = true;
    MHD_resume_connection(question->connection);
    http_turn(question->server);
}

/* The signature is libmicrohttpd's. */
// NOLINTBEGIN(readability-non-const-parameter)
static enum MHD_Result handle(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **state)
// NOLINTEND(readability-non-const-parameter)
{
    (void)version;
    (void)upload;
    struct server *server = arg;
    struct question *question = *state;
    char text[96];
    if (question != NULL && question->answered) {
        if (question->refused)
            return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "the server is going down\n");
        (void)snprintf(text, sizeof text, "%lu primes below %lu\n", question->primes, question->below);
        return say(connection, MHD_HTTP_OK, text);
    }
    if (strcmp(method, "GET") != 0 || *upload_size != 0)
        return say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "this server can only be asked: use GET\n");
    if (strcmp(url, "/") == 0)
        return say(connection, MHD_HTTP_OK, "ask for /primes/1000\n");
    if (strncmp(url, "/primes/", 8) != 0)
        return say(connection, MHD_HTTP_NOT_FOUND, "there is / and /primes/N\n");
    question = calloc(1, sizeof *question);
    if (question == NULL)
        return MHD_NO;
    *state = question;
    question->server = server;
    question->connection = connection;
    question->below = strtoul(url + 8, NULL, 10);
    vigil_task_init(&question->task, count_primes, not_counted);
    vigil_post_init(&question->post, counted, counted);
    MHD_suspend_connection(connection);
    if (vigil_pool_submit(server->pool, &question->task, question->below > 1000000 ? VIGIL_LOW : VIGIL_NORMAL) < 0) {
        MHD_resume_connection(connection);
        question->answered = question->refused = true;
    }
    return MHD_YES;
}

static void completed(void *arg, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode why)
{
    (void)arg;
    (void)connection;
    (void)why;
    free(*state);
}

static void interrupted(vigil_loop *loop, vigil_signal signal, const vigil_signal_info *info, void *arg)
{
    (void)signal;
    (void)info;
    (void)arg;
    (void)vigil_loop_pause(loop);
}

/* ---- the other side -------------------------------------------------------------------------------------------------- */

struct client {
    vigil_loop *loop;
    uint16_t port;
    int good;
};

static bool ask(uint16_t port, const char *url, const char *expected)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char text[1024];
    size_t length = 0;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0)
        return false;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
        int asked = snprintf(text, sizeof text, "GET %s HTTP/1.0\r\n\r\n", url);
        ssize_t got = send(fd, text, (size_t)asked, MSG_NOSIGNAL);
        while (got > 0 && length < sizeof text - 1) {
            got = recv(fd, text + length, sizeof text - 1 - length, 0);
            length += got > 0 ? (size_t)got : 0;
        }
    }
    close(fd);
    text[length] = '\0';
    return strstr(text, expected) != NULL;
}

static void *talk(void *arg)
{
    struct client *client = arg;
    for (int i = 0; i < 20; i++)
        client->good += ask(client->port, "/primes/10000", "1229 primes below 10000");
    client->good += ask(client->port, "/", "ask for /primes/1000");
    client->good += ask(client->port, "/elsewhere", "404");
    (void)vigil_loop_pause(client->loop);
    return NULL;
}

int main(int argc, char **argv)
{
    struct server server = {0};
    struct client client = {0};
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(argc > 1 ? (uint16_t)atoi(argv[1]) : 0),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int rc = vigil_loop_create(&server.loop, NULL);
    if (rc == 0)
        rc = vigil_signal_add(server.loop, SIGINT, interrupted, NULL, NULL);
    if (rc == 0)
        rc = vigil_pool_create(&server.pool, NULL);
    if (rc < 0) {
        fprintf(stderr, "http: %s\n", vigil_strerror(rc));
        return 1;
    }
    server.http =
        MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL, handle, &server,
                         MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_NOTIFY_COMPLETED, completed, NULL, MHD_OPTION_END);
    if (server.http == NULL) {
        fprintf(stderr, "http: cannot serve on port %u; is somebody else there?\n", ntohs(address.sin_port));
        (void)vigil_pool_destroy(server.pool);
        (void)vigil_loop_destroy(server.loop);
        return 1;
    }
    int fd = MHD_get_daemon_info(server.http, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    client.port = MHD_get_daemon_info(server.http, MHD_DAEMON_INFO_BIND_PORT)->port;
    client.loop = server.loop;
    rc = vigil_watch_add(server.loop, fd, VIGIL_FD_READ, 0, http_ready, NULL, &server, &server.watch);
    printf("http://127.0.0.1:%u/\n", client.port);
    fflush(stdout);
    pthread_t thread;
    bool alone = argc <= 1 && pthread_create(&thread, NULL, talk, &client) == 0;
    if (rc == 0)
        rc = vigil_loop_run(server.loop, VIGIL_RUN);

    /* The end: nothing new is listened for, what is on the pool finishes, and its answers go out before the sockets close. */
    if (alone)
        pthread_join(thread, NULL);
    (void)MHD_quiesce_daemon(server.http);
    (void)vigil_pool_shutdown(server.pool, VIGIL_FOREVER);
    (void)vigil_loop_run(server.loop, VIGIL_RUN_NOWAIT);
    (void)vigil_watch_remove(server.loop, server.watch);
    MHD_stop_daemon(server.http);
    (void)vigil_pool_destroy(server.pool);
    (void)vigil_loop_destroy(server.loop);
    if (alone)
        printf("%d of 22 answers were right\n", client.good);
    return rc >= 0 && (!alone || client.good == 22) ? 0 : 1;
}
