/* SPDX-License-Identifier: MIT */
/* The words of `vigil jobs`; jobs.c is the program. */
#include "command.h"
#include "jobs.h"

struct jobs_request jobs_request = {.most = 100};

static const struct option_spec options[] = {
    {'q', "queue", OPTION_TEXT, "WHERE", &jobs_request.where, 0, 0,
     "the file or postgresql:// of the queue; default: VIGIL_JOBS"},
    {'j', "json", OPTION_FLAG, NULL, &jobs_request.json, 0, 0, "as JSON"},
    {'s', "state", OPTION_TEXT, "STATE", &jobs_request.state_name, 0, 0,
     "ls: waiting, running, held, quarantine, completed, dead, cancelled"},
    {'k', "kind", OPTION_TEXT, "KIND", &jobs_request.kind, 0, 0, "ls: jobs of one kind"},
    {'n', "most", OPTION_NUMBER, "N", &jobs_request.most, 1, 1000000, "ls: at most N jobs"},
    {'z', "zone", OPTION_TEXT, "ZONE", &jobs_request.zone, 0, 0,
     "schedule: the time zone, as Europe/Berlin; default: UTC"},
    {'c', "catch-up", OPTION_TEXT, "RULE", &jobs_request.catch_up, 0, 0,
     "schedule: one (default), skip or all: what happens to fire times that nobody was there for"},
    {0, NULL, OPTION_FLAG, NULL, NULL, 0, 0, NULL},
};

const struct command command_jobs = {
    .name = "jobs",
    .operands = "[ACTION [ARG]...]",
    .summary = "look at a queue of jobs that outlive the process, and steer it",
    .text = "Actions:\n"
            "  ls                                   jobs, as the options choose them\n"
            "  show ID                              one job: its error, verdict, payload and result\n"
            "  retry ID                             let a dead or cancelled job run again\n"
            "  edit ID PAYLOAD                      another payload for a job that does not run\n"
            "  drop ID                              remove a job that has ended\n"
            "  kill ID                              cancel a job, also while it runs\n"
            "  pause [KIND], resume [KIND]          stop and start the starting of jobs, in all processes\n"
            "  drain                                wait until nothing waits or runs\n"
            "  add KIND [PAYLOAD]                   enqueue a job\n"
            "  top                                  account, kinds, hosts, runs, dead letters; again each second\n"
            "  watch                                as `top --json`, once for each line on standard input\n"
            "  metrics                              counts and ages for Prometheus\n"
            "  audit                                count the whole queue; fails unless enqueued = waiting +\n"
            "                                       running + completed + dead + cancelled\n"
            "  schedules                            list schedules\n"
            "  schedule NAME CRON KIND [PAYLOAD]    make or change one\n"
            "  unschedule NAME                      remove one",
    .examples = "  vigil jobs ls --queue work.db --state dead     dead letters\n"
                "  vigil jobs retry 4711 --queue work.db          try one again\n"
                "  vigil jobs schedule nightly '30 2 * * *' report --zone Europe/Berlin --queue work.db\n"
                "  VIGIL_JOBS=postgresql:///app vigil jobs top    a queue on several hosts",
    .most_operands = 5,
    .options = options,
    .program = "vigil-jobs",
#ifndef VIGIL_HAVE_JOBS
    .left_out = "it was built without SQLite. Install it (Debian: libsqlite3-dev) and build again",
#endif
};
