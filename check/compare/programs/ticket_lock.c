/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static _Atomic unsigned next, serving;
static int data;

static void *section(void *arg)
{
    unsigned mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
    while (atomic_load_explicit(&serving, memory_order_acquire) != mine)
        ;
    data++;
    atomic_store_explicit(&serving, mine + 1, memory_order_release);
    return arg;
}

int main(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, section, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    assert(data == 3);
    return 0;
}
