/* SPDX-License-Identifier: MIT */
/* malloc and its relatives, and anonymous mappings, on the heap of heap.c. */
#define _GNU_SOURCE
#include "internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CALLER  __builtin_return_address(0)
#define RUNNING __builtin_expect(G.current >= 0, 1)

enum {
    GARBAGE = 0xA5, /* fresh memory is not zero */
    PAGE = 4096
};

size_t heap_block_size(const void *pointer);
bool heap_trim(uintptr_t address, size_t size, const void *pc);

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *block, size_t size);
void __real_free(void *block);
size_t __real_malloc_usable_size(void *block);
void *__real_aligned_alloc(size_t align, size_t size);
int __real_posix_memalign(void **out, size_t align, size_t size);
void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *address, size_t size);
void *__real_mremap(void *address, size_t size, size_t wanted, int flags, ...);
int __real_madvise(void *address, size_t size, int advice);
int __real_mprotect(void *address, size_t size, int protection);

static bool ours(const void *block)
{
    return (uintptr_t)block - (uintptr_t)G.heap < (uintptr_t)HEAP_PER_THREAD * MAX_THREADS;
}

static void *get(size_t size, size_t align, int fill, const void *pc)
{
    if (size > HEAP_PER_THREAD / 2 || alloc_fails()) {
        errno = ENOMEM;
        return NULL;
    }
    return heap_alloc(size, align, fill, pc, false);
}

void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return RUNNING ? get(size, 0, GARBAGE, CALLER) : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
    size_t total;
    if (!RUNNING)
        return __real_calloc(n, size);
    if (__builtin_mul_overflow(n, size, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    void *block = get(total, 0, 0, CALLER);
    if (block != NULL && !G.alone)
        access_plain((uintptr_t)block, total, true, CALLER); /* the zeros: whoever gets the block must see them */
    return block;
}

void *__wrap_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size)
{
    if (!RUNNING)
        return __real_realloc(block, size);
    void *fresh = get(size, 0, GARBAGE, CALLER);
    if (fresh == NULL || block == NULL)
        return fresh;
    size_t old = heap_block_size(block), n = old < size ? old : size;
    access_plain((uintptr_t)block, n, false, CALLER);
    memcpy(fresh, block, n);
    heap_free(block, CALLER);
    return fresh;
}

void *__wrap_reallocarray(void *block, size_t n, size_t size);
void *__wrap_reallocarray(void *block, size_t n, size_t size)
{
    size_t total;
    if (!__builtin_mul_overflow(n, size, &total))
        return __wrap_realloc(block, total);
    errno = ENOMEM;
    return NULL;
}

size_t __wrap_malloc_usable_size(void *block);
size_t __wrap_malloc_usable_size(void *block)
{
    return RUNNING && ours(block) ? heap_block_size(block) : __real_malloc_usable_size(block);
}

void __wrap_free(void *block);
void __wrap_free(void *block)
{
    if (RUNNING && (block == NULL || ours(block) || cell_at((uintptr_t)block) != NULL))
        heap_free(block, CALLER);
    else
        __real_free(block); /* the C library made it */
}

void *__wrap_aligned_alloc(size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size)
{
    return RUNNING ? get(size, align, GARBAGE, CALLER) : __real_aligned_alloc(align, size);
}

int __wrap_posix_memalign(void **out, size_t align, size_t size);
int __wrap_posix_memalign(void **out, size_t align, size_t size)
{
    if (!RUNNING)
        return __real_posix_memalign(out, align, size);
    void *block = get(size, align, GARBAGE, CALLER);
    if (block == NULL)
        return ENOMEM;
    *out = block;
    return 0;
}

char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = RUNNING ? get(size, 0, GARBAGE, CALLER) : __real_malloc(size);
    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (!RUNNING)
        return __real_mmap(address, size, protection, flags, fd, offset);
    if (!(flags & MAP_ANONYMOUS) || (flags & MAP_FIXED))
        fail(VGC_MISUSE, "mmap of a file or at a fixed address is not modelled");
    size = (size + PAGE - 1) & ~(size_t)(PAGE - 1);
    if (size > HEAP_PER_THREAD / 2 || alloc_fails()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return heap_alloc(size, PAGE, 0, CALLER, true);
}

int __wrap_munmap(void *address, size_t size);
int __wrap_munmap(void *address, size_t size)
{
    if (!RUNNING || !ours(address))
        return __real_munmap(address, size);
    if (!heap_trim((uintptr_t)address, (size + PAGE - 1) & ~(size_t)(PAGE - 1), CALLER))
        fail(VGC_DOUBLE_FREE,
             "munmap of %p, %zu bytes: no living mapping, or a hole in the middle "
             "of one",
             address, size);
    return 0;
}

static size_t whole_pages(size_t size)
{
    return (size + PAGE - 1) & ~(size_t)(PAGE - 1);
}

/* The bytes of a whole mapping move to another one: a new one, or the one that lies at `place`. */
void *__wrap_mremap(void *address, size_t size, size_t wanted, int flags, void *place);
void *__wrap_mremap(void *address, size_t size, size_t wanted, int flags, void *place)
{
    if (!RUNNING || !ours(address))
        return __real_mremap(address, size, wanted, flags, place);
    size = whole_pages(size);
    wanted = whole_pages(wanted);
    const bool fixed = (flags & MREMAP_FIXED) != 0;
    if (heap_block_size(address) != size || (fixed && heap_block_size(place) != wanted))
        fail(VGC_MISUSE, "mremap is modelled for whole mappings: from %p, %zu bytes, to %zu bytes", address, size,
             wanted);
    if (!(flags & MREMAP_MAYMOVE) || wanted > HEAP_PER_THREAD / 2 || alloc_fails()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    const size_t n = size < wanted ? size : wanted;
    void *to = fixed ? place : heap_alloc(wanted, PAGE, 0, CALLER, true);
    if (!G.alone) {
        access_plain((uintptr_t)address, n, false, CALLER);
        access_plain((uintptr_t)to, n, true, CALLER);
    }
    memcpy(to, address, n);
    heap_free(address, CALLER);
    return to;
}

int __wrap_madvise(void *address, size_t size, int advice);
int __wrap_madvise(void *address, size_t size, int advice)
{
    if (!RUNNING || !ours(address))
        return __real_madvise(address, size, advice);
    if (advice == MADV_DONTNEED) {
        access_plain((uintptr_t)address, size, true, CALLER);
        memset(address, 0, size);
    }
    if (advice < 0) {
        errno = EINVAL;
        return -1;
    }
    return 0;
}

int __wrap_mprotect(void *address, size_t size, int protection);
int __wrap_mprotect(void *address, size_t size, int protection)
{
    if (!RUNNING || !ours(address))
        return __real_mprotect(address, size, protection);
    return 0;
}
