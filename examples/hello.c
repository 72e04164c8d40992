/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <vigil/pool.h>

static int greet(void *name)
{
    printf("hello, %s\n", (const char *)name);
    return 0;
}

int main(void)
{
    vigil_pool *pool;
    if (vigil_pool_create(&pool, NULL) < 0)
        return 1;
    vigil_pool_call(pool, greet, NULL, "world", VIGIL_HIGH);
    vigil_pool_shutdown(pool, VIGIL_FOREVER);
    vigil_pool_destroy(pool);
    return 0;
}
