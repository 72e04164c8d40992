/* SPDX-License-Identifier: MIT */
#include "verdict.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <vigil/watchdog.h>

#include "utf8.h"

enum {
    LOOKED_AT = 64, /* verdicts that the watchdog keeps */
    WORTH_MS = 500, /* runs that are shorter need no words */
};

static char *from_watchdog(int thread, uint64_t began_ms)
{
    vigil_verdict *verdicts = calloc(LOOKED_AT, sizeof *verdicts);
    if (verdicts == NULL)
        return NULL;
    for (int i = 0; i < LOOKED_AT; i++)
        verdicts[i] = (vigil_verdict)VIGIL_VERDICT_INIT;
    int count = vigil_watchdog_verdicts(verdicts, LOOKED_AT);
    char *text = NULL;
    for (int i = 0; i < count && text == NULL; i++) {
        const vigil_verdict *it = &verdicts[i];
        if (it->thread != thread || it->state == VIGIL_VERDICT_CLEARED || it->at_ns / 1000000 < began_ms)
            continue;
        int length = snprintf(NULL, 0, "%s: %s\n%s", vigil_stall_name(it->stall), it->reason, it->stacks);
        text = length > 0 ? malloc((size_t)length + 1) : NULL;
        if (text != NULL)
            (void)snprintf(text, (size_t)length + 1, "%s: %s\n%s", vigil_stall_name(it->stall), it->reason, it->stacks);
    }
    free(verdicts);
    return text;
}

/* The first line of a file of the thread, "" without one. */
static void read_line(int thread, const char *file, char *line, size_t room)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/%s", thread, file);
    line[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t got = read(fd, line, room - 1);
    line[got > 0 ? got : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    (void)close(fd);
}

static char *from_system(int thread, uint64_t took_ms)
{
    char stat[256], channel[64], words[128] = "";
    read_line(thread, "stat", stat, sizeof stat);
    read_line(thread, "wchan", channel, sizeof channel);
    const char *state = strrchr(stat, ')'); /* the name before it may have anything inside */
    if (state != NULL && state[1] == ' ') {
        const char *does = state[2] == 'R'                      ? "runs"
                           : state[2] == 'S'                    ? "sleeps"
                           : state[2] == 'D'                    ? "waits for the disk or the network"
                           : state[2] == 'T' || state[2] == 't' ? "is stopped"
                                                                : "is gone";
        bool named = channel[0] != '\0' && strcmp(channel, "0") != 0 && state[2] != 'R';
        (void)snprintf(words, sizeof words, "; its thread %s%s%s", does, named ? " in " : "", named ? channel : "");
    }
    char text[192];
    (void)snprintf(text, sizeof text, "it has run for %.1f s%s", (double)took_ms / 1000, words);
    return strdup(text);
}

char *vg_jobs_verdict(int thread, uint64_t began_ms, uint64_t now_ms)
{
    if (thread == 0 || now_ms - began_ms < WORTH_MS)
        return NULL;
    char *text = from_watchdog(thread, began_ms);
    /* A label may be cut within a character. */
    return text != NULL ? vg_jobs_utf8_mend(text) : from_system(thread, now_ms - began_ms);
}
