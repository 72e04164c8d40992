/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "command.h"
#include "queues.h"
#include "say.h"
#include "top.h"

static long interval_ms, looks;
static bool plain, by_threads, by_functions, by_streams, by_queues;
static const char *jobs_where;

#ifdef VIGIL_HAVE_NCURSES
static int top(int count, char **operands)
{
    struct look look;
    int status = look_open(&look, "top", count > 0 ? operands[0] : NULL, false);
    if (status != 0)
        return status;
    bool screen = !plain && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
    struct top_options options = {
        .view = by_threads     ? TOP_THREADS
                : by_functions ? TOP_FUNCTIONS
                : by_streams   ? TOP_STREAMS
                : by_queues    ? TOP_QUEUES
                               : TOP_LANES,
        .interval_ms = interval_ms > 0 ? (unsigned)interval_ms
                       : screen        ? 250U
                                       : 1000U,
        .looks = (unsigned)looks,
        .queues = queues_open(jobs_where, look.now->alive ? vg_reader_local_pid(look.reader) : 0),
    };
    status = screen ? top_screen(&look, &options) : top_plain(&look, &options);
    queues_close(options.queues);
    look_close(&look);
    return status;
}
#else
#define top NULL /* command_run says why */
#endif

static const struct option_spec options[] = {
    {'i', "interval", OPTION_NUMBER, "MS", &interval_ms, 50, 60000,
     "milliseconds between two looks (default 250 on a terminal, else 1000)"},
    {'n', "looks", OPTION_NUMBER, "COUNT", &looks, 1, 1000000, "end after so many looks"},
    {'t', "threads", OPTION_FLAG, NULL, &by_threads, 0, 0,
     "every thread: how much CPU it uses, and what it does or waits for (key t)"},
    {'f', "functions", OPTION_FLAG, NULL, &by_functions, 0, 0,
     "which functions take the time: tasks and callbacks, and any by sampling (key f)"},
    {'s', "streams", OPTION_FLAG, NULL, &by_streams, 0, 0,
     "streams, listeners, children: how old each is, and what it waits for since when (key s)"},
    {'q', "queues", OPTION_FLAG, NULL, &by_queues, 0, 0,
     "queues of jobs: kinds, hosts, runs with their verdicts, dead letters, schedules (key j)"},
    {0, "jobs", OPTION_TEXT, "WHERE", &jobs_where, 0, 0,
     "the queue of jobs to show, a file or postgresql://; default: those that the process has open"},
    {'p', "plain", OPTION_FLAG, NULL, &plain, 0, 0, "plain text, also on a terminal"},
    {0},
};

const struct command command_top = {
    .name = "top",
    .operands = "[PID|FILE]",
    .summary = "watch a process in the terminal: lanes, queues, latencies, warnings",
    .text =
        "Shows a process live: warnings with their advice, for a pool its classes and a lane for each worker, for "
        "a loop\n"
        "what it does and how its time goes to the phases. Latencies are those of the last second. In the lanes "
        "time runs\n"
        "to the right; a cell's height is the share of that time that the worker spent inside tasks, its colour "
        "the class\n"
        "of these tasks. When the output is no terminal it is plain text, a block for each look.\n\n"
        "The view of threads is for all threads of the process, also those that Vigil does not know. The view of\n"
        "functions has two tables: tasks and callbacks as the record has them, and functions by sampling, which stops\n"
        "each thread that runs for some microseconds a look and needs the rights of a debugger.",
    .examples = "  vigil top 4711\n"
                "  vigil top 4711 | tee watch.log       plain text, a block each second\n"
                "  vigil top 4711 --plain --looks 1     once",
#ifndef VIGIL_HAVE_NCURSES
    .left_out =
        "it was built without ncurses. Install it (Debian: libncurses-dev) and build again; `vigil report` works",
#endif
    .most_operands = 1,
    .options = options,
    .run = top,
};
