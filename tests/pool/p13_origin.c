/* SPDX-License-Identifier: MIT */
/* P13: every thread of a pool runs where and how its creator's threads do, whoever caused it to be started. */
#include "child.h"

#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>

struct found {
    unsigned threads, astray;
};

/* The CPUs and the policy of each thread whose name begins with `name`. */
static struct found look_at_threads(const char *name, int policy, int cpus)
{
    struct found found = {0};
    DIR *folder = opendir("/proc/self/task");
    must(folder != NULL);
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        const int tid = atoi(entry->d_name);
        char path[64], text[32] = "";
        (void)snprintf(path, sizeof path, "/proc/self/task/%d/comm", tid);
        FILE *file = tid > 0 ? fopen(path, "r") : NULL;
        if (file == NULL)
            continue;
        (void)!fgets(text, sizeof text, file);
        (void)fclose(file);
        if (strncmp(text, name, strlen(name)) != 0)
            continue;
        cpu_set_t set;
        must_equal(sched_getaffinity(tid, sizeof set, &set), 0);
        found.threads++;
        found.astray += sched_getscheduler(tid) != policy || CPU_COUNT(&set) != cpus ||
                        getpriority(PRIO_PROCESS, (id_t)tid) != getpriority(PRIO_PROCESS, 0);
    }
    (void)closedir(folder);
    return found;
}

static int all_cpus(void)
{
    cpu_set_t set;
    must_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

/* One CPU, another policy, nicer than before: none of that needs a right. */
static void become_special(void)
{
    cpu_set_t set, one;
    must_equal(sched_getaffinity(0, sizeof set, &set), 0);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &set))
            CPU_SET(i, &one);
    must_equal(sched_setaffinity(0, sizeof one, &one), 0);
    const struct sched_param param = {0};
    must_equal(sched_setscheduler(0, SCHED_BATCH, &param), 0);
}

static int nothing(vigil_task *task)
{
    (void)task;
    return 0;
}

struct scene {
    vigil_pool *pool;
    struct event may_end;
    _Atomic unsigned blocked;
    vigil_task delayed;
};

static int wait_for_end(void *arg)
{
    struct scene *scene = arg;
    event_wait(&scene->may_end);
    return 0;
}

static int block_as_special(void *arg)
{
    struct scene *scene = arg;
    become_special(); /* the worker itself: a task that did that keeps it */
    must_equal(vigil_pool_call(scene->pool, wait_for_end, NULL, scene, VIGIL_NORMAL), 0);
    must_equal(vigil_blocking_begin(), 0); /* starts a spare for it */
    (void)atomic_fetch_add_explicit(&scene->blocked, 1, memory_order_relaxed);
    event_wait(&scene->may_end);
    must_equal(vigil_blocking_end(), 0);
    return 0;
}

static void *special_thread(void *arg)
{
    struct scene *scene = arg;
    become_special();
    must_equal(vigil_pool_submit_after(scene->pool, &scene->delayed, VIGIL_NORMAL, INT64_C(3600000000000)), 0);
    must_equal(vigil_pool_resize(scene->pool, 4), 0);
    return NULL;
}

static void p13_timer_and_new_workers_are_not_like_the_one_who_asked_for_them(void **state)
{
    (void)state;
    struct scene scene = {0};
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.name = "origin";
    scene.pool = pool_with(&options);
    vigil_task_init(&scene.delayed, nothing, NULL);
    join_thread(start_thread(special_thread, &scene));
    struct found found = {0};
    for (int i = 0; i < 100000 && (found.threads != 5 || found.astray != 0); i++) {
        found = look_at_threads("origin/", SCHED_OTHER, all_cpus());
        yield();
    }
    must_equal(found.threads, 5);
    must_equal(found.astray, 0);
    must_equal(vigil_pool_destroy(scene.pool), 0);
}

static void p13_a_spare_is_not_like_the_worker_that_blocks(void **state)
{
    (void)state;
    struct scene scene = {0};
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    options.name = "spare";
    scene.pool = pool_with(&options);
    must_equal(vigil_pool_call(scene.pool, block_as_special, NULL, &scene, VIGIL_NORMAL), 0);
    while (scene.blocked == 0)
        yield();
    struct found found = {0};
    for (int i = 0; i < 100000 && (found.threads != 1 || found.astray != 0); i++) {
        found = look_at_threads("spare/s", SCHED_OTHER, all_cpus());
        yield();
    }
    must_equal(found.threads, 1);
    must_equal(found.astray, 0);
    event_set(&scene.may_end);
    pool_close(scene.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(p13_timer_and_new_workers_are_not_like_the_one_who_asked_for_them),
        test(p13_a_spare_is_not_like_the_worker_that_blocks),
    };
    return run_all(tests);
}
