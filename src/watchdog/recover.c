/* SPDX-License-Identifier: MIT */
/*
 * recover.c - the few things that may be done about a stall, if the user has allowed them. Each is written into the
 * verdict's action, whether it worked or not. No thread is ever killed, and nothing is done twice about the same
 * verdict unless it had no effect.
 */
#include "recover.h"

#include "record/subject.h"
#include "verdict_file.h"

#include <string.h>

/* One act: into the verdict, and into the record. */
static void note_act(vg_words *to, const vg_finding *finding, uint32_t kind, int worker, int result, const char *text)
{
    vg_say(to, "%s%s%s. ", text, result < 0 ? ", but: " : "", result < 0 ? vigil_strerror(result) : "");
    vg_verdict_file_act(kind, result, finding->verdict.number, finding->serial, worker, text);
}

static unsigned recover_rewake(vg_finding *finding, vg_words *said)
{
    if (finding->rewake < 0 && !finding->rewake_loop)
        return 0;
    vg_subject *subject = vg_subject_hold(finding->serial);
    if (subject != NULL) {
        int error = subject->calls->rewake(subject->object, finding->rewake < 0 ? 0 : (unsigned)finding->rewake);
        char text[64];
        (void)snprintf(text, sizeof text, finding->rewake_loop ? "Woke the loop again" : "Woke worker %d",
                       finding->rewake);
        note_act(said, finding, VIGIL_RECOVER_REWAKE, finding->rewake, error, text);
    }
    vg_subject_let_go();
    return subject != NULL;
}

static unsigned recover_lend(const vigil_watchdog_options *options, vg_finding *finding, vg_standing *standing,
                             vg_words *said)
{
    if (!finding->lend || standing->lent >= options->max_spares)
        return 0;
    vg_subject *subject = vg_subject_hold(finding->serial);
    if (subject != NULL) {
        int error = subject->calls->lend(subject->object);
        if (error == 0)
            standing->lent++;
        char text[64];
        (void)snprintf(text, sizeof text, "Let a spare worker stand in, %u of at most %u", standing->lent,
                       options->max_spares);
        note_act(said, finding, VIGIL_RECOVER_SPARE, finding->verdict.worker, error, text);
    }
    vg_subject_let_go();
    return subject != NULL;
}

static unsigned recover_reject(vg_finding *finding, vg_words *said)
{
    if (finding->reject_wait == 0)
        return 0;
    vg_subject *subject = vg_subject_hold(finding->reject_serial);
    if (subject != NULL) {
        int error = subject->calls->reject(subject->object, finding->reject_worker, finding->reject_wait);
        char text[80];
        (void)snprintf(text, sizeof text, "Ended the youngest wait, on worker %u, with -EDEADLK",
                       finding->reject_worker);
        note_act(said, finding, VIGIL_RECOVER_REJECT, (int)finding->reject_worker, error, text);
    }
    vg_subject_let_go();
    return subject != NULL;
}

unsigned vg_recover(const vigil_watchdog_options *options, vg_finding *finding, vg_standing *standing)
{
    unsigned acts = 0;
    vigil_verdict *verdict = &finding->verdict;
    vg_words said = vg_words_into(verdict->action, sizeof verdict->action);
    if (options->recover == 0 || standing->acted)
        return 0;
    if ((options->recover & VIGIL_RECOVER_REWAKE) != 0)
        acts += recover_rewake(finding, &said);
    if ((options->recover & VIGIL_RECOVER_SPARE) != 0)
        acts += recover_lend(options, finding, standing, &said);
    if ((options->recover & VIGIL_RECOVER_REJECT) != 0)
        acts += recover_reject(finding, &said);
    if ((options->recover & VIGIL_RECOVER_CALL) != 0 && options->on_recover != NULL) {
        const int result = options->on_recover(options->user, verdict);
        char text[80];
        (void)snprintf(text, sizeof text, "The program's own recovery was called and returned %d", result);
        note_act(&said, finding, VIGIL_RECOVER_CALL, verdict->worker, result < 0 ? result : 0, text);
        acts++;
    }
    /* A worker or loop is woken again as long as that does not help; the rest is done once. */
    standing->acted = acts != 0 && finding->rewake < 0 && !finding->rewake_loop;
    return acts;
}

void vg_recover_again(const vigil_watchdog_options *options, const vg_finding *finding, const vg_standing *standing)
{
    /* A wait for another pool's job sleeps on that job's word, which is not ours to change: it may have looked for its
       rejection just before we wrote it, and have fallen asleep just after we woke it. */
    if ((options->recover & VIGIL_RECOVER_REJECT) == 0 || standing->state != VG_STANDING_RAISED ||
        finding->reject_wait == 0)
        return;
    vg_subject *subject = vg_subject_hold(finding->reject_serial);
    if (subject != NULL)
        (void)subject->calls->reject(subject->object, finding->reject_worker, finding->reject_wait);
    vg_subject_let_go();
}

void vg_recover_end(vg_standing *standing)
{
    if (standing->lent == 0)
        return;
    vg_subject *subject = vg_subject_hold(standing->serial);
    for (; standing->lent != 0; standing->lent--)
        if (subject != NULL) {
            subject->calls->take_back(subject->object);
            vg_verdict_file_act(VIGIL_RECOVER_SPARE, 0, standing->number, standing->serial, -1,
                                "The worker is back, so a spare may rest again");
        }
    vg_subject_let_go();
}
