/* SPDX-License-Identifier: MIT */
#include "heart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "futex.h"
#include "run.h"
#include "token.h"
#include "verdict.h"

struct beat {
    struct vg_jobs_lease *leases;
    size_t count, room;
};

void vg_jobs_heart_ring(vigil_jobs *jobs)
{
    /* release: pairs with the acquire in live(); the heart then sees the run that was put in flight */
    (void)atomic_fetch_add_explicit(&jobs->heart_word, 1, memory_order_release);
    vg_jobs_futex_wake(&jobs->heart_word);
}

void vg_jobs_heart_watch(vigil_jobs *jobs, struct vg_jobs_run *runs)
{
    (void)pthread_mutex_lock(&jobs->lock);
    bool sleeps = jobs->heart_sleeps;
    jobs->heart_sleeps = false;
    for (struct vg_jobs_run *run = runs; run != NULL; run = run->next_end) {
        run->next = jobs->flying;
        run->previous = NULL;
        if (run->next != NULL)
            run->next->previous = run;
        jobs->flying = run;
    }
    (void)pthread_mutex_unlock(&jobs->lock);
    if (sleeps)
        vg_jobs_heart_ring(jobs);
}

void vg_jobs_heart_ask(vigil_jobs *jobs)
{
    /* relaxed: the ring publishes it */
    atomic_store_explicit(&jobs->heart_asked, 1, memory_order_relaxed);
    vg_jobs_heart_ring(jobs);
}

static void *copy(const void *bytes, size_t length)
{
    char *it = malloc(length + 1);
    if (it != NULL && length > 0)
        memcpy(it, bytes, length);
    if (it != NULL)
        it[length] = '\0';
    return it;
}

/* Write down what is in flight. The engine is asked without the lock. */
static bool list_leases(vigil_jobs *jobs, struct beat *beat)
{
    bool fits = true;
    uint64_t now = vg_jobs_now_ms();
    beat->count = 0;
    (void)pthread_mutex_lock(&jobs->lock);
    for (struct vg_jobs_run *run = jobs->flying; run != NULL; run = run->next) {
        if (run->given_back || atomic_load_explicit(&run->phase, memory_order_relaxed) == VG_JOBS_ENDED)
            continue;
        if (beat->count == beat->room) {
            size_t room = beat->room * 2 + 64;
            void *more = realloc(beat->leases, room * sizeof *beat->leases);
            if (more == NULL) {
                fits = false;
                break;
            }
            beat->leases = more;
            beat->room = room;
        }
        struct vg_jobs_lease *lease = &beat->leases[beat->count++];
        *lease = (struct vg_jobs_lease){.id = run->end.id, .number = run->end.number, .progress = -1};
        if (run->started_ms != 0)
            lease->verdict =
                vg_jobs_verdict(atomic_load_explicit(&run->thread, memory_order_relaxed), run->started_ms, now);
        if (run->beat_due) {
            lease->progress = run->progress;
            if (run->text != NULL)
                lease->text = copy(run->text, strlen(run->text));
            if (run->checkpoint != NULL) {
                lease->checkpoint = copy(run->checkpoint, run->checkpoint_length);
                lease->checkpoint_length = run->checkpoint_length;
            }
        }
    }
    (void)pthread_mutex_unlock(&jobs->lock);
    return fits;
}

static void free_copies(struct beat *beat)
{
    for (size_t i = 0; i < beat->count; i++) {
        free((void *)(uintptr_t)beat->leases[i].text);
        free((void *)(uintptr_t)beat->leases[i].verdict);
        free((void *)(uintptr_t)beat->leases[i].checkpoint);
    }
}

/* Tell the run what the engine said. The token is aborted without the lock, because its handlers may call this library;
   a reference keeps it. */
static void apply(vigil_jobs *jobs, const struct vg_jobs_lease *lease, bool saved)
{
    vigil_cancel_source *source = NULL;
    int status = lease->beat == VG_JOBS_BEAT_LOST ? -ESTALE : lease->beat == VG_JOBS_BEAT_CANCEL ? -ECANCELED : 0;
    vigil_cancel_token *token = NULL;
    (void)pthread_mutex_lock(&jobs->lock);
    for (struct vg_jobs_run *run = jobs->flying; run != NULL; run = run->next) {
        if (run->end.id != lease->id || run->end.number != lease->number)
            continue;
        if (saved)
            run->beat_due = false;
        if (status != 0 && vg_jobs_token_stop(run, status, &source) && source != NULL)
            token = vigil_cancel_ref(vigil_cancel_token_of(source));
        break;
    }
    (void)pthread_mutex_unlock(&jobs->lock);
    if (token != NULL) {
        /* A source and its token are references to one object, and this one keeps it. */
        (void)vigil_cancel_abort(source, status, status == -ESTALE ? "the lease was lost" : "the job was cancelled");
        vigil_cancel_unref(token);
    }
}

/* One bad row must not cost the others their leases: its run is told that the lease is lost. */
static int extend(vigil_jobs *jobs, struct vg_jobs_conn *conn, struct beat *beat)
{
    int64_t lease_ms = jobs->options.lease_ns / 1000000;
    int error = jobs->engine->extend(conn, beat->leases, beat->count, lease_ms);
    if (error != -EBADMSG)
        return error;
    for (size_t i = 0; i < beat->count; i++) {
        error = jobs->engine->extend(conn, &beat->leases[i], 1, lease_ms);
        if (error == -EBADMSG)
            beat->leases[i].beat = VG_JOBS_BEAT_LOST;
        else if (error != 0)
            return error;
    }
    return 0;
}

static void send_beat(vigil_jobs *jobs, struct vg_jobs_conn *conn, struct beat *beat)
{
    if (!list_leases(jobs, beat) && beat->count == 0)
        return;
    if (beat->count > 0) {
        int error = extend(jobs, conn, beat);
        if (error == 0)
            (void)atomic_fetch_add_explicit(&jobs->beats, 1, memory_order_relaxed);
        for (size_t i = 0; i < beat->count && error == 0; i++)
            if (beat->leases[i].beat != VG_JOBS_BEAT_OK || beat->leases[i].progress >= 0 ||
                beat->leases[i].checkpoint != NULL)
                apply(jobs, &beat->leases[i], true);
    }
    free_copies(beat);
}

/* Abort the runs whose limit is over; gives the time until the next one, or negative. */
static int64_t check_limits(vigil_jobs *jobs)
{
    uint64_t now = vg_jobs_now_ms();
    int64_t next = -1;
    for (;;) {
        vigil_cancel_source *source = NULL;
        vigil_cancel_token *token = NULL;
        next = -1;
        (void)pthread_mutex_lock(&jobs->lock);
        for (struct vg_jobs_run *run = jobs->flying; run != NULL && token == NULL; run = run->next) {
            if (run->limit_ms == 0 || run->started_ms == 0 ||
                atomic_load_explicit(&run->aborted, memory_order_relaxed) != 0)
                continue;
            int64_t left = (int64_t)(run->started_ms + (uint64_t)run->limit_ms) - (int64_t)now;
            if (left > 0) {
                next = next < 0 || left < next ? left : next;
            } else if (vg_jobs_token_stop(run, -ETIMEDOUT, &source)) {
                /* While it still stands where it stood too long. */
                if (run->verdict == NULL)
                    run->verdict =
                        vg_jobs_verdict(atomic_load_explicit(&run->thread, memory_order_relaxed), run->started_ms, now);
                if (source != NULL)
                    token = vigil_cancel_ref(vigil_cancel_token_of(source));
            }
        }
        (void)pthread_mutex_unlock(&jobs->lock);
        if (token == NULL)
            return next;
        (void)vigil_cancel_abort(source, -ETIMEDOUT, "the run has reached its limit");
        vigil_cancel_unref(token);
    }
}

static void *live(void *arg)
{
    vigil_jobs *jobs = arg;
    struct vg_jobs_conn *conn = NULL;
    struct beat beat = {0};
    int64_t period = jobs->options.lease_ns / 1000000 / 3;
    uint64_t last = 0;
    bool idle = true;
    (void)pthread_setname_np(pthread_self(), "jobs-heart");
    if (period < 1)
        period = 1;
    for (;;) {
        /* acquire: pairs with vg_jobs_heart_ring. Read before stop and before the look, so that a ring after either
           ends the sleep at once. */
        uint32_t word = atomic_load_explicit(&jobs->heart_word, memory_order_acquire);
        /* relaxed: the load of the word has acquired it */
        if (atomic_load_explicit(&jobs->heart_stop, memory_order_relaxed) != 0)
            break;
        (void)pthread_mutex_lock(&jobs->lock);
        bool any = jobs->flying != NULL;
        jobs->heart_sleeps = !any && idle;
        (void)pthread_mutex_unlock(&jobs->lock);
        if (!any) {
            /* Short jobs come one after the other: only after a period without any must the next one ring. */
            vg_jobs_futex_wait(&jobs->heart_word, word, idle ? -1 : period);
            if (idle)
                last = vg_jobs_now_ms(); /* fresh leases: the first beat is due a period later */
            idle = true;
            continue;
        }
        idle = false;
        int64_t limit = check_limits(jobs);
        uint64_t now = vg_jobs_now_ms();
        /* relaxed: so has it this one */
        bool asked = atomic_exchange_explicit(&jobs->heart_asked, 0, memory_order_relaxed) != 0;
        if (asked || now - last >= (uint64_t)period) {
            if (conn != NULL || jobs->engine->connect(jobs->site, &conn) == 0)
                send_beat(jobs, conn, &beat);
            last = now = vg_jobs_now_ms();
        }
        int64_t rest = period - (int64_t)(now - last);
        if (limit >= 0 && limit < rest)
            rest = limit;
        if (rest > 0)
            vg_jobs_futex_wait(&jobs->heart_word, word, rest);
    }
    if (conn != NULL)
        jobs->engine->disconnect(conn);
    free(beat.leases);
    return NULL;
}

int vg_jobs_heart_start(vigil_jobs *jobs)
{
    return -pthread_create(&jobs->heart, NULL, live, jobs);
}

void vg_jobs_heart_stop(vigil_jobs *jobs)
{
    /* relaxed: the ring publishes it */
    atomic_store_explicit(&jobs->heart_stop, 1, memory_order_relaxed);
    vg_jobs_heart_ring(jobs);
    (void)pthread_join(jobs->heart, NULL);
}
