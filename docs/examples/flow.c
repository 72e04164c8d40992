/* SPDX-License-Identifier: MIT */
/* Examples of vigil/flow.h, one for each function. */
#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <vigil/flow.h>

struct page {
    int fetched, parsed, stored;
};

static int fetch(void *arg)
{
    ((struct page *)arg)->fetched = 1;
    return 0;
}

static int parse(void *arg)
{
    struct page *page = arg;
    page->parsed = page->fetched;
    return 0;
}

static int store(void *arg)
{
    struct page *page = arg;
    page->stored = page[0].parsed + page[1].parsed;
    return 0;
}

/* vigil_job_then_call: go on when a job has ended */
static int fetch_and_parse(vigil_pool *pool, struct page *page,
                           vigil_job *parsed)
{
    vigil_job fetched;
    int rc = vigil_job_call(pool, fetch, page, NULL, &fetched);
    if (rc < 0)
        return rc;
    rc = vigil_job_then_call(pool, fetched, parse, page, NULL, parsed);
    vigil_job_unref(pool, fetched); /* what follows is not lost */
    return rc;
}

/* vigil_job_all_call: go on when all of several have ended */
static int store_both(vigil_pool *pool, struct page pages[2],
                      vigil_job parsed[2], vigil_job *stored)
{
    return vigil_job_all_call(pool, parsed, 2, store, pages, NULL,
                              stored);
}

/* vigil_job_any_call: go on with the first of several */
static int say_first(void *arg)
{
    printf("%s\n", (const char *)arg);
    return 0;
}

static int announce_first(vigil_pool *pool, vigil_job mirrors[2],
                          vigil_job *said)
{
    static char text[] = "one of the mirrors has answered";
    return vigil_job_any_call(pool, mirrors, 2, say_first, text, NULL,
                              said);
}

/* vigil_wait_any: wait for the first of several jobs and groups */
static int first_to_end(vigil_pool *pool, vigil_job job,
                        vigil_group *group, size_t *index)
{
    const vigil_awaited either[] = {{job, NULL}, {{0}, group}};
    /* A second is enough: what has not ended goes on. */
    return vigil_wait_any(pool, either, 2, 1000000000, index);
}

/* vigil_task_yield: let an urgent task in between two steps */
static int long_task(void *arg)
{
    int steps = 0;
    for (; steps < 3; steps++)
        (void)vigil_task_yield(); /* 1 if another task ran here */
    *(int *)arg = steps;
    return 0;
}

/* vigil_isolate: wait without strangers on this stack */
static _Thread_local int depth; /* a stranger would see it changed */

static int wait_for_group(void *arg)
{
    return vigil_group_wait(arg);
}

static int wait_alone(vigil_group *group)
{
    depth++;
    int rc = vigil_isolate(wait_for_group, group);
    depth--;
    return rc;
}

/* vigil_pool_broadcast_call: do something on every worker */
static _Thread_local int warm;
static atomic_int warmed;

static int warm_up(void *arg, unsigned worker)
{
    (void)arg, (void)worker;
    warm = 1;
    atomic_fetch_add(&warmed, 1);
    return 0;
}

static int warm_all(vigil_pool *pool)
{
    vigil_job job;
    int rc = vigil_pool_broadcast_call(pool, warm_up, NULL, VIGIL_HIGH,
                                       &job);
    if (rc < 0)
        return rc;
    rc = vigil_job_wait(pool, job, VIGIL_FOREVER, NULL);
    vigil_job_unref(pool, job);
    return rc;
}

/* vigil_pool_run: work for the pool from the main thread */
struct half {
    vigil_pool *pool;
    int n, result;
};

static int fib(void *arg)
{
    struct half *it = arg;
    if (it->n < 2) {
        it->result = it->n;
        return 0;
    }
    struct half a = {it->pool, it->n - 1, 0};
    struct half b = {it->pool, it->n - 2, 0};
    int rc = vigil_join(it->pool, fib, &a, fib, &b);
    it->result = a.result + b.result;
    return rc;
}

static int fib_of(vigil_pool *pool, int n)
{
    struct half it = {pool, n, 0};
    int rc = vigil_pool_run(pool, fib, &it, VIGIL_NORMAL);
    return rc < 0 ? rc : it.result;
}

/* ---- all of them ---- */

static void end(vigil_pool *pool, vigil_job job)
{
    assert(vigil_job_wait(pool, job, VIGIL_FOREVER, NULL) == 0);
    vigil_job_unref(pool, job);
}

int main(void)
{
    vigil_pool *pool;
    if (vigil_pool_create(&pool, NULL) < 0)
        return 1;
    struct page pages[2] = {{0}, {0}};
    vigil_job parsed[2], stored, said, stepped;
    assert(fetch_and_parse(pool, &pages[0], &parsed[0]) == 0);
    assert(fetch_and_parse(pool, &pages[1], &parsed[1]) == 0);
    assert(store_both(pool, pages, parsed, &stored) == 0);
    assert(announce_first(pool, parsed, &said) == 0);
    end(pool, stored);
    end(pool, said);
    assert(pages[0].stored == 2);
    vigil_group group;
    size_t index = 2;
    vigil_group_init(&group, pool, 0);
    assert(first_to_end(pool, parsed[0], &group, &index) == 0);
    assert(index == 0);
    end(pool, parsed[0]);
    end(pool, parsed[1]);
    int steps = 0;
    assert(vigil_job_call(pool, long_task, &steps, NULL, &stepped) ==
           0);
    end(pool, stepped);
    assert(steps == 3 && wait_alone(&group) == 0);
    assert(warm_all(pool) == 0);
    assert(warmed == (int)vigil_pool_workers(pool) && warm == 0);
    assert(fib_of(pool, 15) == 610);
    vigil_pool_destroy(pool);
    return 0;
}
