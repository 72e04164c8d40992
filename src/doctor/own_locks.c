/* SPDX-License-Identifier: MIT */
#include "own_locks.h"

#include "memory.h"
#include "base/sleeper_words.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
    vg_need_kind kind;
    const char *text; /* the address is put behind it */
} own_waits[] = {
    [VG_SHARE_MUTEX] = {VG_NEED_LOCK_WORD, "the Vigil mutex"},
    [VG_SHARE_RWLOCK] = {VG_NEED_LOCK_WORD, "the Vigil read-write lock"},
    [VG_SHARE_CONDITION] = {VG_NEED_CONDITION, "a signal of the Vigil condition"},
    [VG_SHARE_SEMAPHORE] = {VG_NEED_SEMAPHORE, "a release of the Vigil semaphore"},
    [VG_SHARE_ONCE] = {VG_NEED_LOCK_WORD, "the end of the function of the vigil_once"},
    [VG_SHARE_LATCH] = {VG_NEED_BARRIER, "the Vigil latch"},
    [VG_SHARE_BARRIER] = {VG_NEED_BARRIER, "the Vigil barrier"},
    [VG_SHARE_CHANNEL] = {VG_NEED_CONDITION, "the other side of the Vigil channel"},
    [VG_SHARE_RATE] = {VG_NEED_CONDITION, "units of the Vigil rate"},
};

bool vg_own_lock(const vg_exam *exam, const vg_exam_thread *thread, vg_need *wait, pid_t *owner)
{
    struct {
        uint32_t word, magic, kind, owner;
        uint64_t object;
    } sleeper; /* the beginning of vg_sleeper */
    uint32_t word = 0;
    *owner = 0;
    if (!vg_memory_read(exam, thread->process, wait->address, &sleeper, sizeof sleeper) ||
        sleeper.magic != VG_SLEEPER_MAGIC || sleeper.kind >= sizeof own_waits / sizeof own_waits[0] ||
        own_waits[sleeper.kind].text == NULL)
        return false;
    wait->kind = own_waits[sleeper.kind].kind;
    wait->address = sleeper.object;
    (void)snprintf(wait->text, sizeof wait->text, "%s 0x%" PRIx64, own_waits[sleeper.kind].text, sleeper.object);
    /* The word of a mutex has its holder. */
    if (sleeper.kind == VG_SHARE_MUTEX && vg_memory_read(exam, thread->process, sleeper.object, &word, sizeof word) &&
        (word & VG_OWNER_ASYNC) == 0)
        *owner = (pid_t)(word & VG_OWNER_THREAD);
    return true;
}
