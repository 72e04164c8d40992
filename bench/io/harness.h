/* SPDX-License-Identifier: MIT */
/*
 * The family io: each peer is a server; the harness forks it onto the first CPU and is its client on the others. What counts is the
 * CPU time of the server, all its threads.
 */
#ifndef BENCH_IO_HARNESS_H
#define BENCH_IO_HARNESS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IO_ANSWER                                                                                         \
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\nConnection: keep-alive\r\n\r\n" \
    "hello world\n"
enum {
    IO_ANSWER_LENGTH = sizeof(IO_ANSWER) - 1,
    IO_MOST = 64, /* requests that are answered at once */
    IO_LINE = 256
};

/* The answers to several requests, one behind the other. */
extern char io_answers[IO_MOST * IO_ANSWER_LENGTH + 1];

/* How many requests end in these bytes (an empty line ends one). *state: what of the end was seen; begins with 0. */
static inline unsigned io_requests(const char *data, size_t length, unsigned *state)
{
    static const char end[4] = {'\r', '\n', '\r', '\n'};
    unsigned seen = *state, count = 0;
    for (size_t i = 0; i < length; i++) {
        seen = data[i] == end[seen] ? seen + 1 : data[i] == '\r' ? 1 : 0;
        if (seen == 4) {
            seen = 0;
            count++;
        }
    }
    *state = seen;
    return count < IO_MOST ? count : (unsigned)IO_MOST;
}

/* The peer's: listen at 127.0.0.1 (io-udp: receive there), say the port with io_listening, serve until the process is killed.
   io-copy: two connections come, and what the first brings goes to the second. io-lines: each line, of at most IO_LINE bytes, goes
   back. */
void io_serve(const char *bench);
void io_listening(int port);

/* For a peer that is a program of its own: the descriptor to which it writes its port, as an int. */
int io_port_pipe(void);

#ifdef __cplusplus
}
#endif
#endif
