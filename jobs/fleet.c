/* SPDX-License-Identifier: MIT */
/* fleet.c - the members of a queue on several servers: opening, choosing, starting, ending. */
#include "fleet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "futex.h"
#include "runner.h"
#include "why.h"

enum {
    RETRY_MS = 1000, /* a member that is away is not asked more often */
    DEPTH_MS = 500,  /* how long a count of waiting jobs is believed */
    DEPTH_MOST = 10000,
};

struct member {
    char *where;
    _Atomic(vigil_jobs *) jobs; /* NULL: not reached yet */
    pthread_mutex_t opening;
    /* Under the fleet's lock. */
    uint64_t retry_at, counted_at; /* CLOCK_MONOTONIC, ms */
    uint64_t waiting;
};

struct plan { /* a handler, for members that come later */
    char *kind;
    vigil_jobs_fn fn;
    void *arg;
    vigil_jobs_kind options;
};

struct vg_jobs_fleet {
    unsigned count;
    struct member members[VG_FLEET_MOST];
    pthread_mutex_t lock;
    struct plan *plans;
    unsigned plan_count;
    bool started, stopped; /* under the lock */
    vigil_pool *pool;      /* of its own; NULL: the user's, or not started */
    bool opens;            /* a thread opens the members that are missing */
    pthread_t opener;
    _Atomic uint32_t stop; /* futex */
};

static const char separators[] = " \t\n";

static bool is_server(const char *word)
{
    return strncmp(word, "postgresql://", 13) == 0 || strncmp(word, "postgres://", 11) == 0;
}

bool vg_jobs_is_fleet(const char *where)
{
    const char *second = where + strcspn(where, separators);
    return is_server(where) && is_server(second + strspn(second, separators));
}

unsigned vg_jobs_fleet_count(vigil_jobs *jobs)
{
    return jobs->fleet->count;
}

/* NULL: not yet. */
static vigil_jobs *opened(const struct member *it)
{
    return atomic_load_explicit(&it->jobs, memory_order_acquire); /* pairs with the release in open_member */
}

static int tell_plans(const struct vg_jobs_fleet *fleet, vigil_jobs *member)
{
    int error = 0;
    for (unsigned i = 0; i < fleet->plan_count && error == 0; i++)
        error = vigil_jobs_handle(member, fleet->plans[i].kind, fleet->plans[i].fn, fleet->plans[i].arg,
                                  &fleet->plans[i].options);
    return error;
}

static int start_member(vigil_jobs *jobs, vigil_jobs *member)
{
    member->options.pool = jobs->fleet->pool != NULL ? jobs->fleet->pool : jobs->options.pool;
    return vigil_jobs_start(member);
}

/* Under the member's `opening`. */
static int open_member(vigil_jobs *jobs, unsigned place)
{
    struct vg_jobs_fleet *fleet = jobs->fleet;
    struct member *it = &fleet->members[place];
    vigil_jobs *member;
    int error = vigil_jobs_open(&member, it->where, &jobs->options);
    if (error != 0)
        return error;
    member->tag = (uint64_t)place << VG_FLEET_SHIFT;
    (void)pthread_mutex_lock(&fleet->lock);
    error = fleet->stopped ? -ESHUTDOWN : tell_plans(fleet, member);
    if (error == 0 && fleet->started)
        error = start_member(jobs, member);
    if (error == 0)
        /* release: pairs with the acquire in vg_jobs_fleet_member */
        atomic_store_explicit(&it->jobs, member, memory_order_release);
    (void)pthread_mutex_unlock(&fleet->lock);
    if (error != 0)
        vigil_jobs_close(member);
    return error;
}

/* Whether a member that is away may be asked again; the next time is later then. */
static bool may_try(struct vg_jobs_fleet *fleet, struct member *it)
{
    uint64_t now = vg_jobs_now_ms();
    (void)pthread_mutex_lock(&fleet->lock);
    bool may = now >= it->retry_at;
    if (may)
        it->retry_at = now + RETRY_MS;
    (void)pthread_mutex_unlock(&fleet->lock);
    return may;
}

vigil_jobs *vg_jobs_fleet_member(vigil_jobs *jobs, unsigned place)
{
    struct vg_jobs_fleet *fleet = jobs->fleet;
    if (place >= fleet->count) {
        (void)vg_jobs_why(-ENOENT, "the id is of server %u; there are %u", place + 1, fleet->count);
        return NULL;
    }
    struct member *it = &fleet->members[place];
    vigil_jobs *member = opened(it);
    if (member == NULL && pthread_mutex_trylock(&it->opening) == 0) {
        member = opened(it);
        if (member == NULL && may_try(fleet, it) && open_member(jobs, place) == 0)
            member = opened(it);
        (void)pthread_mutex_unlock(&it->opening);
    }
    if (member == NULL)
        (void)vg_jobs_why(-ENOTCONN, "server %u of %u has not been reached", place + 1, fleet->count);
    return member;
}

/* ---- where a job goes -------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

unsigned vg_jobs_fleet_place(vigil_jobs *jobs, const char *key)
{
    uint64_t hash = UINT64_C(14695981039346656037), best = 0;
    unsigned place = 0;
    for (; *key != '\0'; key++)
        hash = (hash ^ (unsigned char)*key) * UINT64_C(1099511628211);
    for (unsigned i = 0; i < jobs->fleet->count; i++) {
        uint64_t weight = mix(hash + (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
        if (i == 0 || weight > best) {
            best = weight;
            place = i;
        }
    }
    return place;
}

/* The waiting jobs of a member as far as they are known. False: it is away. */
static bool depth_of(vigil_jobs *jobs, unsigned place, uint64_t *depth)
{
    struct vg_jobs_fleet *fleet = jobs->fleet;
    struct member *it = &fleet->members[place];
    uint64_t now = vg_jobs_now_ms();
    (void)pthread_mutex_lock(&fleet->lock);
    bool fresh = it->counted_at != 0 && now - it->counted_at < DEPTH_MS, away = now < it->retry_at;
    *depth = it->waiting;
    (void)pthread_mutex_unlock(&fleet->lock);
    if (fresh || away)
        return fresh && !away;
    vigil_jobs *member = vg_jobs_fleet_member(jobs, place);
    if (member == NULL)
        return false;
    (void)pthread_mutex_lock(&member->client_lock);
    int error = member->engine->waiting(member->client, DEPTH_MOST, depth);
    (void)pthread_mutex_unlock(&member->client_lock);
    (void)pthread_mutex_lock(&fleet->lock);
    it->counted_at = now;
    it->waiting = *depth;
    it->retry_at = error != 0 ? vg_jobs_now_ms() + RETRY_MS : 0;
    (void)pthread_mutex_unlock(&fleet->lock);
    return error == 0;
}

int vg_jobs_fleet_least(vigil_jobs *jobs)
{
    int least = -1;
    uint64_t fewest = 0;
    for (unsigned i = 0; i < jobs->fleet->count; i++) {
        uint64_t depth;
        if (depth_of(jobs, i, &depth) && (least < 0 || depth < fewest)) {
            fewest = depth;
            least = (int)i;
        }
    }
    return least >= 0 ? least : vg_jobs_why(-ENOTCONN, "none of the %u servers answers", jobs->fleet->count);
}

void vg_jobs_fleet_note(vigil_jobs *jobs, unsigned place, size_t count)
{
    struct vg_jobs_fleet *fleet = jobs->fleet;
    (void)pthread_mutex_lock(&fleet->lock);
    if (count > 0)
        fleet->members[place].waiting += count;
    else
        fleet->members[place].retry_at = vg_jobs_now_ms() + RETRY_MS;
    (void)pthread_mutex_unlock(&fleet->lock);
}

/* ---- the life of the fleet --------------------------------------------------------------------------------------- */

static void *open_missing(void *arg)
{
    vigil_jobs *jobs = arg;
    struct vg_jobs_fleet *fleet = jobs->fleet;
    unsigned missing = 1;
    (void)pthread_setname_np(pthread_self(), "jobs-fleet");
    /* acquire: pairs with the release in stop_opener */
    while (missing > 0 && atomic_load_explicit(&fleet->stop, memory_order_acquire) == 0) {
        missing = 0;
        for (unsigned i = 0; i < fleet->count; i++)
            missing += vg_jobs_fleet_member(jobs, i) == NULL;
        if (missing > 0)
            vg_jobs_futex_wait(&fleet->stop, 0, RETRY_MS);
    }
    return NULL;
}

static void stop_opener(struct vg_jobs_fleet *fleet)
{
    (void)pthread_mutex_lock(&fleet->lock);
    fleet->stopped = true;
    bool opens = fleet->opens;
    fleet->opens = false;
    (void)pthread_mutex_unlock(&fleet->lock);
    if (!opens)
        return;
    /* release: pairs with the acquire in open_missing */
    atomic_store_explicit(&fleet->stop, 1, memory_order_release);
    vg_jobs_futex_wake(&fleet->stop);
    (void)pthread_join(fleet->opener, NULL);
}

int vg_jobs_fleet_open(vigil_jobs *jobs, const char *where)
{
    struct vg_jobs_fleet *fleet = calloc(1, sizeof *fleet);
    if (fleet == NULL)
        return -ENOMEM;
    jobs->fleet = fleet;
    (void)pthread_mutex_init(&fleet->lock, NULL);
    int error = 0, first = 0;
    for (const char *word = where + strspn(where, separators); *word != '\0' && error == 0;) {
        size_t length = strcspn(word, separators);
        if (!is_server(word))
            error = vg_jobs_why(-EINVAL, "'%.*s' is not postgresql://; several servers are of that kind", (int)length,
                                word);
        else if (fleet->count == VG_FLEET_MOST)
            error = vg_jobs_why(-EINVAL, "more than %d servers", VG_FLEET_MOST);
        if (error != 0)
            break;
        struct member *it = &fleet->members[fleet->count++];
        (void)pthread_mutex_init(&it->opening, NULL);
        it->where = strndup(word, length);
        if (it->where == NULL)
            error = -ENOMEM;
        word += length + strspn(word + length, separators);
    }
    unsigned there = 0;
    for (unsigned i = 0; i < fleet->count && error == 0; i++) {
        int result = open_member(jobs, i);
        there += result == 0;
        if (result != 0 && result != -ENOTCONN) /* it is there and cannot be used */
            error = result;
        first = first != 0 ? first : result;
    }
    return error != 0 ? error : there == 0 ? first : 0;
}

void vg_jobs_fleet_close(vigil_jobs *jobs)
{
    struct vg_jobs_fleet *fleet = jobs->fleet;
    stop_opener(fleet);
    for (unsigned i = 0; i < fleet->count; i++) {
        vigil_jobs_close(opened(&fleet->members[i]));
        (void)pthread_mutex_destroy(&fleet->members[i].opening);
        free(fleet->members[i].where);
    }
    if (fleet->pool != NULL)
        (void)vigil_pool_destroy(fleet->pool);
    for (unsigned i = 0; i < fleet->plan_count; i++)
        free(fleet->plans[i].kind);
    free(fleet->plans);
    (void)pthread_mutex_destroy(&fleet->lock);
    free(fleet);
    jobs->fleet = NULL;
}

static int add_plan(struct vg_jobs_fleet *fleet, const char *kind, vigil_jobs_fn fn, void *arg,
                    const vigil_jobs_kind *options)
{
    struct plan *plans = realloc(fleet->plans, (fleet->plan_count + 1) * sizeof *plans);
    if (plans == NULL)
        return -ENOMEM;
    fleet->plans = plans;
    struct plan *plan = &plans[fleet->plan_count];
    *plan = (struct plan){.kind = strdup(kind), .fn = fn, .arg = arg, .options = VIGIL_JOBS_KIND_INIT};
    if (plan->kind == NULL)
        return -ENOMEM;
    if (options != NULL)
        memcpy(&plan->options, options, options->size < sizeof plan->options ? options->size : sizeof plan->options);
    plan->options.size = sizeof plan->options;
    fleet->plan_count++;
    return 0;
}

int vg_jobs_fleet_handle(vigil_jobs *jobs, const char *kind, vigil_jobs_fn fn, void *arg,
                         const vigil_jobs_kind *options)
{
    struct vg_jobs_fleet *fleet = jobs->fleet;
    int error = 0;
    (void)pthread_mutex_lock(&fleet->lock);
    if (fleet->started)
        error = vg_jobs_why(-EBUSY, "the queue has been started");
    /* The first member checks the arguments; the others then say the same. */
    for (unsigned i = 0; i < fleet->count && error == 0; i++) {
        vigil_jobs *member = opened(&fleet->members[i]);
        if (member != NULL)
            error = vigil_jobs_handle(member, kind, fn, arg, options);
    }
    if (error == 0)
        error = add_plan(fleet, kind, fn, arg, options);
    (void)pthread_mutex_unlock(&fleet->lock);
    return error;
}

static int start_all(vigil_jobs *jobs)
{
    struct vg_jobs_fleet *fleet = jobs->fleet;
    int error = 0;
    if (jobs->options.pool == NULL) {
        vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
        options.name = "jobs";
        options.workers = jobs->options.workers <= VIGIL_MAX_WORKERS ? jobs->options.workers : VIGIL_MAX_WORKERS;
        error = vigil_pool_create(&fleet->pool, &options);
        if (error != 0)
            return vg_jobs_why(error, "no pool: %s", vigil_why());
    }
    unsigned there = 0;
    for (unsigned i = 0; i < fleet->count && error == 0; i++) {
        vigil_jobs *member = opened(&fleet->members[i]);
        if (member != NULL)
            error = start_member(jobs, member);
        there += member != NULL;
    }
    if (error == 0 && there < fleet->count) {
        fleet->opens = pthread_create(&fleet->opener, NULL, open_missing, jobs) == 0;
        if (!fleet->opens)
            error = vg_jobs_why(-EAGAIN, "no thread");
    }
    return error;
}

int vg_jobs_fleet_start(vigil_jobs *jobs)
{
    struct vg_jobs_fleet *fleet = jobs->fleet;
    int error;
    (void)pthread_mutex_lock(&fleet->lock);
    if (fleet->started || fleet->stopped)
        error = fleet->stopped ? -ESHUTDOWN : -EALREADY;
    else
        error = start_all(jobs);
    fleet->started = fleet->started || error == 0;
    (void)pthread_mutex_unlock(&fleet->lock);
    return error;
}

int vg_jobs_fleet_shutdown(vigil_jobs *jobs, int64_t timeout_ns)
{
    struct vg_jobs_fleet *fleet = jobs->fleet;
    uint64_t until = vg_jobs_now_ms() + (uint64_t)(timeout_ns > 0 ? timeout_ns / 1000000 : 0);
    int result = 0;
    stop_opener(fleet);
    for (unsigned i = 0; i < fleet->count; i++) {
        vigil_jobs *member = opened(&fleet->members[i]);
        if (member != NULL)
            vg_jobs_runner_stop_claiming(member);
    }
    for (unsigned i = 0; i < fleet->count; i++) {
        vigil_jobs *member = opened(&fleet->members[i]);
        uint64_t now = vg_jobs_now_ms();
        int64_t left = timeout_ns < 0 ? timeout_ns : now < until ? (int64_t)(until - now) * 1000000 : 0;
        int stopped = member != NULL ? vigil_jobs_shutdown(member, left) : 0;
        result = result != 0 ? result : stopped;
    }
    return result;
}

int vg_jobs_fleet_stats(vigil_jobs *jobs, vigil_jobs_stats *stats)
{
    vigil_jobs_stats sum = VIGIL_JOBS_STATS_INIT;
    for (unsigned i = 0; i < jobs->fleet->count; i++) {
        vigil_jobs *member = opened(&jobs->fleet->members[i]);
        vigil_jobs_stats one = VIGIL_JOBS_STATS_INIT;
        if (member == NULL || vigil_jobs_stats_get(member, &one) != 0)
            continue;
#define ADD(field) sum.field += one.field
        ADD(claimed), ADD(completed), ADD(failed), ADD(dead), ADD(cancelled), ADD(given_back);
        sum.bad_rows += one.bad_rows;
        sum.pinned_ms = one.pinned_ms > sum.pinned_ms ? one.pinned_ms : sum.pinned_ms;
        ADD(refused), ADD(rescued), ADD(exchanges), ADD(beats), ADD(outages), ADD(in_flight);
#undef ADD
    }
    *stats = sum;
    return 0;
}
