/* SPDX-License-Identifier: MIT */
/* A cgroup that has used up its CPU quota is evidence, and the advice is not "more workers". */
#include "watchdog_test.h"

#include "watchdog/threads.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

struct quota {
    char root[64], path[96];
    _Atomic bool end;
    uint64_t begin_ns;
};

/* As the kernel writes it: throttled for nine tenths of the time. */
static void *is_throttled(void *arg)
{
    struct quota *it = arg;
    while (!atomic_load_explicit(&it->end, memory_order_relaxed)) {
        char next[128];
        (void)snprintf(next, sizeof next, "%s.next", it->path);
        FILE *file = fopen(next, "w");
        must(file != NULL);
        must(fprintf(file, "usage_usec 1\nnr_periods 10\nnr_throttled 9\nthrottled_usec %llu\n",
                     (unsigned long long)((now_ns() - it->begin_ns) / 1000 * 9 / 10)) > 0);
        must_equal(fclose(file), 0);
        must_equal(rename(next, it->path), 0);
        yield();
    }
    return NULL;
}

static void a_used_up_quota_is_named(void **state)
{
    (void)state;
    struct quota quota = {.begin_ns = now_ns()};
    struct heard heard = {.want = VIGIL_STALL_NO_CPU};
    (void)snprintf(quota.root, sizeof quota.root, "/tmp/vigil-cgroup-XXXXXX");
    must(mkdtemp(quota.root) != NULL);
    (void)snprintf(quota.path, sizeof quota.path, "%s/cpu.stat", quota.root);
    pthread_t thread = start_thread(is_throttled, &quota);
    const char *before = vg_cgroup_root;
    vg_cgroup_root = quota.root;
    uint64_t ns = 0;
    while (!vg_cgroup_throttled(&ns) || ns == 0)
        yield();
    vigil_pool *pool = pool_of(1);
    vigil_watchdog_options options = VIGIL_WATCHDOG_OPTIONS_INIT;
    options.on_verdict = on_verdict;
    options.user = &heard;
    options.interval_ms = 50;
    must_equal(vigil_watchdog_start(&options), 0);
    const vigil_verdict *verdict = verdict_of(&heard);
    must_say(verdict->reason, "quota");
    must_say(verdict->evidence, "cpu.stat");
    must_say(verdict->advice, "More workers do not help");
    must_equal(vigil_watchdog_stop(), 0);
    vg_cgroup_root = before;
    atomic_store_explicit(&quota.end, true, memory_order_relaxed);
    join_thread(thread);
    pool_close(pool);
    (void)unlink(quota.path);
    (void)rmdir(quota.root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_used_up_quota_is_named),
    };
    return run_all(tests);
}
