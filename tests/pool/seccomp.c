/* SPDX-License-Identifier: MIT */
/* A filter that refuses membarrier: a pool made after it does without; one made before it ends the process and says why. */
#include "support.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if !TEST_SANITIZED /* sanitizers make threads and calls of their own after a fork */
static void refuse_membarrier(void)
{
    struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = count_of(lines), .filter = lines};
    must_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    must_equal(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program), 0);
}

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

static int fork_and_join(void *arg)
{
    for (int i = 0; i < 1000; i++)
        must_equal(vigil_join(arg, nothing, NULL, nothing, NULL), 0);
    return 0;
}

static void use(vigil_pool *pool)
{
    for (int i = 0; i < 100; i++)
        must_equal(vigil_pool_call(pool, fork_and_join, NULL, pool, VIGIL_NORMAL), 0);
    must_equal(vigil_pool_wait_idle(pool, VIGIL_FOREVER), 0);
}

static void make_after_filter(void *arg)
{
    (void)arg;
    refuse_membarrier();
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.fences = VIGIL_FENCE_MEMBARRIER;
    vigil_pool *pool = NULL;
    must_equal(vigil_pool_create(&pool, &options), -ENOSYS);
    options.fences = VIGIL_FENCE_AUTO;
    must_equal(vigil_pool_create(&pool, &options), 0);
    use(pool);
    must_equal(vigil_pool_destroy(pool), 0);
    _exit(0);
}

static void make_symmetric_before_filter(void *arg)
{
    (void)arg;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.fences = VIGIL_FENCE_SYMMETRIC;
    vigil_pool *pool = NULL;
    must_equal(vigil_pool_create(&pool, &options), 0);
    refuse_membarrier();
    use(pool);
    must_equal(vigil_pool_destroy(pool), 0);
    _exit(0);
}

static void make_before_filter(void *arg)
{
    must(dup2(*(int *)arg, STDERR_FILENO) >= 0);
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.fences = VIGIL_FENCE_MEMBARRIER;
    vigil_pool *pool = NULL;
    must_equal(vigil_pool_create(&pool, &options), 0);
    refuse_membarrier();
    use(pool);
    for (;;) /* a worker that lies down again ends the process */
        (void)pause();
}

static void a_pool_that_is_made_behind_the_filter_works(void **state)
{
    (void)state;
    must_equal(in_child(make_after_filter, NULL), 0);
    must_equal(in_child(make_symmetric_before_filter, NULL), 0);
}

static void a_pool_that_was_made_before_the_filter_says_why_it_ends(void **state)
{
    (void)state;
    int ends[2];
    must_equal(pipe(ends), 0);
    const int status = in_child(make_before_filter, &ends[1]);
    must(WIFSIGNALED(status));
    must_equal(WTERMSIG(status), SIGABRT);
    must_equal(close(ends[1]), 0);
    char text[1024] = "";
    must(read(ends[0], text, sizeof text - 1) > 0);
    must(strstr(text, "membarrier") != NULL);
    must(strstr(text, "seccomp") != NULL);
    must(strstr(text, "VIGIL_FENCE_SYMMETRIC") != NULL);
    must_equal(close(ends[0]), 0);
}
#endif

int main(void)
{
#if TEST_SANITIZED
    return 0;
#else
    const struct CMUnitTest tests[] = {
        test(a_pool_that_is_made_behind_the_filter_works),
        test(a_pool_that_was_made_before_the_filter_says_why_it_ends),
    };
    return run_all(tests);
#endif
}
