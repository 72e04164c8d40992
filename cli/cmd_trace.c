/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <vigil/record.h>

#include "command.h"
#include "say.h"
#include "trace.h"

static const char *output;

static int trace(int count, char **operands)
{
    struct look look;
    if (output == NULL && isatty(STDOUT_FILENO)) {
        say_error("trace: it is long; say where it goes: `vigil trace -o trace.json`, or -o - for the terminal");
        return EXIT_USAGE;
    }
    int status = look_open(&look, "trace", count > 0 ? operands[0] : NULL, true);
    if (status != 0)
        return status;
    bool to_stdout = output == NULL || strcmp(output, "-") == 0;
    FILE *to = to_stdout ? stdout : fopen(output, "we");
    if (to == NULL) {
        say_error("trace: %s could not be made: %s", output, strerror(errno));
        look_close(&look);
        return EXIT_FAILED;
    }
    struct trace_summary summary;
    int error = trace_write(to, &look, &summary);
    bool written = fflush(to) == 0 && !ferror(to);
    int why = errno;
    if (!to_stdout && fclose(to) != 0 && written) {
        written = false;
        why = errno;
    }
    if (error < 0 || !written) {
        say_error("trace: %s could not be written: %s", to_stdout ? "the output" : output,
                  strerror(error < 0 ? -error : why));
        status = EXIT_FAILED;
    } else if (!to_stdout) {
        printf("%s: %zu slices and %zu arrows of %zu threads. Open it at ui.perfetto.dev or in chrome://tracing.\n",
               output, summary.slices, summary.arrows, summary.threads);
        if (look.now->level < VIGIL_RECORD_EVENTS)
            printf("The recorder of that process keeps no events (level counters), so there is little to see.\n");
    }
    look_close(&look);
    return status;
}

static const struct option_spec options[] = {
    {'o', "output", OPTION_TEXT, "FILE", &output, 0, 0, "write there; - is the standard output"},
    {0},
};

const struct command command_trace = {
    .name = "trace",
    .operands = "[PID|FILE]",
    .summary = "what ran when, for Perfetto or chrome://tracing, with arrows from submit to run",
    .text =
        "Writes what the flight recorder remembers: each task, callback, park and wait as a slice on its thread's "
        "lane,\n"
        "with arrows from where a task was submitted to where it ran. The rings keep the last few thousand events of "
        "each\n"
        "thread; what runs at this very moment is in it too, marked `unfinished`. It works on live, wedged and dead\n"
        "processes.",
    .examples = "  vigil trace 4711 -o trace.json      then open it at ui.perfetto.dev or chrome://tracing",
    .most_operands = 1,
    .options = options,
    .run = trace,
};
