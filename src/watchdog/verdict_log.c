/* SPDX-License-Identifier: MIT */
/*
 * verdict_log.c - the last verdicts, for the process itself (vigil_watchdog_verdicts).
 */
#include "base/why.h"
#include "verdict_log.h"

#include "watchdog.h"

#include "base/mutex.h"

#include <string.h>

static struct {
    vg_mutex lock;
    vigil_verdict of[VG_LOG];
    size_t next;  /* where the next goes */
    size_t count; /* up to VG_LOG */
    uint64_t numbers;
} verdict_log;

static vigil_verdict *find_in_log(uint64_t number)
{
    for (size_t i = 0; i < verdict_log.count; i++)
        if (verdict_log.of[i].number == number)
            return &verdict_log.of[i];
    return NULL;
}

void vg_log_verdict(const vigil_verdict *verdict)
{
    vg_mutex_lock(&verdict_log.lock);
    vigil_verdict *at = find_in_log(verdict->number);
    if (at == NULL) {
        at = &verdict_log.of[verdict_log.next];
        verdict_log.next = (verdict_log.next + 1) % VG_LOG;
        verdict_log.count += verdict_log.count < VG_LOG;
    }
    *at = *verdict;
    vg_mutex_unlock(&verdict_log.lock);
}

uint64_t vg_log_number(void)
{
    vg_mutex_lock(&verdict_log.lock);
    const uint64_t number = ++verdict_log.numbers;
    vg_mutex_unlock(&verdict_log.lock);
    return number;
}

bool vg_log_find(uint64_t number, vigil_verdict *verdict)
{
    vg_mutex_lock(&verdict_log.lock);
    const vigil_verdict *at = find_in_log(number);
    if (at != NULL)
        *verdict = *at;
    vg_mutex_unlock(&verdict_log.lock);
    return at != NULL;
}

void vg_log_after_fork(void)
{
    vg_mutex_init(&verdict_log.lock); /* the watchdog may have held it; what it was writing may be half done */
    verdict_log.next = 0;
    verdict_log.count = 0;
}

int vigil_watchdog_verdicts(vigil_verdict *verdicts, size_t room)
{
    if (verdicts == NULL && room != 0)
        return VG_WHY_NULL("verdicts");
    for (size_t i = 0; i < room; i++)
        if (verdicts[i].size < offsetof(vigil_verdict, stall) + sizeof verdicts[i].stall)
            return vg_why_say(-EINVAL, "verdicts[%zu].size is %zu; start from VIGIL_VERDICT_INIT", i, verdicts[i].size);
    vg_watchdog_adopt();
    vg_mutex_lock(&verdict_log.lock);
    size_t given = 0;
    for (; given < room && given < verdict_log.count; given++) {
        const vigil_verdict *from = &verdict_log.of[(verdict_log.next + VG_LOG - 1 - given) % VG_LOG];
        const size_t size = verdicts[given].size;
        memcpy((char *)&verdicts[given] + sizeof size, (const char *)from + sizeof size,
               (size < sizeof *from ? size : sizeof *from) - sizeof size);
    }
    vg_mutex_unlock(&verdict_log.lock);
    return (int)given;
}
