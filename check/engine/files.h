/* SPDX-License-Identifier: MIT */
/* Shared by files.c (the model) and file_calls.c (the calls). */
#ifndef VGC_FILES_H
#define VGC_FILES_H

#include "internal.h"
#include <sys/epoll.h>

enum {
    FIRST = 1000,
    MAX_FILES = 24,
    MAX_WATCHED = 16,
    BUFFER = 256
};

enum file_kind {
    F_NONE = 0,
    F_EVENT,
    F_TIMER,
    F_PIPE,
    F_EPOLL
};

struct watched {
    bool used, disabled;
    int fd;
    uint32_t events, seen_edges;
    epoll_data_t data;
};

struct file {
    enum file_kind kind;
    bool nonblocking, semaphore, can_write;
    uint32_t edges; /* grows with each event that an edge-triggered watcher must see */
    uint64_t count; /* of the event, of expirations, of bytes waiting */
    uint64_t deadline, interval;
    int peer;
    unsigned char bytes[BUFFER];
    struct watched watched[MAX_WATCHED];
};

struct file *file_at(int fd);
uint32_t file_events(struct file *f);
void file_step(uint64_t operands, const void *pc); /* operands: what else tells this call from another one there */
void file_order(bool publish);
void file_done(const void *pc, const char *what, int fd, long value);
bool file_wait(bool timed, uint64_t deadline, const void *pc);
int file_open(enum file_kind kind, int flags);
void file_close(int fd);
int file_epoll_wait(int fd, struct epoll_event *out, int most, bool timed, uint64_t deadline, const void *pc);
int file_epoll_ctl(int fd, int what, int target, struct epoll_event *event, const void *pc);

#endif
