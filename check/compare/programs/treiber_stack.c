/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct node {
    struct node *_Atomic next;
};

static struct node nodes[3];
static struct node *_Atomic top;
static _Atomic int popped;

static void *push_pop(void *arg)
{
    struct node *mine = arg;
    struct node *first = atomic_load_explicit(&top, memory_order_relaxed);
    do
        atomic_store_explicit(&mine->next, first, memory_order_relaxed);
    while (!atomic_compare_exchange_strong_explicit(&top, &first, mine, memory_order_release, memory_order_relaxed));
    first = atomic_load_explicit(&top, memory_order_acquire);
    while (first != NULL) {
        struct node *next = atomic_load_explicit(&first->next, memory_order_relaxed);
        if (atomic_compare_exchange_strong_explicit(&top, &first, next, memory_order_acquire, memory_order_acquire)) {
            atomic_fetch_add_explicit(&popped, 1, memory_order_relaxed);
            break;
        }
    }
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, push_pop, &nodes[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    assert(atomic_load_explicit(&popped, memory_order_relaxed) == 2);
    return 0;
}
