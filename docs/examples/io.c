/* SPDX-License-Identifier: MIT */
/* Examples of vigil/io.h, one for each function. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vigil/io.h>

/* vigil_address_init: read an address */
static void read_an_address(void)
{
    vigil_address address;
    int rc = vigil_address_init(&address, "127.0.0.1:0");
    assert(rc == 0);
    rc = vigil_address_init(&address, "localhost:80");
    assert(rc == -EINVAL); /* vigil_why() says why */
}

/* vigil_address_text: print an address */
static void print_an_address(const vigil_address *address)
{
    char text[VIGIL_ADDRESS_TEXT];
    int rc = vigil_address_text(address, text, sizeof text);
    assert(rc > 0);
    assert(text[rc] == 0);
}

/* vigil_stream_open: make a stream of a socket */
static vigil_stream *make_a_stream(vigil_loop *loop, int fd)
{
    vigil_stream_options options = VIGIL_STREAM_OPTIONS_INIT;
    options.idle_ns = INT64_C(60000000000); /* a minute */
    vigil_stream *stream;
    if (vigil_stream_open(&stream, loop, fd, &options) < 0)
        return NULL;
    return stream;
}

/* vigil_stream_on_data: send everything back */
static void echo(vigil_stream *stream, const void *data, int64_t length,
                 void *arg)
{
    (void)arg;
    if (length > 0)
        (void)vigil_stream_write(stream, data, (size_t)length);
    else /* the peer has ended, or the connection has failed */
        (void)vigil_stream_close(stream);
}

static void start_to_echo(vigil_stream *stream)
{
    int rc = vigil_stream_on_data(stream, echo, NULL);
    assert(rc == 0);
}

/* vigil_stream_read: read what there is */
struct reading {
    vigil_read read; /* first */
    char bytes[128];
};

static void was_read(vigil_read *read, int64_t result)
{
    struct reading *it = (struct reading *)(void *)read;
    assert(result == 5);
    assert(memcmp(it->bytes, "hello", 5) == 0);
}

static void read_some(vigil_stream *stream, struct reading *it)
{
    it->read.done = was_read;
    int rc = vigil_stream_read(stream, &it->read, it->bytes,
                               sizeof it->bytes);
    assert(rc == 0);
}

/* vigil_stream_read_exactly: read a header of known length */
static void read_header(vigil_stream *stream, struct reading *it)
{
    it->read.done = was_read;
    int rc = vigil_stream_read_exactly(stream, &it->read, it->bytes, 5);
    assert(rc == 0);
}

/* vigil_stream_read_until: read a line */
static void read_line(vigil_stream *stream, struct reading *it)
{
    it->read.done = was_read;
    int rc = vigil_stream_read_until(stream, &it->read, it->bytes,
                                     sizeof it->bytes, '\n');
    assert(rc == 0);
}

/* vigil_stream_read_cancel: take a read back */
static void stop_reading(vigil_stream *stream, struct reading *it)
{
    int rc = vigil_stream_read_cancel(stream, &it->read);
    assert(rc == 0); /* was_read is not called */
}

/* vigil_stream_try_read: read here and now */
static void look_for_data(vigil_stream *stream)
{
    char bytes[16];
    int64_t got = vigil_stream_try_read(stream, bytes, sizeof bytes);
    assert(got == -EAGAIN); /* nothing is there */
}

/* vigil_stream_write: send a copy */
static void greet(vigil_stream *stream)
{
    int rc = vigil_stream_write(stream, "hello", 5);
    assert(rc == 0); /* 1: wait until it has drained */
}

/* vigil_stream_submit: send without a copy */
struct sending {
    vigil_write write;
    struct iovec parts[2];
};

static void was_sent(vigil_write *write, int status)
{
    assert(status == 0);
    (void)write; /* the memory of the parts is ours again */
}

static void send_two_parts(vigil_stream *stream, struct sending *it)
{
    static char head[] = "head";
    static char body[] = "body";
    it->write.done = was_sent;
    it->parts[0] = (struct iovec){head, 4};
    it->parts[1] = (struct iovec){body, 4};
    int rc = vigil_stream_submit(stream, &it->write, it->parts, 2);
    assert(rc == 0);
}

/* vigil_stream_on_drained: wait until there is room */
static void go_on(void *arg)
{
    *(int *)arg += 1; /* write the next piece here */
}

static void wait_for_room(vigil_stream *stream, int *pieces)
{
    int rc = vigil_stream_on_drained(stream, go_on, pieces);
    assert(rc == 0);
}

/* vigil_stream_on_closed: hear how each connection of a listener ends */
struct visitor {
    unsigned number;
    uint64_t unsent;
};

static void visitor_left(void *arg, const vigil_stream_end *end)
{
    struct visitor *visitor = arg;
    visitor->unsent = end->unsent; /* or free it here */
}

static void know_the_visitor(vigil_stream *stream,
                             struct visitor *visitor)
{
    int rc = vigil_stream_on_closed(stream, visitor_left, visitor);
    assert(rc == 0);
}

/* vigil_stream_finish: end the sending side */
static void say_that_it_is_all(vigil_stream *stream)
{
    int rc = vigil_stream_finish(stream);
    assert(rc == 0); /* the peer reads an end; we read on */
}

/* vigil_stream_stats_get: see what a stream has done */
static void look_at_it(vigil_stream *stream)
{
    vigil_stream_stats stats = VIGIL_STREAM_STATS_INIT;
    int rc = vigil_stream_stats_get(stream, &stats);
    assert(rc == 0);
    assert(stats.error == 0);
}

/*
 * vigil_stream_unref: an idle connection in reserve does not hold
 * the program up
 * vigil_stream_ref: it is in use again
 */
static void put_in_reserve(vigil_stream *stream)
{
    int rc = vigil_stream_unref(stream);
    assert(rc == 0);
}

static void take_from_reserve(vigil_stream *stream)
{
    int rc = vigil_stream_ref(stream);
    assert(rc == 0);
}

/* vigil_stream_name: tell viewers whose connection it is */
static int logged_in(vigil_stream *stream, const char *user)
{
    return vigil_stream_name(stream, user); /* for vigil top, key s */
}

/*
 * vigil_shown_begin: show a query of your own
 * vigil_shown_end: it is answered
 */
struct query {
    vigil_shown shown;
    char text[64];
};

static void begin_query(vigil_loop *loop, struct query *query)
{
    int rc = vigil_shown_begin(&query->shown, loop, query->text);
    assert(rc == 0);
}

static void end_query(struct query *query)
{
    vigil_shown_end(&query->shown);
}

/* vigil_stream_fd: set a socket option */
static void larger_buffer(vigil_stream *stream)
{
    int bytes = 1 << 18;
    int rc = setsockopt(vigil_stream_fd(stream), SOL_SOCKET, SO_SNDBUF,
                        &bytes, sizeof bytes);
    assert(rc == 0);
}

/* vigil_stream_peer: see who is there */
static void who_is_there(vigil_stream *stream)
{
    vigil_address peer;
    if (vigil_stream_peer(stream, &peer) == 0)
        print_an_address(&peer);
}

/* vigil_stream_close: give a stream back */
static void the_end(vigil_stream *stream)
{
    int rc = vigil_stream_close(stream);
    assert(rc == 0); /* what was written is still sent */
}

/* vigil_stream_reset: give a stream back at once */
static void at_once(vigil_stream *stream)
{
    int rc = vigil_stream_reset(stream);
    assert(rc == 0);
}

/* vigil_listener_open: listen for connections */
static void on_stream(vigil_listener *listener, vigil_stream *stream,
                      void *user)
{
    (void)listener;
    (void)user;
    start_to_echo(stream);
}

static vigil_listener *listen_at(vigil_loop *loop,
                                 const vigil_address *address)
{
    vigil_listener *listener;
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    options.on_stream = on_stream;
    int rc = vigil_listener_open(&listener, loop, address, &options);
    if (rc < 0)
        fprintf(stderr, "%s\n", vigil_why());
    return rc == 0 ? listener : NULL;
}

/* vigil_listener_open_fd: listen on a socket that was passed */
static vigil_listener *listen_on(vigil_loop *loop, int fd)
{
    vigil_listener *listener; /* systemd passes 3, 4, ... */
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    options.on_stream = on_stream;
    int rc = vigil_listener_open_fd(&listener, loop, fd, &options);
    return rc == 0 ? listener : NULL;
}

/* vigil_listener_address: find out the port */
static void where_is_it(vigil_listener *listener,
                        vigil_address *address)
{
    int rc = vigil_listener_address(listener, address);
    assert(rc == 0);
}

/* vigil_listener_streams: count the connections */
static bool is_busy(vigil_listener *listener)
{
    return vigil_listener_streams(listener) > 0;
}

/*
 * vigil_listener_unref: a port for statistics, open as long as the
 * program has something else to do
 * vigil_listener_ref: it is the program's work after all
 */
static void serve_beside(vigil_listener *listener, bool work)
{
    int rc = work ? vigil_listener_ref(listener)
                  : vigil_listener_unref(listener);
    assert(rc == 0);
}

/* vigil_listener_close: stop listening */
static void stop_listening(vigil_listener *listener)
{
    int rc = vigil_listener_close(listener);
    assert(rc == 0); /* its streams go on */
}

/* vigil_promise_connect: connect to a server */
static vigil_value connected(vigil_value *value, void *arg)
{
    vigil_value taken = vigil_value_move(value);
    *(vigil_stream **)arg = taken.pointer;
    return vigil_value_none();
}

static void connect_to(vigil_loop *loop, const vigil_address *address,
                       vigil_stream **stream)
{
    vigil_promise *promise;
    int rc =
        vigil_promise_connect(loop, address, 1, NULL, NULL, &promise);
    assert(rc == 0);
    rc = vigil_promise_then(promise, connected, NULL, stream, NULL);
    assert(rc == 0);
    vigil_promise_unref(promise);
}

/* vigil_promise_read: read, as a promise */
static vigil_promise *promise_some(vigil_stream *stream, char *bytes,
                                   size_t room)
{
    vigil_promise *promise;
    int rc = vigil_promise_read(stream, bytes, room, NULL, &promise);
    return rc == 0 ? promise : NULL;
}

/* vigil_promise_read_exactly: so many bytes, as a promise */
static vigil_promise *promise_header(vigil_stream *stream, char *bytes)
{
    vigil_promise *promise;
    int rc =
        vigil_promise_read_exactly(stream, bytes, 5, NULL, &promise);
    return rc == 0 ? promise : NULL;
}

/* vigil_promise_read_until: a line, as a promise */
static vigil_promise *promise_line(vigil_stream *stream, char *line,
                                   size_t room)
{
    vigil_promise *promise;
    int rc = vigil_promise_read_until(stream, line, room, '\n', NULL,
                                      &promise);
    return rc == 0 ? promise : NULL;
}

/* vigil_promise_drained: room to write, as a promise */
static vigil_promise *promise_room(vigil_stream *stream)
{
    vigil_promise *promise;
    int rc = vigil_promise_drained(stream, NULL, &promise);
    return rc == 0 ? promise : NULL;
}

/* vigil_stream_readable: wait without holding a buffer */
static void is_readable(vigil_read *read, int64_t result)
{
    (void)read;
    assert(result == 1); /* vigil_stream_try_read takes it */
}

static void wait_for_bytes(vigil_stream *stream, vigil_read *read)
{
    read->done = is_readable;
    int rc = vigil_stream_readable(stream, read);
    assert(rc == 0);
}

/* vigil_promise_readable: the same as a promise */
static vigil_promise *promise_bytes(vigil_stream *stream)
{
    vigil_promise *promise;
    int rc = vigil_promise_readable(stream, NULL, &promise);
    return rc == 0 ? promise : NULL;
}

/* vigil_promise_copy: pass on what comes, to the end */
static vigil_promise *pass_on(vigil_stream *from, vigil_stream *to)
{
    vigil_promise *promise;
    vigil_copy_options options = VIGIL_COPY_OPTIONS_INIT;
    options.finish = true; /* `to` ends when `from` has ended */
    int rc = vigil_promise_copy(from, to, &options, NULL, &promise);
    return rc == 0 ? promise : NULL;
}

struct download {
    vigil_write write; /* first */
    int fd;
};

static void download_done(vigil_write *write, int status)
{
    struct download *download = (struct download *)(void *)write;
    if (status != 0)
        (void)fprintf(stderr, "download: %s\n", strerror(-status));
    (void)close(
        download->fd); /* not before: the stream reads from it */
}

/* vigil_stream_send_file: the head, then a file, without a copy */
static int send_download(vigil_stream *stream,
                         struct download *download, const char *path)
{
    download->write.done = download_done;
    download->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (download->fd < 0)
        return -errno;
    (void)vigil_stream_write(stream, "here it is:\n", 12);
    int rc = vigil_stream_send_file(stream, &download->write,
                                    download->fd, 0, 0);
    if (rc < 0)
        (void)close(download->fd);
    return rc;
}

/* vigil_promise_send_file: a file, with a token that can end it */
static vigil_promise *promise_download(vigil_stream *stream, int fd,
                                       vigil_cancel_token *token)
{
    vigil_promise *promise; /* fd must stay open until it is settled */
    int rc = vigil_promise_send_file(stream, fd, 0, 0, token, &promise);
    return rc == 0 ? promise : NULL;
}

/* vigil_stream_pass_fds: let the peer have our standard error */
static void share_errors(vigil_stream *stream)
{
    const int fds[] = {STDERR_FILENO};
    int rc = vigil_stream_pass_fds(stream, "!", 1, fds, 1);
    assert(rc == 0);
}

/* vigil_stream_take_fd: take what the peer has passed */
static void take_it(vigil_stream *stream)
{
    int fd = vigil_stream_take_fd(stream);
    assert(fd >= 0 || fd == -EAGAIN);
    if (fd >= 0)
        (void)close(fd);
}

/* vigil_stream_credentials: is the peer of the same user? */
static bool is_one_of_us(const vigil_stream *stream)
{
    vigil_credentials peer;
    int rc = vigil_stream_credentials(stream, &peer);
    return rc == 0 && peer.uid == getuid();
}

/* ---- all of them ---- */

static void some_turns(vigil_loop *loop)
{
    for (int i = 0; i < 8; i++)
        (void)vigil_loop_run(loop, VIGIL_RUN_NOWAIT);
}

static void settle(vigil_loop *loop, vigil_promise *promise)
{
    assert(promise != NULL);
    while (vigil_promise_state_get(promise) == VIGIL_PENDING)
        (void)vigil_loop_run(loop, VIGIL_RUN_NOWAIT);
    vigil_promise_unref(promise);
}

/* vigil_frame_read: read in an asynchronous function (for the macros) */
struct greeted {
    vigil_frame frame; /* first */
    vigil_stream *stream;
    char line[64];
};

static void greeted_steps(vigil_frame *frame)
{
    struct greeted *self = (struct greeted *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    /* VIGIL_AWAIT_READ_UNTIL calls vigil_frame_read. */
    VIGIL_AWAIT_READ_UNTIL(frame, self->stream, self->line,
                           sizeof self->line, '\n');
    assert(frame->value->integer == 5);
    assert(memcmp(self->line, "line\n", 5) == 0);
    VIGIL_ASYNC_OUT(frame);
    VIGIL_ASYNC_END(frame);
}

static vigil_promise *read_in_a_function(vigil_loop *loop,
                                         vigil_stream *stream)
{
    vigil_promise *promise;
    struct greeted *self = vigil_frame_alloc(sizeof *self, loop, NULL);
    assert(self != NULL);
    self->stream = stream;
    int rc = vigil_frame_start(&self->frame, greeted_steps, &promise);
    assert(rc == 0);
    return promise;
}

int main(void)
{
    vigil_loop *loop;
    vigil_address address;
    vigil_stream *stream = NULL;
    struct reading reading;
    struct sending sending;
    char bytes[64];
    int pieces = 0;
    struct visitor visitor = {.number = 1, .unsent = 1};
    int ends[2];
    int rc = vigil_loop_create(&loop, NULL);
    assert(rc == 0);
    struct query query = {.text = "select 1"};
    begin_query(loop, &query);
    end_query(&query);
    read_an_address();
    rc = vigil_address_init(&address, "127.0.0.1:0");
    assert(rc == 0);
    vigil_listener *listener = listen_at(loop, &address);
    where_is_it(listener, &address);
    connect_to(loop, &address, &stream);
    while (stream == NULL || !is_busy(listener))
        (void)vigil_loop_run(loop, VIGIL_RUN_ONCE);
    who_is_there(stream);
    larger_buffer(stream);
    greet(stream);
    settle(loop, promise_some(stream, bytes, sizeof bytes));
    greet(stream);
    settle(loop, promise_header(stream, bytes));
    (void)vigil_stream_write(stream, "line\n", 5);
    settle(loop, promise_line(stream, bytes, sizeof bytes));
    (void)vigil_stream_write(stream, "line\n", 5);
    settle(loop, read_in_a_function(loop, stream));
    settle(loop, promise_room(stream));
    send_two_parts(stream, &sending);
    wait_for_room(stream, &pieces);
    know_the_visitor(stream, &visitor);
    some_turns(loop);
    assert(pieces == 1);
    look_at_it(stream);
    say_that_it_is_all(stream);
    the_end(stream);
    some_turns(loop);
    assert(visitor.unsent == 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert(fd >= 0);
    vigil_listener *passed = listen_on(loop, fd); /* at a free port */
    assert(passed != NULL);
    serve_beside(passed, false);
    serve_beside(passed, true);
    stop_listening(passed);
    stop_listening(listener);

    rc = socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    assert(rc == 0);
    stream = make_a_stream(loop, ends[0]);
    vigil_promise *echo = pass_on(stream, stream);
    rc = shutdown(ends[1], SHUT_WR);
    assert(rc == 0);
    settle(loop, echo);
    the_end(stream);
    (void)close(ends[1]);

    struct download download;
    rc = socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    assert(rc == 0);
    stream = make_a_stream(loop, ends[0]);
    rc = send_download(stream, &download, "/no/such/file");
    assert(rc == -ENOENT);
    rc = send_download(stream, &download, "/proc/self/exe");
    assert(rc >= 0);
    char *sink = malloc(1 << 20);
    assert(sink != NULL);
    rc = fcntl(ends[1], F_SETFL, O_NONBLOCK);
    assert(rc == 0);
    for (int quiet = 0; quiet<3; quiet = read(ends[1], sink, 1 << 20)> 0
                            ? 0
                            : quiet + 1)
        some_turns(loop);
    fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert(fd >= 0);
    vigil_cancel_source *source;
    rc = vigil_cancel_create(&source);
    assert(rc == 0);
    vigil_promise *sent =
        promise_download(stream, fd, vigil_cancel_token_of(source));
    (void)vigil_promise_catch(sent, NULL, NULL, NULL);
    (void)vigil_cancel_abort(source, -ECANCELED, "nobody wants it");
    some_turns(loop);
    vigil_promise_unref(sent);
    vigil_cancel_destroy(source);
    (void)close(fd);
    free(sink);
    the_end(stream);
    (void)close(ends[1]);

    rc = socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    assert(rc == 0);
    stream = make_a_stream(loop, ends[0]);
    vigil_read waiting;
    rc = logged_in(stream, "alice");
    assert(rc == 0);
    assert(is_one_of_us(stream));
    put_in_reserve(stream);
    take_from_reserve(stream);
    share_errors(stream);
    take_it(stream);
    wait_for_bytes(stream, &waiting);
    (void)vigil_stream_read_cancel(stream, &waiting);
    vigil_promise *bytes_come = promise_bytes(stream);
    ssize_t first = write(ends[1], "x", 1);
    assert(first == 1);
    settle(loop, bytes_come);
    (void)vigil_stream_try_read(stream, bytes, sizeof bytes);
    look_for_data(stream);
    read_some(stream, &reading);
    ssize_t put = write(ends[1], "hellohello", 5);
    assert(put == 5);
    some_turns(loop);
    read_header(stream, &reading);
    stop_reading(stream, &reading);
    read_line(stream, &reading);
    stop_reading(stream, &reading);
    at_once(stream);
    (void)close(ends[1]);
    rc = vigil_loop_run(loop, VIGIL_RUN);
    assert(rc == 0);
    rc = vigil_loop_destroy(loop);
    assert(rc == 0);
    return 0;
}
