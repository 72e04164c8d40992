/* SPDX-License-Identifier: MIT */
#include "support.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

_Thread_local int support_quiet;

/* ---- what must hold --------------------------------------------------------------------------------------------- */

_Noreturn void support_fail(const char *what, const char *file, int line)
{
    (void)fprintf(stderr, "%s:%d: must hold, but does not: %s\n", file, line, what);
    abort();
}

void support_equal(long long value, long long expected, const char *what, const char *wanted, const char *file,
                   int line)
{
    if (value == expected)
        return;
    (void)fprintf(stderr, "%s:%d: %s is %lld, and not %s (%lld)\n", file, line, what, value, wanted, expected);
    abort();
}

void support_between(long long value, long long least, long long most, const char *what, const char *file, int line)
{
    if (value >= least && value <= most)
        return;
    (void)fprintf(stderr, "%s:%d: %s is %lld, and not between %lld and %lld\n", file, line, what, value, least, most);
    abort();
}

uint64_t scaled(uint64_t full, uint64_t least)
{
    const char *text = getenv("VIGIL_TEST_SCALE");
    uint64_t percent = text != NULL ? strtoull(text, NULL, 10) : (TEST_SANITIZED ? 5 : 100);
    uint64_t size = full * percent / 100;
    return size > least ? size : least;
}

uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

int in_child(void (*body)(void *arg), void *arg)
{
    (void)fflush(NULL);
    pid_t pid = fork();
    must(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the watchdog ends the parent, nothing stays behind */
        body(arg);
        _exit(111);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        must(errno == EINTR);
    return status;
}

struct first_process {
    void (*body)(void *arg);
    void *arg;
};

static void make_first_process(void *arg)
{
    const struct first_process *first = arg;
    if (unshare(CLONE_NEWPID) != 0)
        _exit(NO_NAMESPACE);
    const int status = in_child(first->body, first->arg);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 110);
}

int as_first_process(void (*body)(void *arg), void *arg)
{
    struct first_process first = {body, arg};
    return in_child(make_first_process, &first);
}

void next_child_has_my_number(void)
{
    must(getpid() == 1);
    must(unshare(CLONE_NEWPID) == 0);
}

/* ---- things to wait for ----------------------------------------------------------------------------------------- */

static void futex_wait_until(_Atomic uint32_t *word, uint32_t expected, const struct timespec *until)
{
    support_quiet++;
    (void)syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, until, NULL,
                  FUTEX_BITSET_MATCH_ANY);
    support_quiet--;
}

static void futex_wake_all(_Atomic uint32_t *word)
{
    support_quiet++;
    (void)syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL, NULL, 0);
    support_quiet--;
}

void event_set(struct event *event)
{
    atomic_store_explicit(&event->set, 1, memory_order_release); /* what was done before is seen by the waiters */
    futex_wake_all(&event->set);
}

bool event_is_set(struct event *event)
{
    return atomic_load_explicit(&event->set, memory_order_acquire) != 0;
}

void event_wait(struct event *event)
{
    while (!event_is_set(event))
        futex_wait_until(&event->set, 0, NULL);
}

bool event_wait_for(struct event *event, int64_t timeout_ns)
{
    uint64_t end = now_ns() + (uint64_t)timeout_ns;
    struct timespec until = {.tv_sec = (time_t)(end / 1000000000U), .tv_nsec = (long)(end % 1000000000U)};
    while (!event_is_set(event)) {
        if (now_ns() >= end)
            return false;
        futex_wait_until(&event->set, 0, &until);
    }
    return true;
}

void observe_for_ms(unsigned ms)
{
    struct event never = {0};
    must(!event_wait_for(&never, (int64_t)ms * 1000000));
}

void tally_add(struct tally *tally, uint32_t more)
{
    (void)atomic_fetch_add_explicit(&tally->count, more, memory_order_acq_rel);
    futex_wake_all(&tally->count);
}

uint32_t tally_get(struct tally *tally)
{
    return atomic_load_explicit(&tally->count, memory_order_acquire);
}

void tally_wait(struct tally *tally, uint32_t at_least)
{
    uint32_t seen = 0;
    while ((seen = tally_get(tally)) < at_least)
        futex_wait_until(&tally->count, seen, NULL);
}

void gate_pass(struct gate *gate)
{
    tally_add(&gate->entered, 1);
    event_wait(&gate->opened);
}

void gate_wait_entered(struct gate *gate, uint32_t at_least)
{
    tally_wait(&gate->entered, at_least);
}

void gate_open(struct gate *gate)
{
    event_set(&gate->opened);
}

uint32_t meeting_join(struct meeting *meeting)
{
    /* Read before arriving: the meeting cannot be over while we are missing. */
    uint32_t number = atomic_load_explicit(&meeting->held, memory_order_acquire);
    if (atomic_fetch_add_explicit(&meeting->arrived, 1, memory_order_acq_rel) + 1 == meeting->size) {
        atomic_store_explicit(&meeting->arrived, 0, memory_order_relaxed); /* published by the next line */
        atomic_store_explicit(&meeting->held, number + 1, memory_order_release);
        futex_wake_all(&meeting->held);
    } else {
        while (atomic_load_explicit(&meeting->held, memory_order_acquire) == number)
            futex_wait_until(&meeting->held, number, NULL);
    }
    return number;
}

void yield(void)
{
    (void)sched_yield();
}

pthread_t start_thread(void *(*body)(void *), void *arg)
{
    pthread_t thread;
    support_quiet++;
    must_equal(pthread_create(&thread, NULL, body, arg), 0);
    support_quiet--;
    return thread;
}

void join_thread(pthread_t thread)
{
    must_equal(pthread_join(thread, NULL), 0);
}

/* ---- watching --------------------------------------------------------------------------------------------------- */

static pthread_mutex_t watched_lock = PTHREAD_MUTEX_INITIALIZER;
static vigil_pool *watched[64];

void pool_watch(vigil_pool *pool)
{
    (void)pthread_mutex_lock(&watched_lock);
    for (size_t i = 0; i < count_of(watched); i++) {
        if (watched[i] == NULL) {
            watched[i] = pool;
            break;
        }
    }
    (void)pthread_mutex_unlock(&watched_lock);
}

void pool_unwatch(vigil_pool *pool)
{
    (void)pthread_mutex_lock(&watched_lock);
    for (size_t i = 0; i < count_of(watched); i++) {
        if (watched[i] == pool)
            watched[i] = NULL;
    }
    (void)pthread_mutex_unlock(&watched_lock);
}

static const char *state_name(vigil_worker_state state)
{
    static const char *const names[VIGIL_WORKER_STATES] = {"unused",   "starting", "running", "looking",  "stealing",
                                                           "spinning", "parked",   "blocked", "stopping", "stopped"};
    return (unsigned)state < VIGIL_WORKER_STATES ? names[state] : "?";
}

void pool_print(vigil_pool *pool)
{
    vigil_pool_stats stats = {.size = sizeof stats};
    int rc = vigil_pool_stats_get(pool, &stats);
    (void)fprintf(stderr, "pool %p: stats %d, %u workers, %u threads, %u spares, %u parked, %u searching, %u blocked\n",
                  (void *)pool, rc, stats.workers, stats.threads, stats.spares, stats.parked, stats.searching,
                  stats.blocked);
    for (int i = 0; i <= VIGIL_PRIORITIES; i++) {
        const vigil_class_stats *c = i < VIGIL_PRIORITIES ? &stats.by_class[i] : &stats.total;
        (void)fprintf(stderr,
                      "  %s %d: submitted %llu queued %llu running %llu completed %llu failed %llu cancelled %llu "
                      "refused %llu\n",
                      i < VIGIL_PRIORITIES ? "class" : "total", i, (unsigned long long)c->submitted,
                      (unsigned long long)c->queued, (unsigned long long)c->running, (unsigned long long)c->completed,
                      (unsigned long long)c->failed, (unsigned long long)c->cancelled, (unsigned long long)c->refused);
    }
    (void)fprintf(stderr, "  parks %llu, wakes sent %llu useful %llu spurious %llu, delayed %llu\n",
                  (unsigned long long)stats.parks, (unsigned long long)stats.wakes_sent,
                  (unsigned long long)stats.wakes_useful, (unsigned long long)stats.wakes_spurious,
                  (unsigned long long)stats.delayed);
    vigil_audit audit = {.size = sizeof audit};
    rc = vigil_pool_audit(pool, &audit);
    (void)fprintf(stderr, "  audit %d: %s\n", rc, audit.text);
    for (unsigned w = 0; w < 2 * VIGIL_MAX_WORKERS; w++) {
        vigil_worker_stats worker = {.size = sizeof worker};
        if (vigil_pool_worker_stats_get(pool, w, &worker) != 0 || worker.state == VIGIL_WORKER_UNUSED)
            continue;
        (void)fprintf(stderr, "  worker %u%s: %s for %llu us, %llu done\n", w, worker.spare ? " (spare)" : "",
                      state_name(worker.state), (unsigned long long)(worker.state_since_ns / 1000),
                      (unsigned long long)worker.completed);
    }
}

/* One thread for the life of the program. It sleeps on the number of the running test, so a test that ends in time
   costs one wake-up here. */
static _Atomic uint32_t test_number;
static bool test_running;
static pthread_mutex_t watchdog_lock = PTHREAD_MUTEX_INITIALIZER;

static void *watchdog_body(void *arg)
{
    event_set(arg);
    const uint64_t limit_s =
        800; /* for what never ends: a busy machine takes minutes for what an idle one does in seconds */
    for (;;) {
        (void)pthread_mutex_lock(&watchdog_lock);
        uint32_t number = atomic_load_explicit(&test_number, memory_order_acquire);
        bool running = test_running;
        (void)pthread_mutex_unlock(&watchdog_lock);
        uint64_t end = now_ns() + limit_s * 1000000000U;
        struct timespec until = {.tv_sec = (time_t)(end / 1000000000U), .tv_nsec = (long)(end % 1000000000U)};
        while (atomic_load_explicit(&test_number, memory_order_acquire) == number) {
            if (running && now_ns() >= end) {
                (void)fprintf(stderr, "watchdog: the test above has not ended within %llu s\n",
                              (unsigned long long)limit_s);
                (void)pthread_mutex_lock(&watched_lock);
                for (size_t i = 0; i < count_of(watched); i++) {
                    if (watched[i] != NULL)
                        pool_print(watched[i]);
                }
                abort();
            }
            futex_wait_until(&test_number, number, running ? &until : NULL);
        }
    }
    return NULL;
}

static void watchdog_note(bool running)
{
    (void)pthread_mutex_lock(&watchdog_lock);
    test_running = running;
    (void)atomic_fetch_add_explicit(&test_number, 1, memory_order_acq_rel);
    (void)pthread_mutex_unlock(&watchdog_lock);
    futex_wake_all(&test_number);
}

/* cmocka catches these by jumping into the test function, which is wrong on any other thread. So each test puts back
   what was there before cmocka came. */
static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS};
static struct sigaction crash_actions[count_of(crash_signals)];

static __attribute__((constructor)) void remember_crash_actions(void)
{
    for (size_t i = 0; i < count_of(crash_signals); i++)
        (void)sigaction(crash_signals[i], NULL, &crash_actions[i]);
}

int support_begin(void **state)
{
    (void)state;
    static bool started;
    for (size_t i = 0; i < count_of(crash_signals); i++)
        (void)sigaction(crash_signals[i], &crash_actions[i], NULL);
    if (!started) {
        started = true;
        sigset_t all;
        sigset_t before;
        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* signals of a test are for the threads of that test */
        /* It allocates on its way under the sanitizers, whose locks a fork of the test would copy as they are: let it arrive first. */
        static struct event arrived;
        (void)pthread_detach(start_thread(watchdog_body, &arrived));
        event_wait(&arrived);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    watchdog_note(true);
    return 0;
}

int support_end(void **state)
{
    (void)state;
    watchdog_note(false);
    return 0;
}

/* ---- pools ------------------------------------------------------------------------------------------------------ */

vigil_pool *pool_with(const vigil_pool_options *options)
{
    vigil_pool *pool = NULL;
    must_equal(vigil_pool_create(&pool, options), 0);
    must(pool != NULL);
    pool_watch(pool);
    return pool;
}

vigil_pool *pool_of(unsigned workers)
{
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = workers;
    return pool_with(&options);
}

static void class_must_add_up(const vigil_class_stats *c)
{
    must_equal(c->queued + c->running + c->completed + c->failed + c->cancelled, c->submitted);
}

void must_add_up(const vigil_pool_stats *stats)
{
    vigil_class_stats sum = {0};
    for (int i = 0; i < VIGIL_PRIORITIES; i++) {
        const vigil_class_stats *c = &stats->by_class[i];
        class_must_add_up(c);
        sum.submitted += c->submitted;
        sum.queued += c->queued;
        sum.running += c->running;
        sum.completed += c->completed;
        sum.failed += c->failed;
        sum.cancelled += c->cancelled;
        sum.refused += c->refused;
    }
    class_must_add_up(&stats->total);
    must_equal(stats->total.submitted, sum.submitted);
    must_equal(stats->total.queued, sum.queued);
    must_equal(stats->total.running, sum.running);
    must_equal(stats->total.completed, sum.completed);
    must_equal(stats->total.failed, sum.failed);
    must_equal(stats->total.cancelled, sum.cancelled);
    must_equal(stats->total.refused, sum.refused);
}

vigil_pool_stats pool_stats(vigil_pool *pool)
{
    vigil_pool_stats stats = {.size = sizeof stats};
    must_equal(vigil_pool_stats_get(pool, &stats), 0);
    must_add_up(&stats);
    return stats;
}

vigil_worker_stats pool_worker(vigil_pool *pool, unsigned worker)
{
    vigil_worker_stats stats = {.size = sizeof stats};
    must_equal(vigil_pool_worker_stats_get(pool, worker, &stats), 0);
    return stats;
}

int pool_audit(vigil_pool *pool, vigil_audit *audit)
{
    int rc = 0;
    do {
        *audit = (vigil_audit){.size = sizeof *audit};
        rc = vigil_pool_audit(pool, audit);
        if (rc == -EAGAIN)
            yield(); /* workers are on their way to sleep */
    } while (rc == -EAGAIN);
    return rc;
}

void pool_audit_clean(vigil_pool *pool)
{
    vigil_audit audit;
    int rc = pool_audit(pool, &audit);
    if (rc != 0)
        (void)fprintf(stderr, "audit: %s\n", audit.text);
    must_equal(rc, 0);
    must(audit.settled);
    must_equal(audit.lost, 0);
    must_equal(audit.found, audit.expected);
}

void pool_wait_parked(vigil_pool *pool, unsigned workers)
{
    while (pool_stats(pool).parked != workers)
        yield();
}

void pool_wait_all_parked(vigil_pool *pool)
{
    for (;;) {
        vigil_pool_stats stats = pool_stats(pool);
        if (stats.parked == stats.threads && stats.searching == 0)
            return;
        yield();
    }
}

void pool_close(vigil_pool *pool)
{
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    pool_audit_clean(pool);
    vigil_pool_stats idle = pool_stats(pool);
    must_equal(idle.total.queued, 0);
    must_equal(idle.total.running, 0);
    must_equal(vigil_pool_shutdown(pool, VIGIL_FOREVER), 0);
    vigil_pool_stats stopped = pool_stats(pool);
    must_equal(stopped.total.submitted, idle.total.submitted);
    must_equal(stopped.threads, 0);
    pool_audit_clean(pool);
    pool_unwatch(pool);
    must_equal(vigil_pool_destroy(pool), 0);
}

static int hold_run(void *arg)
{
    gate_pass(arg);
    return 0;
}

void hold_workers(struct hold *hold, vigil_pool *pool, unsigned count)
{
    uint32_t before = tally_get(&hold->gate.entered);
    for (unsigned i = 0; i < count; i++)
        must_equal(vigil_pool_call(pool, hold_run, NULL, &hold->gate, VIGIL_CRITICAL), 0);
    gate_wait_entered(&hold->gate, before + count);
}

void hold_release(struct hold *hold)
{
    gate_open(&hold->gate);
}
