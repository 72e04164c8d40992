/* SPDX-License-Identifier: MIT */
/* A stranger's program, compiled as C and as C++: prints the library's version, and how many of its tasks ran. */
#include <stdio.h>

#include <vigil/vigil.h>

#define TASKS 100

static char ran[TASKS]; /* each task writes its own */

static int run(void *mark)
{
    *(char *)mark = 1;
    return 0;
}

int main(void)
{
    if (vigil_version() != VIGIL_VERSION_NUMBER)
        return 1;

    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    vigil_pool *pool;
    options.name = "consumer";
    options.workers = 2;
    int error = vigil_pool_create(&pool, &options);
    for (int i = 0; i < TASKS && error == 0; i++)
        error = vigil_pool_call(pool, run, NULL, &ran[i], (vigil_priority)(i % VIGIL_PRIORITIES));
    if (error == 0)
        error = vigil_pool_shutdown(pool, VIGIL_FOREVER);
    if (error < 0) {
        fprintf(stderr, "consumer: %s\n", vigil_strerror(error));
        return 1;
    }
    vigil_pool_destroy(pool);

    int count = 0;
    for (int i = 0; i < TASKS; i++)
        count += ran[i];
    printf("%s %d\n", vigil_version_string(), count);
    return 0;
}
