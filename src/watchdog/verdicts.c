/* SPDX-License-Identifier: MIT */
#include "base/why.h"
#include "verdicts.h"

#include "verdict_log.h"

#include <string.h>

enum {
    MISSED_MOST = 2 /* looks without it, until it is over */
};

void vg_verdict_begin_look(vg_verdicts *all)
{
    for (size_t i = 0; i < VG_STANDING; i++)
        all->of[i].seen = false;
}

static vg_standing *find_standing(vg_verdicts *all, const vg_finding *finding)
{
    for (size_t i = 0; i < VG_STANDING; i++) {
        vg_standing *it = &all->of[i];
        if (it->state != VG_STANDING_FREE && it->stall == finding->verdict.stall && it->serial == finding->serial &&
            it->key == finding->key)
            return it;
    }
    for (size_t i = 0; i < VG_STANDING; i++)
        if (all->of[i].state == VG_STANDING_FREE) {
            vg_standing *it = &all->of[i];
            memset(it, 0, sizeof *it);
            it->stall = finding->verdict.stall;
            it->serial = finding->serial;
            it->key = finding->key;
            return it;
        }
    return NULL;
}

static vg_step_to raise_standing(vg_standing *it, const vg_finding *finding, uint64_t real)
{
    it->state = VG_STANDING_RAISED;
    it->severity = finding->verdict.severity;
    it->said_ns = real;
    if (it->times++ == 0)
        it->number = vg_log_number();
    it->acted = false;
    return VG_TO_RAISE;
}

vg_step_to vg_verdict_meet(vg_verdicts *all, const vg_finding *finding, uint64_t real, uint64_t repeat_ns,
                           vg_standing **standing)
{
    vg_standing *it = find_standing(all, finding);
    *standing = it;
    if (it == NULL || it->seen)
        return VG_TO_NOTHING;
    it->seen = true;
    it->missed = 0;
    const bool worse = finding->verdict.severity > it->severity;
    switch (it->state) {
    case VG_STANDING_FREE:
        it->state = VG_STANDING_SUSPECT;
        return finding->at_once ? raise_standing(it, finding, real) : VG_TO_NOTHING;
    case VG_STANDING_SUSPECT:
    case VG_STANDING_CLEARED:
        return raise_standing(it, finding, real);
    default:
        if (!worse && (real - it->said_ns < repeat_ns || it->severity == VIGIL_SEVERITY_INFO))
            return VG_TO_REFRESH;
        it->severity = worse ? finding->verdict.severity : it->severity;
        it->said_ns = real;
        it->acted = it->acted && !worse;
        return VG_TO_REPEAT;
    }
}

vg_standing *vg_verdict_over(vg_verdicts *all, uint64_t real, uint64_t repeat_ns)
{
    for (size_t i = 0; i < VG_STANDING; i++) {
        vg_standing *it = &all->of[i];
        if (it->seen || it->state == VG_STANDING_FREE)
            continue;
        it->seen = true; /* visited */
        if (it->state == VG_STANDING_CLEARED) {
            if (real - it->said_ns >= repeat_ns)
                it->state = VG_STANDING_FREE;
            continue;
        }
        if (it->state == VG_STANDING_SUSPECT) {
            all->suspicions++;
            it->state = VG_STANDING_FREE;
            continue;
        }
        if (++it->missed < MISSED_MOST)
            continue;
        it->state = VG_STANDING_CLEARED;
        it->said_ns = real;
        return it;
    }
    return NULL;
}

uint64_t vg_verdict_standing(const vg_verdicts *all)
{
    uint64_t count = 0;
    for (size_t i = 0; i < VG_STANDING; i++)
        count += all->of[i].state == VG_STANDING_RAISED;
    return count;
}

/* ---- names ---- */

const char *vigil_stall_name(vigil_stall stall)
{
    static const char *const names[VIGIL_STALLS] = {
        [VIGIL_STALL_NONE] = "none",
        [VIGIL_STALL_LOST_WAKEUP] = "lost wake-up",
        [VIGIL_STALL_ALL_BLOCKED] = "all workers blocked",
        [VIGIL_STALL_HOG] = "task hogs a worker",
        [VIGIL_STALL_WAIT_CYCLE] = "tasks wait in a cycle",
        [VIGIL_STALL_STARVED_CLASS] = "starved priority",
        [VIGIL_STALL_LOST_TASK] = "lost task",
        [VIGIL_STALL_GROWING_QUEUE] = "growing queue",
        [VIGIL_STALL_LOOP_BLOCKED] = "loop blocked by a callback",
        [VIGIL_STALL_NO_CPU] = "no CPU from the system",
        [VIGIL_STALL_FROZEN_WORKER] = "frozen worker",
        [VIGIL_STALL_DRIFT] = "drift",
        [VIGIL_STALL_LOOP_SPINS] = "loop spins",
        [VIGIL_STALL_THREAD_GONE] = "thread gone",
        [VIGIL_STALL_OLD_WAIT] = "old wait",
    };
    return (unsigned)stall < VIGIL_STALLS ? names[stall] : "?";
}

const char *vigil_severity_name(vigil_severity severity)
{
    static const char *const names[] = {"INFO", "WARNING", "ERROR", "CRITICAL"};
    return (unsigned)severity < sizeof names / sizeof names[0] ? names[severity] : "?";
}

const char *vigil_verdict_state_name(vigil_verdict_state state)
{
    static const char *const names[] = {"raised", "repeated", "cleared"};
    return (unsigned)state < sizeof names / sizeof names[0] ? names[state] : "?";
}

static void say_part(vg_words *to, const char *title, const char *text)
{
    if (text[0] == 0)
        return;
    vg_say(to, "  %s:", title);
    const char *end = strchr(text, '\n');
    if (end == NULL) {
        vg_say(to, " %s\n", text);
        return;
    }
    vg_say(to, "\n");
    while (*text != 0) { /* line by line, set in */
        end = strchr(text, '\n');
        const size_t length = end != NULL ? (size_t)(end - text) : strlen(text);
        vg_say(to, "    %.*s\n", (int)length, text);
        text += length + (end != NULL);
    }
}

int vigil_verdict_text(const vigil_verdict *verdict, char *text, size_t room)
{
    if (verdict == NULL || (text == NULL && room != 0))
        return verdict == NULL ? VG_WHY_NULL("verdict") : VG_WHY_NULL("text");
    char none[1];
    vg_words to = vg_words_into(room != 0 ? text : none, room);
    vg_say(&to, "%s: %s%s (no. %llu%s%s", vigil_severity_name(verdict->severity), vigil_stall_name(verdict->stall),
           verdict->state == VIGIL_VERDICT_CLEARED    ? " is over"
           : verdict->state == VIGIL_VERDICT_REPEATED ? " goes on"
                                                      : "",
           (unsigned long long)verdict->number, verdict->name[0] != 0 ? ", " : "", verdict->name);
    vg_say(&to, "), ");
    vg_say_time(&to, verdict->at_ns > verdict->since_ns ? verdict->at_ns - verdict->since_ns : 0);
    vg_say(&to, "\n");
    say_part(&to, "reason", verdict->reason);
    if (verdict->state != VIGIL_VERDICT_CLEARED) {
        say_part(&to, "evidence", verdict->evidence);
        say_part(&to, "stacks", verdict->stacks);
        say_part(&to, "advice", verdict->advice);
    }
    say_part(&to, "action", verdict->action);
    return (int)to.length;
}
