/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

static _Atomic int words[3];
static int seen[3];

static void *thread(void *arg)
{
    int me = (int)(intptr_t)arg;
    atomic_store_explicit(&words[me], 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    seen[me] = atomic_load_explicit(&words[(me + 1) % 3], memory_order_relaxed);
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, thread, (void *)(intptr_t)i);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
