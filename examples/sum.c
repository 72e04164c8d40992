/* SPDX-License-Identifier: MIT */
/* A million tasks that live in the caller's own memory: nothing is allocated to submit them. */
#include <stdio.h>
#include <stdlib.h>
#include <vigil/pool.h>

struct number {
    vigil_task task; /* first, so that the task's address is the number's */
    long value;
};

static _Atomic long sum;

static int add(vigil_task *task)
{
    atomic_fetch_add_explicit(&sum, ((struct number *)task)->value, memory_order_relaxed);
    return 0;
}

int main(void)
{
    struct number *numbers = calloc(1000000, sizeof *numbers);
    vigil_pool *pool;
    if (numbers == NULL || vigil_pool_create(&pool, NULL) < 0) {
        free(numbers);
        return 1;
    }
    for (long i = 0; i < 1000000; i++) {
        numbers[i].value = i;
        vigil_task_init(&numbers[i].task, add, NULL);
        vigil_pool_submit(pool, &numbers[i].task, VIGIL_NORMAL);
    }
    vigil_pool_wait_idle(pool, VIGIL_FOREVER);
    printf("sum %ld\n", atomic_load_explicit(&sum, memory_order_relaxed));
    vigil_pool_destroy(pool);
    free(numbers);
}
