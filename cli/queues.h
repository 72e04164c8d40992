/* SPDX-License-Identifier: MIT */
/*
 * queues.h - the queues of jobs (vigil/jobs.h) that a process has open, for the verbs that look at a process.
 *
 * The engines' libraries are in a program of their own, `vigil-jobs`. One of it is started for each queue; it looks
 * when it is asked, answers with a line of JSON, and ends when this process does.
 */
#ifndef CLI_QUEUES_H
#define CLI_QUEUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

enum {
    QUEUES_WAIT_MS = 1000 /* for verbs that look again anyway */
};

struct json_object;
struct queues;

/* The queue that --jobs names; otherwise those of the process: files that it has open, and the VIGIL_JOBS of its
   environment. NULL: there is none. Call it before threads are started. */
struct queues *queues_open(const char *where, pid_t pid);
void queues_close(struct queues *queues);

/* Ask, wait at most so long for answers (negative: until they come), and give the newest of each queue as an array, or
   NULL if there is none; the caller puts it. A queue that cannot be looked at has the key "error". */
struct json_object *queues_json(struct queues *queues, int wait_ms);

/* Whether one could not be looked at. */
bool queues_failed(struct json_object *all);

/* In words, at most `most` jobs of a list; and for Prometheus. `all` may be NULL. */
void queues_print(FILE *to, struct json_object *all, size_t most);
void queues_metrics(FILE *to, struct json_object *all);
/* One line without its end: "queue work.db: 3 waiting, 1 running, 0 dead". */
void queue_summary(struct json_object *queue, char *room, size_t size);

/* The name of a queue for people: no passwords, no parameters. */
void queue_name(const char *where, char *room, size_t size);

#endif
