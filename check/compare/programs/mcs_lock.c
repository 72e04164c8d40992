/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct node {
    struct node *_Atomic next;
    _Atomic int waiting;
};

static struct node *_Atomic tail;
static struct node nodes[3];
static int data;

static void *section(void *arg)
{
    struct node *me = arg;
    atomic_store_explicit(&me->next, NULL, memory_order_relaxed);
    atomic_store_explicit(&me->waiting, 1, memory_order_relaxed);
    struct node *before = atomic_exchange_explicit(&tail, me, memory_order_acq_rel);
    if (before != NULL) {
        atomic_store_explicit(&before->next, me, memory_order_release);
        while (atomic_load_explicit(&me->waiting, memory_order_acquire))
            ;
    }
    data++;
    struct node *after = atomic_load_explicit(&me->next, memory_order_acquire);
    if (after == NULL) {
        struct node *mine = me;
        if (atomic_compare_exchange_strong_explicit(&tail, &mine, NULL, memory_order_release, memory_order_relaxed))
            return NULL;
        while ((after = atomic_load_explicit(&me->next, memory_order_acquire)) == NULL)
            ;
    }
    atomic_store_explicit(&after->waiting, 0, memory_order_release);
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, section, &nodes[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    assert(data == 3);
    return 0;
}
