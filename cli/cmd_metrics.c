/* SPDX-License-Identifier: MIT */
#include <json-c/json.h>
#include <stdio.h>

#include "command.h"
#include "metrics.h"
#include "queues.h"
#include "say.h"

static const char *jobs_where;

static int metrics(int count, char **operands)
{
    struct look look;
    int status = look_open(&look, "metrics", count > 0 ? operands[0] : NULL, false);
    if (status != 0)
        return status;
    struct queues *queues = queues_open(jobs_where, look.now->alive ? vg_reader_local_pid(look.reader) : 0);
    json_object *all = queues_json(queues, -1);
    metrics_write(stdout, look.now);
    queues_metrics(stdout, all);
    status = jobs_where != NULL && (all == NULL || queues_failed(all)) ? EXIT_FAILED : EXIT_FINE;
    json_object_put(all);
    queues_close(queues);
    look_close(&look);
    return status;
}

static const struct option_spec options[] = {
    {0, "jobs", OPTION_TEXT, "WHERE", &jobs_where, 0, 0,
     "the queue of jobs to show, a file or postgresql://; default: those that the process has open"},
    {0},
};

const struct command command_metrics = {
    .name = "metrics",
    .operands = "[PID|FILE]",
    .summary = "the counters of a process in Prometheus' text format",
    .text = "Prints every counter, gauge and histogram of a process in the text format that Prometheus reads, each "
            "with its\n"
            "HELP and TYPE. Series are labelled with the name of their pool or loop, and with its id, because names "
            "may be\n"
            "used twice. Queues of jobs that the process has open (or --jobs names) are counted by kind, class and "
            "state.\n"
            "`vigil serve` offers the same at /metrics, to be scraped.",
    .examples = "  vigil metrics 4711 > /var/lib/node-exporter/game.prom",
    .most_operands = 1,
    .options = options,
    .run = metrics,
};
