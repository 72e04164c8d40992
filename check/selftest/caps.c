/* SPDX-License-Identifier: MIT */
/* What the engine does not model, or only up to a bound, must never end in a pass. */
#include <vigil_check.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int counter, finished;

static void *count_up(void *arg)
{
    for (int i = 1; i <= (int)(intptr_t)arg; i++)
        atomic_store_explicit(&counter, i, memory_order_relaxed);
    atomic_store_explicit(&finished, 1, memory_order_relaxed);
    return NULL;
}

/* The flag does not publish: behind it every value of the counter can still be read. */
static void oldest_behind_flag(int stores)
{
    pthread_t t = vgc_thread_start(count_up, (void *)(intptr_t)stores);
    if (atomic_load_explicit(&finished, memory_order_relaxed))
        vgc_assert(atomic_load_explicit(&counter, memory_order_relaxed) != 0, "somebody has counted");
    vgc_thread_join(t);
}

VGC_SCENARIO(old_values_60, "the oldest of 60 values is found", .expect = VGC_ASSERTION, .bound = "no luck")
{
    oldest_behind_flag(60);
}

VGC_SCENARIO(old_values_200, "the oldest of 200 values is found", .expect = VGC_ASSERTION, .bound = "no luck")
{
    oldest_behind_flag(200);
}

VGC_SCENARIO(old_values_400, "values beyond the engine's bound are not passed over", .expect = VGC_TRUNCATED,
             .bound = "no luck")
{
    oldest_behind_flag(400);
}

static union {
    _Atomic uint32_t half[2];
    _Atomic uint64_t whole;
} mixed;

static void *store_half(void *arg)
{
    atomic_store_explicit(&mixed.half[1], 1, memory_order_relaxed);
    return arg;
}

VGC_SCENARIO(mixed_sizes, "a load of eight bytes against a store of four of them is refused", .expect = VGC_MISUSE)
{
    pthread_t t = vgc_thread_start(store_half, NULL);
    vgc_assert(atomic_load_explicit(&mixed.whole, memory_order_relaxed) == 0, "not stored yet");
    vgc_thread_join(t);
}

VGC_SCENARIO(mixed_sizes_in_turn, "memory may be used with another size when the first use is over")
{
    pthread_t t = vgc_thread_start(store_half, NULL);
    vgc_thread_join(t);
    vgc_assert(atomic_load_explicit(&mixed.whole, memory_order_relaxed) >> 32 == 1, "it was stored");
}

VGC_SCENARIO(long_beginning, "a program may make any number of steps before its first thread", .bound = "no luck")
{
    for (int i = 0; i < 300000; i++)
        atomic_fetch_add_explicit(&counter, 1, memory_order_seq_cst);
    for (int i = 0; i < 40000; i++)
        atomic_thread_fence(memory_order_seq_cst);
    pthread_t t = vgc_thread_start(count_up, (void *)1);
    vgc_thread_join(t);
    vgc_assert(atomic_load_explicit(&counter, memory_order_relaxed) == 1, "the thread's store is the last");
}

VGC_SCENARIO(unmodelled_select, "a wait that is not modelled is refused", .expect = VGC_MISUSE)
{
    select(0, NULL, NULL, NULL, NULL);
}

VGC_SCENARIO(unmodelled_spinlock, "a lock that is not modelled is refused", .expect = VGC_MISUSE)
{
    static pthread_spinlock_t lock;
    pthread_spin_lock(&lock);
}

VGC_SCENARIO(unmodelled_bits, "a futex with bits of its own is refused", .expect = VGC_MISUSE)
{
    syscall(SYS_futex, &counter, FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 2);
}

/* ---- addresses and descriptors that are given out again ---- */

struct element {
    struct element *_Atomic next;
};
static _Atomic(struct element *) top;

static struct element *pop(void)
{
    struct element *first = atomic_load_explicit(&top, memory_order_acquire);
    while (first != NULL) {
        struct element *second = atomic_load_explicit(&first->next, memory_order_relaxed);
        if (atomic_compare_exchange_strong_explicit(&top, &first, second, memory_order_acq_rel, memory_order_acquire))
            break;
    }
    return first;
}

static void push(struct element *e)
{
    struct element *second = atomic_load_explicit(&top, memory_order_relaxed);
    do
        atomic_store_explicit(&e->next, second, memory_order_relaxed);
    while (!atomic_compare_exchange_strong_explicit(&top, &second, e, memory_order_acq_rel, memory_order_relaxed));
}

static void *pop_one(void *arg)
{
    *(struct element **)arg = pop();
    return NULL;
}

static struct element *aside;
/* The node stays readable, as in an allocator of its own: only the address coming back can spoil it. */
static struct element pool_of[2];
static struct element *_Atomic free_list;

static struct element *get_again(void)
{
    return atomic_exchange_explicit(&free_list, NULL, memory_order_acq_rel);
}

static void *reuse_own(void *arg)
{
    struct element *a = pop(), *b = pop();
    aside = b;
    if (a != NULL) {
        atomic_store_explicit(&free_list, a, memory_order_release);
        struct element *fresh = get_again();
        if (fresh != NULL)
            push(fresh);
    }
    return arg;
}

VGC_SCENARIO(aba_own_allocator, "ABA through a free list is found", .expect = VGC_ASSERTION)
{
    static struct element *got;
    push(&pool_of[0]);
    push(&pool_of[1]);
    pthread_t one = vgc_thread_start(pop_one, &got), two = vgc_thread_start(reuse_own, NULL);
    vgc_thread_join(one);
    vgc_thread_join(two);
    vgc_assert(aside == NULL || atomic_load_explicit(&top, memory_order_relaxed) != aside,
               "an element that was taken is not on the stack");
}

static _Atomic uintptr_t remembered;
static void *free_and_get(void *arg)
{
    char *first = malloc(24);
    atomic_store_explicit(&remembered, (uintptr_t)first, memory_order_relaxed);
    free(first);
    char *second = malloc(24);
    vgc_assert((uintptr_t)second != atomic_load_explicit(&remembered, memory_order_relaxed), "another address");
    free(second);
    return arg;
}

VGC_SCENARIO(address_again, "malloc may give out an address again", .expect = VGC_ASSERTION, .opt.reuse = 1)
{
    vgc_thread_join(vgc_thread_start(free_and_get, NULL));
}

VGC_SCENARIO(address_new, "... and does not without a budget for it")
{
    vgc_thread_join(vgc_thread_start(free_and_get, NULL));
}

static _Atomic int descriptor;
static void *write_late(void *arg)
{
    int fd = atomic_load_explicit(&descriptor, memory_order_acquire);
    uint64_t one = 1;
    (void)!write(fd, &one, sizeof one);
    return arg;
}

VGC_SCENARIO(strangers_descriptor, "a write to a number that is another's by now is found", .expect = VGC_ASSERTION)
{
    int mine = eventfd(0, EFD_NONBLOCK);
    atomic_store_explicit(&descriptor, mine, memory_order_release);
    pthread_t t = vgc_thread_start(write_late, NULL);
    close(mine);
    int strangers = eventfd(0, EFD_NONBLOCK);
    vgc_thread_join(t);
    uint64_t count = 0;
    vgc_assert(read(strangers, &count, sizeof count) < 0, "nobody has written to the stranger's");
    close(strangers);
}

static char shared_text[32];

static void *copy_text(void *arg)
{
    strcpy(shared_text, arg);
    return NULL;
}

VGC_SCENARIO(text_race_strcpy, "a race of two text functions is found", .expect = VGC_DATA_RACE)
{
    pthread_t t = vgc_thread_start(copy_text, (void *)(uintptr_t) "hello");
    vgc_assert(strcmp(shared_text, "bye") != 0, "nobody writes that");
    vgc_thread_join(t);
}

static void *print_text(void *arg)
{
    (void)snprintf(shared_text, sizeof shared_text, "%d", (int)(intptr_t)arg);
    return NULL;
}

VGC_SCENARIO(text_race_snprintf, "a race with text that is made is found", .expect = VGC_DATA_RACE)
{
    pthread_t t = vgc_thread_start(print_text, (void *)(intptr_t)7);
    shared_text[0] = 'x';
    vgc_thread_join(t);
}

VGC_SCENARIO(text_behind_the_end, "text that is longer than its block is found", .expect = VGC_USE_AFTER_FREE)
{
    char *block = malloc(4);
    copy_text((void *)(uintptr_t) "hello");
    strcpy(block, shared_text);
    free(block);
}

VGC_SCENARIO(process_fork, "a process that is made is refused", .expect = VGC_MISUSE)
{
    if (fork() == 0)
        _exit(0);
}
