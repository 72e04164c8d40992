/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

static _Atomic int wants[2], turn;
static int inside;

static void *section(void *arg)
{
    int me = (int)(intptr_t)arg;
    atomic_store_explicit(&wants[me], 1, memory_order_seq_cst);
    atomic_store_explicit(&turn, 1 - me, memory_order_seq_cst);
    while (atomic_load_explicit(&wants[1 - me], memory_order_seq_cst) &&
           atomic_load_explicit(&turn, memory_order_seq_cst) == 1 - me)
        ;
    inside++;
    atomic_store_explicit(&wants[me], 0, memory_order_release);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, section, (void *)0);
    pthread_create(&b, NULL, section, (void *)1);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(inside == 2);
    return 0;
}
