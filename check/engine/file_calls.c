/* SPDX-License-Identifier: MIT */
/* The system calls on descriptors, in terms of files.c. Descriptors that are
 * not of the model go to the real kernel. */
#define _GNU_SOURCE
#include "files.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define USER_PC (((void *const *)vgc_user_sp)[6])

ssize_t __real_read(int fd, void *buffer, size_t size);
ssize_t __real_write(int fd, const void *buffer, size_t size);
int __real_close(int fd);

static bool ours(int fd)
{
    return G.current >= 0 && fd >= FIRST && fd < FIRST + MAX_FILES;
}

static uint64_t nanoseconds(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

/* One try. -1 with EAGAIN: would wait. */
static ssize_t read_once(struct file *f, void *buffer, size_t size)
{
    if (f->kind == F_PIPE) {
        if (f->count == 0) {
            if (f->peer == 0 || file_at(f->peer) == NULL)
                return 0;
            errno = EAGAIN;
            return -1;
        }
        size_t n = f->count < size ? (size_t)f->count : size;
        memcpy(buffer, f->bytes, n);
        memmove(f->bytes, f->bytes + n, (size_t)f->count - n);
        f->count -= n;
        struct file *peer = file_at(f->peer);
        if (peer != NULL)
            peer->edges++;
        return (ssize_t)n;
    }
    if (f->kind != F_EVENT && f->kind != F_TIMER) {
        errno = EINVAL;
        return -1;
    }
    if (size < sizeof(uint64_t)) {
        errno = EINVAL;
        return -1;
    }
    (void)file_events(f);
    if (f->count == 0) {
        errno = EAGAIN;
        return -1;
    }
    uint64_t value = f->semaphore ? 1 : f->count;
    f->count -= value;
    if (f->kind == F_EVENT)
        f->edges++; /* it can be written again */
    memcpy(buffer, &value, sizeof value);
    return (ssize_t)sizeof value;
}

static ssize_t write_once(struct file *f, const void *buffer, size_t size)
{
    if (f->kind == F_EVENT && size >= sizeof(uint64_t)) {
        uint64_t value;
        memcpy(&value, buffer, sizeof value);
        if (value == UINT64_MAX || f->count > UINT64_MAX - 1 - value) {
            errno = value == UINT64_MAX ? EINVAL : EAGAIN;
            return -1;
        }
        f->count += value;
        f->edges++;
        return (ssize_t)sizeof value;
    }
    if (f->kind == F_PIPE && f->can_write) {
        struct file *peer = f->peer != 0 ? file_at(f->peer) : NULL;
        if (peer == NULL) {
            errno = EPIPE;
            return -1;
        }
        size_t n = BUFFER - (size_t)peer->count;
        n = n < size ? n : size;
        if (n == 0) {
            errno = EAGAIN;
            return -1;
        }
        memcpy(peer->bytes + peer->count, buffer, n);
        peer->count += n;
        peer->edges++;
        return (ssize_t)n;
    }
    errno = EINVAL;
    return -1;
}

static ssize_t transfer(int fd, void *in, const void *out, size_t size, const char *name, const void *pc)
{
    if (in != NULL)
        access_plain((uintptr_t)in, size, true, pc);
    else
        access_plain((uintptr_t)out, size, false, pc);
    file_step((uint64_t)fd << 32 | (uint32_t)size, pc);
    for (;;) {
        struct file *f = file_at(fd);
        ssize_t n = -1;
        if (f == NULL)
            errno = EBADF;
        else
            n = in != NULL ? read_once(f, in, size) : write_once(f, out, size);
        if (n < 0 && errno == EAGAIN && f != NULL && !f->nonblocking) {
            file_wait(false, 0, pc);
            continue;
        }
        if (n >= 0) {
            int saved = errno;
            file_order(in == NULL);
            files_changed(G.event_count);
            errno = saved;
        }
        file_done(pc, name, fd, (long)n);
        return n;
    }
}

ssize_t vgc_read(int fd, void *buffer, size_t size);
ssize_t vgc_read(int fd, void *buffer, size_t size)
{
    return ours(fd) ? transfer(fd, buffer, NULL, size, "read", USER_PC) : __real_read(fd, buffer, size);
}

ssize_t vgc_write(int fd, const void *buffer, size_t size);
ssize_t vgc_write(int fd, const void *buffer, size_t size)
{
    return ours(fd) ? transfer(fd, NULL, buffer, size, "write", USER_PC) : __real_write(fd, buffer, size);
}

int vgc_eventfd_read(int fd, uint64_t *value);
int vgc_eventfd_read(int fd, uint64_t *value)
{
    return transfer(fd, value, NULL, sizeof *value, "read", USER_PC) < 0 ? -1 : 0;
}

int vgc_eventfd_write(int fd, uint64_t value);
int vgc_eventfd_write(int fd, uint64_t value)
{
    return transfer(fd, NULL, &value, sizeof value, "write", USER_PC) < 0 ? -1 : 0;
}

int vgc_close(int fd);
int vgc_close(int fd)
{
    if (!ours(fd))
        return __real_close(fd);
    const void *pc = USER_PC;
    file_step((uint64_t)fd, pc);
    bool good = file_at(fd) != NULL;
    if (good) {
        file_close(fd);
        files_changed(G.event_count);
    }
    file_done(pc, "close", fd, good ? 0 : -1);
    if (good)
        return 0;
    char where[100];
    describe_pc(pc, where, sizeof where);
    fail(VGC_DOUBLE_FREE, "close at %s of descriptor %d, which is not open", where, fd);
}

static int opened(enum file_kind kind, int flags, const char *name, const void *pc)
{
    file_step((uint64_t)kind << 32 | (uint32_t)flags, pc);
    int fd = file_open(kind, flags);
    int saved = errno;
    file_done(pc, name, fd, fd);
    errno = saved;
    return fd;
}

int vgc_eventfd(unsigned start, int flags);
int vgc_eventfd(unsigned start, int flags)
{
    int fd = opened(F_EVENT, flags & EFD_NONBLOCK ? O_NONBLOCK : 0, "eventfd", USER_PC);
    if (fd >= 0) {
        file_at(fd)->count = start;
        file_at(fd)->semaphore = (flags & EFD_SEMAPHORE) != 0;
    }
    return fd;
}

int vgc_epoll_create1(int flags);
int vgc_epoll_create1(int flags)
{
    (void)flags;
    return opened(F_EPOLL, 0, "epoll_create", USER_PC);
}

int vgc_epoll_ctl(int fd, int what, int target, struct epoll_event *event);
int vgc_epoll_ctl(int fd, int what, int target, struct epoll_event *event)
{
    return file_epoll_ctl(fd, what, target, event, USER_PC);
}

int vgc_epoll_wait(int fd, struct epoll_event *out, int most, int milliseconds);
int vgc_epoll_wait(int fd, struct epoll_event *out, int most, int milliseconds)
{
    uint64_t deadline = G.now + (uint64_t)(milliseconds > 0 ? milliseconds : 0) * 1000000u;
    return file_epoll_wait(fd, out, most, milliseconds >= 0, deadline, USER_PC);
}

int vgc_epoll_pwait(int fd, struct epoll_event *out, int most, int milliseconds, const void *mask);
int vgc_epoll_pwait(int fd, struct epoll_event *out, int most, int milliseconds, const void *mask)
{
    (void)mask;
    return vgc_epoll_wait(fd, out, most, milliseconds);
}

int vgc_epoll_pwait2(int fd, struct epoll_event *out, int most, const struct timespec *timeout, const void *mask);
int vgc_epoll_pwait2(int fd, struct epoll_event *out, int most, const struct timespec *timeout, const void *mask)
{
    (void)mask;
    bool timed = timeout != NULL;
    return file_epoll_wait(fd, out, most, timed, timed ? G.now + nanoseconds(timeout) : 0, USER_PC);
}

int vgc_timerfd_create(int clock, int flags);
int vgc_timerfd_create(int clock, int flags)
{
    (void)clock;
    return opened(F_TIMER, flags & TFD_NONBLOCK ? O_NONBLOCK : 0, "timerfd_create", USER_PC);
}

int vgc_timerfd_settime(int fd, int flags, const struct itimerspec *value, struct itimerspec *old);
int vgc_timerfd_settime(int fd, int flags, const struct itimerspec *value, struct itimerspec *old)
{
    const void *pc = USER_PC;
    file_step((uint64_t)fd << 32 | (uint32_t)flags, pc);
    struct file *f = file_at(fd);
    int result = -1;
    if (f == NULL || f->kind != F_TIMER) {
        errno = f == NULL ? EBADF : EINVAL;
    } else {
        if (old != NULL)
            memset(old, 0, sizeof *old);
        uint64_t at = nanoseconds(&value->it_value);
        f->count = 0;
        f->interval = nanoseconds(&value->it_interval);
        f->deadline = at == 0 ? 0 : (flags & TFD_TIMER_ABSTIME ? at : G.now + at);
        result = 0;
        files_changed(G.event_count);
    }
    file_done(pc, "timerfd_settime", fd, result);
    return result;
}

static int make_pair(int *fds, int flags, bool both_ways, const void *pc)
{
    int a = opened(F_PIPE, flags, both_ways ? "socketpair" : "pipe", pc);
    int b = a >= 0 ? opened(F_PIPE, flags, both_ways ? "socketpair" : "pipe", pc) : -1;
    if (b < 0) {
        if (a >= 0)
            file_close(a);
        return -1;
    }
    file_at(a)->peer = b;
    file_at(b)->peer = a;
    file_at(a)->can_write = both_ways;
    file_at(b)->can_write = true;
    fds[0] = a;
    fds[1] = b;
    return 0;
}

int vgc_pipe2(int *fds, int flags);
int vgc_pipe2(int *fds, int flags)
{
    return make_pair(fds, flags, false, USER_PC);
}

int vgc_socketpair(int domain, int type, int protocol, int *fds);
int vgc_socketpair(int domain, int type, int protocol, int *fds)
{
    (void)domain;
    (void)protocol;
    return make_pair(fds, type & SOCK_NONBLOCK ? O_NONBLOCK : 0, true, USER_PC);
}

int vgc_poll(struct pollfd *fds, nfds_t count, int milliseconds);
int vgc_poll(struct pollfd *fds, nfds_t count, int milliseconds)
{
    const void *pc = USER_PC;
    uint64_t deadline = G.now + (uint64_t)(milliseconds > 0 ? milliseconds : 0) * 1000000u;
    file_step(deadline ^ (uint64_t)count << 56, pc);
    for (;;) {
        int ready = 0;
        for (nfds_t i = 0; i < count; i++) {
            struct file *f = file_at(fds[i].fd);
            fds[i].revents = 0;
            if (fds[i].fd < 0)
                continue;
            if (f == NULL)
                fds[i].revents = POLLNVAL;
            else
                fds[i].revents =
                    (short)(file_events(f) & ((uint32_t)(uint16_t)fds[i].events | (uint32_t)(POLLERR | POLLHUP)));
            ready += fds[i].revents != 0;
        }
        if (ready > 0 || (milliseconds >= 0 && deadline <= G.now)) {
            if (ready > 0)
                file_order(false);
            file_done(pc, "poll", count > 0 ? fds[0].fd : -1, ready);
            return ready;
        }
        if (!file_wait(milliseconds >= 0, deadline, pc))
            return 0;
    }
}
