/* SPDX-License-Identifier: MIT */
/*
 * settle.h - when a patient is ready: each of its threads sleeps where it will sleep for ever. A helper looks at /proc for that, so that the
 * examination begins at the right moment.
 */
#ifndef CORPUS_SETTLE_H
#define CORPUS_SETTLE_H

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void tick(void)
{
    (void)poll(NULL, 0, 1);
}

/* How many threads of this process are asleep. */
static int asleep(pid_t pid, int *all)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    int count = 0;
    *all = 0;
    for (struct dirent *e; tasks != NULL && (e = readdir(tasks)) != NULL;) {
        char line[512];
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%.10s/stat", (int)pid, e->d_name);
        FILE *stat = fopen(path, "re");
        if (stat != NULL && fgets(line, sizeof line, stat) != NULL) {
            const char *end = strrchr(line, ')');
            (*all)++;
            count += end != NULL && (end[2] == 'S' || end[2] == 'D');
        }
        if (stat != NULL)
            fclose(stat);
    }
    if (tasks != NULL)
        closedir(tasks);
    return count;
}

/* A child says that it is ready once all others sleep; it does not take part in what follows. */
static void settle_then_say(int awake)
{
    const pid_t patient = getpid();
    fflush(stdout);
    if (fork() != 0)
        return;
    if (fork() != 0) /* nobody's child: the patient waits for none of ours */
        _exit(0);
    for (int i = 3; i < 256; i++) /* and holds no end of its pipes */
        close(i);
    int still = 0, all = 0;
    while (still < 5) {
        tick();
        still = asleep(patient, &all) >= all - awake && all > 0 ? still + 1 : 0;
        if (all == 0)
            _exit(1);
    }
    printf("ready\n");
    fflush(stdout);
    _exit(0);
}

static void ready(void)
{
    settle_then_say(0);
    (void)waitpid(-1, NULL, 0); /* the one in between */
}

static pthread_t start(void *(*body)(void *), void *arg)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, arg) != 0)
        abort();
    return thread;
}

#endif
