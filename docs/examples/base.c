/* SPDX-License-Identifier: MIT */
/* Examples of vigil/base.h, one for each function. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <vigil/base.h>
#include <vigil/pool.h>

/* vigil_strerror: get a sentence for an error */
static void explain(int rc)
{
    if (rc < 0)
        fprintf(stderr, "submit: %s\n", vigil_strerror(rc));
}

/* vigil_raise: leave the running task from deep inside it */
static void parse_line(const char *line)
{
    if (strchr(line, '=') == NULL)
        vigil_raise(-EINVAL); /* does not return */
}

static int parse_file(void *text)
{
    parse_line(text); /* the task fails with -EINVAL, not the program */
    return 0;
}

/* vigil_why: learn which argument was wrong, and why */
static void say_why(void)
{
    vigil_pool *pool;
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = VIGIL_MAX_WORKERS + 1;
    if (vigil_pool_create(&pool, &options) == -EINVAL)
        fprintf(stderr, "no pool: %s\n", vigil_why());
}

/* vigil_why_set: give the reason for a failure of your own library */
static int open_shop(const char *name)
{
    if (name == NULL)
        return vigil_why_set(-EINVAL, "name is NULL");
    return 0;
}

/* ---- all of them ---- */

int main(void)
{
    vigil_pool *pool;
    vigil_job job;
    int status = 0;
    explain(-ESHUTDOWN);
    say_why();
    if (open_shop(NULL) < 0)
        fprintf(stderr, "no shop: %s\n", vigil_why());
    if (vigil_pool_create(&pool, NULL) < 0)
        return 1;
    assert(vigil_job_call(pool, parse_file, "nonsense", NULL, &job) ==
           0);
    vigil_job_wait(pool, job, VIGIL_FOREVER, &status);
    assert(status == -EINVAL);
    vigil_job_unref(pool, job);
    vigil_pool_destroy(pool);
    return 0;
}
