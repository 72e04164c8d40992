/* SPDX-License-Identifier: MIT */
/*
 * A thumbnail farm. Each picture is a job; a picture that cannot be read is tried again and then kept as a dead letter; when all
 * pictures of the batch have ended, one more job makes the index. ctrl-c finishes what can finish in two seconds and gives the rest
 * back, so that the next start goes on where this one ended.
 *
 *     jobs_thumbnails [QUEUE] [COUNT]     QUEUE: thumbnails.db, or postgresql://... for several hosts
 *
 * Kill it with -9 and start it again: nothing is lost. `vigil jobs ls --queue thumbnails.db` shows what is there.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <vigil/jobs.h>

#define SECOND INT64_C(1000000000)

static volatile sig_atomic_t told_to_end;

static void on_signal(int signo)
{
    (void)signo;
    told_to_end = 1;
}

/* Pretends to scale a picture row by row. A run that follows an interrupted one goes on at the row that was saved. */
static int make_thumbnail(vigil_jobs_run *run, void *arg)
{
    (void)arg;
    const char *name = run->payload; /* a zero follows the payload */
    unsigned row = 0, rows = 64, sum = 0;
    if (run->checkpoint_size == sizeof row)
        memcpy(&row, run->checkpoint, sizeof row);
    if (strstr(name, "broken") != NULL) {
        vigil_jobs_error(run, "this is no picture");
        return -EINVAL;
    }
    for (; row < rows; row++) {
        int stop = vigil_cancel_status(vigil_jobs_token(run));
        if (stop != 0) {
            vigil_jobs_checkpoint(run, &row, sizeof row);
            return stop;
        }
        for (unsigned i = 0; i < 2000; i++)
            sum = sum * 31 + i + row;
        vigil_jobs_progress(run, (double)row / rows, name);
    }
    char result[64];
    int length = snprintf(result, sizeof result, "%08x", sum);
    return vigil_jobs_result(run, result, (size_t)length);
}

static int make_index(vigil_jobs_run *run, void *arg)
{
    _Atomic int *done = arg;
    (void)run;
    puts("all pictures have ended: the index is made");
    atomic_store(done, 1);
    return 0;
}

static void enqueue_pictures(vigil_jobs *jobs, unsigned count)
{
    uint64_t batch;
    if (vigil_jobs_batch(jobs, &batch) != 0)
        return;
    vigil_jobs_job part = VIGIL_JOBS_JOB_INIT, last = VIGIL_JOBS_JOB_INIT;
    part.batch = batch;
    last.after_batch = batch;
    for (unsigned i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, i % 10 == 3 ? "broken-%u.png" : "picture-%u.png", i);
        vigil_jobs_enqueue(jobs, "thumbnail", name, strlen(name), &part, NULL);
    }
    vigil_jobs_enqueue(jobs, "index", NULL, 0, &last, NULL);
    vigil_jobs_batch_end(jobs, batch);
}

int main(int argc, char **argv)
{
    const char *queue = argc > 1 ? argv[1] : "thumbnails.db";
    unsigned count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 40;
    vigil_jobs *jobs;
    _Atomic int done = 0;
    if (vigil_jobs_open(&jobs, queue, NULL) != 0) {
        fprintf(stderr, "%s\n", vigil_jobs_why());
        return 1;
    }
    vigil_jobs_kind kind = VIGIL_JOBS_KIND_INIT;
    kind.max_errors = 2;
    kind.backoff_ns = SECOND / 20;
    kind.limit_ns = 30 * SECOND;
    vigil_jobs_handle(jobs, "thumbnail", make_thumbnail, NULL, &kind);
    vigil_jobs_handle(jobs, "index", make_index, &done, NULL);
    enqueue_pictures(jobs, count);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    if (vigil_jobs_start(jobs) != 0) {
        fprintf(stderr, "%s\n", vigil_jobs_why());
        return 1;
    }
    while (!told_to_end && atomic_load(&done) == 0)
        usleep(10000);
    if (vigil_jobs_shutdown(jobs, 2 * SECOND) == -ETIMEDOUT)
        puts("what still ran was given back");
    vigil_jobs_account account = VIGIL_JOBS_ACCOUNT_INIT;
    int error = vigil_jobs_audit(jobs, &account);
    printf("%llu enqueued: %llu completed, %llu dead letters, %llu left\n", (unsigned long long)account.enqueued,
           (unsigned long long)account.completed, (unsigned long long)account.dead,
           (unsigned long long)account.waiting + (unsigned long long)account.running);
    vigil_jobs_close(jobs);
    return error == 0 ? 0 : 1;
}
