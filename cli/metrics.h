/* SPDX-License-Identifier: MIT */
/* metrics.h - a snapshot in Prometheus' text format (version 0.0.4). */
#ifndef CLI_METRICS_H
#define CLI_METRICS_H

#include <stdio.h>

#include "look.h"

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

void metrics_write(FILE *to, const vg_snapshot *now);

#endif
