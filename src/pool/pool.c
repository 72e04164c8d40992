/* SPDX-License-Identifier: MIT */
/*
 * pool.c - creating, resizing and destroying a pool.
 */
#include "base/options.h"
#include "call.h"
#include "delay.h"
#include "forked.h"
#include "idle.h"
#include "injector.h"
#include "job.h"
#include "run.h"
#include "seats.h"
#include "slots.h"
#include "watched.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VG_DEFAULT_SPARES_MOST 64
#define VG_MAX_JOBS            (1U << 24)
#ifdef VIGIL_CHECK
#define VG_DEFAULT_SPIN_NS 0
#else
#define VG_DEFAULT_SPIN_NS 50000
#endif

static int check_options(const vigil_pool_options *options)
{
    if (options->workers > VG_MAX_WORKERS)
        return vg_why_say(-EINVAL, "options.workers is %u; the most is %u", options->workers, VG_MAX_WORKERS);
    if (options->max_spares > VG_MAX_SPARES)
        return vg_why_say(-EINVAL, "options.max_spares is %u; the most is %u", options->max_spares, VG_MAX_SPARES);
    if (options->no_spares && options->max_spares != 0)
        return vg_why_say(-EINVAL, "options.max_spares is %u, and options.no_spares is set", options->max_spares);
    if (options->spin_us > 1000000)
        return vg_why_say(-EINVAL, "options.spin_us is %u; the most is 1000000", options->spin_us);
    if (options->lower_permille > 500)
        return vg_why_say(-EINVAL, "options.lower_permille is %u; the most is 500", options->lower_permille);
    if (options->strict_classes && options->lower_permille != 0)
        return vg_why_say(-EINVAL, "options.lower_permille is %u, and options.strict_classes is set",
                          options->lower_permille);
    if (options->stack_size != 0 && options->stack_size < vg_thread_min_stack())
        return vg_why_say(-EINVAL, "options.stack_size is %zu; the least is %zu", options->stack_size,
                          vg_thread_min_stack());
    return 0;
}

static int check_policies(const vigil_pool_options *options)
{
    if ((unsigned)options->idle > VIGIL_IDLE_KEEP_ONE_AWAKE)
        return vg_why_say(-EINVAL, "options.idle is %d; it must be one of vigil_idle_policy", (int)options->idle);
    if ((unsigned)options->when_full > VIGIL_FULL_BLOCK)
        return vg_why_say(-EINVAL, "options.when_full is %d; it must be one of vigil_full_policy",
                          (int)options->when_full);
    if ((unsigned)options->fences > VIGIL_FENCE_MEMBARRIER)
        return vg_why_say(-EINVAL, "options.fences is %d; it must be one of vigil_fence_mode", (int)options->fences);
    if ((options->cpus == NULL) != (options->cpu_count == 0))
        return vg_why_say(-EINVAL, "options.cpu_count is %zu, and options.cpus is %s", options->cpu_count,
                          options->cpus == NULL ? "NULL" : "set");
    for (size_t i = 0; i < options->cpu_count; i++)
        if (options->cpus[i] < 0)
            return vg_why_say(-EINVAL, "options.cpus[%zu] is %d; the numbers of CPUs start at 0", i, options->cpus[i]);
    return 0;
}

static int choose_fences(vigil_fence_mode wanted, vg_fence_mode *mode)
{
    *mode = VG_FENCE_SYMMETRIC;
    if (wanted == VIGIL_FENCE_SYMMETRIC)
        return 0;
    int error = vg_fence_register();
    if (error == 0)
        *mode = VG_FENCE_MEMBARRIER;
    return wanted == VIGIL_FENCE_MEMBARRIER ? error : 0;
}

static void take_options(vigil_pool *pool, const vigil_pool_options *options, unsigned workers)
{
    pool->no_stealing = options->no_stealing;
    pool->idle_policy = options->idle;
    pool->max_spin_ns = options->spin_us != 0 ? options->spin_us * UINT64_C(1000) : VG_DEFAULT_SPIN_NS;
    pool->max_queue = options->max_queue;
    pool->when_full = options->when_full;
    memcpy(pool->caps, options->class_cap, sizeof pool->caps);
    pool->lower_permille = options->lower_permille != 0 ? options->lower_permille : VIGIL_LOWER_PERMILLE;
    if (options->strict_classes)
        pool->lower_permille = 0;
    if (options->no_spares)
        pool->max_spares = 0;
    else if (options->max_spares != 0)
        pool->max_spares = options->max_spares;
    else
        pool->max_spares = workers < VG_DEFAULT_SPARES_MOST ? workers : VG_DEFAULT_SPARES_MOST;
    pool->spare_seats = pool->max_spares + VG_MAX_GUESTS;
    if (pool->spare_seats > VG_MAX_SPARES)
        pool->spare_seats = VG_MAX_SPARES;
    pool->stack_size = options->stack_size;
    (void)snprintf(pool->name, sizeof pool->name, "%s", options->name != NULL ? options->name : "vigil");
    pool->on_worker_start = options->on_worker_start;
    pool->on_worker_stop = options->on_worker_stop;
    pool->on_failure = options->on_failure;
    pool->user = options->user;
}

static int init_parts(vigil_pool *pool, const vigil_pool_options *options)
{
    int error = choose_fences(options->fences, &pool->fences);
    if (error != 0)
        return error;
    if (options->cpu_count != 0) {
        pool->cpus = malloc(options->cpu_count * sizeof *pool->cpus);
        if (pool->cpus == NULL)
            return -ENOMEM;
        memcpy(pool->cpus, options->cpus, options->cpu_count * sizeof *pool->cpus);
        pool->cpu_count = options->cpu_count;
    }
    vg_list_init(&pool->urgent);
    error = vg_handles_init(&pool->jobs, vg_job_size(), VG_MAX_JOBS);
    if (error != 0)
        return error;
    error = vg_forkguard_init(&pool->fork_guard);
    if (error != 0)
        vg_handles_destroy(&pool->jobs);
    return error;
}

static vigil_pool *pool_make(const vigil_pool_options *options, unsigned workers, int *error)
{
    vigil_pool *pool = aligned_alloc(64, (sizeof *pool + 63) / 64 * 64);
    if (pool == NULL) {
        *error = -ENOMEM;
        return NULL;
    }
    memset(pool, 0, sizeof *pool); /* locks are free, counters zero */
    take_options(pool, options, workers);
    *error = init_parts(pool, options);
    if (*error != 0) {
        free(pool->cpus);
        free(pool);
        return NULL;
    }
    pool->born = vg_tick_base_now();
    vg_thread_origin_get(&pool->origin);
    vg_thread_mask_get(&pool->signals);
    *error = vg_slot_blocks_open(pool, workers);
    if (*error != 0) {
        vg_handles_destroy(&pool->jobs);
        vg_forkguard_destroy(&pool->fork_guard);
        free(pool->cpus);
        free(pool);
        return NULL;
    }
    vg_idle_init(&pool->idle);
    for (unsigned class_ = 0; class_ < VG_CLASSES; class_++)
        vg_injector_init(&pool->injectors[class_]);
    vg_slab_init(&pool->call_slab, vg_pool_call_size());
    for (unsigned i = 0; i < VG_STRIPES; i++) {
        pool->stripes[i].counts = &pool->shared->stripes[i];
        vg_slab_cache_init(&pool->stripes[i].calls, &pool->call_slab);
    }
    vg_slot_blocks_show(pool);
    return pool;
}

static void pool_free(vigil_pool *pool)
{
    vg_seats_free(pool);
    vg_slot_blocks_close(pool);
    vg_slab_destroy(&pool->call_slab);
    vg_handles_destroy(&pool->jobs);
    vg_forkguard_destroy(&pool->fork_guard);
    free(pool->cpus);
    free(pool);
}

static void set_target(vigil_pool *pool, unsigned workers)
{
    atomic_store_explicit(&pool->target, workers, memory_order_relaxed);
    vg_cell_set(&pool->shared->workers, workers);
}

/* Start workers until there are `workers`; under admin. Returns their number. */
static unsigned start_workers(vigil_pool *pool, unsigned have, unsigned workers, unsigned *tokens_back, int *error)
{
    *error = 0;
    for (; have < workers && *error == 0; have++) {
        vg_seat *seat = vg_seat_at(pool, have);
        if (seat != NULL && seat->life == VG_SEAT_TAKEN) { /* asked to retire, but still here: it stays */
            atomic_store_explicit(&seat->retire, 0, memory_order_relaxed);
            continue;
        }
        *error = vg_slot_blocks_cover(pool, have + 1);
        if (*error != 0)
            break;
        vg_search_begin(pool); /* the token of the new thread */
        *error = vg_seat_start(pool, have);
        if (*error != 0) {
            ++*tokens_back;
            break;
        }
    }
    return have;
}

int vigil_pool_create(vigil_pool **out, const vigil_pool_options *given)
{
    vigil_pool_options taken = VIGIL_POOL_OPTIONS_INIT;
    const vigil_pool_options *options = &taken;
    if (out == NULL)
        return VG_WHY_NULL("pool");
    int error = 0;
    if (given != NULL)
        error = vg_options_take(&taken, sizeof taken, given, given->size,
                                offsetof(vigil_pool_options, workers) + sizeof taken.workers, "options");
    if (error == 0)
        error = check_options(options);
    if (error == 0)
        error = check_policies(options);
    if (error != 0)
        return error;
    unsigned workers = options->workers != 0 ? options->workers : vigil_cpu_count();
    if (workers > VG_MAX_WORKERS)
        workers = VG_MAX_WORKERS;
    vg_forked_watch();
    vigil_pool *pool = pool_make(options, workers, &error);
    if (pool == NULL)
        return error;
    unsigned tokens_back = 0;
    /* Jobs of two pools have different names, so that the watchdog never takes one for the other. */
    pool->jobs.first_generation = 1 + ((uint32_t)pool->block.serial * 0x9e3779b1U >> 2);
    vg_mutex_lock(&pool->admin);
    unsigned have = start_workers(pool, 0, workers, &tokens_back, &error);
    set_target(pool, have);
    vg_mutex_unlock(&pool->admin);
    while (tokens_back-- != 0)
        vg_search_end(pool);
    if (error != 0 && (have == 0 || options->require_all_threads)) {
        (void)vigil_pool_destroy(pool);
        return error;
    }
    vg_subject_add(&pool->subject, &vg_pool_subject_calls, pool, pool->block.serial);
    *out = pool;
    return 0;
}

int vigil_pool_resize(vigil_pool *pool, unsigned workers)
{
    int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    if (workers == 0 || workers > VG_MAX_WORKERS)
        return vg_why_say(-EINVAL, "workers is %u; it must be 1 to %u", workers, VG_MAX_WORKERS);
    const vg_worker *self = vg_worker_of(pool);
    if (self != NULL && self->hook == VG_HOOK_STOP)
        return -EDEADLK; /* growing joins the seat's former thread, which may be this one */
    unsigned tokens_back = 0;
    vg_mutex_lock(&pool->admin);
    unsigned have = atomic_load_explicit(&pool->target, memory_order_relaxed);
    if (atomic_load_explicit(&pool->phase, memory_order_relaxed) != VG_OPEN) {
        error = -ESHUTDOWN;
    } else if (workers > have) {
        have = start_workers(pool, have, workers, &tokens_back, &error);
        set_target(pool, have);
    } else {
        set_target(pool, workers);
        for (unsigned i = workers; i < have; i++) {
            vg_seat *seat = vg_seat_at(pool, i);
            atomic_store_explicit(&seat->retire, 1, memory_order_relaxed);
            vg_unpark(seat); /* sticky: seen even by a worker that is about to park */
        }
    }
    vg_mutex_unlock(&pool->admin);
    while (tokens_back-- != 0)
        vg_search_end(pool);
    return error;
}

unsigned vigil_pool_workers(const vigil_pool *pool)
{
    return pool == NULL ? 0 : atomic_load_explicit(&pool->target, memory_order_relaxed);
}

vigil_pool *vigil_pool_current(void)
{
    return vg_current_worker != NULL ? vg_current_worker->pool : NULL;
}

int vigil_pool_current_worker(void)
{
    return vg_current_worker != NULL ? (int)vg_current_worker->seat.index : -1;
}

/* A submit whose task has run may not have returned yet (submit.c). */
static void wait_for_leavers(vigil_pool *pool)
{
    for (unsigned i = 0; i < VG_STRIPES; i++) {
        vg_stripe *stripe = &pool->stripes[i];
        uint64_t entered = atomic_load_explicit(&stripe->entered, memory_order_relaxed);
        /* acquire: its last touch comes before our free; pairs with the release in vg_visit_end */
        while (atomic_load_explicit(&stripe->left, memory_order_acquire) < entered)
            vg_thread_yield();
    }
}

int vigil_pool_destroy(vigil_pool *pool)
{
    if (pool == NULL)
        return 0;
    if (vg_forked(&pool->fork_guard)) {
        vg_subject_remove(&pool->subject);
        vg_forked_forget();  /* the caller may have been a worker of this pool */
        vg_delay_free(pool); /* the threads stayed in the parent; the memory is our copy */
        pool_free(pool);
        return 0;
    }
    if (vg_part_of(pool))
        return -EDEADLK;
    (void)vigil_pool_close(pool, VIGIL_FOREVER);
    vg_subject_remove(&pool->subject);
    wait_for_leavers(pool);
    pool_free(pool);
    return 0;
}
