/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "outside.h"

#include "base/say.h"
#include "reader_names.h"

#include <vigil/pool.h>
#include <vigil/watchdog.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OUTSIDE_FINDINGS = 16,
    OUTSIDE_LINES = 8,
    OUTSIDE_LATE_LOOKS = 10 /* a watchdog that misses so many is late */
};
#define OUTSIDE_LATE_NS     UINT64_C(3000000000)
#define OUTSIDE_HOG_NS      UINT64_C(1000000000)
#define OUTSIDE_LOOP_NS     UINT64_C(500000000)
#define OUTSIDE_LONG_NS     UINT64_C(10000000000)
#define OUTSIDE_VERYLONG_NS UINT64_C(60000000000)

typedef struct outside_look {
    vg_reader *reader;
    const vg_snapshot *before, *now;
    size_t count;
    vg_verdict_view *of; /* OUTSIDE_FINDINGS */
} outside_look;

static bool watchdog_is_late(const vg_snapshot *now)
{
    const uint64_t allowed = OUTSIDE_LATE_LOOKS * now->watch_interval_ns;
    return now->watch_age_ns != UINT64_MAX &&
           now->watch_age_ns > (allowed > OUTSIDE_LATE_NS ? allowed : OUTSIDE_LATE_NS);
}

bool vg_outside_needed(const vg_snapshot *now)
{
    return now->alive && (now->stopped || now->watch_age_ns == UINT64_MAX || watchdog_is_late(now));
}

static vg_verdict_view *add_outside(outside_look *look, vigil_stall kind, vigil_severity severity, uint64_t object,
                                    uint64_t age_ns)
{
    if (look->count == OUTSIDE_FINDINGS)
        return NULL;
    vg_verdict_view *verdict = &look->of[look->count++];
    *verdict = (vg_verdict_view){.kind = (unsigned)kind,
                                 .severity = (unsigned)severity,
                                 .object = object,
                                 .worker = UINT64_MAX,
                                 .first_age_ns = age_ns,
                                 .repeats = 1,
                                 .times = 1};
    return verdict;
}

/* 'R', 'S', ...; 0: unknown. Only files that the kernel makes are opened. */
static char state_of_thread(pid_t pid, pid_t tid)
{
    char path[64];
    char text[512];
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    const ssize_t got = read(fd, text, sizeof text - 1);
    (void)close(fd);
    if (got <= 0)
        return 0;
    text[got] = 0;
    const char *end = strrchr(text, ')');
    return end != NULL && end[1] == ' ' ? end[2] : 0;
}

/* ---- the process ---- */

static void judge_process(outside_look *look)
{
    const vg_snapshot *now = look->now;
    if (now->stopped) {
        vg_verdict_view *verdict = add_outside(look, VIGIL_STALL_NO_CPU, VIGIL_SEVERITY_ERROR, 0, 0);
        if (verdict == NULL)
            return;
        (void)snprintf(verdict->reason, sizeof verdict->reason,
                       "Process %d is stopped, by a signal or a debugger: nothing in it runs.", (int)now->pid);
        (void)snprintf(verdict->evidence, sizeof verdict->evidence, "state T or t in /proc/%d/stat\n", (int)now->pid);
        (void)snprintf(verdict->advice, sizeof verdict->advice,
                       "`kill -CONT %d` lets it go on, unless a debugger holds it (TracerPid in /proc/%d/status).",
                       (int)now->pid, (int)now->pid);
        return;
    }
    if (!watchdog_is_late(now))
        return;
    vg_verdict_view *verdict =
        add_outside(look, VIGIL_STALL_NO_CPU, VIGIL_SEVERITY_WARNING, 0, now->watch_age_ns - now->watch_interval_ns);
    if (verdict == NULL)
        return;
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    vg_say(&reason, "The watchdog of this process has not looked for ");
    vg_say_time(&reason, now->watch_age_ns);
    vg_say(&reason, ": its verdicts are of that time.");
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    vg_say(&evidence, "it should look every ");
    vg_say_time(&evidence, now->watch_interval_ns);
    vg_say(&evidence, "\n");
    (void)snprintf(verdict->advice, sizeof verdict->advice,
                   "It was stopped (vigil_watchdog_stop), one of its hooks does not return, or its thread is not run: "
                   "look at the thread vigil/watchdog.");
}

/* ---- pools ---- */

typedef struct outside_worker {
    bool counts; /* it has a thread and is no dormant spare */
    bool stuck;  /* inside the same task in both snapshots */
    bool asleep; /* and sleeps, declared or not */
    bool parked; /* in both snapshots, without a step in between */
} outside_worker;

static uint64_t started_by(const vg_worker_view *worker)
{
    uint64_t all = 0;
    for (unsigned c = 0; c < VG_FILE_CLASSES; c++)
        all += worker->started[c];
    return all;
}

static const vg_worker_view *same_worker(const vg_pool_view *pool, unsigned index)
{
    for (size_t i = 0; pool != NULL && i < pool->worker_count; i++)
        if (pool->workers[i].index == index)
            return &pool->workers[i];
    return NULL;
}

static outside_worker compare_worker(const outside_look *look, const vg_worker_view *was, const vg_worker_view *is)
{
    outside_worker result = {0};
    result.counts = is->tid != 0 && !(is->spare && is->state == VIGIL_WORKER_PARKED && !is->in_task);
    if (was == NULL || !result.counts || started_by(was) != started_by(is))
        return result;
    result.stuck =
        was->in_task && is->in_task && was->task_function == is->task_function && is->task_age_ns >= VG_OUTSIDE_SPAN_NS;
    result.parked = !is->in_task && was->state == VIGIL_WORKER_PARKED && is->state == VIGIL_WORKER_PARKED &&
                    is->state_age_ns >= VG_OUTSIDE_SPAN_NS / 2;
    if (result.stuck) {
        const char state = state_of_thread(look->now->pid, is->tid);
        result.asleep = is->state == VIGIL_WORKER_BLOCKED || state == 'S' || state == 'D';
    }
    return result;
}

static void say_outside_worker(outside_look *look, vg_words *to, const vg_worker_view *worker, bool asleep)
{
    char name[128];
    vg_reader_name(look->reader, worker->task_function, name, sizeof name);
    vg_say(to, "worker %u (thread %d): the same task for ", worker->index, (int)worker->tid);
    vg_say_time(to, worker->task_age_ns);
    vg_say(to, " in %s%s", name, asleep ? ", asleep" : "");
    if (worker->wait.kind != VG_WAIT_NONE && worker->wait.kind < VG_WAIT_KINDS) {
        vg_say(to, ", waits for ");
        vg_say_time(to, worker->wait.age_ns);
    }
    vg_say(to, "\n");
}

typedef struct outside_pool {
    const vg_pool_view *was, *is;
    outside_worker *workers; /* parallel to is->workers */
    size_t counted, stuck, asleep, parked;
    uint64_t due;    /* queued, and could be taken */
    bool none_taken; /* nothing was started between the two looks */
    const vg_worker_view *longest;
    bool longest_asleep;
} outside_pool;

static void say_stuck(outside_look *look, const outside_pool *pool, vg_verdict_view *verdict)
{
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    vg_say(&evidence, "%" PRIu64 " tasks could be taken; %s in the last ", pool->due,
           pool->none_taken ? "none was started" : "others were started");
    vg_say_time(&evidence, look->now->age_ns - look->before->age_ns);
    vg_say(&evidence, "\n");
    unsigned lines = 0;
    for (size_t i = 0; i < pool->is->worker_count && lines < OUTSIDE_LINES; i++)
        if (pool->workers[i].stuck) {
            say_outside_worker(look, &evidence, &pool->is->workers[i], pool->workers[i].asleep);
            lines++;
        }
}

static bool thread_waits_for(const outside_look *look, const outside_pool *pool)
{
    for (size_t i = 0; i < look->now->thread_count; i++) {
        const vg_wait_view *wait = &look->now->threads[i].wait;
        if (look->now->threads[i].ended || wait->age_ns < OUTSIDE_HOG_NS)
            continue;
        if ((wait->kind == VG_WAIT_IDLE && wait->on == pool->is->serial) ||
            (wait->kind == VG_WAIT_JOB && pool->longest->task_job != 0 && wait->on == pool->longest->task_job))
            return true;
    }
    return false;
}

static void judge_outside_hog(outside_look *look, const outside_pool *pool)
{
    const vg_worker_view *worker = pool->longest;
    if (worker == NULL || worker->task_age_ns < OUTSIDE_HOG_NS)
        return;
    const bool work = pool->due != 0 && pool->none_taken;
    const bool waited = thread_waits_for(look, pool);
    const bool late = worker->task_age_ns >= OUTSIDE_LONG_NS;
    const bool very_late = worker->task_age_ns >= OUTSIDE_VERYLONG_NS;
    const bool declared = worker->state == VIGIL_WORKER_BLOCKED;
    vigil_severity severity = VIGIL_SEVERITY_INFO;
    if (pool->is->phase > 0 || (work && pool->stuck == pool->counted) || (waited && late) ||
        (pool->longest_asleep && !declared && very_late))
        severity = VIGIL_SEVERITY_ERROR;
    else if (work || waited || (pool->longest_asleep && !declared && late) || (!declared && very_late))
        severity = VIGIL_SEVERITY_WARNING;
    if (declared && severity == VIGIL_SEVERITY_INFO)
        return; /* a declared wait that nobody waits for is in order */
    vg_verdict_view *verdict = add_outside(look, VIGIL_STALL_HOG, severity, pool->is->serial, worker->task_age_ns);
    if (verdict == NULL)
        return;
    char name[128];
    vg_reader_name(look->reader, worker->task_function, name, sizeof name);
    verdict->worker = worker->index;
    verdict->function = worker->task_function;
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    vg_say(&reason, "One task keeps worker %u of pool \"%s\" for ", worker->index, pool->is->name);
    vg_say_time(&reason, worker->task_age_ns);
    vg_say(&reason, " in %s", name);
    vg_say(&reason, "%s",
           work                  ? ", and queued tasks wait."
           : pool->is->phase > 0 ? ", and the pool's stop waits for it."
           : waited              ? ", and a thread waits for it."
                                 : "; nothing waits for it.");
    say_stuck(look, pool, verdict);
    (void)snprintf(verdict->advice, sizeof verdict->advice, "%s",
                   pool->longest_asleep
                       ? "It sleeps. Find the thread that has to end that wait and look at it; gdb or the watchdog "
                         "(VIGIL_WATCHDOG=on) shows the stack."
                       : "Cut the task into parts that submit the rest, or give it a pool of its own.");
}

static void judge_outside_blocked(outside_look *look, const outside_pool *pool)
{
    const uint64_t age = pool->longest != NULL ? pool->longest->task_age_ns : 0;
    vg_verdict_view *verdict =
        add_outside(look, VIGIL_STALL_ALL_BLOCKED, VIGIL_SEVERITY_CRITICAL, pool->is->serial, age);
    if (verdict == NULL)
        return;
    (void)snprintf(verdict->reason, sizeof verdict->reason,
                   "All %zu workers of pool \"%s\" are blocked and %" PRIu64 " tasks wait.", pool->counted,
                   pool->is->name, pool->due);
    say_stuck(look, pool, verdict);
    (void)snprintf(verdict->advice, sizeof verdict->advice,
                   "Find what the tasks wait for: gdb or the watchdog (VIGIL_WATCHDOG=on) shows the stacks. If the "
                   "waits are meant, declare them with vigil_blocking_begin and _end so that spares take over.");
}

static void judge_outside_wake(outside_look *look, const outside_pool *pool)
{
    vg_verdict_view *verdict = add_outside(look, VIGIL_STALL_LOST_WAKEUP, VIGIL_SEVERITY_CRITICAL, pool->is->serial,
                                           look->now->age_ns - look->before->age_ns);
    if (verdict == NULL)
        return;
    (void)snprintf(verdict->reason, sizeof verdict->reason,
                   "Work is queued in pool \"%s\", and workers are parked: a wake-up was lost.", pool->is->name);
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    vg_say(&evidence, "%" PRIu64 " tasks could be taken; %zu workers parked in both looks; nothing was started\n",
           pool->due, pool->parked);
    (void)snprintf(
        verdict->advice, sizeof verdict->advice,
        "This is a fault of the library or of its memory: please report it with this text. Any new submit may "
        "set it going again.");
}

/* Follow waits for jobs from worker to worker, by the job that each runs. */
static void judge_outside_cycle(outside_look *look, const outside_pool *pool)
{
    const vg_pool_view *is = pool->is;
    for (size_t begin = 0; begin < is->worker_count; begin++) {
        size_t at = begin;
        size_t length = 0;
        bool closed = false;
        while (length <= is->worker_count && pool->workers[at].stuck && is->workers[at].wait.kind == VG_WAIT_JOB) {
            size_t next = 0;
            while (next < is->worker_count &&
                   !(is->workers[next].in_task && is->workers[next].task_job == is->workers[at].wait.on))
                next++;
            if (next == is->worker_count || is->workers[at].wait.on == 0)
                break;
            length++;
            at = next;
            if (at == begin) {
                closed = true;
                break;
            }
        }
        if (!closed)
            continue;
        vg_verdict_view *verdict =
            add_outside(look, VIGIL_STALL_WAIT_CYCLE, VIGIL_SEVERITY_ERROR, is->serial, is->workers[begin].wait.age_ns);
        if (verdict == NULL)
            return;
        verdict->worker = is->workers[begin].index;
        (void)snprintf(verdict->reason, sizeof verdict->reason,
                       "%zu tasks of pool \"%s\" wait for each other in a circle.", length, is->name);
        say_stuck(look, pool, verdict);
        (void)snprintf(verdict->advice, sizeof verdict->advice,
                       "A task must not wait for one that may wait for it: split the work at the wait, or submit a "
                       "follow-up.");
        return; /* one is enough */
    }
}

static void judge_outside_pool(outside_look *look, const vg_pool_view *was, const vg_pool_view *is)
{
    outside_pool pool = {.was = was, .is = is, .workers = calloc(is->worker_count + 1, sizeof *pool.workers)};
    if (pool.workers == NULL)
        return;
    uint64_t before = 0;
    uint64_t now = 0;
    for (size_t i = 0; i < is->worker_count; i++) {
        const vg_worker_view *worker = &is->workers[i];
        const vg_worker_view *old = same_worker(was, worker->index);
        pool.workers[i] = compare_worker(look, old, worker);
        before += old != NULL ? started_by(old) : 0;
        now += started_by(worker);
        pool.counted += pool.workers[i].counts;
        pool.stuck += pool.workers[i].stuck;
        pool.asleep += pool.workers[i].asleep;
        pool.parked += pool.workers[i].parked;
        if (pool.workers[i].stuck && (pool.longest == NULL || worker->task_age_ns > pool.longest->task_age_ns)) {
            pool.longest = worker;
            pool.longest_asleep = pool.workers[i].asleep;
        }
    }
    pool.none_taken = before == now;
    for (unsigned c = 0; c < VG_FILE_CLASSES; c++) { /* a class with a cap may have to wait */
        const vg_class_view *one = &is->of[c];
        const uint64_t due = one->queued > one->delayed ? one->queued - one->delayed : 0;
        const uint64_t due_before = was->of[c].queued > was->of[c].delayed ? was->of[c].queued - was->of[c].delayed : 0;
        if (is->caps[c] == 0)
            pool.due += due < due_before ? due : due_before;
    }
    judge_outside_cycle(look, &pool);
    if (pool.due != 0 && pool.none_taken && pool.counted != 0 && pool.asleep == pool.counted)
        judge_outside_blocked(look, &pool);
    else if (pool.due != 0 && pool.none_taken && pool.parked != 0)
        judge_outside_wake(look, &pool);
    else
        judge_outside_hog(look, &pool);
    free(pool.workers);
}

/* ---- loops ---- */

static void judge_outside_loop(outside_look *look, const vg_loop_view *was, const vg_loop_view *is)
{
    if (is->tid == 0 || is->call_function == 0 || was->call_function != is->call_function || was->turns != is->turns ||
        is->call_age_ns < OUTSIDE_LOOP_NS || is->call_age_ns < look->now->age_ns - look->before->age_ns)
        return;
    vg_verdict_view *verdict =
        add_outside(look, VIGIL_STALL_LOOP_BLOCKED,
                    is->call_age_ns >= 10 * OUTSIDE_LOOP_NS ? VIGIL_SEVERITY_ERROR : VIGIL_SEVERITY_WARNING, is->serial,
                    is->call_age_ns);
    if (verdict == NULL)
        return;
    char name[128];
    vg_reader_name(look->reader, is->call_function, name, sizeof name);
    verdict->function = is->call_function;
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    vg_say(&reason, "Loop \"%s\" is blocked by one callback, %s, for ", is->name, name);
    vg_say_time(&reason, is->call_age_ns);
    vg_say(&reason, ".");
    const char state = state_of_thread(look->now->pid, is->tid);
    (void)snprintf(verdict->evidence, sizeof verdict->evidence, "thread %d is %s\n", (int)is->tid,
                   state == 'R'                   ? "running or waits for a CPU"
                   : state == 'S' || state == 'D' ? "asleep"
                                                  : "in an unknown state");
    (void)snprintf(verdict->advice, sizeof verdict->advice, "%s",
                   state == 'R' ? "Hand long work to a pool and come back with a post, or cut it with immediates."
                                : "The callback sleeps: use the loop's own timers and watches, or hand the call that "
                                  "waits to a pool.");
}

/* ---- all of it ---- */

static void judge_pairs(outside_look *look)
{
    for (size_t i = 0; i < look->now->pool_count; i++)
        for (size_t k = 0; k < look->before->pool_count; k++)
            if (look->before->pools[k].serial == look->now->pools[i].serial)
                judge_outside_pool(look, &look->before->pools[k], &look->now->pools[i]);
    for (size_t i = 0; i < look->now->loop_count; i++)
        for (size_t k = 0; k < look->before->loop_count; k++)
            if (look->before->loops[k].serial == look->now->loops[i].serial)
                judge_outside_loop(look, &look->before->loops[k], &look->now->loops[i]);
}

int vg_outside_judge(vg_reader *reader, const vg_snapshot *before, vg_snapshot *now)
{
    outside_look look = {.reader = reader, .before = before, .now = now};
    if (!now->alive)
        return 0;
    look.of = calloc(OUTSIDE_FINDINGS, sizeof *look.of);
    if (look.of == NULL)
        return -ENOMEM;
    judge_process(&look);
    /* What does not move in a stopped process is not to blame. */
    if (before != NULL && !now->stopped && !before->stopped && now->age_ns > before->age_ns)
        judge_pairs(&look);
    int error = 0;
    if (look.count != 0) {
        vg_verdict_view *all = realloc(now->verdicts, (now->verdict_count + look.count) * sizeof *all);
        if (all != NULL) {
            memmove(all + look.count, all, now->verdict_count * sizeof *all);
            memcpy(all, look.of, look.count * sizeof *all);
            now->verdicts = all;
            now->verdict_count += look.count;
        } else {
            error = -ENOMEM;
        }
    }
    free(look.of);
    return error;
}
