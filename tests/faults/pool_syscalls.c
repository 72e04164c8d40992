/* SPDX-License-Identifier: MIT */
/* What a submit asks of the heap and of the system: after warm-up nothing of the one, while the pool is busy nothing of the other. */
#include "faults.h"
#include "support.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    COUNT = TEST_SANITIZED ? 320 : 2000
};

struct leaf {
    vigil_task task;
};

static int leaf_run(vigil_task *task)
{
    (void)task;
    return 0;
}

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static int spawn_round(void *arg)
{
    struct leaf *leaves = arg;
    vigil_group group;
    must_equal(vigil_group_init(&group, vigil_pool_current(), 0), 0);
    for (int i = 0; i < COUNT; i++) {
        vigil_task_init(&leaves[i].task, leaf_run, NULL);
        must_equal(vigil_group_spawn(&group, &leaves[i].task), 0);
    }
    return vigil_group_wait(&group);
}

/* Every worker fills its own deque at the same time, so that nobody steals before each has been as deep as it gets. */
struct digger {
    vigil_task task;
    struct leaf leaves[COUNT];
    struct meeting *meeting;
};

static int dig(vigil_task *task)
{
    struct digger *digger = container_of(task, struct digger, task);
    vigil_group group;
    must_equal(vigil_group_init(&group, vigil_pool_current(), 0), 0);
    for (int i = 0; i < COUNT; i++) {
        vigil_task_init(&digger->leaves[i].task, leaf_run, NULL);
        must_equal(vigil_group_spawn(&group, &digger->leaves[i].task), 0);
    }
    (void)meeting_join(digger->meeting);
    return vigil_group_wait(&group);
}

static void warm_deques(vigil_pool *pool, unsigned workers)
{
    struct meeting meeting = {.size = workers};
    struct digger *diggers = calloc(workers, sizeof *diggers);
    must(diggers != NULL);
    for (unsigned w = 0; w < workers; w++) {
        vigil_task_init(&diggers[w].task, dig, NULL);
        diggers[w].meeting = &meeting;
        must_equal(vigil_pool_submit_to(pool, w, &diggers[w].task, VIGIL_NORMAL), 0);
    }
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    free(diggers);
}

static int side(void *arg)
{
    (void)arg;
    return 0;
}

static int join_round(void *arg)
{
    (void)arg;
    for (int i = 0; i < COUNT; i++)
        must_equal(vigil_join(vigil_pool_current(), side, NULL, side, NULL), 0);
    return 0;
}

/* Every way of handing over work but the delayed one, COUNT times each. */
static void round_of_everything(vigil_pool *pool, struct leaf *leaves, unsigned workers)
{
    vigil_task *batch[16];
    for (int i = 0; i < COUNT; i++) {
        vigil_task_init(&leaves[i].task, leaf_run, NULL);
        must_equal(vigil_pool_submit(pool, &leaves[i].task, (vigil_priority)(i % VIGIL_PRIORITIES)), 0);
    }
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    for (int i = 0; i + 16 <= COUNT; i += 16) {
        for (int j = 0; j < 16; j++) {
            vigil_task_init(&leaves[i + j].task, leaf_run, NULL);
            batch[j] = &leaves[i + j].task;
        }
        must_equal(vigil_pool_submit_batch(pool, batch, 16, VIGIL_NORMAL), 0);
    }
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    for (int i = 0; i < COUNT; i++) {
        vigil_task_init(&leaves[i].task, leaf_run, NULL);
        must_equal(vigil_pool_submit_to(pool, (unsigned)i % workers, &leaves[i].task, VIGIL_NORMAL), 0);
    }
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    for (int i = 0; i < COUNT; i++)
        must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    for (int i = 0; i < COUNT; i++) {
        vigil_job job;
        must_equal(vigil_job_call(pool, nothing, NULL, NULL, &job), 0);
        must_equal(vigil_job_wait(pool, job, VIGIL_FOREVER, NULL), 0);
        must_equal(vigil_job_unref(pool, job), 0);
    }
    must_equal(vigil_pool_call(pool, spawn_round, NULL, leaves, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
    must_equal(vigil_pool_call(pool, join_round, NULL, NULL, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
}

/* With all workers held nothing is run meanwhile: as much as ever lies in the queues at a time. */
static void fill_while_held(vigil_pool *pool, struct leaf *leaves, unsigned workers)
{
    struct hold hold = {0};
    support_quiet++;
    hold_workers(&hold, pool, workers);
    support_quiet--;
    for (int i = 0; i < COUNT; i++) {
        vigil_job job;
        vigil_task_init(&leaves[i].task, leaf_run, NULL);
        must_equal(vigil_pool_submit(pool, &leaves[i].task, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_NORMAL), 0);
        must_equal(vigil_job_call(pool, nothing, NULL, NULL, &job), 0);
        must_equal(vigil_job_unref(pool, job), 0);
    }
    hold_release(&hold);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
}

static void after_warm_up_no_way_of_submitting_allocates(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 2};
    static struct leaf leaves[COUNT];
    for (size_t w = 0; w < count_of(workers); w++) {
        vigil_pool *pool = pool_of(workers[w]);
        /* Warm-up: the most that is ever queued at a time, for each worker's deque too. */
        warm_deques(pool, workers[w]);
        for (int i = 0; i < 20; i++) {
            fill_while_held(pool, leaves, workers[w]);
            round_of_everything(pool, leaves, workers[w]);
        }
        faults_reset();
        for (uint64_t i = scaled(20, 2); i > 0; i--) {
            fill_while_held(pool, leaves, workers[w]);
            round_of_everything(pool, leaves, workers[w]);
        }
        must_equal(faults_calls(FAULT_ALLOC), 0);
        pool_close(pool);
    }
}

static void while_all_workers_are_busy_a_submit_makes_no_system_call(void **state)
{
    (void)state;
    static struct leaf leaves[COUNT];
    static const unsigned workers[] = {1, 2, 8};
    for (size_t w = 0; w < count_of(workers); w++) {
        for (int fences = VIGIL_FENCE_AUTO; fences <= VIGIL_FENCE_SYMMETRIC; fences++) {
            vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
            options.workers = workers[w];
            options.fences = (vigil_fence_mode)fences;
            vigil_pool *pool = pool_with(&options);
            for (int i = 0; i < 20; i++)
                fill_while_held(pool, leaves, workers[w]); /* warm-up, until the workers' caches are full too */
            pool_wait_all_parked(pool);                    /* a worker that goes to sleep gives back what it has kept */
            struct hold hold = {0};
            hold_workers(&hold, pool, workers[w]);
            faults_reset();
            for (int i = 0; i < COUNT; i++) {
                vigil_task_init(&leaves[i].task, leaf_run, NULL);
                must_equal(vigil_pool_submit(pool, &leaves[i].task, (vigil_priority)(i % VIGIL_PRIORITIES)), 0);
                must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_NORMAL), 0);
            }
            fault_syscalls calls = faults_syscalls();
            must_equal(calls.futex_wake, 0);
            must_equal(calls.futex_wait, 0);
            must_equal(calls.membarrier, 0);
            must_equal(calls.yield, 0);
            must_equal(calls.other, 0);
            must_equal(faults_calls(FAULT_ALLOC), 0);
            hold_release(&hold);
            pool_close(pool);
        }
    }
}

static void a_submit_to_a_sleeping_pool_costs_one_wake(void **state)
{
    (void)state;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 8;
    options.idle = VIGIL_IDLE_PARK;
    vigil_pool *pool = pool_with(&options);
    static struct leaf leaves[COUNT];
    for (uint64_t round = scaled(200, 20); round > 0; round--) {
        vigil_task_init(&leaves[0].task, leaf_run, NULL);
        pool_wait_all_parked(pool);
        faults_reset();
        must_equal(vigil_pool_submit(pool, &leaves[0].task, VIGIL_NORMAL), 0);
        must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
        /* The submit's, and the one that ends our own wait. */
        must_be_between(faults_syscalls().futex_wake, 0, 2);
    }
    faults_reset();
    pool_close(pool);
}

/* ---- the kernel's own word -------------------------------------------------------------------------------------- */

/*
 * The counts above see what goes through libc's syscall(). Here the kernel itself tells: a filter on the submitting thread
 * turns every system call but write and exit into SIGSYS, and the handler counts them. It cannot be taken off again, so it
 * all happens in a child process. Sanitizers make system calls of their own; there is nothing to see with them.
 */
#if !TEST_SANITIZED && defined(__x86_64__)
static _Atomic int trapped;
static _Atomic int trapped_number;

static void on_trap(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    atomic_store_explicit(&trapped_number, info->si_syscall, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&trapped, 1, memory_order_relaxed);
}

static bool filter_on(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = count_of(rules), .filter = rules};
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    must_equal(sigaction(SIGSYS, &action, NULL), 0);
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum {
    CHILD_CLEAN = 0,
    CHILD_TRAPPED = 1,
    CHILD_BLIND = 2, /* the filter does not even see a getpid */
    CHILD_NO_FILTER = 77
};

static void submit_under_filter(void *arg)
{
    static struct leaf leaves[COUNT];
    vigil_pool *pool = NULL;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = *(unsigned *)arg;
    must_equal(vigil_pool_create(&pool, &options), 0);
    for (int i = 0; i < 20; i++)
        fill_while_held(pool, leaves, options.workers);
    pool_wait_all_parked(pool);
    struct hold hold = {0};
    hold_workers(&hold, pool, options.workers);
    for (int i = 0; i < COUNT; i++)
        vigil_task_init(&leaves[i].task, leaf_run, NULL);
    if (!filter_on())
        _exit(CHILD_NO_FILTER);
    for (int i = 0; i < COUNT; i++) {
        if (vigil_pool_submit(pool, &leaves[i].task, (vigil_priority)(i % VIGIL_PRIORITIES)) != 0 ||
            vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_NORMAL) != 0)
            _exit(99);
    }
    int seen = atomic_load_explicit(&trapped, memory_order_relaxed);
    if (seen != 0) {
        (void)fprintf(stderr, "%d system calls in %d submits, the last was number %d\n", seen, 2 * COUNT,
                      atomic_load_explicit(&trapped_number, memory_order_relaxed));
        _exit(CHILD_TRAPPED);
    }
    (void)syscall(SYS_getpid);
    _exit(atomic_load_explicit(&trapped, memory_order_relaxed) == 1 ? CHILD_CLEAN : CHILD_BLIND);
}

static void the_kernel_sees_no_system_call_of_a_submit_to_a_busy_pool(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 3; workers++) {
        int status = in_child(submit_under_filter, &workers);
        must(WIFEXITED(status));
        if (WEXITSTATUS(status) == CHILD_NO_FILTER) {
            print_message("left out: this system allows no system call filters\n");
            return;
        }
        must_equal(WEXITSTATUS(status), CHILD_CLEAN);
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(after_warm_up_no_way_of_submitting_allocates),
        test(while_all_workers_are_busy_a_submit_makes_no_system_call),
        test(a_submit_to_a_sleeping_pool_costs_one_wake),
#if !TEST_SANITIZED && defined(__x86_64__)
        test(the_kernel_sees_no_system_call_of_a_submit_to_a_busy_pool),
#endif
    };
    return run_all(tests);
}
