/* SPDX-License-Identifier: MIT */
/*
 * crawl ADDRESS [K]: fetches a site over HTTP from "/" on, follows the links to its own pages, with at most K (8)
 * connections at a time, and prints each page with its status and size. ADDRESS is of the form 127.0.0.1:80. Without
 * arguments it makes a site of 200 pages, crawls it and judges itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vigil/vigil.h>

enum {
    PAGES = 100000,
    OWN_PAGES = 200
};

static vigil_loop *loop;
static vigil_address site;
static vigil_semaphore connections;
static char *pages[PAGES]; /* every path that was seen; a page is fetched once */
static unsigned known, fetched, failed, open_now, open_most;
static vigil_listener *listener;

struct fetch {
    vigil_frame frame; /* first */
    const char *path;
    vigil_stream *stream;
    char *text;
    size_t length;
    bool has_connection;
};

static void crawl(const char *path, size_t length);

static void follow_links(const char *text)
{
    while ((text = strstr(text, "href=\"/")) != NULL) {
        text += strlen("href=\"");
        crawl(text, strcspn(text, "\"#? \n"));
    }
}

static void fetch_steps(vigil_frame *frame)
{
    struct fetch *self = (struct fetch *)(void *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame, vigil_promise_acquire(frame->loop, &connections, 1, frame->token, VIGIL_INTO(frame)));
    self->has_connection = true;
    open_most = ++open_now > open_most ? open_now : open_most;
    VIGIL_AWAIT(frame, vigil_promise_connect(frame->loop, &site, 1, NULL, frame->token, VIGIL_INTO(frame)));
    self->stream = vigil_value_move(frame->value).pointer;
    char request[1024];
    const int length = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\n\r\n", self->path);
    VIGIL_TRY(frame, vigil_stream_write(self->stream, request, (size_t)length));
    do { /* an answer of HTTP/1.0 ends with the connection */
        char *more = realloc(self->text, self->length + 65536 + 1);
        if (more == NULL)
            VIGIL_THROW(frame, -ENOMEM);
        self->text = more;
        VIGIL_AWAIT(
            frame, vigil_promise_read(self->stream, self->text + self->length, 65536, frame->token, VIGIL_INTO(frame)));
        self->length += (size_t)frame->value->integer;
    } while (frame->value->integer > 0);
    self->text[self->length] = '\0';
    printf("%s %.3s %zu\n", self->path, self->length > 12 ? self->text + 9 : "???", self->length);
    fetched++;
    follow_links(self->text);
    VIGIL_ASYNC_OUT(frame);
    if (frame->error != 0)
        fprintf(stderr, "crawl: %s: %s\n", self->path, vigil_strerror(frame->error));
    failed += frame->error != 0;
    frame->error = 0;
    if (self->stream != NULL)
        (void)vigil_stream_close(self->stream);
    if (self->has_connection) {
        open_now--;
        (void)vigil_semaphore_post(&connections, 1);
    }
    free(self->text);
    if (listener != NULL && fetched + failed == known)
        (void)vigil_listener_close(listener);
    VIGIL_ASYNC_END(frame);
}

static void crawl(const char *path, size_t length)
{
    for (unsigned i = 0; i < known; i++)
        if (strncmp(pages[i], path, length) == 0 && pages[i][length] == '\0')
            return;
    struct fetch *self = known < PAGES ? vigil_frame_alloc(sizeof *self, loop, NULL) : NULL;
    if (self == NULL)
        return;
    self->path = pages[known++] = strndup(path, length);
    (void)vigil_frame_start(&self->frame, fetch_steps, NULL);
}

static void begin(void *arg)
{
    (void)arg;
    crawl("/", 1);
}

/* ---- a site of its own: page n links to 2n + 1 and 2n + 2 ---- */

struct visit {
    vigil_frame frame; /* first */
    vigil_stream *stream;
    char line[256];
};

static void visit_steps(vigil_frame *frame)
{
    struct visit *self = (struct visit *)(void *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame, vigil_promise_read_until(self->stream, self->line, sizeof self->line, '\n', frame->token,
                                                VIGIL_INTO(frame)));
    const int page = atoi(self->line + strlen("GET /"));
    char text[256];
    int length = snprintf(text, sizeof text, "HTTP/1.0 200 OK\r\n\r\nhello");
    for (int i = 2 * page + 1; i <= 2 * page + 2 && i < OWN_PAGES; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, " <a href=\"/%d\">%d</a>", i, i);
    VIGIL_TRY(frame, vigil_stream_write(self->stream, text, (size_t)length));
    VIGIL_ASYNC_OUT(frame);
    frame->error = 0;
    (void)vigil_stream_close(self->stream);
    VIGIL_ASYNC_END(frame);
}

static void on_stream(vigil_listener *of, vigil_stream *stream, void *arg)
{
    (void)of;
    (void)arg;
    struct visit *self = vigil_frame_alloc(sizeof *self, loop, NULL);
    if (self == NULL) {
        (void)vigil_stream_reset(stream);
        return;
    }
    self->stream = stream;
    (void)vigil_frame_start(&self->frame, visit_steps, NULL);
}

static int open_own_site(void)
{
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    options.on_stream = on_stream;
    int rc = vigil_address_init(&site, "127.0.0.1:0");
    if (rc == 0)
        rc = vigil_listener_open(&listener, loop, &site, &options);
    return rc == 0 ? vigil_listener_address(listener, &site) : rc;
}

int main(int argc, char **argv)
{
    const unsigned most = argc > 2 && atoi(argv[2]) > 0 ? (unsigned)atoi(argv[2]) : 8;
    if (vigil_loop_create(&loop, NULL) != 0 || vigil_semaphore_init(&connections, most, most) != 0 ||
        (argc > 1 ? vigil_address_init(&site, argv[1]) : open_own_site()) != 0 ||
        vigil_loop_call(loop, begin, NULL, NULL) != 0) {
        fprintf(stderr, "crawl: %s\n", vigil_why());
        return 2;
    }
    (void)vigil_loop_run(loop, VIGIL_RUN);
    (void)vigil_loop_destroy(loop);
    printf("%u pages, %u failed, at most %u connections\n", fetched, failed, open_most);
    for (unsigned i = 0; i < known; i++)
        free(pages[i]);
    return failed != 0 || (argc < 2 && (fetched != OWN_PAGES || open_most > most));
}
