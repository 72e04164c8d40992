/* SPDX-License-Identifier: MIT */
/* view_text.h - a look as plain text, in pieces that report, top and demo share. On stdout. */
#ifndef CLI_VIEW_TEXT_H
#define CLI_VIEW_TEXT_H

#include "look.h"

/* "worker 3", "spare 1" */
const char *worker_name(const vg_worker_view *worker, char *room, size_t size);

/* What a worker does, in a few words: "bot_thinks for 1.2s", "parked for 3.0s", "blocked in bot_saves, declared". */
void worker_words(struct look *look, const vg_worker_view *worker, char *room, size_t size);

/* The same of a loop. */
void loop_words(struct look *look, const vg_loop_view *loop, char *room, size_t size);

void print_verdict(struct look *look, const vg_verdict_view *verdict);
void print_classes(const vg_pool_view *pool);
void print_workers(struct look *look, const vg_pool_view *pool);

#endif
