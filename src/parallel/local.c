/* SPDX-License-Identifier: MIT */
/*
 * local.c - one value per worker. A slot belongs to a seat, spares included; only that worker writes it.
 */
#include "base/why.h"
#include "pool/pool_struct.h"

#include <errno.h>
#include <stdlib.h>
#include <vigil/parallel.h>

struct vigil_local {
    vigil_pool *pool;
    size_t bytes;
    void (*start)(void *arg, void *value);
    void *arg;
    _Atomic(void *) values[VG_MAX_SEATS];
};

int vigil_local_create(vigil_local **local, vigil_pool *pool, size_t bytes, void (*start)(void *arg, void *value),
                       void *arg)
{
    if (local == NULL)
        return VG_WHY_NULL("local");
    const int error = vg_pool_guard(pool);
    if (error != 0)
        return error;
    if (bytes == 0 || bytes > SIZE_MAX / 2)
        return vg_why_say(-EINVAL, "bytes is %zu; a value has at least one", bytes);
    vigil_local *made = calloc(1, sizeof *made);
    if (made == NULL)
        return vg_why(-ENOMEM, "no memory for the values of workers");
    made->pool = pool;
    made->bytes = (bytes + 63) / 64 * 64; /* no two workers share a cache line */
    made->start = start;
    made->arg = arg;
    *local = made;
    return 0;
}

void *vigil_local_get(vigil_local *local)
{
    const vg_worker *worker = local != NULL ? vg_worker_of(local->pool) : NULL;
    if (!vg_in_task(worker))
        return NULL;
    _Atomic(void *) *slot = &local->values[worker->seat.index];
    void *value = atomic_load_explicit(slot, memory_order_relaxed); /* own writes, or a former thread of this seat */
    if (value != NULL)
        return value;
    value = aligned_alloc(64, local->bytes);
    if (value == NULL)
        return NULL;
    memset(value, 0, local->bytes);
    if (local->start != NULL)
        local->start(local->arg, value);
    /* L1 release: who walks the values sees what start wrote; pairs with L2. What tasks wrote since comes with the end
       of the loop. */
    atomic_store_explicit(slot, value, memory_order_release);
    return value;
}

int vigil_local_each(vigil_local *local, int (*fn)(void *arg, void *value), void *arg)
{
    if (local == NULL || fn == NULL)
        return local == NULL ? VG_WHY_NULL("local") : VG_WHY_NULL("fn");
    for (unsigned i = 0; i < VG_MAX_SEATS; i++) {
        void *value = atomic_load_explicit(&local->values[i], memory_order_acquire); /* L2 */
        const int status = value != NULL ? fn(arg, value) : 0;
        if (status < 0)
            return status;
    }
    return 0;
}

void vigil_local_destroy(vigil_local *local)
{
    if (local == NULL)
        return;
    for (unsigned i = 0; i < VG_MAX_SEATS; i++)
        free(atomic_load_explicit(&local->values[i], memory_order_relaxed)); /* nobody else uses it */
    free(local);
}
