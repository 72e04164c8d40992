/* SPDX-License-Identifier: MIT */
/* The recorder does without what it cannot get: memory, room on the disk. Pools and loops work all the same, or say -ENOMEM. */
#include "faults.h"
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vigil/loop.h>
#include <vigil/record.h>

static _Atomic int disk_is_full;

int __wrap_posix_fallocate(int fd, off_t offset, off_t length);
int __real_posix_fallocate(int fd, off_t offset, off_t length);

int __wrap_posix_fallocate(int fd, off_t offset, off_t length)
{
    if (atomic_load_explicit(&disk_is_full, memory_order_relaxed) != 0)
        return ENOSPC;
    return __real_posix_fallocate(fd, offset, length);
}

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static void must_work(vigil_pool *pool)
{
    for (int i = 0; i < 10; i++)
        must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(pool_stats(pool).total.completed, 10);
}

static void a_pool_with_its_recorder_is_made_or_refused_at_every_allocation(void **state)
{
    (void)state;
    for (uint64_t k = 1;; k++) {
        vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
        options.workers = 2;
        vigil_pool *pool = NULL;
        faults_reset();
        faults_fail_at(FAULT_ALLOC, k);
        int rc = vigil_pool_create(&pool, &options);
        uint64_t failed = faults_failed(FAULT_ALLOC);
        faults_reset();
        must(rc == 0 || rc == -ENOMEM);
        if (rc == 0) {
            must_work(pool);
            must_equal(vigil_pool_destroy(pool), 0);
        }
        must_equal(vigil_record_path(NULL, 0), -ENOENT); /* nothing is left of it */
        if (failed == 0)
            break;
    }
}

static void a_loop_with_its_recorder_is_made_or_refused_at_every_allocation(void **state)
{
    (void)state;
    for (uint64_t k = 1;; k++) {
        vigil_loop *loop = NULL;
        faults_reset();
        faults_fail_at(FAULT_ALLOC, k);
        int rc = vigil_loop_create(&loop, NULL);
        uint64_t failed = faults_failed(FAULT_ALLOC);
        faults_reset();
        must(rc == 0 || rc == -ENOMEM);
        if (rc == 0)
            must_equal(vigil_loop_destroy(loop), 0);
        must_equal(vigil_record_path(NULL, 0), -ENOENT);
        if (failed == 0)
            break;
    }
}

static char said[512];

static void keep_log(void *user, const char *text)
{
    (void)user;
    (void)snprintf(said, sizeof said, "%s", text);
}

static void on_a_full_disk_the_process_runs_on_without_the_file_and_says_so(void **state)
{
    (void)state;
    vigil_record_options options = VIGIL_RECORD_OPTIONS_INIT;
    options.log = keep_log;
    must_equal(vigil_record_configure(&options), 0);
    atomic_store_explicit(&disk_is_full, 1, memory_order_relaxed);
    vigil_pool *pool = pool_of(2);
    must(strstr(said, "No space left") != NULL);
    must_equal(vigil_record_path(NULL, 0), -ENOENT);
    must_work(pool);
    pool_close(pool);
    atomic_store_explicit(&disk_is_full, 0, memory_order_relaxed);
    must_equal(vigil_record_configure(NULL), 0);
}

static void a_disk_that_fills_up_later_leaves_out_what_comes_later(void **state)
{
    (void)state;
    vigil_pool *first = pool_of(1);
    must(vigil_record_path(NULL, 0) > 0);
    atomic_store_explicit(&disk_is_full, 1, memory_order_relaxed);
    vigil_pool *second = pool_of(1);
    must_work(second);
    must_work(first);
    vigil_record_stats stats = {.size = sizeof stats};
    must_equal(vigil_record_stats_get(&stats), 0);
    must(stats.left_out > 0);
    pool_close(second);
    pool_close(first);
    atomic_store_explicit(&disk_is_full, 0, memory_order_relaxed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_pool_with_its_recorder_is_made_or_refused_at_every_allocation),
        test(a_loop_with_its_recorder_is_made_or_refused_at_every_allocation),
        test(on_a_full_disk_the_process_runs_on_without_the_file_and_says_so),
        test(a_disk_that_fills_up_later_leaves_out_what_comes_later),
    };
    return run_all(tests);
}
