/* SPDX-License-Identifier: MIT */
/*
 * A server's end. It runs until SIGTERM or SIGINT, and then loses nothing that it has accepted:
 *
 *   1. take no more: the timer that stands for incoming requests is cancelled
 *   2. finish what was taken: a graceful stop of the pool, with a limit
 *   3. what is not done by then is cancelled, and says so
 *   4. the loop ends when nothing keeps it alive
 *
 * A second signal means "now". The stop of the pool may take long, so it has a thread of its own; the loop stays
 * responsive, and delivers the results that come in.
 *
 *     graceful            then, from elsewhere: kill -TERM <pid>
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <vigil/loop.h>
#include <vigil/pool.h>

#define LIMIT_NS 2000000000 /* how long a graceful end may take */

struct server {
    vigil_loop *loop;
    vigil_pool *pool;
    vigil_timer incoming;
    pthread_t stopper;
    bool stopping;
    unsigned accepted, answered, cancelled; /* the loop's thread alone */
};

struct request {
    vigil_task task;
    vigil_post answer;
    struct server *server;
};

/* On the loop: the answer goes out. */
static void answer(vigil_post *post)
{
    struct request *request = (struct request *)((char *)post - offsetof(struct request, answer));
    request->server->answered++;
    free(request);
}

/* On a worker: a millisecond of work. */
static int work(vigil_task *task)
{
    struct request *request = (struct request *)task;
    struct timespec begin;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000 + (now.tv_nsec - begin.tv_nsec) < 1000000);
    /* The internal lane needs no memory and is open to the end of the loop, so an answer is never lost. */
    return vigil_loop_post_internal(request->server->loop, &request->answer);
}

static void count_cancelled(vigil_post *post)
{
    struct request *request = (struct request *)((char *)post - offsetof(struct request, answer));
    request->server->cancelled++;
    free(request);
}

/* The pool was stopped before this one started. We are on a worker or on the stopper's thread: tell the loop. */
static void cancel(vigil_task *task)
{
    struct request *request = (struct request *)task;
    vigil_post_init(&request->answer, count_cancelled, count_cancelled);
    (void)vigil_loop_post_internal(request->server->loop, &request->answer);
}

static void request_comes_in(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)loop;
    (void)timer;
    struct server *server = arg;
    struct request *request = calloc(1, sizeof *request);
    if (request == NULL)
        return;
    request->server = server;
    vigil_task_init(&request->task, work, cancel);
    vigil_post_init(&request->answer, answer, answer);
    if (vigil_pool_submit(server->pool, &request->task, VIGIL_NORMAL) == 0)
        server->accepted++;
    else
        free(request);
}

static void *stop_pool(void *arg)
{
    struct server *server = arg;
    if (vigil_pool_shutdown(server->pool, LIMIT_NS) == -ETIMEDOUT)
        (void)vigil_pool_close(server->pool, VIGIL_FOREVER);
    (void)vigil_loop_unref(server->loop); /* every answer has been posted: the loop may end when it has run them */
    return NULL;
}

static void asked_to_end(vigil_loop *loop, vigil_signal signal, const vigil_signal_info *info, void *arg)
{
    (void)signal;
    struct server *server = arg;
    if (server->stopping) {
        printf("signal %d again: now\n", info->signo);
        (void)vigil_pool_close(server->pool, 0); /* turns the graceful stop into this one */
        return;
    }
    printf("signal %d: finishing %u requests\n", info->signo, server->accepted - server->answered);
    server->stopping = true;
    (void)vigil_timer_cancel(loop, server->incoming);
    if (pthread_create(&server->stopper, NULL, stop_pool, server) != 0)
        abort();
}

int main(void)
{
    struct server server = {0};
    vigil_timer_options every_millisecond = VIGIL_TIMER_OPTIONS_INIT;
    every_millisecond.interval_ns = 300000;
    vigil_loop *loop;
    int rc = vigil_loop_create(&loop, NULL);
    if (rc < 0) {
        fprintf(stderr, "graceful: %s\n", vigil_strerror(rc));
        return 1;
    }
    server.loop = loop;
    /* Signals first: threads that start later inherit that they are blocked. */
    rc = vigil_signal_add(loop, SIGTERM, asked_to_end, &server, NULL);
    if (rc == 0)
        rc = vigil_signal_add(loop, SIGINT, asked_to_end, &server, NULL);
    if (rc == 0)
        rc = vigil_pool_create(&server.pool, NULL);
    if (rc == 0)
        rc = vigil_loop_ref(loop); /* until the pool has stopped */
    if (rc == 0)
        rc = vigil_timer_start_with(loop, &every_millisecond, request_comes_in, &server, &server.incoming);
    if (rc < 0) {
        fprintf(stderr, "graceful: %s\n", vigil_strerror(rc));
        (void)vigil_pool_destroy(server.pool);
        (void)vigil_loop_destroy(loop);
        return 1;
    }
    printf("ready: pid %d\n", (int)getpid());
    fflush(stdout);
    (void)vigil_loop_run(loop, VIGIL_RUN);
    pthread_join(server.stopper, NULL);
    (void)vigil_pool_destroy(server.pool);
    (void)vigil_loop_destroy(loop);
    printf("accepted %u, answered %u, cancelled %u\n", server.accepted, server.answered, server.cancelled);
    return server.accepted == server.answered + server.cancelled ? 0 : 1;
}
