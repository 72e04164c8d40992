/* SPDX-License-Identifier: MIT */
/* threads.h - every thread of a process for `vigil top`: on a processor or not, how much of one, and what it waits
   for. */
#ifndef CLI_THREADS_H
#define CLI_THREADS_H

#include "look.h"

struct thread_row {
    pid_t tid;
    char name[17];
    char state; /* as in /proc: R S D T t Z */
    bool known; /* cpu is known: there was a look before */
    double cpu; /* since the look before; 1 is one processor */
    uint64_t run_ns;
    bool seen;
    char does[96]; /* what it does or waits for */
};

struct threads {
    struct thread_row *of; /* busiest first */
    size_t count, room;
    uint64_t at_ns;
};

/* Look again. false: the process is gone, or cannot be seen from here. */
bool threads_look(struct threads *threads, struct look *look);
void threads_free(struct threads *threads);

/* Its state now, as in /proc; 0: it is gone. */
char threads_state(pid_t pid, pid_t tid);

/* The table's heading and one line of it, as text of at most `size`. */
const char *threads_heading(void);
void threads_line(const struct thread_row *row, char *room, size_t size);

#endif
