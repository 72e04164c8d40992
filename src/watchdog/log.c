/* SPDX-License-Identifier: MIT */
/*
 * log.c - the last verdicts, for the process itself (vigil_watchdog_verdicts).
 */
#include "verdicts.h"

#include "base/mutex.h"

#include <string.h>

static struct {
    vg_mutex lock;
    vigil_verdict of[VG_LOG];
    size_t next;  /* where the next goes */
    size_t count; /* up to VG_LOG */
    uint64_t numbers;
} log_;

static vigil_verdict *find(uint64_t number)
{
    for (size_t i = 0; i < log_.count; i++)
        if (log_.of[i].number == number)
            return &log_.of[i];
    return NULL;
}

void vg_log_verdict(const vigil_verdict *verdict)
{
    vg_mutex_lock(&log_.lock);
    vigil_verdict *at = find(verdict->number);
    if (at == NULL) {
        at = &log_.of[log_.next];
        log_.next = (log_.next + 1) % VG_LOG;
        log_.count += log_.count < VG_LOG;
    }
    *at = *verdict;
    vg_mutex_unlock(&log_.lock);
}

uint64_t vg_log_number(void)
{
    vg_mutex_lock(&log_.lock);
    const uint64_t number = ++log_.numbers;
    vg_mutex_unlock(&log_.lock);
    return number;
}

bool vg_log_find(uint64_t number, vigil_verdict *verdict)
{
    vg_mutex_lock(&log_.lock);
    const vigil_verdict *at = find(number);
    if (at != NULL)
        *verdict = *at;
    vg_mutex_unlock(&log_.lock);
    return at != NULL;
}

void vg_log_after_fork(void)
{
    vg_mutex_init(&log_.lock); /* the watchdog may have held it; what it was writing may be half done */
    log_.next = 0;
    log_.count = 0;
}

int vigil_watchdog_verdicts(vigil_verdict *verdicts, size_t room)
{
    if (verdicts == NULL && room != 0)
        return -EINVAL;
    for (size_t i = 0; i < room; i++)
        if (verdicts[i].size < offsetof(vigil_verdict, stall) + sizeof verdicts[i].stall)
            return -EINVAL;
    vg_watchdog_adopt();
    vg_mutex_lock(&log_.lock);
    size_t given = 0;
    for (; given < room && given < log_.count; given++) {
        const vigil_verdict *from = &log_.of[(log_.next + VG_LOG - 1 - given) % VG_LOG];
        const size_t size = verdicts[given].size;
        memcpy((char *)&verdicts[given] + sizeof size, (const char *)from + sizeof size,
               (size < sizeof *from ? size : sizeof *from) - sizeof size);
    }
    vg_mutex_unlock(&log_.lock);
    return (int)given;
}
