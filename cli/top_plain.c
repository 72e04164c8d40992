/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <vigil/loop.h>

#include "command.h"
#include "functions.h"
#include "kinds.h"
#include "say.h"
#include "streams.h"
#include "top.h"
#include "view_text.h"

static double rate(uint64_t now, uint64_t before, double seconds)
{
    return seconds > 0 && now > before ? (double)(now - before) / seconds : 0;
}

static void plain_pool(struct look *look, const vg_pool_view *pool)
{
    const vg_pool_view *past = pool_in(look->past, pool->serial);
    double seconds = seconds_between(look->past, look->now);
    struct crowd crowd = pool_crowd(pool);
    char name[17], n[8][WORDS];
    clean_text(name, sizeof name, pool->name, sizeof pool->name, false);
    printf("pool %s: %u threads, %u running, %u parked, %u blocked, %s tasks/s\n", name, crowd.threads, crowd.running,
           crowd.parked, crowd.blocked,
           words_rate(n[0], past != NULL ? rate(pool->total.completed, past->total.completed, seconds) : 0));
    printf("  %-8s %7s %7s %8s %7s %7s %7s\n", "class", "queued", "running", "done/s", "wait99", "run99", "oldest");
    vg_hist_view *since = malloc(2 * sizeof *since);
    for (unsigned i = 0; i < VG_FILE_CLASSES; i++) {
        const vg_class_view *c = &pool->of[i];
        uint64_t wait = 0, run = 0;
        if (past != NULL && since != NULL) {
            vg_hist_since(&since[0], &pool->wait[i], &past->wait[i]);
            vg_hist_since(&since[1], &pool->run[i], &past->run[i]);
            wait = vg_hist_quantile(&since[0], 0.99);
            run = vg_hist_quantile(&since[1], 0.99);
        }
        printf("  %-8s %7s %7s %8s %7s %7s %7s\n", class_name(i), words_count(n[0], c->queued),
               words_count(n[1], c->running),
               words_rate(n[2], past != NULL ? rate(c->completed, past->of[i].completed, seconds) : 0),
               words_ns(n[3], wait), words_ns(n[4], run), words_ns(n[5], c->oldest_age_ns));
    }
    free(since);
}

static void plain_threads(struct threads *threads, struct look *look)
{
    char line[256];
    if (!threads_look(threads, look))
        return;
    printf("%s\n", threads_heading());
    for (size_t i = 0; i < threads->count; i++) {
        threads_line(&threads->of[i], line, sizeof line);
        printf("%s\n", line);
    }
}

static void plain_streams(const vg_snapshot *now)
{
    size_t count;
    struct stream_row *rows = streams_list(now, NULL, &count);
    char line[512];
    printf("%s\n", stream_heading());
    for (size_t i = 0; i < count; i++) {
        stream_line(&rows[i], line, sizeof line);
        printf("%s\n", line);
    }
    free(rows);
}

static void plain_functions(struct look *look, struct threads *threads, struct sampler *sampler)
{
    struct functions functions;
    double seconds;
    functions_from_rings(look, &functions, &seconds);
    printf("tasks and callbacks, the last %.1f s of the record\n", seconds);
    for (size_t i = 0; i < functions.count; i++)
        printf("  %6.1f %%  %8llu times  %s\n", 100 * functions.of[i].share, (unsigned long long)functions.of[i].count,
               functions.of[i].name);
    unsigned samples = 0;
    uint64_t stop_ns = 0;
    if (sampler == NULL || !threads_look(threads, look) || !sampler_look(sampler, look, threads)) {
        printf("functions by sampling: %s\n",
               sampler == NULL ? "this build has no doctor" : "this process may not be stopped");
        return;
    }
    sampler_functions(sampler, look, &functions, &samples, &stop_ns);
    printf("functions by sampling, %u samples, longest stop %.0f us\n", samples, (double)stop_ns / 1e3);
    for (size_t i = 0; i < functions.count; i++)
        printf("  %6.1f %%  %8llu times  %s\n", 100 * functions.of[i].share, (unsigned long long)functions.of[i].count,
               functions.of[i].name);
}

static void plain_queues(const struct top_options *options)
{
    if (options->view != TOP_LANES && options->view != TOP_QUEUES)
        return;
    json_object *all = queues_json(options->queues, QUEUES_WAIT_MS);
    queues_print(stdout, all, options->view == TOP_QUEUES ? SIZE_MAX : 5);
    if (all == NULL && options->view == TOP_QUEUES)
        printf("it has no queue of jobs open that can be found; --jobs WHERE names one\n");
    if (all != NULL)
        printf("\n");
    json_object_put(all);
}

static void plain_block(struct look *look)
{
    const vg_snapshot *now = look->now;
    char program[256], up[WORDS];
    printf("%s %d: %s, up %s\n", look_program(now, program, sizeof program), (int)now->pid, look_state(now),
           words_ago(up, now->age_ns));
    for (size_t i = 0; i < now->verdict_count; i++) {
        const vg_verdict_view *v = &now->verdicts[i];
        char reason[sizeof v->reason + 1];
        if (v->over)
            continue;
        clean_text(reason, sizeof reason, v->reason, sizeof v->reason, false);
        printf("%s %s: %s\n", severity_name(v->severity), stall_name(v->kind), reason);
    }
    for (size_t i = 0; i < now->pool_count; i++)
        plain_pool(look, &now->pools[i]);
    for (size_t i = 0; i < now->loop_count; i++) {
        const vg_loop_view *loop = &now->loops[i], *past = loop_in(look->past, loop->serial);
        double seconds = past != NULL ? seconds_between(look->past, now) : 0;
        char name[33], words[512], n[3][WORDS];
        clean_text(name, sizeof name, loop->name, sizeof loop->name, false);
        loop_words(look, loop, words, sizeof words);
        printf("loop %s: %s; %s turns/s, busy %.1f %%, %s posts queued, %s timers\n", name, words,
               words_rate(n[0], past != NULL ? rate(loop->turns, past->turns, seconds) : 0),
               past != NULL ? rate(loop->work_ns, past->work_ns, seconds) / 1e7 : 0,
               words_count(n[1], loop->posts_queued), words_count(n[2], loop->timers_active));
        streams_print(now, loop, 5);
    }
    printf("\n");
}

int top_plain(struct look *look, const struct top_options *options)
{
    struct threads threads = {0};
    struct sampler *sampler = options->view == TOP_FUNCTIONS ? sampler_create() : NULL;
    int status = EXIT_FINE;
    if (options->view == TOP_THREADS || options->view == TOP_FUNCTIONS)
        (void)threads_look(&threads, look); /* for the CPU time of the first block */
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (unsigned looks = 0; options->looks == 0 || looks < options->looks; looks++) {
        /* The first block comes after one interval, so that its rates mean something. */
        next.tv_nsec += (long)(options->interval_ms % 1000) * 1000000;
        next.tv_sec += options->interval_ms / 1000 + next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        bool gone = !look->now->alive;
        if (!gone)
            while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) == EINTR)
                ;
        int error = look_again(look);
        if (error < 0 && look->now->alive) {
            say_error("the record cannot be read any more: %s", strerror(-error));
            status = EXIT_FAILED;
            break;
        }
        if (options->over != NULL && options->over(options->user))
            break;
        if (options->view == TOP_THREADS)
            plain_threads(&threads, look);
        else if (options->view == TOP_FUNCTIONS)
            plain_functions(look, &threads, sampler);
        else if (options->view == TOP_STREAMS)
            plain_streams(look->now);
        else if (options->view == TOP_LANES)
            plain_block(look);
        plain_queues(options);
        if (fflush(stdout) != 0) {
            status = EXIT_FAILED;
            break;
        }
        if (!look->now->alive) {
            printf("The process has ended.\n");
            break;
        }
    }
    sampler_free(sampler);
    threads_free(&threads);
    return status;
}
