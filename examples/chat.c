/* SPDX-License-Identifier: MIT */
/*
 * chat [address]: rooms on lines of text. "/join NAME" enters a room, anything else goes to everybody in it. Who says
 * nothing for ten minutes is sent away, and so is who does not read what the others say. Try it with two of
 * `nc 127.0.0.1 7001`. Without arguments it talks to itself and ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vigil/vigil.h>

#define MINUTE INT64_C(60000000000)

struct guest {
    vigil_read read; /* first */
    vigil_stream *stream;
    struct guest *next;
    char room[32];
    char line[512];
};

static struct guest *guests;

static void leave(struct guest *guest)
{
    struct guest **link = &guests;
    while (*link != guest)
        link = &(*link)->next;
    *link = guest->next;
    (void)vigil_stream_close(guest->stream);
    free(guest);
}

/* Who has let 64 KiB pile up is sent away. */
static void say(const struct guest *from, const char *text, size_t length)
{
    struct guest *next;
    for (struct guest *it = guests; it != NULL; it = next) {
        next = it->next;
        if (it != from && strcmp(it->room, from->room) == 0 && vigil_stream_write(it->stream, text, length) < 0)
            leave(it);
    }
}

static void on_line(vigil_read *read, int64_t length)
{
    struct guest *guest = (struct guest *)(void *)read;
    if (length <= 0) { /* the end, a line that is too long, ten minutes of silence */
        say(guest, "somebody has left\n", 18);
        leave(guest);
        return;
    }
    if (length > 6 && memcmp(guest->line, "/join ", 6) == 0)
        (void)snprintf(guest->room, sizeof guest->room, "%.*s", (int)strcspn(guest->line + 6, "\r\n"), guest->line + 6);
    else
        say(guest, guest->line, (size_t)length);
    (void)vigil_stream_read_until(guest->stream, read, guest->line, sizeof guest->line, '\n');
}

static void on_stream(vigil_listener *listener, vigil_stream *stream, void *user)
{
    (void)listener;
    (void)user;
    struct guest *guest = calloc(1, sizeof *guest);
    if (guest == NULL) {
        (void)vigil_stream_reset(stream);
        return;
    }
    *guest = (struct guest){.read.done = on_line, .stream = stream, .next = guests, .room = "hall"};
    guests = guest;
    (void)vigil_stream_write(stream, "welcome\n", 8);
    (void)vigil_stream_read_until(stream, &guest->read, guest->line, sizeof guest->line, '\n');
}

/* ---- two guests of our own, if there are no arguments ---- */

struct visit {
    vigil_frame frame; /* first */
    vigil_listener *listener;
    vigil_address address;
    vigil_stream *ann, *bob;
    char line[128];
};

static void visit_steps(vigil_frame *frame)
{
    struct visit *self = (struct visit *)(void *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame, vigil_promise_connect(frame->loop, &self->address, 1, NULL, NULL, VIGIL_INTO(frame)));
    self->ann = vigil_value_move(frame->value).pointer;
    VIGIL_AWAIT(frame, vigil_promise_connect(frame->loop, &self->address, 1, NULL, NULL, VIGIL_INTO(frame)));
    self->bob = vigil_value_move(frame->value).pointer;
    VIGIL_AWAIT(frame,
                vigil_promise_read_until(self->ann, self->line, sizeof self->line, '\n', NULL, VIGIL_INTO(frame)));
    VIGIL_AWAIT(frame,
                vigil_promise_read_until(self->bob, self->line, sizeof self->line, '\n', NULL, VIGIL_INTO(frame)));
    VIGIL_TRY(frame, vigil_stream_write(self->ann, "hello bob\n", 10));
    VIGIL_AWAIT(frame,
                vigil_promise_read_until(self->bob, self->line, sizeof self->line, '\n', NULL, VIGIL_INTO(frame)));
    printf("bob hears: %.*s", (int)frame->value->integer, self->line);
    VIGIL_TRY(frame, vigil_stream_finish(self->bob));
    VIGIL_AWAIT(frame,
                vigil_promise_read_until(self->ann, self->line, sizeof self->line, '\n', NULL, VIGIL_INTO(frame)));
    printf("ann hears: %.*s", (int)frame->value->integer, self->line);
    VIGIL_ASYNC_OUT(frame);
    (void)vigil_stream_close(self->ann);
    (void)vigil_stream_close(self->bob);
    (void)vigil_listener_close(self->listener);
    VIGIL_ASYNC_END(frame);
}

int main(int argc, char **argv)
{
    vigil_loop *loop;
    vigil_address address;
    vigil_listener *listener;
    vigil_stream_options stream_options = VIGIL_STREAM_OPTIONS_INIT;
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    stream_options.idle_ns = 10 * MINUTE;
    stream_options.most_unsent = 65536;
    stream_options.flush_ns = MINUTE;
    options.on_stream = on_stream;
    options.most = 1000;
    options.stream = &stream_options;
    if (vigil_loop_create(&loop, NULL) != 0 || vigil_address_init(&address, argc > 1 ? argv[1] : "127.0.0.1:0") != 0 ||
        vigil_listener_open(&listener, loop, &address, &options) != 0) {
        fprintf(stderr, "chat: %s\n", vigil_why());
        return 1;
    }
    if (argc == 1) {
        struct visit *visit = vigil_frame_alloc(sizeof *visit, loop, NULL);
        if (visit == NULL)
            return 1;
        visit->listener = listener;
        (void)vigil_listener_address(listener, &visit->address);
        (void)vigil_frame_start(&visit->frame, visit_steps, NULL);
    }
    (void)vigil_loop_run(loop, VIGIL_RUN);
    return vigil_loop_destroy(loop) == 0 ? 0 : 1;
}
