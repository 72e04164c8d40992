/* SPDX-License-Identifier: MIT */
/*
 * watchdog.c - the thread that looks.
 *
 * A look: photograph every subject, let the judges compare it with what they remember, and say what has been found
 * twice. Between two looks the thread sleeps on a futex with a deadline; this is the one place where time is the event.
 *
 * If the thread itself comes late it knows nothing about that time, except that it passed: the judges' clock moves by
 * two intervals at most, and a gap of LATE is told as what it is, a process that was not run. Was it runnable all the
 * time (the scheduler keeps account)? Then others had the CPU. Otherwise it was stopped: by a signal, a debugger, a
 * freezer.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "base/why.h"
#include "watchdog.h"

#include "drift.h"
#include "judge_cycle.h"
#include "judge_loop.h"
#include "judge_old.h"
#include "judge_pool.h"
#include "recover.h"
#include "show.h"
#include "strangers.h"
#include "verdict_file.h"
#include "verdict_log.h"
#include "verdicts.h"

#include "base/adopt.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/options.h"
#include "base/text.h"
#include "base/thread.h"
#include "record/stack.h"
#include "function.h"

#include <vigil/pool.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SHARE_LOOKS = 6,
    THROTTLED_FINDING_PERCENT = 30
};
#define LATE_NS       UINT64_C(1000000000)
#define MILLION       UINT64_C(1000000)
#define MOST_SUBJECTS 4096

/* What the thread alone has. */
typedef struct watchdog_thread {
    vigil_watchdog_options options;
    vg_verdicts verdicts;
    vg_findings found;
    vg_pool_history **pools;
    size_t pool_count, pool_room;
    vg_loop_history **loops;
    size_t loop_count, loop_room;
    vg_look look;
    uint64_t last_real;
    vg_thread_look self; /* at the last look */
    struct {
        uint64_t real, cpu, throttled;
    } past[SHARE_LOOKS];
    unsigned past_count;
} watchdog_thread;

static struct {
    _Atomic uint32_t owner; /* whose it is: adopt.h */
    vg_mutex lock;
    bool running, stopping; /* under the lock */
    pthread_t thread;
    watchdog_thread *dog; /* the thread's while it runs */
    _Atomic int thread_id;
    _Atomic uint32_t quit;       /* also the futex that it sleeps on */
    _Atomic bool asked;          /* the environment was read */
    _Atomic bool by_environment; /* it runs because of that: a start by the program replaces it */
    vigil_watchdog_stats stats;  /* under the lock */
} watchdog;

void vg_watchdog_adopt(void)
{
    uint32_t before;
    if (!vg_adopt_begin(&watchdog.owner, &before))
        return;
    vg_mutex_init(&watchdog.lock);
    watchdog.running = false;
    watchdog.stopping = false;
    watchdog.dog = NULL; /* the parent's memory: what its thread was doing is not known, so it stays */
    memset(&watchdog.stats, 0, sizeof watchdog.stats);
    atomic_store_explicit(&watchdog.thread_id, 0, memory_order_relaxed);
    atomic_store_explicit(&watchdog.asked, false, memory_order_relaxed);
    atomic_store_explicit(&watchdog.by_environment, false, memory_order_relaxed);
    if (before != 0) {
        vg_stack_after_fork();
        vg_log_after_fork();
    }
    vg_adopt_end(&watchdog.owner);
}

/* ---- histories ---- */

static vg_pool_history *pool_history(watchdog_thread *it, const vg_subject *subject)
{
    for (size_t i = 0; i < it->pool_count; i++)
        if (it->pools[i]->serial == subject->serial)
            return it->pools[i];
    if (it->pool_count == it->pool_room) {
        const size_t room = it->pool_room == 0 ? 8 : 2 * it->pool_room;
        vg_pool_history **larger = realloc(it->pools, room * sizeof(*larger));
        if (larger == NULL)
            return NULL;
        it->pools = larger;
        it->pool_room = room;
    }
    vg_pool_history *history = calloc(1, sizeof *history);
    if (history == NULL)
        return NULL;
    history->serial = subject->serial;
    history->object = subject->object;
    it->pools[it->pool_count++] = history;
    return history;
}

static vg_loop_history *loop_history(watchdog_thread *it, const vg_subject *subject)
{
    for (size_t i = 0; i < it->loop_count; i++)
        if (it->loops[i]->serial == subject->serial)
            return it->loops[i];
    if (it->loop_count == it->loop_room) {
        const size_t room = it->loop_room == 0 ? 8 : 2 * it->loop_room;
        vg_loop_history **larger = realloc(it->loops, room * sizeof(*larger));
        if (larger == NULL)
            return NULL;
        it->loops = larger;
        it->loop_room = room;
    }
    vg_loop_history *history = calloc(1, sizeof *history);
    if (history == NULL)
        return NULL;
    history->serial = subject->serial;
    it->loops[it->loop_count++] = history;
    return history;
}

static void forget_gone(watchdog_thread *it, bool all)
{
    size_t kept = 0;
    for (size_t i = 0; i < it->pool_count; i++) {
        if (it->pools[i]->seen && !all) {
            it->pools[kept++] = it->pools[i];
            continue;
        }
        vg_pool_history_free(it->pools[i]);
        free(it->pools[i]);
    }
    it->pool_count = kept;
    kept = 0;
    for (size_t i = 0; i < it->loop_count; i++) {
        if (it->loops[i]->seen && !all)
            it->loops[kept++] = it->loops[i];
        else
            free(it->loops[i]);
    }
    it->loop_count = kept;
}

/* ---- a look ---- */

/* A name must not look like a line of evidence. */
static void make_plain(char *name, size_t room)
{
    char plain[sizeof(((vg_pool_facts *)0)->name)];
    vg_text_copy(plain, room < sizeof plain ? room : sizeof plain, name, room, false);
    memcpy(name, plain, strlen(plain) + 1);
}

static void look_at_subject(watchdog_thread *it, const vg_subject *subject)
{
    const vg_look *look = &it->look;
    if (subject->calls->pool) {
        vg_pool_history *history = pool_history(it, subject);
        if (history == NULL || history->seen)
            return;
        history->seen = true;
        if (!history->any && it->options.stack_signal > 0)
            subject->calls->stir(subject->object); /* let those that sleep already open the signal */
        if (subject->calls->pool_facts(subject->object, &history->facts) != 0)
            return;
        make_plain(history->facts.name, sizeof history->facts.name);
        vg_judge_pool(history, subject, look);
        vg_judge_old_waits(history, subject, look);
        if (!it->options.no_drift)
            vg_judge_drift(history, subject, look);
    } else {
        vg_loop_history *history = loop_history(it, subject);
        if (history == NULL || history->seen)
            return;
        history->seen = true;
        subject->calls->loop_facts(subject->object, &history->facts);
        make_plain(history->facts.name, sizeof history->facts.name);
        vg_judge_loop(history, subject, look);
        vg_judge_old_promise(&history->facts, subject, look);
    }
}

static void tell_late(watchdog_thread *it, uint64_t late)
{
    vg_thread_look self;
    vg_thread_look_at(vg_thread_id(), &self);
    const bool timed = self.timed && it->self.timed && self.delay_ns >= it->self.delay_ns;
    const uint64_t delay = timed ? self.delay_ns - it->self.delay_ns : 0;
    const bool stopped = timed && delay < late / 2;
    vg_finding *finding =
        vg_find(&it->look, VIGIL_STALL_NO_CPU, late >= 10 * LATE_NS ? VIGIL_SEVERITY_ERROR : VIGIL_SEVERITY_WARNING,
                NULL, "", it->look.now);
    if (finding == NULL)
        return;
    finding->at_once = true;
    finding->key = stopped ? 1 : 2;
    vigil_verdict *verdict = &finding->verdict;
    verdict->since_ns = it->look.real - late;
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    if (stopped)
        vg_say(&reason, "The whole process was stopped for ");
    else
        vg_say(&reason, "The system has not run this process for ");
    vg_say_time(&reason, late);
    vg_say(&reason, stopped ? ": it was not even runnable." : ", although it was runnable.");
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    vg_say(&evidence, "the watchdog itself came ");
    vg_say_time(&evidence, late);
    vg_say(&evidence, " late");
    if (timed) {
        vg_say(&evidence, "; for ");
        vg_say_time(&evidence, delay);
        vg_say(&evidence, " of that it waited for a CPU");
    }
    vg_say(&evidence, "\nno task, worker or callback is blamed for this time\n");
    vg_say_throttled(&evidence, &it->look);
    vg_words advice = vg_words_into(verdict->advice, sizeof verdict->advice);
    vg_say(&advice, "%s",
           stopped
               ? "Somebody sent SIGSTOP, attached a debugger, froze the container or paused the machine. Timeouts of "
                 "connections may have expired during that time."
               : vg_cpu_advice(&it->look));
}

/* The cgroup's CPU quota is used up for much of the time: everything below may be slow for that reason alone. */
static void find_throttled(watchdog_thread *it)
{
    const vg_look *look = &it->look;
    if (look->throttled * 100 < THROTTLED_FINDING_PERCENT)
        return;
    vg_finding *finding = vg_find(look, VIGIL_STALL_NO_CPU, VIGIL_SEVERITY_WARNING, NULL, "", look->now);
    if (finding == NULL)
        return;
    finding->key = 3;
    vigil_verdict *verdict = &finding->verdict;
    verdict->since_ns = it->past[0].real;
    (void)snprintf(verdict->reason, sizeof verdict->reason,
                   "The CPU quota of the container is used up: for %.0f %% of the time this process may not run.",
                   100 * look->throttled);
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    vg_say_throttled(&evidence, look);
    vg_say(&evidence, "it had %.0f %% of the %u CPUs that it may use\n", 100 * look->share, look->cpus);
    (void)snprintf(verdict->advice, sizeof verdict->advice, "%s", vg_cpu_advice(look));
}

static void begin_look(watchdog_thread *it)
{
    vg_look *look = &it->look;
    const uint64_t real = vg_now_ns();
    const uint64_t elapsed = real - it->last_real;
    const uint64_t most = 2 * look->interval_ns;
    look->now += elapsed < most ? elapsed : most;
    look->real = real;
    look->found = &it->found;
    it->found.count = 0;
    if (it->past_count == SHARE_LOOKS) {
        memmove(&it->past[0], &it->past[1], sizeof it->past - sizeof it->past[0]);
        it->past_count--;
    }
    it->past[it->past_count].real = real;
    uint64_t throttled = 0;
    (void)vg_cgroup_throttled(&throttled);
    it->past[it->past_count].throttled = throttled;
    it->past[it->past_count++].cpu = vg_process_cpu_ns();
    const uint64_t span = real - it->past[0].real;
    const uint64_t used = it->past[it->past_count - 1].cpu - it->past[0].cpu;
    look->share = span != 0 ? (double)used / ((double)span * look->cpus) : 1;
    look->throttled_ns = throttled > it->past[0].throttled ? throttled - it->past[0].throttled : 0;
    /* Version 1 adds up the CPUs that were throttled. */
    look->throttled = span != 0 ? (double)look->throttled_ns / (double)span : 0;
    look->throttled = look->throttled < 1 ? look->throttled : 1;
    if (elapsed >= look->interval_ns + LATE_NS)
        tell_late(it, elapsed - look->interval_ns);
    find_throttled(it);
    vg_thread_look_at(vg_thread_id(), &it->self);
    it->last_real = real;
}

/* A circle explains why everybody is blocked, why a task in it lasts, and why a loop in it is blocked. */
static bool explained_by_cycle(const vg_findings *found, const vg_finding *finding)
{
    const vigil_stall stall = finding->verdict.stall;
    return (stall == VIGIL_STALL_ALL_BLOCKED || stall == VIGIL_STALL_HOG || stall == VIGIL_STALL_LOOP_BLOCKED ||
            stall == VIGIL_STALL_OLD_WAIT) &&
           vg_in_cycle(found, finding->serial);
}

/* Log and record show what is so now: the text of this look, with the stacks and acts of the last report. */
static void refresh_verdict(watchdog_thread *it, vg_finding *finding, const vg_standing *standing)
{
    static vigil_verdict before; /* this thread's; too large for its stack */
    vigil_verdict *verdict = &finding->verdict;
    if (!vg_log_find(standing->number, &before))
        return;
    verdict->number = standing->number;
    verdict->times = standing->times;
    verdict->state = before.state;
    verdict->at_ns = it->look.real;
    memcpy(verdict->stacks, before.stacks, sizeof verdict->stacks);
    memcpy(verdict->action, before.action, sizeof verdict->action);
    vg_log_verdict(verdict);
    vg_verdict_file_write(verdict, finding->serial);
}

static void say_verdict(watchdog_thread *it, vg_finding *finding, vg_standing *standing, vg_step_to step)
{
    vigil_verdict *verdict = &finding->verdict;
    verdict->number = standing->number;
    verdict->times = standing->times;
    verdict->state = step == VG_TO_RAISE ? VIGIL_VERDICT_RAISED : VIGIL_VERDICT_REPEATED;
    verdict->at_ns = it->look.real;
    vg_show_stacks(finding);
    const unsigned acts = vg_recover(&it->options, finding, standing);
    vg_log_verdict(verdict);
    vg_verdict_file_write(verdict, finding->serial);
    vg_mutex_lock(&watchdog.lock);
    watchdog.stats.raised[verdict->stall] += step == VG_TO_RAISE;
    watchdog.stats.standing = vg_verdict_standing(&it->verdicts);
    watchdog.stats.actions += acts;
    vg_mutex_unlock(&watchdog.lock);
    if (it->options.on_verdict != NULL && verdict->severity >= it->options.least)
        it->options.on_verdict(it->options.user, verdict);
}

static void say_cleared(watchdog_thread *it, vg_standing *standing)
{
    vigil_verdict verdict;
    vg_recover_end(standing);
    vg_mutex_lock(&watchdog.lock);
    watchdog.stats.cleared[standing->stall]++;
    watchdog.stats.standing = vg_verdict_standing(&it->verdicts);
    vg_mutex_unlock(&watchdog.lock);
    if (!vg_log_find(standing->number, &verdict))
        return;
    verdict.state = VIGIL_VERDICT_CLEARED;
    verdict.at_ns = it->look.real;
    vg_log_verdict(&verdict);
    vg_verdict_file_write(&verdict, standing->serial);
    if (it->options.on_verdict != NULL && verdict.severity >= it->options.least)
        it->options.on_verdict(it->options.user, &verdict);
}

static void look_once(watchdog_thread *it)
{
    const uint64_t repeat_ns = it->options.repeat_ms * MILLION;
    begin_look(it);
    for (size_t i = 0; i < it->pool_count; i++)
        it->pools[i]->seen = false;
    for (size_t i = 0; i < it->loop_count; i++)
        it->loops[i]->seen = false;
    vg_subject *subject = vg_subject_next(NULL);
    for (unsigned i = 0; subject != NULL && i < MOST_SUBJECTS; i++) {
        look_at_subject(it, subject);
        subject = vg_subject_next(subject);
    }
    vg_subject_let_go();
    forget_gone(it, false);
    if (it->pool_count + it->loop_count != 0) /* else there is no recorder, and this look must not make one */
        vg_verdict_file_begin(it->look.interval_ns);
    vg_judge_cycles(it->pools, it->pool_count, it->loops, it->loop_count, &it->look);
    vg_verdict_begin_look(&it->verdicts);
    for (size_t i = 0; i < it->found.count; i++) {
        vg_finding *finding = &it->found.of[i];
        vg_standing *standing = NULL;
        if (explained_by_cycle(&it->found, finding))
            continue;
        const vg_step_to step = vg_verdict_meet(&it->verdicts, finding, it->look.real, repeat_ns, &standing);
        if (step == VG_TO_RAISE || step == VG_TO_REPEAT) {
            say_verdict(it, finding, standing, step);
        } else if (step == VG_TO_REFRESH) {
            refresh_verdict(it, finding, standing);
            vg_recover_again(&it->options, finding, standing);
        }
    }
    vg_standing *over;
    while ((over = vg_verdict_over(&it->verdicts, it->look.real, repeat_ns)) != NULL)
        say_cleared(it, over);
    vg_verdict_file_end();
    vg_mutex_lock(&watchdog.lock);
    watchdog.stats.looks++;
    watchdog.stats.suspicions = it->verdicts.suspicions;
    watchdog.stats.cpu_ns = vg_thread_cpu_ns();
    vg_mutex_unlock(&watchdog.lock);
}

static void *dog_main(void *arg)
{
    watchdog_thread *it = arg;
    atomic_store_explicit(&watchdog.thread_id, vg_thread_id(), memory_order_relaxed);
    vg_thread_set_name("vigil/watchdog");
    vg_strangers_forget();
    it->last_real = vg_now_ns();
    it->look.now = it->last_real;
    /* relaxed: the futex word says it all, and the join orders the rest */
    while (atomic_load_explicit(&watchdog.quit, memory_order_relaxed) == 0) {
        look_once(it);
        const uint64_t next = it->last_real + it->look.interval_ns;
        while (atomic_load_explicit(&watchdog.quit, memory_order_relaxed) == 0 &&
               vg_futex_wait(&watchdog.quit, 0, next) == 0) {
        }
    }
    for (size_t i = 0; i < VG_STANDING; i++)
        vg_recover_end(&it->verdicts.of[i]);
    forget_gone(it, true);
    vg_verdict_file_stop();
    vg_function_names_forget();
    free(it->pools);
    free(it->loops);
    return NULL;
}

/* ---- from outside ---- */

static unsigned unless_zero(unsigned value, unsigned otherwise)
{
    return value != 0 ? value : otherwise;
}

static int check_watchdog_options(vigil_watchdog_options *options)
{
    const unsigned day_ms = 86400000;
    if (options->interval_ms != 0 && (options->interval_ms < 10 || options->interval_ms > 10000))
        return vg_why_say(-EINVAL, "options.interval_ms is %u; it must be 10 to 10000", options->interval_ms);
    if (options->hog_ms > day_ms || options->loop_ms > day_ms || options->stuck_ms > day_ms ||
        options->growth_ms > day_ms || options->repeat_ms > day_ms || options->old_ms > day_ms)
        return vg_why(-EINVAL,
                      "options.hog_ms, loop_ms, stuck_ms, growth_ms, repeat_ms or old_ms is longer than a day");
    if (options->max_spares > 64)
        return vg_why_say(-EINVAL, "options.max_spares is %u; the most is 64", options->max_spares);
    if ((options->recover &
         ~(VIGIL_RECOVER_REWAKE | VIGIL_RECOVER_SPARE | VIGIL_RECOVER_REJECT | VIGIL_RECOVER_CALL)) != 0)
        return vg_why_say(-EINVAL, "options.recover is %u; only VIGIL_RECOVER_* are known", options->recover);
    if (((options->recover & VIGIL_RECOVER_CALL) != 0) != (options->on_recover != NULL))
        return vg_why(-EINVAL, "options.on_recover and VIGIL_RECOVER_CALL in options.recover go together");
    if ((unsigned)options->least > VIGIL_SEVERITY_CRITICAL)
        return vg_why_say(-EINVAL, "options.least is %d; it must be one of vigil_severity", (int)options->least);
    if (options->stack_signal == SIGKILL || options->stack_signal == SIGSTOP || options->stack_signal >= NSIG ||
        options->stack_signal < -1)
        return vg_why_say(-EINVAL, "options.stack_signal is %d, which cannot be handled", options->stack_signal);
    options->interval_ms = unless_zero(options->interval_ms, 200);
    options->hog_ms = unless_zero(options->hog_ms, 1000);
    options->loop_ms = unless_zero(options->loop_ms, 500);
    options->stuck_ms = unless_zero(options->stuck_ms, 600);
    options->growth_ms = unless_zero(options->growth_ms, 500);
    options->repeat_ms = unless_zero(options->repeat_ms, 10000);
    options->max_spares = unless_zero(options->max_spares, 4);
    options->old_ms = unless_zero(options->old_ms, 60000);
    if (options->stack_signal == 0)
        options->stack_signal = SIGURG;
    return 0;
}

static int start_watchdog(const vigil_watchdog_options *options)
{
    if (watchdog.running)
        return vg_why(-EALREADY, "the watchdog runs already; there is one for each process");
    watchdog_thread *it = calloc(1, sizeof *it);
    if (it == NULL)
        return -ENOMEM;
    it->options = *options;
    it->look.interval_ns = options->interval_ms * MILLION;
    it->look.hog_ns = options->hog_ms * MILLION;
    it->look.loop_ns = options->loop_ms * MILLION;
    it->look.stuck_ns = options->stuck_ms * MILLION;
    it->look.growth_ns = options->growth_ms * MILLION;
    it->look.old_ns = options->old_ms * MILLION;
    it->look.cpus = vigil_cpu_count();
    int error = vg_stack_begin(options->stack_signal > 0 ? options->stack_signal : 0);
    if (error != 0) {
        free(it);
        return error;
    }
    memset(&watchdog.stats, 0, sizeof watchdog.stats);
    atomic_store_explicit(&watchdog.quit, 0, memory_order_relaxed);
    error = vg_thread_start(&watchdog.thread, 0, dog_main, it);
    if (error != 0) {
        vg_stack_end();
        free(it);
        return error;
    }
    watchdog.dog = it;
    watchdog.running = true;
    watchdog.stats.running = true;
    return 0;
}

/* VIGIL_WATCHDOG=on: one with the defaults comes with the first pool or loop. */
static void start_by_environment(void)
{
    vg_watchdog_adopt();
    /* relaxed: the first caller reads the environment, and nothing else depends on it */
    if (atomic_load_explicit(&watchdog.asked, memory_order_relaxed) ||
        atomic_exchange_explicit(&watchdog.asked, true, memory_order_relaxed))
        return;
    const char *wanted = secure_getenv("VIGIL_WATCHDOG");
    if (wanted == NULL || strcmp(wanted, "on") != 0)
        return;
    if (vigil_watchdog_start(NULL) == 0)
        atomic_store_explicit(&watchdog.by_environment, true, memory_order_relaxed);
}
void (*const vg_subject_added)(void) = start_by_environment;

int vigil_watchdog_start(const vigil_watchdog_options *given)
{
    vigil_watchdog_options options = VIGIL_WATCHDOG_OPTIONS_INIT;
    int error = 0;
    if (given != NULL)
        error = vg_options_take(&options, sizeof options, given, given->size,
                                offsetof(vigil_watchdog_options, interval_ms) + sizeof options.interval_ms, "options");
    if (error == 0)
        error = check_watchdog_options(&options);
    if (error != 0)
        return error;
    vg_watchdog_adopt();
    if (atomic_exchange_explicit(&watchdog.by_environment, false, memory_order_relaxed))
        (void)vigil_watchdog_stop();
    vg_mutex_lock(&watchdog.lock);
    error = start_watchdog(&options);
    vg_mutex_unlock(&watchdog.lock);
    return error;
}

int vigil_watchdog_stop(void)
{
    vg_watchdog_adopt();
    if (atomic_load_explicit(&watchdog.thread_id, memory_order_relaxed) == vg_thread_id())
        return -EDEADLK;
    vg_mutex_lock(&watchdog.lock);
    const bool ours = watchdog.running && !watchdog.stopping;
    if (ours)
        watchdog.stopping = true;
    vg_mutex_unlock(&watchdog.lock);
    if (!ours)
        return vg_why(-ENOENT, "the watchdog does not run");
    atomic_store_explicit(&watchdog.quit, 1, memory_order_relaxed); /* the same word is slept on */
    (void)vg_futex_wake(&watchdog.quit, VG_WAKE_ALL);
    vg_thread_join(watchdog.thread); /* without the lock: it takes it now and then */
    vg_mutex_lock(&watchdog.lock);
    free(watchdog.dog);
    watchdog.dog = NULL;
    vg_stack_end();
    atomic_store_explicit(&watchdog.thread_id, 0, memory_order_relaxed);
    watchdog.running = false;
    watchdog.stopping = false;
    watchdog.stats.running = false;
    vg_mutex_unlock(&watchdog.lock);
    return 0;
}

int vigil_watchdog_stats_get(vigil_watchdog_stats *given)
{
    if (given == NULL)
        return VG_WHY_NULL("stats");
    vg_watchdog_adopt();
    vg_mutex_lock(&watchdog.lock);
    vigil_watchdog_stats stats = watchdog.stats;
    vg_mutex_unlock(&watchdog.lock);
    return vg_options_give(given, given->size, &stats, sizeof stats,
                           offsetof(vigil_watchdog_stats, running) + sizeof stats.running, "stats");
}
