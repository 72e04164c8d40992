/* SPDX-License-Identifier: MIT */
/*
 * The part of the kernel behind file descriptors that an event loop sleeps on: eventfd, timerfd, pipes and socket
 * pairs, epoll with level and edge triggering and one-shot, and poll.
 *
 * Every call is one step, and all of them depend on each other: there are few in an execution. A call that has to wait
 * is tried again when something has become ready. Data read, or an event taken, happens after the write that made it
 * ready: the kernel's locks order them on every machine, and code that hands pointers through a pipe relies on it.
 * Descriptors are given out lowest first from FIRST, so that numbers are reused as in life. What is still open at the
 * end is a leak.
 */
#define _GNU_SOURCE
#include "files.h"
#include "internal.h"
#include "state.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

ENGINE_STATE static struct file files[MAX_FILES];
ENGINE_STATE static struct location *files_location;
ENGINE_STATE static clock_vec files_hb;
ENGINE_STATE static int files_open;

void files_reset(void)
{
    if (files_open != 0 || files_location != NULL)
        memset(files, 0, sizeof files);
    files_location = NULL;
    files_open = 0;
    memset(&files_hb, 0, sizeof files_hb);
}

void files_forget_location(void)
{
    files_location = NULL;
}

int files_count(void)
{
    return files_open;
}

struct file *file_at(int fd)
{
    if (fd < FIRST || fd >= FIRST + MAX_FILES || files[fd - FIRST].kind == F_NONE)
        return NULL;
    return &files[fd - FIRST];
}

static const uintptr_t files_address = 0x40; /* not a real one: nothing lies there */

void file_step(uint64_t operands, const void *pc)
{
    struct op op = {.kind = OP_FILE, .memory = USE_WRITE, .address = files_address, .pc = pc};
    if (files_location == NULL)
        files_location = location_new(files_address, 0);
    ME->operands = operands;
    sched_point(&op);
}

/* Publishes, or takes over, what was done before. */
void file_order(bool publish)
{
    struct thread *me = ME;
    if (publish)
        clock_join(&files_hb, &me->hb);
    else
        clock_join(&me->hb, &files_hb);
}

void file_done(const void *pc, const char *what, int fd, long value)
{
    event_end_at(files_location);
    spin_progress();
    if (G.tracing)
        __builtin_snprintf(trace_add(OP_FILE, pc)->text, 100, "%s fd %d = %ld", what, fd, value);
}

static void expire(struct file *f)
{
    while (f->deadline != 0 && f->deadline <= G.now) {
        f->count++;
        f->edges++;
        f->deadline = f->interval != 0 ? f->deadline + f->interval : 0;
        if (f->interval == 0)
            break;
    }
}

static bool item_ready(struct watched *w, uint32_t *events);

uint32_t file_events(struct file *f)
{
    uint32_t e = 0;
    switch (f->kind) {
    case F_EVENT:
        return (f->count > 0 ? EPOLLIN : 0u) | (f->count < UINT64_MAX - 1 ? EPOLLOUT : 0u);
    case F_TIMER:
        expire(f);
        return f->count > 0 ? EPOLLIN : 0u;
    case F_PIPE: {
        struct file *peer = f->peer != 0 ? file_at(f->peer) : NULL;
        if (f->count > 0)
            e |= EPOLLIN;
        if (peer == NULL)
            e |= EPOLLHUP | EPOLLRDHUP | EPOLLIN;
        else if (f->can_write && peer->count < BUFFER)
            e |= EPOLLOUT;
        return e;
    }
    case F_EPOLL:
        for (int i = 0; i < MAX_WATCHED; i++) {
            uint32_t ignored;
            if (f->watched[i].used && item_ready(&f->watched[i], &ignored))
                return EPOLLIN;
        }
        return 0;
    default:
        return 0;
    }
}

static bool item_ready(struct watched *w, uint32_t *events)
{
    struct file *f = file_at(w->fd);
    if (f == NULL || w->disabled)
        return false;
    *events = file_events(f) & (w->events | EPOLLERR | EPOLLHUP);
    return *events != 0 && (!(w->events & EPOLLET) || w->seen_edges != f->edges);
}

/* Something may have become ready: those who wait look again. */
void files_changed(uint32_t by_event)
{
    for (int i = 0; i < G.thread_count; i++)
        if (G.threads[i].status == T_POLLING)
            sched_wake(i, by_event);
}

/* The next moment at which a timer makes something ready; UINT64_MAX if there
 * is none. */
uint64_t files_next_deadline(void)
{
    uint64_t nearest = UINT64_MAX;
    bool polling = false;
    if (files_open == 0)
        return nearest;
    for (int i = 0; i < G.thread_count; i++)
        polling |= G.threads[i].status == T_POLLING;
    for (int i = 0; polling && i < MAX_FILES; i++)
        if (files[i].kind == F_TIMER && files[i].deadline > G.now && files[i].deadline < nearest)
            nearest = files[i].deadline;
    return nearest;
}

/* Waits until something changes or the time is over. False: it is over. */
bool file_wait(bool timed, uint64_t deadline, const void *pc)
{
    struct thread *me = ME;
    event_end_at(files_location);
    if (timed && deadline <= G.now)
        return false;
    me->timed = timed;
    me->timed_out = false;
    me->deadline = deadline;
    me->waiting_at = files_location;
    me->op = (struct op){.kind = OP_FILE, .memory = USE_WRITE, .address = files_address, .pc = pc};
    spin_progress();
    sched_block(T_POLLING);
    me->timed = false;
    me->waiting_at = NULL;
    return true;
}

int file_open(enum file_kind kind, int flags)
{
    if (alloc_fails()) {
        errno = EMFILE;
        return -1;
    }
    for (int i = 0; i < MAX_FILES; i++)
        if (files[i].kind == F_NONE) {
            memset(&files[i], 0, sizeof files[i]);
            files[i].kind = kind;
            files[i].nonblocking = (flags & O_NONBLOCK) != 0;
            files_open++;
            return FIRST + i;
        }
    fail(VGC_MISUSE, "more than %d descriptors in one execution", MAX_FILES);
}

void file_close(int fd)
{
    struct file *f = file_at(fd);
    f->kind = F_NONE;
    files_open--;
    for (int i = 0; i < MAX_FILES; i++) {
        if (files[i].kind == F_PIPE && files[i].peer == fd) {
            files[i].peer = 0;
            files[i].edges++;
        }
        for (int k = 0; k < MAX_WATCHED && files[i].kind == F_EPOLL; k++)
            if (files[i].watched[k].fd == fd)
                files[i].watched[k].used = false;
    }
}

static int collect_events(struct file *e, struct epoll_event *out, int most)
{
    int n = 0;
    for (int i = 0; i < MAX_WATCHED && n < most; i++) {
        struct watched *w = &e->watched[i];
        uint32_t events;
        if (!w->used || !item_ready(w, &events))
            continue;
        w->seen_edges = file_at(w->fd)->edges;
        if (w->events & EPOLLONESHOT)
            w->disabled = true;
        out[n].events = events;
        out[n].data = w->data;
        n++;
    }
    return n;
}

int file_epoll_wait(int fd, struct epoll_event *out, int most, bool timed, uint64_t deadline, const void *pc)
{
    access_plain((uintptr_t)out, sizeof *out * (size_t)(most > 0 ? most : 0), true, pc);
    file_step((uint64_t)fd << 32 | (uint32_t)most, pc);
    for (;;) {
        struct file *e = file_at(fd);
        if (e == NULL || e->kind != F_EPOLL || most <= 0) {
            file_done(pc, "epoll_wait", fd, -1);
            errno = e == NULL ? EBADF : EINVAL;
            return -1;
        }
        int n = collect_events(e, out, most);
        if (n > 0 || (timed && deadline <= G.now)) {
            if (n > 0)
                file_order(false);
            file_done(pc, "epoll_wait", fd, n);
            return n;
        }
        if (!file_wait(timed, deadline, pc))
            return 0;
    }
}

int file_epoll_ctl(int fd, int what, int target, struct epoll_event *event, const void *pc)
{
    int result = 0;
    file_step((uint64_t)fd << 32 | (uint64_t)target << 8 | (uint64_t)what, pc);
    struct file *e = file_at(fd), *f = file_at(target);
    struct watched *found = NULL, *room = NULL;
    if (e == NULL || f == NULL || e->kind != F_EPOLL) {
        result = e == NULL || f == NULL ? EBADF : EINVAL;
    } else {
        for (int i = 0; i < MAX_WATCHED; i++) {
            if (e->watched[i].used && e->watched[i].fd == target)
                found = &e->watched[i];
            else if (!e->watched[i].used && room == NULL)
                room = &e->watched[i];
        }
        if (what == EPOLL_CTL_ADD && found != NULL)
            result = EEXIST;
        else if (what != EPOLL_CTL_ADD && found == NULL)
            result = ENOENT;
        else if (what == EPOLL_CTL_DEL)
            found->used = false;
        else if (found == NULL && room == NULL)
            fail(VGC_MISUSE, "more than %d descriptors in one epoll", MAX_WATCHED);
        else {
            struct watched *w = found != NULL ? found : room;
            *w = (struct watched){.used = true,
                                  .fd = target,
                                  .events = event->events,
                                  .data = event->data,
                                  .seen_edges = f->edges - 1}; /* ready now counts as an edge */
        }
        e->edges++;
        files_changed(G.event_count);
    }
    file_order(true);
    file_done(pc, "epoll_ctl", target, result ? -1 : 0);
    errno = result;
    return result ? -1 : 0;
}

uint64_t files_hash(uint64_t seed)
{
    return files_open == 0 ? seed : hash_words(files, files + MAX_FILES, seed);
}

/* What reading from any of them brings with it. */
const clock_vec *files_clock(void)
{
    return &files_hb;
}
