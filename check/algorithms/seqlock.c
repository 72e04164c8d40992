/* SPDX-License-Identifier: MIT */
/*
 * A sequence lock after Boehm (2012). The reader copies with relaxed loads, then looks at the number again behind an acquire fence. Without
 * the fence the second look may come before the copies, and a torn copy is taken for a whole one. The writer needs a release fence between
 * the odd number and the data, for the same reason.
 */
#include <vigil_check.h>
#include <stdatomic.h>

static _Atomic unsigned number;
static _Atomic int first, second;

static void write_both(int value, bool fenced)
{
    unsigned n = atomic_load_explicit(&number, memory_order_relaxed);
    atomic_store_explicit(&number, n + 1, memory_order_relaxed);
    if (fenced)
        atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&first, value, memory_order_relaxed);
    atomic_store_explicit(&second, value, memory_order_relaxed);
    atomic_store_explicit(&number, n + 2, memory_order_release);
}

/* One try; true if the copy is whole. */
static bool read_both(int *a, int *b, bool fenced)
{
    unsigned n = atomic_load_explicit(&number, memory_order_acquire);
    *a = atomic_load_explicit(&first, memory_order_relaxed);
    *b = atomic_load_explicit(&second, memory_order_relaxed);
    if (fenced)
        atomic_thread_fence(memory_order_acquire);
    return n % 2 == 0 && atomic_load_explicit(&number, memory_order_relaxed) == n;
}

static void *writer(void *fenced)
{
    write_both(1, fenced != NULL);
    write_both(2, fenced != NULL);
    return NULL;
}

static void run(bool writer_fenced, bool reader_fenced)
{
    int a, b;
    pthread_t t = vgc_thread_start(writer, writer_fenced ? &number : NULL);
    if (read_both(&a, &b, reader_fenced))
        vgc_assert(a == b, "both of one write");
    vgc_thread_join(t);
}

VGC_SCENARIO(seqlock, "a copy that counts is whole", .bound = "2 writes, 1 try to read")
{
    run(true, true);
}

VGC_SCENARIO(seqlock_reader_without_fence, "the second look may come too early", .expect = VGC_ASSERTION)
{
    run(true, false);
}

VGC_SCENARIO(seqlock_writer_without_fence, "the data may come before the odd number", .expect = VGC_ASSERTION)
{
    run(false, true);
}
