/* SPDX-License-Identifier: MIT */
/*
 * Treiber's stack with hazard pointers (Michael 2004). A thread says which node it is about to look at, then makes sure that the node is
 * still on top; whoever removes a node frees it only if nobody has said so. Both sides write, then read what the other writes: full fences.
 */
#include <vigil_check.h>
#include <stdatomic.h>
#include <stdlib.h>

struct node {
    struct node *next;
};

static struct node *_Atomic top;
static struct node *_Atomic hazard[2];

static void fence(bool fenced)
{
    if (fenced)
        atomic_thread_fence(memory_order_seq_cst);
}

static struct node *pop(int me, bool fenced)
{
    for (;;) {
        struct node *first = atomic_load_explicit(&top, memory_order_acquire);
        if (first == NULL)
            return NULL;
        /* Release: it also gives the last one back, and whoever sees the new one frees that. */
        atomic_store_explicit(&hazard[me], first, memory_order_release);
        fence(fenced);
        if (atomic_load_explicit(&top, memory_order_acquire) != first)
            continue;
        struct node *next = first->next;
        if (atomic_compare_exchange_strong_explicit(&top, &first, next, memory_order_acq_rel, memory_order_relaxed)) {
            atomic_store_explicit(&hazard[me], NULL, memory_order_release);
            return first;
        }
    }
}

/* True: it was freed. False: somebody looks at it, and it is kept for later. */
static bool retire(struct node *node, int me, bool fenced)
{
    fence(fenced);
    if (atomic_load_explicit(&hazard[1 - me], memory_order_acquire) == node)
        return false;
    free(node);
    return true;
}

struct popper {
    int me;
    bool fenced;
    struct node *kept;
};

static void *pop_and_free(void *arg)
{
    struct popper *p = arg;
    struct node *node = pop(p->me, p->fenced);
    if (node != NULL && !retire(node, p->me, p->fenced))
        p->kept = node;
    return NULL;
}

static void run(bool fenced)
{
    static struct popper poppers[2];
    for (int i = 0; i < 2; i++) {
        struct node *node = malloc(sizeof *node);
        node->next = atomic_load_explicit(&top, memory_order_relaxed);
        atomic_store_explicit(&top, node, memory_order_release);
        poppers[i] = (struct popper){i, fenced, NULL};
    }
    pthread_t t = vgc_thread_start(pop_and_free, &poppers[1]);
    pop_and_free(&poppers[0]);
    vgc_thread_join(t);
    for (int i = 0; i < 2; i++)
        free(poppers[i].kept);
}

VGC_SCENARIO(treiber_stack, "nobody looks at a node that was freed", .bound = "2 threads x 1 pop, with free",
             .opt.reuse = 1)
{
    run(true);
}

VGC_SCENARIO(treiber_stack_without_fences, "a hazard that nobody sees protects nothing", .expect = VGC_DATA_RACE)
{
    run(false);
}
