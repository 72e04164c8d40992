/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "command.h"
#include "metrics.h"
#include "say.h"

static int metrics(int count, char **operands)
{
    struct look look;
    int status = look_open(&look, "metrics", count > 0 ? operands[0] : NULL, false);
    if (status != 0)
        return status;
    metrics_write(stdout, look.now);
    look_close(&look);
    return EXIT_FINE;
}

const struct command command_metrics = {
    .name = "metrics",
    .operands = "[PID|FILE]",
    .summary = "the counters of a process in Prometheus' text format",
    .text = "Prints every counter, gauge and histogram of a process in the text format that Prometheus reads, each "
            "with its\n"
            "HELP and TYPE. Series are labelled with the name of their pool or loop, and with its id, because names "
            "may be\n"
            "used twice. `vigil serve` offers the same at /metrics, to be scraped.",
    .examples = "  vigil metrics 4711 > /var/lib/node-exporter/game.prom",
    .most_operands = 1,
    .run = metrics,
};
