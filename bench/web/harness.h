/* SPDX-License-Identifier: MIT */
/* What an HTTP server has to offer to take part: serve(fd). The client and the clock are in harness.c. */
#ifndef BENCH_WEB_HARNESS_H
#define BENCH_WEB_HARNESS_H

#include "../peer/peer.h"

#include <stdbool.h>
#include <string.h>

/* The peer's: accept from this listening socket and answer, until web_over() has said true. */
void web_serve(int listening);

/* How many requests end in these bytes, and whether a rest stays. State of one connection: how much of the blank line was seen. */
size_t web_requests(unsigned *seen, const char *bytes, size_t length);
/* So many requests were answered. True: these were the last. */
bool web_over(size_t answered);

/* The answer that all give that answer by hand. */
extern const char web_answer[];
extern const size_t web_answer_length;
/* So many answers in one piece, at most 32. */
const char *web_answers(size_t count, size_t *length);

#endif
