/* SPDX-License-Identifier: MIT */
/*
 * cancel_test.h - an asynchronous function is cancelled at one await: before it, inside the call that made it, and after
 * each number of turns until the await is over by itself; on the loop's thread and on another. Each time the function
 * ends once, and no descriptor is left over; the sanitizer sees memory.
 */
#ifndef VG_TEST_CANCEL_H
#define VG_TEST_CANCEL_H

#include "io_test.h"

#include <vigil/async.h>

#include <dirent.h>
#include <pthread.h>

struct await_point {
    const char *name;
    /* Begin what is awaited. */
    int (*begin)(void *scene, vigil_cancel_token *token, vigil_promise **promise);
    bool endless; /* it is never over by itself */
};

/* What a file of tests gives: a fresh scene for each try, on a loop of its own, which the end destroys. */
struct await_scene {
    vigil_loop *(*open)(void *scene);
    void (*close)(void *scene);
    void *scene;
};

enum {
    CANCEL_TURNS = 24, /* at most; an await that is over before ends the row */
    CANCEL_STATUS = -EOWNERDEAD
};

struct cancelled {
    vigil_frame frame; /* first */
    const struct await_point *point;
    void *scene;
    vigil_cancel_source *source; /* to be aborted inside the call, or NULL */
};

static struct {
    unsigned outs;
    int error;
} cancel_seen;

static int cancelled_begin(struct cancelled *self)
{
    if (self->source != NULL)
        must_equal(vigil_cancel_abort(self->source, CANCEL_STATUS, NULL), 0);
    return self->point->begin(self->scene, self->frame.token, VIGIL_INTO(&self->frame));
}

static void cancelled_steps(vigil_frame *frame)
{
    struct cancelled *self = (struct cancelled *)frame;
    VIGIL_ASYNC_BEGIN(frame);
    VIGIL_AWAIT(frame, cancelled_begin(self));
    VIGIL_ASYNC_OUT(frame);
    cancel_seen.outs++;
    cancel_seen.error = frame->error;
    frame->error = 0;
    VIGIL_ASYNC_END(frame);
}

static inline unsigned open_descriptors(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    must(folder != NULL);
    while (readdir(folder) != NULL)
        count++;
    must_equal(closedir(folder), 0);
    return count;
}

static void *abort_elsewhere(void *source)
{
    must_equal(vigil_cancel_abort(source, CANCEL_STATUS, NULL), 0);
    return NULL;
}

/* turns -1: before the await; -2: between the look at the token and the call. True: it was over before. */
static bool cancel_after(const struct await_scene *with, const struct await_point *point, int turns_before,
                         bool elsewhere)
{
    vigil_cancel_source *source;
    pthread_t thread;
    vigil_loop *loop = with->open(with->scene);
    memset(&cancel_seen, 0, sizeof cancel_seen);
    must_equal(vigil_cancel_create(&source), 0);
    if (turns_before == -1)
        must_equal(vigil_cancel_abort(source, CANCEL_STATUS, NULL), 0);
    struct cancelled *self = vigil_frame_alloc(sizeof *self, loop, vigil_cancel_token_of(source));
    must(self != NULL);
    self->point = point;
    self->scene = with->scene;
    self->source = turns_before == -2 ? source : NULL;
    must_equal(vigil_frame_start(&self->frame, cancelled_steps, NULL), 0);
    for (int i = 0; i < turns_before && cancel_seen.outs == 0; i++)
        must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    const bool over = turns_before >= 0 && cancel_seen.outs != 0;
    if (over) {
        if (cancel_seen.error != 0 || point->endless)
            fail_msg("%s ended by itself with %d", point->name, cancel_seen.error);
        (void)vigil_cancel_abort(source, CANCEL_STATUS, NULL); /* too late: nothing happens */
    } else if (turns_before >= 0 && elsewhere) {
        must_equal(pthread_create(&thread, NULL, abort_elsewhere, source), 0);
        while (cancel_seen.outs == 0)
            must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
        must_equal(pthread_join(thread, NULL), 0);
    } else if (turns_before >= 0) {
        must_equal(vigil_cancel_abort(source, CANCEL_STATUS, NULL), 0);
        must_equal(cancel_seen.outs, 0); /* not inside the abort */
        while (cancel_seen.outs == 0)
            must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    }
    turns(loop);
    /* What was done already when the abort came may still be told. */
    if (cancel_seen.error != CANCEL_STATUS && (cancel_seen.error != 0 || point->endless))
        fail_msg("%s ended with %d, %d turns after its begin", point->name, cancel_seen.error, turns_before);
    vigil_cancel_destroy(source);
    with->close(with->scene);
    must_equal(cancel_seen.outs, 1);
    return over;
}

static inline void cancel_everywhere(const struct await_scene *with, const struct await_point *points, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (int elsewhere = 0; elsewhere < 2; elsewhere++)
            for (int before = -2; before < (points[i].endless ? 4 : CANCEL_TURNS); before++) {
                const unsigned descriptors = open_descriptors();
                const bool over = cancel_after(with, &points[i], before, elsewhere != 0);
                const unsigned left = open_descriptors();
                if (left != descriptors)
                    fail_msg("%s, %d turns: %u descriptors before, %u after", points[i].name, before, descriptors,
                             left);
                if (over)
                    break;
            }
}

#endif
