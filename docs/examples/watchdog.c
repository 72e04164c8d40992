/* SPDX-License-Identifier: MIT */
/* Examples of vigil/watchdog.h, one for each function. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <vigil/pool.h>
#include <vigil/watchdog.h>

/* vigil_watchdog_start: watch all pools and loops of the process */
static void on_verdict(void *user, const vigil_verdict *verdict)
{
    (void)user;
    fprintf(stderr, "%s: %s\n", verdict->name, verdict->reason);
}

static int watch_everything(void)
{
    vigil_watchdog_options options = VIGIL_WATCHDOG_OPTIONS_INIT;
    options.on_verdict = on_verdict;
    options.least = VIGIL_SEVERITY_WARNING;
    options.recover = VIGIL_RECOVER_REWAKE | VIGIL_RECOVER_SPARE;
    return vigil_watchdog_start(&options);
}

/* vigil_watchdog_stop: stop the watchdog */
static void stop_watching(void)
{
    int rc = vigil_watchdog_stop();
    assert(rc == 0);
    assert(vigil_watchdog_stop() == -ENOENT); /* it does not run */
}

/* vigil_watchdog_verdicts: get the last verdicts */
static void print_verdicts(void)
{
    vigil_verdict last[4] = {VIGIL_VERDICT_INIT, VIGIL_VERDICT_INIT,
                             VIGIL_VERDICT_INIT, VIGIL_VERDICT_INIT};
    int count = vigil_watchdog_verdicts(last, 4);
    for (int i = 0; i < count; i++)
        printf("%s\n", last[i].reason);
}

/* vigil_watchdog_stats_get: count looks, verdicts and recoveries */
static void count_looks(void)
{
    vigil_watchdog_stats stats = VIGIL_WATCHDOG_STATS_INIT;
    if (vigil_watchdog_stats_get(&stats) == 0)
        printf("%llu verdicts stand\n",
               (unsigned long long)stats.standing);
}

/* vigil_stall_name: get the name of a class of stalls */
static void name_of_a_stall(void)
{
    const char *name = vigil_stall_name(VIGIL_STALL_LOST_WAKEUP);
    assert(strcmp(name, "lost wake-up") == 0);
}

/* vigil_severity_name: get the name of a severity */
static void name_of_a_severity(void)
{
    const char *name = vigil_severity_name(VIGIL_SEVERITY_WARNING);
    assert(strcmp(name, "WARNING") == 0);
}

/* vigil_verdict_state_name: get the name of a verdict's state */
static void name_of_a_state(void)
{
    const char *name = vigil_verdict_state_name(VIGIL_VERDICT_CLEARED);
    assert(strcmp(name, "cleared") == 0);
}

/* vigil_verdict_text: write a whole verdict as text */
static void print_whole_verdict(void *user,
                                const vigil_verdict *verdict)
{
    char text[6000];
    (void)user;
    vigil_verdict_text(verdict, text, sizeof text);
    fputs(text, stderr);
}

/* ---- all of them ---- */

int main(void)
{
    vigil_pool *pool;
    vigil_verdict made_up = {.size = sizeof made_up,
                             .stall = VIGIL_STALL_HOG,
                             .name = "game",
                             .reason = "One task keeps worker 0."};
    if (watch_everything() < 0 || vigil_pool_create(&pool, NULL) < 0)
        return 1;
    print_verdicts();
    count_looks();
    name_of_a_stall();
    name_of_a_severity();
    name_of_a_state();
    print_whole_verdict(NULL, &made_up);
    vigil_pool_destroy(pool);
    stop_watching();
    return 0;
}
