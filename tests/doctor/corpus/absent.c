/* SPDX-License-Identifier: MIT */
/*
 * absent WHAT - a page that never arrives: it belongs to a userfaultfd that nobody serves. Whoever reads it from outside waits in the
 * kernel until it is killed. WHAT: "lock", a thread waits for a mutex in such a page; "stack", the page above the stack of a thread that
 * waits for a mutex is one; "words", the command line lies in one. Beside it two threads hold a mutex each and wait for the other's.
 * Says "refused" and ends where such a page cannot be had.
 */
#define _GNU_SOURCE
#include "settle.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held; /* both mutexes are */

static void *one(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&first);
    pthread_barrier_wait(&held);
    pthread_mutex_lock(&second);
    return NULL;
}

static void *other(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&second);
    pthread_barrier_wait(&held);
    pthread_mutex_lock(&first);
    return NULL;
}

static void *wait_for(void *arg)
{
    pthread_mutex_lock(arg);
    return NULL;
}

static int fd;
static struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};

/* In a thread of its own: the stack of the first one may lie in the page. */
static void *drop(void *arg)
{
    (void)arg;
    if (ioctl(fd, UFFDIO_REGISTER, &range) != 0 ||
        madvise((void *)(uintptr_t)range.range.start, range.range.len, MADV_DONTNEED) != 0) {
        perror("absent");
        exit(1);
    }
    ready();
    for (;;)
        (void)pause();
}

int main(int count, char **words)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct uffdio_api api = {.api = UFFD_API};
    fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (count != 2 || fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0) {
        printf("refused: %s\n", strerror(errno));
        return 0;
    }
    const size_t stack = 64 * page;
    char *place = mmap(NULL, stack + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED || pthread_barrier_init(&held, NULL, 3) != 0)
        return 1;
    pthread_mutex_t *lock = (pthread_mutex_t *)(void *)(place + stack);
    pthread_attr_t below;
    pthread_attr_init(&below);
    pthread_attr_setstack(&below, place, stack);
    pthread_mutex_init(lock, NULL);
    start(one, NULL);
    start(other, NULL);
    pthread_barrier_wait(&held);
    pthread_t waiter;
    const int is_lock = strcmp(words[1], "lock") == 0;
    pthread_mutex_lock(lock);
    if (is_lock)
        waiter = start(wait_for, lock);
    else if (pthread_create(&waiter, &below, wait_for, &first) != 0)
        return 1;
    int all = 0;
    while (asleep(getpid(), &all) != 3 || all != 4)
        tick();
    const uintptr_t dropped = strcmp(words[1], "words") == 0 ? (uintptr_t)words[0] / page * page : (uintptr_t)lock;
    range.range = (struct uffdio_range){dropped, page};
    start(drop, NULL);
    for (;;)
        (void)pause();
}
