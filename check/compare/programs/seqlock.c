/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static _Atomic unsigned number;
static _Atomic int first, second;

static void *writer(void *arg)
{
    for (int value = 1; value <= 2; value++) {
        unsigned n = atomic_load_explicit(&number, memory_order_relaxed);
        atomic_store_explicit(&number, n + 1, memory_order_relaxed);
        atomic_thread_fence(memory_order_release);
        atomic_store_explicit(&first, value, memory_order_relaxed);
        atomic_store_explicit(&second, value, memory_order_relaxed);
        atomic_store_explicit(&number, n + 2, memory_order_release);
    }
    return arg;
}

static void *reader(void *arg)
{
    unsigned n = atomic_load_explicit(&number, memory_order_acquire);
    int a = atomic_load_explicit(&first, memory_order_relaxed);
    int b = atomic_load_explicit(&second, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    if (n % 2 == 0 && atomic_load_explicit(&number, memory_order_relaxed) == n)
        assert(a == b);
    return arg;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, writer, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
