/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "top_views.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"
#include "streams.h"
#include "top_pen.h"

static void draw_threads(const struct top_views *views, int row, int bottom, unsigned *scroll, int *rows)
{
    const int room = bottom - row - 2;
    const size_t count = views->threads.count;
    char text[256];
    if (room < 1)
        return;
    if (*scroll + (unsigned)room > count)
        *scroll = count > (size_t)room ? (unsigned)count - (unsigned)room : 0;
    *rows = room;
    top_go_to(++row, 0);
    top_pen(A_UNDERLINE);
    top_put("%s", threads_heading());
    top_pen(A_NORMAL);
    if (count > (size_t)room)
        top_put("  (%u-%u of %zu)", *scroll + 1, *scroll + (unsigned)room, count);
    for (int i = 0; i < room && *scroll + (unsigned)i < count; i++) {
        const struct thread_row *thread = &views->threads.of[*scroll + (unsigned)i];
        threads_line(thread, text, sizeof text);
        top_pen(thread->state == 'D' || thread->state == 'T' ? top_ink(COLOUR_BAD)
                : thread->cpu > 0.005                        ? A_BOLD
                                                             : A_NORMAL);
        top_go_to(row + 1 + i, 0);
        top_put("%s", text);
        top_pen(A_NORMAL);
    }
    if (count == 0) {
        top_go_to(row + 1, 0);
        top_put("its threads cannot be seen from here");
    }
}

static int draw_table(const char *heading, const struct functions *functions, int row, int rows)
{
    top_go_to(row++, 0);
    top_pen(A_UNDERLINE);
    top_put("%s", heading);
    top_pen(A_NORMAL);
    for (size_t i = 0; i < functions->count && (int)i < rows; i++) {
        char n[WORDS];
        top_go_to(row++, 0);
        top_put("%6.1f %%  %7s  %s", 100 * functions->of[i].share, words_count(n, functions->of[i].count),
                functions->of[i].name);
    }
    return row;
}

static void draw_functions(const struct top_views *views, int row, int bottom)
{
    const int room = bottom - row - 4;
    char heading[160];
    if (room < 2)
        return;
    snprintf(heading, sizeof heading, "  TIME     TIMES  TASK OR CALLBACK, the last %.1f s of the record",
             views->recorded_s);
    row = draw_table(heading, &views->recorded, row + 1, room / 2);
    if (views->sampler == NULL)
        snprintf(heading, sizeof heading, "no sampling: this build has no doctor");
    else if (!views->may_sample)
        snprintf(heading, sizeof heading, "no sampling: this process may not be stopped (try as root)");
    else
        snprintf(heading, sizeof heading, "   CPU     TIMES  FUNCTION, by %u samples; longest stop %.0f us",
                 views->samples, (double)views->stop_ns / 1e3);
    (void)draw_table(heading, &views->sampled, row + 1, bottom - row - 3);
}

static void draw_streams(const vg_snapshot *now, int row, int bottom, unsigned *scroll, int *rows)
{
    const int room = bottom - row - 2;
    size_t count;
    char text[512];
    if (room < 1)
        return;
    struct stream_row *list = streams_list(now, NULL, &count);
    if (*scroll + (unsigned)room > count)
        *scroll = count > (size_t)room ? (unsigned)count - (unsigned)room : 0;
    *rows = room;
    top_go_to(++row, 0);
    top_pen(A_UNDERLINE);
    top_put("%s", stream_heading());
    top_pen(A_NORMAL);
    if (count > (size_t)room)
        top_put("  (%u-%u of %zu)", *scroll + 1, *scroll + (unsigned)room, count);
    for (int i = 0; i < room && *scroll + (unsigned)i < count; i++) {
        const struct stream_row *one = &list[*scroll + (unsigned)i];
        stream_line(one, text, sizeof text);
        top_pen(one->io->sending ? A_BOLD : A_NORMAL);
        top_go_to(row + 1 + i, 0);
        top_put("%s", text);
        top_pen(A_NORMAL);
    }
    if (count == 0) {
        top_go_to(row + 1, 0);
        top_put("no loop has a stream, a listener or a child");
    }
    free(list);
}

static void draw_queues(const struct top_views *views, int row, int bottom, unsigned *scroll, int *rows)
{
    const int room = bottom - row - 1;
    if (room < 1)
        return;
    if (*scroll + (unsigned)room > views->line_count)
        *scroll = views->line_count > (size_t)room ? (unsigned)views->line_count - (unsigned)room : 0;
    *rows = room;
    for (int i = 0; i < room && *scroll + (unsigned)i < views->line_count; i++) {
        const char *line = views->lines[*scroll + (unsigned)i];
        top_pen(line[0] != ' ' ? A_BOLD : strstr(line, "verdict:") != NULL ? top_ink(COLOUR_WARN) : A_NORMAL);
        top_go_to(row + 1 + i, 0);
        top_put("%s", line);
        top_pen(A_NORMAL);
    }
    if (views->line_count == 0) {
        top_go_to(row + 1, 0);
        top_put(views->queues != NULL ? "the queue has not answered yet"
                                      : "it has no queue of jobs open that can be found; --jobs WHERE names one");
    }
}

int top_views_summaries(const struct top_views *views, int row)
{
    char line[512];
    for (size_t i = 0; views->answers != NULL && i < json_object_array_length(views->answers) && row + 3 < LINES; i++) {
        queue_summary(json_object_array_get_idx(views->answers, i), line, sizeof line);
        if (i == 0)
            row++;
        top_go_to(row++, 0);
        top_put("%s (key j)", line);
    }
    return row;
}

static void forget_lines(struct top_views *views)
{
    for (size_t i = 0; i < views->line_count; i++)
        free(views->lines[i]);
    free(views->lines);
    views->lines = NULL;
    views->line_count = 0;
}

/* What came since the last look; nobody waits for an engine here. */
static void look_at_queues(struct top_views *views)
{
    if (views->queues == NULL)
        return;
    char *text = NULL, *rest = NULL;
    size_t size = 0;
    json_object_put(views->answers);
    views->answers = queues_json(views->queues, 0);
    FILE *memory = open_memstream(&text, &size);
    if (memory != NULL)
        queues_print(memory, views->answers, SIZE_MAX);
    if (memory == NULL || fclose(memory) != 0) {
        free(text);
        return;
    }
    forget_lines(views);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        char **more = reallocarray(views->lines, views->line_count + 1, sizeof *more);
        if (more == NULL)
            break;
        views->lines = more;
        if ((more[views->line_count] = strdup(line)) == NULL)
            break;
        views->line_count++;
    }
    free(text);
}

void top_views_draw(const struct top_views *views, const vg_snapshot *now, int row, int bottom, unsigned *scroll,
                    int *rows)
{
    if (views->view == TOP_THREADS)
        draw_threads(views, row, bottom, scroll, rows);
    else if (views->view == TOP_QUEUES)
        draw_queues(views, row, bottom, scroll, rows);
    else if (views->view == TOP_STREAMS)
        draw_streams(now, row, bottom, scroll, rows);
    else
        draw_functions(views, row, bottom);
}

void top_views_look(struct top_views *views, struct look *look)
{
    look_at_queues(views);
    if (views->view != TOP_THREADS && views->view != TOP_FUNCTIONS)
        return;
    (void)threads_look(&views->threads, look);
    if (views->view != TOP_FUNCTIONS)
        return;
    if (views->sampler == NULL)
        views->sampler = sampler_create();
    functions_from_rings(look, &views->recorded, &views->recorded_s);
    if (views->sampler == NULL)
        return;
    views->may_sample = sampler_look(views->sampler, look, &views->threads);
    sampler_functions(views->sampler, look, &views->sampled, &views->samples, &views->stop_ns);
}

void top_views_free(struct top_views *views)
{
    threads_free(&views->threads);
    sampler_free(views->sampler);
    forget_lines(views);
    json_object_put(views->answers);
}
