/* SPDX-License-Identifier: MIT */
/* top_views.h - the views of threads, of functions, of streams and of queues. */
#ifndef CLI_TOP_VIEWS_H
#define CLI_TOP_VIEWS_H

#include "functions.h"
#include "top.h"

struct top_views {
    enum top_view view;
    struct threads threads;
    struct sampler *sampler;
    struct functions sampled, recorded;
    double recorded_s;
    unsigned samples;
    uint64_t stop_ns;
    bool may_sample;
    struct queues *queues;       /* may be NULL */
    struct json_object *answers; /* of them */
    char **lines;                /* in words */
    size_t line_count;
};

/* The queues' summaries, below `row`; gives the row after them. */
int top_views_summaries(const struct top_views *views, int row);

/* What the shown view needs besides the snapshot. */
void top_views_look(struct top_views *views, struct look *look);

/* Draw below `row`, above `bottom`. *scroll: the first row of the table, kept within it; *rows: how many fit. */
void top_views_draw(const struct top_views *views, const vg_snapshot *now, int row, int bottom, unsigned *scroll,
                    int *rows);

void top_views_free(struct top_views *views);

#endif
