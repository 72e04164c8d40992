/* SPDX-License-Identifier: MIT */
#include "strangers.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum {
    NEW_THREADS = 32 /* that are looked at in one look */
};

/* The watchdog's thread alone uses it. */
static struct {
    vg_stranger of[VG_STRANGERS];
    unsigned count;
    unsigned turn; /* how many threads have had their turn in this round */
} strangers;

void vg_strangers_forget(void)
{
    strangers.count = 0;
    strangers.turn = 0;
}

static bool is_known_stranger(int thread)
{
    for (unsigned i = 0; i < strangers.count; i++)
        if (strangers.of[i].thread == thread)
            return true;
    return false;
}

static void look_at_known(const vg_look *look)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < strangers.count; i++) {
        vg_stranger one = strangers.of[i];
        const vg_lock_wait now = vg_lock_wait_of(one.thread);
        if (now.address == 0)
            continue;
        if (now.address != one.lock.address || now.owner != one.lock.owner)
            one.since = look->real;
        one.lock = now;
        strangers.of[kept++] = one;
    }
    strangers.count = kept;
}

static void look_at_more(const vg_look *look, bool (*skip)(void *arg, int thread), void *arg)
{
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == NULL)
        return;
    unsigned at = 0;
    unsigned looked = 0;
    const struct dirent *entry = NULL;
    while (looked < NEW_THREADS && strangers.count < VG_STRANGERS && (entry = readdir(tasks)) != NULL) {
        const int thread = (int)strtol(entry->d_name, NULL, 10);
        if (thread <= 0 || at++ < strangers.turn || skip(arg, thread) || is_known_stranger(thread))
            continue;
        looked++;
        const vg_lock_wait lock = vg_lock_wait_of(thread);
        if (lock.address != 0)
            strangers.of[strangers.count++] = (vg_stranger){.thread = thread, .lock = lock, .since = look->real};
    }
    (void)closedir(tasks);
    strangers.turn = entry == NULL ? 0 : at;
}

const vg_stranger *vg_strangers_look(const vg_look *look, bool (*skip)(void *arg, int thread), void *arg,
                                     unsigned *count)
{
    look_at_known(look);
    look_at_more(look, skip, arg);
    *count = strangers.count;
    return strangers.of;
}
