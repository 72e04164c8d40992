/* SPDX-License-Identifier: MIT */
/*
 * A port scanner for this machine: which TCP ports of 127.0.0.1 accept a connection? It never leaves the loopback.
 *
 * Each port is one asynchronous function (vigil/async.h): connect, wait until the socket is writable or its time is up, look
 * at the outcome. A number of lanes walk through the ports at the same time. One token stops them all: Ctrl-C, the limit on
 * the whole scan, or --first, which is content with one open port.
 *
 *     scan [--first] [from [to]]          default: all ports
 *     scan --test                         opens three ports itself, and must find them
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vigil/async.h>

#define LANES    64
#define PORT_NS  UINT64_C(500000000)   /* how long one port may take */
#define WHOLE_NS UINT64_C(60000000000) /* and all of them */

/* ---- one port ------------------------------------------------------------------------------------------------------ */

struct probe {
    vigil_frame frame;
    struct sockaddr_in address;
    vigil_cancel_source *limit; /* the time for one port */
    vigil_cancel_source *both;  /* that, or the caller's token */
    int fd;
};

static void probe_steps(vigil_frame *frame)
{
    struct probe *self = (struct probe *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    self->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    VIGIL_TRY(frame, self->fd < 0 ? -errno : 0);
    if (connect(self->fd, (struct sockaddr *)&self->address, sizeof self->address) == 0)
        VIGIL_RETURN(frame, vigil_value_int(1));
    if (errno != EINPROGRESS)
        VIGIL_RETURN(frame, vigil_value_int(0));

    VIGIL_TRY(frame, vigil_cancel_create_timeout(&self->limit, frame->loop, PORT_NS));
    vigil_cancel_token *const tokens[] = {frame->token, vigil_cancel_token_of(self->limit)};
    VIGIL_TRY(frame, vigil_cancel_create_any(&self->both, tokens, 2));
    VIGIL_TRY_AWAIT(frame, vigil_promise_fd(frame->loop, self->fd, VIGIL_FD_WRITE, vigil_cancel_token_of(self->both),
                                            VIGIL_INTO(frame)));
    if (vigil_cancel_status(frame->token) == 0 && vigil_cancel_status(vigil_cancel_token_of(self->limit)) != 0)
        VIGIL_RETURN(frame, vigil_value_int(0)); /* somebody drops our packets: not open */
    VIGIL_TRY(frame, frame->status);
    int outcome = 0;
    socklen_t length = sizeof outcome;
    VIGIL_TRY(frame, getsockopt(self->fd, SOL_SOCKET, SO_ERROR, &outcome, &length) != 0 ? -errno : 0);
    VIGIL_RETURN(frame, vigil_value_int(outcome == 0));

    VIGIL_ASYNC_OUT(frame); /* whichever way we came: what was opened is closed, once */
    vigil_cancel_destroy(self->both);
    vigil_cancel_destroy(self->limit);
    if (self->fd >= 0)
        close(self->fd);
    VIGIL_ASYNC_END(frame);
}

/* Fulfilled with 1 if the port is open, with 0 if it is not. */
static int probe(vigil_loop *loop, uint16_t port, vigil_cancel_token *token, vigil_promise **promise)
{
    struct probe *self = vigil_frame_alloc(sizeof *self, loop, token);
    if (self == NULL)
        return -ENOMEM;
    self->fd = -1;
    self->address.sin_family = AF_INET;
    self->address.sin_port = htons(port);
    self->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return vigil_frame_start(&self->frame, probe_steps, promise);
}

/* ---- all of them --------------------------------------------------------------------------------------------------- */

struct scan {
    vigil_loop *loop;
    vigil_cancel_source *stop;
    unsigned next, last;
    unsigned looked_at, open;
    bool first;
};

struct lane {
    vigil_frame frame;
    struct scan *scan;
    unsigned port;
};

static void lane_steps(vigil_frame *frame)
{
    struct lane *self = (struct lane *)frame;
    struct scan *scan = self->scan;
    VIGIL_ASYNC_BEGIN(frame);
    while (scan->next <= scan->last) {
        self->port = scan->next++;
        VIGIL_AWAIT(frame, probe(frame->loop, (uint16_t)self->port, frame->token, VIGIL_INTO(frame)));
        scan->looked_at++;
        if (frame->value->integer != 1)
            continue;
        scan->open++;
        printf("%u is open\n", self->port);
        if (scan->first)
            (void)vigil_cancel_abort(scan->stop, -ECANCELED, "one is enough");
    }
    VIGIL_ASYNC_OUT(frame);
    VIGIL_ASYNC_END(frame);
}

static vigil_value all_ended(vigil_value *value, void *arg)
{
    struct scan *scan = arg;
    for (size_t i = 0; i < value->list->count; i++) {
        int status = value->list->items[i].status;
        if (status < 0 && status != vigil_cancel_status(vigil_cancel_token_of(scan->stop)))
            fprintf(stderr, "scan: a lane has failed: %s\n", vigil_strerror(status));
    }
    (void)vigil_cancel_abort(scan->stop, -ECANCELED, "done"); /* the signal and the limit are not needed any more */
    return vigil_value_none();
}

static vigil_value interrupted(vigil_value *value, void *arg)
{
    (void)value;
    (void)vigil_cancel_abort(((struct scan *)arg)->stop, -ECANCELED, "interrupted");
    return vigil_value_none();
}

static vigil_value too_long(vigil_value *value, void *arg)
{
    (void)value;
    (void)vigil_cancel_abort(((struct scan *)arg)->stop, -ETIMEDOUT, "the whole scan has taken too long");
    return vigil_value_none();
}

static vigil_value never_mind(vigil_value *value, void *arg)
{
    (void)value;
    (void)arg;
    return vigil_value_none();
}

static int begin(struct scan *scan)
{
    vigil_cancel_token *token = vigil_cancel_token_of(scan->stop);
    vigil_promise *lanes[LANES];
    size_t count = 0;
    vigil_promise *all = NULL;
    vigil_promise *event = NULL;
    int rc = 0;
    while (count < LANES && rc == 0) {
        struct lane *lane = vigil_frame_alloc(sizeof *lane, scan->loop, token);
        if (lane == NULL)
            return -ENOMEM;
        lane->scan = scan;
        rc = vigil_frame_start(&lane->frame, lane_steps, &lanes[count]);
        count += rc == 0;
    }
    if (rc == 0)
        rc = vigil_promise_all_settled(scan->loop, lanes, count, &all);
    vigil_promise_unref(vigil_promise_chain(all, all_ended, NULL, scan));
    while (count > 0)
        vigil_promise_unref(lanes[--count]);
    if (rc == 0)
        rc = vigil_promise_signal(scan->loop, SIGINT, token, &event);
    if (rc == 0)
        vigil_promise_unref(vigil_promise_chain(event, interrupted, never_mind, scan));
    if (rc == 0)
        rc = vigil_promise_sleep(scan->loop, WHOLE_NS, token, &event);
    if (rc == 0)
        vigil_promise_unref(vigil_promise_chain(event, too_long, never_mind, scan));
    return rc == -ECANCELED ? 0 : rc; /* so fast that there is nothing to limit any more */
}

static int run(struct scan *scan)
{
    int rc = vigil_loop_create(&scan->loop, NULL);
    if (rc == 0)
        rc = vigil_cancel_create(&scan->stop);
    if (rc == 0)
        rc = begin(scan);
    if (rc == 0)
        rc = vigil_loop_run(scan->loop, VIGIL_RUN);
    if (rc < 0)
        fprintf(stderr, "scan: %s\n", vigil_strerror(rc));
    else if (strcmp(vigil_cancel_text(vigil_cancel_token_of(scan->stop)), "done") != 0)
        printf("stopped: %s\n", vigil_cancel_text(vigil_cancel_token_of(scan->stop)));
    printf("%u ports looked at, %u open\n", scan->looked_at, scan->open);
    (void)vigil_loop_destroy(scan->loop);
    vigil_cancel_destroy(scan->stop);
    return rc;
}

/* ---- with ports of our own -------------------------------------------------------------------------------------------- */

static int open_port(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) != 0 || listen(fd, 16) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0) {
        perror("scan: cannot open a port");
        exit(1);
    }
    *port = ntohs(address.sin_port);
    return fd;
}

static int test(void)
{
    uint16_t port[3];
    int fd[3];
    unsigned least = 65535;
    unsigned most = 0;
    for (int i = 0; i < 3; i++) {
        fd[i] = open_port(&port[i]);
        least = port[i] < least ? port[i] : least;
        most = port[i] > most ? port[i] : most;
    }
    struct scan all = {.next = least, .last = most};
    struct scan one = {.next = least, .last = 65535, .first = true};
    int failed = run(&all) < 0 || all.looked_at != most - least + 1 || all.open < 3;
    failed = run(&one) < 0 || one.open < 1 || one.looked_at > 65535 - least || failed;
    for (int i = 0; i < 3; i++)
        close(fd[i]);
    return failed;
}

int main(int argc, char **argv)
{
    struct scan scan = {.next = 1, .last = 65535};
    if (argc == 2 && strcmp(argv[1], "--test") == 0)
        return test();
    if (argc > 1 && strcmp(argv[1], "--first") == 0) {
        scan.first = true;
        argc--;
        argv++;
    }
    if (argc > 1)
        scan.next = scan.last = (unsigned)strtoul(argv[1], NULL, 10);
    if (argc > 2)
        scan.last = (unsigned)strtoul(argv[2], NULL, 10);
    if (argc > 3 || scan.next < 1 || scan.last > 65535 || scan.next > scan.last) {
        fprintf(stderr, "usage: scan [--first] [from [to]], with ports from 1 to 65535\n");
        return 2;
    }
    return run(&scan) < 0;
}
