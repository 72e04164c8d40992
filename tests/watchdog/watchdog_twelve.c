/* SPDX-License-Identifier: MIT */
/*
 * Twelve faults that programs make by themselves: the right class, the right subject, in time. Each in a process of its own, which
 * ends with the verdict. WATCHDOG_ROUNDS says how often, with the default settings; without it each is made once, with short times.
 * faults.py beside this file makes the same under load.
 */
#include "watchdog_test.h"

#include <vigil/promise.h>

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct fault {
    const char *name;
    vigil_stall stall;
    vigil_severity least;
    vigil_stall also;     /* what may be said first, because it is true as well */
    const char *words[4]; /* in the verdict */
    void (*make)(vigil_loop *loop, vigil_pool *pool);
};

static vigil_loop *the_loop;
static vigil_pool *the_pool;
static _Atomic uint64_t made_at;
static char wanted_fd[48]; /* words that are known only when the fault is made */

static void made(void)
{
    atomic_store_explicit(&made_at, now_ns(), memory_order_release);
}

static void *run_loop(void *arg)
{
    (void)vigil_loop_run(arg, VIGIL_RUN);
    return NULL;
}

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static struct meeting both = {.size = 2};

static int first_then_second(void *arg)
{
    (void)arg;
    must_equal(pthread_mutex_lock(&first), 0);
    (void)meeting_join(&both);
    made();
    return pthread_mutex_lock(&second);
}

static int second_then_first(void *arg)
{
    (void)arg;
    must_equal(pthread_mutex_lock(&second), 0);
    (void)meeting_join(&both);
    return pthread_mutex_lock(&first);
}

static void make_opposite_mutexes(vigil_loop *loop, vigil_pool *pool)
{
    (void)loop;
    must_equal(vigil_pool_call(pool, first_then_second, NULL, NULL, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_call(pool, second_then_first, NULL, NULL, VIGIL_NORMAL), 0);
}

static int wants_the_mutex(void *arg)
{
    (void)arg;
    (void)meeting_join(&both);
    made();
    return pthread_mutex_lock(&first);
}

static int holds_and_waits(void *arg)
{
    vigil_job job;
    must_equal(pthread_mutex_lock(&first), 0);
    must_equal(vigil_job_call(arg, wants_the_mutex, NULL, NULL, &job), 0);
    (void)meeting_join(&both);
    return vigil_job_wait(arg, job, VIGIL_FOREVER, NULL);
}

static void make_mutex_over_a_wait(vigil_loop *loop, vigil_pool *pool)
{
    (void)loop;
    must_equal(vigil_pool_call(pool, holds_and_waits, NULL, pool, VIGIL_NORMAL), 0);
}

static int locks_twice(void *arg)
{
    (void)arg;
    must_equal(pthread_mutex_lock(&first), 0);
    made();
    return pthread_mutex_lock(&first);
}

static void make_mutex_taken_twice(vigil_loop *loop, vigil_pool *pool)
{
    (void)loop;
    must_equal(vigil_pool_call(pool, locks_twice, NULL, NULL, VIGIL_NORMAL), 0);
}

/* loop -> job -> promise -> loop */
static vigil_promise *never;

static int waits_for_the_promise(void *arg)
{
    (void)arg;
    made();
    return vigil_promise_wait(never, VIGIL_FOREVER, NULL);
}

static void waits_for_the_job(void *arg)
{
    vigil_job job;
    (void)arg;
    must_equal(vigil_promise_create(&never, the_loop), 0);
    must_equal(vigil_job_call(the_pool, waits_for_the_promise, NULL, NULL, &job), 0);
    (void)vigil_job_wait(the_pool, job, VIGIL_FOREVER, NULL);
}

static void make_loop_and_job_circle(vigil_loop *loop, vigil_pool *pool)
{
    (void)pool;
    must_equal(vigil_loop_call(loop, waits_for_the_job, NULL, NULL), 0);
}

static void ignores_the_hangup(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)loop;
    (void)watch;
    (void)fd;
    (void)events;
    (void)arg;
}

static void make_hangup_storm(vigil_loop *loop, vigil_pool *pool)
{
    int pair[2];
    (void)pool;
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    must_equal(vigil_watch_add(loop, pair[0], 0, 0, ignores_the_hangup, NULL, NULL, NULL), 0);
    (void)snprintf(wanted_fd, sizeof wanted_fd, "descriptor %d is hung up", pair[0]);
    must_equal(close(pair[1]), 0);
    made();
}

static void starts_itself(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)timer;
    must_equal(vigil_timer_start(loop, 0, starts_itself, arg, NULL), 0);
}

static void starts_the_storm(void *arg)
{
    must_equal(vigil_timer_start(arg, 0, starts_itself, NULL, NULL), 0);
    made();
}

static void make_timer_storm(vigil_loop *loop, vigil_pool *pool)
{
    (void)pool;
    must_equal(vigil_loop_call(loop, starts_the_storm, NULL, loop), 0);
}

static void queues_itself_again(void *arg)
{
    must_equal(vigil_loop_microtask_call(arg, queues_itself_again, NULL, arg), 0);
}

static void make_microtask_storm(vigil_loop *loop, vigil_pool *pool)
{
    (void)pool;
    made();
    must_equal(vigil_loop_call(loop, queues_itself_again, NULL, loop), 0);
}

static __attribute__((noinline)) void forgets_its_promise(void *arg)
{
    (void)arg;
    must_equal(vigil_promise_create(&never, the_loop), 0);
    made();
}

static void make_forgotten_promise(vigil_loop *loop, vigil_pool *pool)
{
    (void)pool;
    must_equal(vigil_loop_call(loop, forgets_its_promise, NULL, NULL), 0);
}

static int waits_for_another_pool(void *arg)
{
    (void)arg;
    made();
    return vigil_promise_wait(never, VIGIL_FOREVER, NULL);
}

static void make_wait_for_a_promise(vigil_loop *loop, vigil_pool *pool)
{
    must_equal(vigil_promise_create(&never, loop), 0);
    must_equal(vigil_pool_call(pool, waits_for_another_pool, NULL, NULL, VIGIL_NORMAL), 0);
}

static void reads_an_empty_pipe(void *arg)
{
    int ends[2];
    char byte;
    (void)arg;
    must_equal(pipe(ends), 0);
    made();
    (void)!read(ends[0], &byte, 1);
}

static void make_callback_that_reads(vigil_loop *loop, vigil_pool *pool)
{
    (void)pool;
    must_equal(vigil_loop_call(loop, reads_an_empty_pipe, NULL, NULL), 0);
}

static struct gate closed_gate;

static int never_returns(void *arg)
{
    (void)arg;
    gate_pass(&closed_gate);
    return 0;
}

static void *shuts_down(void *arg)
{
    made();
    (void)vigil_pool_shutdown(arg, VIGIL_FOREVER);
    return NULL;
}

static void make_stop_that_hangs(vigil_loop *loop, vigil_pool *pool)
{
    (void)loop;
    must_equal(vigil_pool_call(pool, never_returns, NULL, NULL, VIGIL_NORMAL), 0);
    gate_wait_entered(&closed_gate, 1);
    (void)start_thread(shuts_down, pool);
}

/* Past everything that the library could contain. */
static void ends_its_thread(void *arg)
{
    (void)arg;
    made();
    (void)syscall(SYS_exit, 0);
}

static void make_loop_without_thread(vigil_loop *loop, vigil_pool *pool)
{
    (void)pool;
    must_equal(vigil_loop_call(loop, ends_its_thread, NULL, NULL), 0);
}

static int ends_its_worker(void *arg)
{
    ends_its_thread(arg);
    return 0;
}

static void make_worker_without_thread(vigil_loop *loop, vigil_pool *pool)
{
    (void)loop;
    must_equal(vigil_pool_call(pool, ends_its_worker, NULL, NULL, VIGIL_NORMAL), 0);
}

static const struct fault faults[] = {
    {"two mutexes in opposite order",
     VIGIL_STALL_WAIT_CYCLE,
     VIGIL_SEVERITY_ERROR,
     VIGIL_STALL_HOG,
     {"first_then_second", "second_then_first", "mutex at 0x"},
     make_opposite_mutexes},
    {"a mutex held over a wait",
     VIGIL_STALL_WAIT_CYCLE,
     VIGIL_SEVERITY_ERROR,
     VIGIL_STALL_HOG,
     {"wants_the_mutex", "for a job", "mutex at 0x"},
     make_mutex_over_a_wait},
    {"a mutex taken twice",
     VIGIL_STALL_WAIT_CYCLE,
     VIGIL_SEVERITY_ERROR,
     VIGIL_STALL_HOG,
     {"locks_twice", "its own thread holds"},
     make_mutex_taken_twice},
    {"loop, job, promise, loop",
     VIGIL_STALL_WAIT_CYCLE,
     VIGIL_SEVERITY_ERROR,
     VIGIL_STALL_LOOP_BLOCKED,
     {"loop \"twelve\"", "waits_for_the_job", "waits_for_the_promise", "for a promise"},
     make_loop_and_job_circle},
    {"a hang-up that nobody handles",
     VIGIL_STALL_LOOP_SPINS,
     VIGIL_SEVERITY_WARNING,
     VIGIL_STALL_LOOP_SPINS,
     {"\"twelve\" spins", wanted_fd},
     make_hangup_storm},
    {"a timer that starts itself",
     VIGIL_STALL_LOOP_SPINS,
     VIGIL_SEVERITY_WARNING,
     VIGIL_STALL_LOOP_SPINS,
     {"\"twelve\" spins", "timers fire"},
     make_timer_storm},
    {"a microtask that queues itself",
     VIGIL_STALL_LOOP_SPINS,
     VIGIL_SEVERITY_WARNING,
     VIGIL_STALL_LOOP_SPINS,
     {"\"twelve\" spins", "microtasks queue"},
     make_microtask_storm},
    {"a promise that nobody settles",
     VIGIL_STALL_OLD_WAIT,
     VIGIL_SEVERITY_INFO,
     VIGIL_STALL_OLD_WAIT,
     {"loop \"twelve\"", "made in forgets_its_promise"},
     make_forgotten_promise},
    {"a task that waits for such a promise",
     VIGIL_STALL_OLD_WAIT,
     VIGIL_SEVERITY_INFO,
     VIGIL_STALL_OLD_WAIT,
     {"waits_for_another_pool", "waited for a promise"},
     make_wait_for_a_promise},
    {"a callback that reads an empty pipe",
     VIGIL_STALL_LOOP_BLOCKED,
     VIGIL_SEVERITY_WARNING,
     VIGIL_STALL_LOOP_BLOCKED,
     {"\"twelve\" is blocked", "reads_an_empty_pipe"},
     make_callback_that_reads},
    {"a stop that waits for a task for ever",
     VIGIL_STALL_HOG,
     VIGIL_SEVERITY_ERROR,
     VIGIL_STALL_HOG,
     {"never_returns", "stop waits for it"},
     make_stop_that_hangs},
    {"a loop whose thread is gone",
     VIGIL_STALL_THREAD_GONE,
     VIGIL_SEVERITY_CRITICAL,
     VIGIL_STALL_THREAD_GONE,
     {"ran loop \"twelve\"", "ends_its_thread"},
     make_loop_without_thread},
    {"a worker whose thread is gone",
     VIGIL_STALL_THREAD_GONE,
     VIGIL_SEVERITY_CRITICAL,
     VIGIL_STALL_THREAD_GONE,
     {"worker", "ends_its_worker"},
     make_worker_without_thread},
};

/* What a child tells its parent. */
static struct heard_here {
    const struct fault *fault;
    int answer;
} here;

static void judge(void *user, const vigil_verdict *verdict)
{
    static char text[8192];
    const struct fault *fault = here.fault;
    (void)user;
    if (getenv("VIGIL_TEST_VERBOSE") != NULL)
        heard_print(verdict);
    if (verdict->state == VIGIL_VERDICT_CLEARED || verdict->stall == VIGIL_STALL_NO_CPU)
        return;
    (void)vigil_verdict_text(verdict, text, sizeof text);
    bool right = verdict->stall == fault->stall && verdict->severity >= fault->least;
    for (size_t i = 0; right && i < count_of(fault->words); i++)
        right = fault->words[i] == NULL || strstr(text, fault->words[i]) != NULL;
    if (!right && verdict->stall == fault->also)
        return;
    int64_t took = -1;
    if (right)
        took = (int64_t)(verdict->at_ns - atomic_load_explicit(&made_at, memory_order_acquire));
    else
        (void)fprintf(stderr, "  %s: the %s is wrong: %s\n", fault->name,
                      verdict->stall == fault->stall ? "subject" : "class", text);
    must_equal(write(here.answer, &took, sizeof took), sizeof took);
    _exit(0);
}

enum {
    MOST_SECONDS = 100
};

static const char *only; /* faults whose name contains this; NULL: all */

static bool quick(void)
{
    return getenv("WATCHDOG_ROUNDS") == NULL;
}

static void suffer(void *arg)
{
    (void)arg;
    vigil_watchdog_options options = VIGIL_WATCHDOG_OPTIONS_INIT;
    options.on_verdict = judge;
    options.old_ms = 2000;
    if (quick()) {
        options.interval_ms = 40;
        options.hog_ms = 400;
        options.loop_ms = 200;
        options.stuck_ms = 200;
        options.old_ms = 600;
    }
    vigil_loop_options with = VIGIL_LOOP_OPTIONS_INIT;
    with.name = "twelve";
    with.stay = true;
    the_pool = pool_of(2);
    must_equal(vigil_loop_create(&the_loop, &with), 0);
    must_equal(vigil_watchdog_start(&options), 0);
    watch_settle();
    if (strcmp(here.fault->name, "a task that waits for such a promise") != 0)
        (void)start_thread(run_loop, the_loop);
    here.fault->make(the_loop, the_pool);
    (void)alarm(MOST_SECONDS); /* ends the process: nothing was said at all */
    for (;;)
        (void)pause();
}

/* From fault to verdict: five seconds, or twice what was configured. */
#define MOST_NS INT64_C(5000000000)

static void each_of_twelve_faults_is_recognised(void **state)
{
    (void)state;
    if (TEST_TSAN) /* it cannot start threads in the child of a process that has some */
        skip();
    unsigned late = 0;
    unsigned wrong = 0;
    for (size_t i = 0; i < count_of(faults); i++) {
        const uint64_t rounds = quick() ? 1 : ROUNDS;
        if (only != NULL && strstr(faults[i].name, only) == NULL)
            continue;
        int64_t worst = 0;
        for (uint64_t round = 0; round < rounds; round++) {
            int ends[2];
            int64_t took = -1;
            must_equal(pipe(ends), 0);
            here.fault = &faults[i];
            here.answer = ends[1];
            const int status = in_child(suffer, NULL);
            (void)close(ends[1]);
            if (status != 0 || read(ends[0], &took, sizeof took) != (ssize_t)sizeof took)
                (void)fprintf(stderr, "  %s: no verdict, status %d\n", faults[i].name, status);
            (void)close(ends[0]);
            wrong += took < 0;
            late += took > MOST_NS;
            worst = took > worst ? took : worst;
        }
        (void)fprintf(stderr, "  %-40s %llu rounds, worst %lld ms\n", faults[i].name, (unsigned long long)rounds,
                      (long long)(worst / 1000000));
    }
    (void)fprintf(stderr, "  %u wrong, %u late\n", wrong, late);
    must_equal(wrong, 0);
    if (!TEST_SANITIZED && !machine_is_full())
        must_equal(late, 0);
}

int main(int count, char **words)
{
    only = count > 1 ? words[1] : NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_of_twelve_faults_is_recognised), /* without the limit on a test's time */
    };
    return run_all(tests);
}
