/* SPDX-License-Identifier: MIT */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backoff.h"
#include "futex.h"
#include "spool_record.h"
#include "why.h"

enum {
    RETRY_FIRST_MS = 50, /* while the engine is away */
    RETRY_MOST_MS = 5000,
    NAME = 32, /* digits of the spool's name */
};
#define TITLE "vigil spool 1 "
/* TITLE, the name, a line feed: the records begin here. */
#define HEAD  ((off_t)(sizeof TITLE - 1 + NAME + 1))

struct vg_jobs_spool {
    vigil_jobs *jobs;
    int fd;
    char *path, name[NAME + 1];
    pthread_mutex_t lock;
    uint64_t number; /* the last one given; under client_lock */
    off_t sent, end; /* records between the two wait; under the lock */
    pthread_t thread;
    bool thread_runs;
    _Atomic uint32_t word; /* futex: counts reasons to look */
    _Atomic int stop;
};

bool vg_jobs_spool_waits(vigil_jobs *jobs)
{
    struct vg_jobs_spool *spool = jobs->spool;
    if (spool == NULL)
        return false;
    (void)pthread_mutex_lock(&spool->lock);
    bool waits = spool->sent < spool->end;
    (void)pthread_mutex_unlock(&spool->lock);
    return waits;
}

static bool write_all(int fd, const void *bytes, size_t length, off_t at)
{
    while (length > 0) {
        ssize_t wrote = pwrite(fd, bytes, length, at);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        bytes = (const char *)bytes + wrote;
        length -= (size_t)wrote;
        at += wrote;
    }
    return true;
}

static bool read_all(int fd, void *bytes, size_t length, off_t at)
{
    while (length > 0) {
        ssize_t got = pread(fd, bytes, length, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        bytes = (char *)bytes + got;
        length -= (size_t)got;
        at += got;
    }
    return true;
}

/* The whole record at this place, allocated; NULL if there is none. */
static char *read_record(int fd, off_t at, struct vg_jobs_spool_head *head)
{
    struct stat info;
    if (fstat(fd, &info) != 0 || !read_all(fd, head, sizeof *head, at) || head->magic != VG_JOBS_SPOOL_MAGIC ||
        head->length > (uint64_t)info.st_size)
        return NULL;
    char *body = malloc((size_t)head->length + 1);
    if (body != NULL && read_all(fd, body, head->length, at + (off_t)sizeof *head) &&
        vg_jobs_spool_sum(head->number, body, head->length) == head->sum)
        return body;
    free(body);
    return NULL;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static int append(struct vg_jobs_spool *spool, const struct vg_jobs_new *all, size_t count)
{
    size_t size = 0, most = spool->jobs->options.spool_bytes;
    void *record = vg_jobs_spool_pack(spool->number, all, count, &size);
    if (record == NULL)
        return -ENOMEM;
    int error = 0;
    (void)pthread_mutex_lock(&spool->lock);
    if ((uint64_t)spool->end + size > most)
        error = vg_jobs_why(-ENOTCONN, "the engine is away, and the spool %s is full (spool_bytes)", spool->path);
    else if (!write_all(spool->fd, record, size, spool->end) || fdatasync(spool->fd) != 0)
        error = vg_jobs_why(-ENOTCONN, "the engine is away, and the spool %s cannot be written: %m", spool->path);
    else
        spool->end += (off_t)size;
    (void)pthread_mutex_unlock(&spool->lock);
    free(record);
    if (error == 0) {
        (void)atomic_fetch_add_explicit(&spool->jobs->spooled, count, memory_order_relaxed);
        /* release: pairs with the acquire in replay(); the record is seen after it */
        (void)atomic_fetch_add_explicit(&spool->word, 1, memory_order_release);
        vg_jobs_futex_wake(&spool->word);
    }
    return error;
}

int vg_jobs_spool_enqueue(vigil_jobs *jobs, struct vg_jobs_conn *conn, struct vg_jobs_new *all, size_t count)
{
    struct vg_jobs_spool *spool = jobs->spool;
    for (size_t i = 0; i < count; i++)
        if (all[i].batch != 0 || all[i].after != 0) /* a batch is the engine's to count: these do not wait in a file */
            return jobs->engine->enqueue(conn, all, count);
    spool->number++;
    if (!vg_jobs_spool_waits(jobs)) {
        int total = jobs->engine->enqueue_once(conn, spool->name, spool->number, all, count);
        if (total != -ENOTCONN)
            return total;
    }
    int error = append(spool, all, count);
    for (size_t i = 0; i < count && error == 0; i++)
        all[i].id = all[i].holder = 0;
    return error != 0 ? error : (int)count;
}

/* ---- replaying --------------------------------------------------------------------------------------------------- */

/* A record that the engine refuses for a reason of its own must not hold up the others. */
static void put_aside(struct vg_jobs_spool *spool, const struct vg_jobs_spool_head *head, const char *body)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s.refused", spool->path);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    struct stat info;
    if (fstat(fd, &info) == 0) {
        (void)write_all(fd, head, sizeof *head, info.st_size);
        (void)write_all(fd, body, head->length, info.st_size + (off_t)sizeof *head);
        (void)fdatasync(fd);
    }
    (void)close(fd);
}

/* Send the record at `sent`. Gives 1 if it is done with, 0 if there is none, or an error: then it stays. */
static int send_one(struct vg_jobs_spool *spool, struct vg_jobs_conn *conn)
{
    struct vg_jobs_spool_head head;
    (void)pthread_mutex_lock(&spool->lock);
    off_t at = spool->sent, end = spool->end;
    (void)pthread_mutex_unlock(&spool->lock);
    if (at >= end)
        return 0;
    char *body = read_record(spool->fd, at, &head);
    if (body == NULL)
        return -EIO;
    size_t count = 0;
    struct vg_jobs_new *all = vg_jobs_spool_unpack(body, head.length, &count);
    int total = all == NULL ? -EIO : spool->jobs->engine->enqueue_once(conn, spool->name, head.number, all, count);
    if (total < 0 && total != -ENOTCONN && total != -ENOMEM && total != -EALREADY)
        put_aside(spool, &head, body);
    free(all);
    free(body);
    if (total == -ENOTCONN || total == -ENOMEM)
        return total;
    if (total > 0)
        (void)atomic_fetch_add_explicit(&spool->jobs->replayed, (uint64_t)total, memory_order_relaxed);
    (void)pthread_mutex_lock(&spool->lock);
    spool->sent = at + (off_t)sizeof head + (off_t)head.length;
    if (spool->sent == spool->end && ftruncate(spool->fd, HEAD) == 0) {
        (void)fdatasync(spool->fd);
        spool->sent = spool->end = HEAD;
    }
    (void)pthread_mutex_unlock(&spool->lock);
    return 1;
}

static void *replay(void *arg)
{
    struct vg_jobs_spool *spool = arg;
    const struct vg_jobs_engine *engine = spool->jobs->engine;
    struct vg_jobs_conn *conn = NULL;
    unsigned failures = 0;
    (void)pthread_setname_np(pthread_self(), "jobs-spool");
    for (;;) {
        /* acquire: pairs with append(); read before stop and before the look at the file */
        uint32_t word = atomic_load_explicit(&spool->word, memory_order_acquire);
        /* acquire: pairs with the release in vg_jobs_spool_close */
        if (atomic_load_explicit(&spool->stop, memory_order_acquire) != 0)
            break;
        if (!vg_jobs_spool_waits(spool->jobs)) {
            vg_jobs_futex_wait(&spool->word, word, -1);
            continue;
        }
        int done = conn != NULL ? 0 : engine->connect(spool->jobs->site, &conn);
        if (done == 0)
            done = send_one(spool, conn);
        failures = done < 0 ? failures + 1 : 0;
        if (done < 0)
            vg_jobs_futex_wait(&spool->word, word, vg_jobs_backoff_ms(RETRY_FIRST_MS, RETRY_MOST_MS, failures));
    }
    if (conn != NULL)
        engine->disconnect(conn);
    return NULL;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static int make_head(struct vg_jobs_spool *spool)
{
    unsigned char chance[NAME / 2];
    char head[sizeof TITLE + NAME + 1];
    if (getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance)
        return -EIO;
    for (size_t i = 0; i < sizeof chance; i++)
        (void)snprintf(spool->name + i * 2, 3, "%02x", chance[i]);
    (void)snprintf(head, sizeof head, TITLE "%s\n", spool->name);
    return ftruncate(spool->fd, 0) == 0 && write_all(spool->fd, head, (size_t)HEAD, 0) && fdatasync(spool->fd) == 0
               ? 0
               : -EIO;
}

/* The name in the file, and the records that were written whole. */
static int read_file(struct vg_jobs_spool *spool)
{
    char head[sizeof TITLE + NAME + 1] = "";
    struct stat info;
    if (fstat(spool->fd, &info) != 0)
        return vg_jobs_why(-EIO, "%s: %m", spool->path);
    if (info.st_size < HEAD) { /* new, or not written whole */
        if (make_head(spool) != 0)
            return vg_jobs_why(-EIO, "the spool %s cannot be written: %m", spool->path);
    } else {
        if (!read_all(spool->fd, head, (size_t)HEAD, 0) || strncmp(head, TITLE, sizeof TITLE - 1) != 0)
            return vg_jobs_why(-EPROTO, "%s is no spool", spool->path);
        memcpy(spool->name, head + sizeof TITLE - 1, NAME);
    }
    spool->sent = spool->end = HEAD;
    struct vg_jobs_spool_head record;
    char *body;
    while ((body = read_record(spool->fd, spool->end, &record)) != NULL) {
        free(body);
        spool->number = record.number > spool->number ? record.number : spool->number;
        spool->end += (off_t)sizeof record + (off_t)record.length;
    }
    return ftruncate(spool->fd, spool->end) == 0 ? 0 : vg_jobs_why(-EIO, "%s: %m", spool->path);
}

int vg_jobs_spool_open(vigil_jobs *jobs)
{
    struct vg_jobs_spool *it = calloc(1, sizeof *it);
    if (it == NULL)
        return -ENOMEM;
    it->jobs = jobs;
    it->fd = -1;
    (void)pthread_mutex_init(&it->lock, NULL);
    jobs->spool = it;
    it->path = strdup(jobs->options.spool);
    jobs->options.spool = it->path; /* the caller's text may go */
    if (it->path == NULL)
        return -ENOMEM;
    it->fd = open(it->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (it->fd < 0)
        return vg_jobs_why(-EIO, "the spool %s cannot be opened: %m", it->path);
    if (flock(it->fd, LOCK_EX | LOCK_NB) != 0)
        return vg_jobs_why(-EBUSY, "another queue has the spool %s", it->path);
    int error = read_file(it);
    uint64_t seen = 0;
    if (error == 0)
        error = jobs->engine->spool_number(jobs->client, it->name, &seen);
    if (error != 0)
        return error;
    it->number = seen > it->number ? seen : it->number;
    it->thread_runs = pthread_create(&it->thread, NULL, replay, it) == 0;
    return it->thread_runs ? 0 : vg_jobs_why(-EAGAIN, "no thread");
}

void vg_jobs_spool_close(vigil_jobs *jobs)
{
    struct vg_jobs_spool *it = jobs->spool;
    if (it == NULL)
        return;
    /* release: pairs with the acquire in replay() */
    atomic_store_explicit(&it->stop, 1, memory_order_release);
    (void)atomic_fetch_add_explicit(&it->word, 1, memory_order_release);
    vg_jobs_futex_wake(&it->word);
    if (it->thread_runs)
        (void)pthread_join(it->thread, NULL);
    if (it->fd >= 0)
        (void)close(it->fd);
    (void)pthread_mutex_destroy(&it->lock);
    free(it->path);
    free(it);
    jobs->spool = NULL;
}
