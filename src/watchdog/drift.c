/* SPDX-License-Identifier: MIT */
/*
 * drift.c - has something become worse against this process's own recent past?
 *
 * Once a second (of the watchdog's clock) five numbers are taken of a pool: how long tasks wait (median and 99th
 * percentile) and run (median), how many end, how many attempts to steal succeed. Each is compared with the median of
 * its last windows. Both sides of the comparison are robust: the spread is the median distance from the median (MAD),
 * so a few odd seconds neither raise an alarm nor spoil the past; three windows in a row must be off, by six times the
 * spread and by a factor, and by more than a noise floor.
 *
 * What keeps it silent when nothing is wrong:
 *   idle          a window without enough samples is no window
 *   less to do    throughput is judged only in windows in which work was waiting all the time
 *   a busy machine  what the workers wait for a CPU is watched too: where that is much, latencies say nothing about the
 *                 tasks; where it has risen, or the process has got less CPU than usual, nothing is judged, and nothing
 *                 of it becomes usual: all that is compared has the same past
 *   a new normal  after KEPT windows that are off the past is forgotten, and the finding with it
 */
#include "drift.h"

#include <stdlib.h>
#include <string.h>

enum {
    DRIFT_WINDOWS = 30, /* windows that are remembered */
    DRIFT_LEAST = 12,   /* of these, before anything is said */
    DRIFT_STREAK = 3,   /* windows in a row that are off, and shown */
    DRIFT_TAIL_STREAK = 8,
    DRIFT_SAMPLED = 4, /* workers whose CPU time is looked at */
};
#define DRIFT_WINDOW_NS     UINT64_C(1000000000)
#define DRIFT_QUEUEING_PART 0.3

typedef enum drift_metric {
    DRIFT_WAIT,
    DRIFT_TAIL,
    DRIFT_RUN,
    DRIFT_THROUGHPUT,
    DRIFT_STEALS,
    DRIFT_METRICS
} drift_metric;

typedef struct drift_rule {
    bool fall;       /* less is worse */
    double factor;   /* at least so many times worse */
    double floor;    /* and by at least so much, in the metric's unit */
    uint64_t least;  /* samples in a window */
    unsigned streak; /* windows in a row that must be off */
} drift_rule;

static const drift_rule drift_rules[DRIFT_METRICS] = {
    [DRIFT_WAIT] = {.factor = 3, .floor = 1e6, .least = 50, .streak = DRIFT_STREAK},        /* ns */
    [DRIFT_TAIL] = {.factor = 5, .floor = 2e7, .least = 1000, .streak = DRIFT_TAIL_STREAK}, /* ns */
    [DRIFT_RUN] = {.factor = 3, .floor = 2e5, .least = 50, .streak = DRIFT_STREAK},         /* ns */
    [DRIFT_THROUGHPUT] =
        {.fall = true, .factor = 2, .floor = 20, .least = 50, .streak = DRIFT_STREAK}, /* tasks a second */
    [DRIFT_STEALS] = {.fall = true, .factor = 2, .floor = 0.2, .least = 200, .streak = DRIFT_STREAK}, /* of 1 */
};

typedef struct drift_series {
    double past[DRIFT_WINDOWS];
    unsigned count, next;
    double off[DRIFT_STREAK]; /* the last values that were off */
    unsigned streak;          /* how many in a row */
    double usual, spread;
    uint64_t since;
} drift_series;

typedef struct vg_drift {
    uint64_t window; /* when it began; 0: none yet */
    bool loaded;     /* work was waiting at every look of it */
    uint64_t ended, tried, won;
    uint64_t delay_ns;    /* of the sampled workers */
    uint64_t window_real; /* when it began, on the real clock */
    vg_latencies latencies;
    vg_latencies before;
    bool timed; /* `before` is there */
    drift_series of[DRIFT_METRICS];
    drift_series delay; /* part of their time that the workers waited for a CPU */
    drift_series share; /* of the CPUs that the process had */
    unsigned crowded;   /* windows in a row in which the machine was busier than usual */
} vg_drift;

static int by_double(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *values, unsigned count)
{
    double sorted[DRIFT_WINDOWS];
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_double);
    return count % 2 != 0 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static void describe_series(drift_series *it)
{
    double away[DRIFT_WINDOWS];
    it->usual = median(it->past, it->count);
    for (unsigned i = 0; i < it->count; i++)
        away[i] = it->past[i] > it->usual ? it->past[i] - it->usual : it->usual - it->past[i];
    it->spread = 1.4826 * median(away, it->count); /* that of a normal distribution with this MAD */
}

static void remember_window(drift_series *it, double value)
{
    it->past[it->next] = value;
    it->next = (it->next + 1) % DRIFT_WINDOWS;
    it->count += it->count < DRIFT_WINDOWS;
}

static bool is_off(const drift_series *it, const drift_rule *by, double value)
{
    const double distance = by->fall ? it->usual - value : value - it->usual;
    if (distance < by->floor || distance < 6 * it->spread)
        return false;
    return by->fall ? value * by->factor <= it->usual : value >= it->usual * by->factor;
}

/* One window's value. True: it has been off for long enough. */
static bool judge_window(drift_series *it, const drift_rule *by, double value, const vg_look *look)
{
    if (it->count < DRIFT_LEAST) {
        remember_window(it, value);
        return false;
    }
    if (it->streak == 0)
        describe_series(it); /* the past does not change while the present is off */
    if (!is_off(it, by, value)) {
        remember_window(it, value);
        it->streak = 0;
        return false;
    }
    if (it->streak == 0)
        it->since = look->now;
    it->off[it->streak % DRIFT_STREAK] = value;
    if (++it->streak > DRIFT_WINDOWS) { /* this is how it is now */
        it->count = 0;
        it->next = 0;
        it->streak = 0;
        return false;
    }
    return it->streak >= by->streak;
}

/* The value that `part` (0 to 1) of the difference of two histograms is below, in ns; *samples: how many there are. */
static double window_quantile(const uint64_t *now, const uint64_t *before, double part, double tick_ns,
                              uint64_t *samples)
{
    uint64_t all = 0;
    for (unsigned b = 0; b < VG_HIST_BUCKETS; b++)
        all += now[b] - before[b];
    *samples = all;
    const double wanted = part * (double)all;
    uint64_t seen = 0;
    for (unsigned b = 0; b < VG_HIST_BUCKETS; b++) {
        seen += now[b] - before[b];
        if ((double)seen >= wanted && seen != 0)
            return tick_ns * (double)(vg_hist_floor(b) + vg_hist_floor(b + 1)) / 2;
    }
    return 0;
}

static void say_metric(vg_words *to, drift_metric which, double value)
{
    if (which == DRIFT_THROUGHPUT)
        vg_say(to, "%.0f a second", value);
    else if (which == DRIFT_STEALS)
        vg_say(to, "%.0f %%", 100 * value);
    else if (value < 1e6)
        vg_say(to, "%.0f us", value / 1e3);
    else if (value < 1e9)
        vg_say(to, "%.1f ms", value / 1e6);
    else
        vg_say(to, "%.2f s", value / 1e9);
}

static void find_drift(const drift_series *it, drift_metric which, const vg_pool_facts *facts,
                       const vg_subject *subject, const vg_look *look)
{
    static const char *const what[DRIFT_METRICS] = {
        [DRIFT_WAIT] = "tasks wait longer than they used to: the median is",
        [DRIFT_TAIL] = "some tasks wait longer than they used to: the 99th percentile is",
        [DRIFT_RUN] = "tasks run longer than they used to: the median is",
        [DRIFT_THROUGHPUT] = "less gets done than before, although work waits:",
        [DRIFT_STEALS] = "fewer attempts to steal succeed than before:",
    };
    static const char *const advice[DRIFT_METRICS] = {
        [DRIFT_WAIT] = "Compare what is submitted now with what was before: more tasks, longer ones, or bursts.",
        [DRIFT_TAIL] = "Look for long tasks that others queue behind, and for bursts.",
        [DRIFT_RUN] =
            "The tasks themselves have become slower: look at their data, at shared locks and at calls that wait.",
        [DRIFT_THROUGHPUT] =
            "If run times have risen too, the tasks have become slower; otherwise look for blocked or hogged workers.",
        [DRIFT_STEALS] = "Work comes in pieces too small or too few to share, or many workers look for it at once.",
    };
    const double value = it->off[(it->streak - 1) % DRIFT_STREAK];
    const bool fall = drift_rules[which].fall;
    const bool bad = fall ? value * 5 <= it->usual : value >= it->usual * 10;
    vg_finding *finding = vg_find(look, VIGIL_STALL_DRIFT, bad ? VIGIL_SEVERITY_WARNING : VIGIL_SEVERITY_INFO, subject,
                                  facts->name, it->since);
    if (finding == NULL)
        return;
    finding->key = which + 1;
    vigil_verdict *verdict = &finding->verdict;
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    vg_say(&reason, "In pool \"%s\" %s ", facts->name, what[which]);
    say_metric(&reason, which, value);
    vg_say(&reason, ", it was ");
    say_metric(&reason, which, it->usual);
    vg_say(&reason, ".");
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    vg_say(&evidence, "median of the %u seconds before: ", it->count);
    say_metric(&evidence, which, it->usual);
    vg_say(&evidence, ", usual spread ");
    say_metric(&evidence, which, it->spread);
    vg_say(&evidence, "\nthe last seconds:");
    for (unsigned i = DRIFT_STREAK; i-- > 0;) {
        vg_say(&evidence, i == DRIFT_STREAK - 1 ? " " : ", ");
        say_metric(&evidence, which, it->off[(it->streak + DRIFT_STREAK - 1 - i) % DRIFT_STREAK]);
    }
    vg_say(&evidence, "\n");
    (void)snprintf(verdict->advice, sizeof verdict->advice, "%s", advice[which]);
}

/* How long some of the workers have waited for a CPU in all; returns how many were asked. *all_run: all of them could
   run now. */
static unsigned read_delay(const vg_pool_facts *facts, uint64_t *delay_ns, bool *all_run)
{
    unsigned looked = 0;
    *delay_ns = 0;
    *all_run = true;
    for (size_t i = 0; i < facts->count && looked < DRIFT_SAMPLED; i++) {
        vg_thread_look one;
        if (facts->worker[i].thread == 0 || facts->worker[i].spare)
            continue;
        vg_thread_look_at(facts->worker[i].thread, &one);
        looked++;
        *delay_ns += one.delay_ns;
        *all_run = *all_run && one.state == 'R';
    }
    return looked;
}

typedef enum drift_crowd {
    CROWD_NONE,     /* enough CPU for everybody */
    CROWD_QUEUEING, /* the workers wait for a CPU so often that latencies are those of the machine */
    CROWD_MORE /* and more than usual, or with less CPU for us than usual: this second says nothing about the tasks */
} drift_crowd;

static drift_crowd how_crowded(vg_drift *drift, const vg_pool_facts *facts, const vg_look *look)
{
    uint64_t delay = 0;
    bool all_run;
    const unsigned looked = read_delay(facts, &delay, &all_run);
    const uint64_t delayed = delay - drift->delay_ns;
    const uint64_t span = look->real - drift->window_real;
    drift->delay_ns = delay;
    if (looked == 0 || span == 0 || (int64_t)delayed < 0)
        return CROWD_NONE;
    const double part = (double)delayed / ((double)span * looked);
    bool more = false;
    if (drift->delay.count >= DRIFT_LEAST) {
        describe_series(&drift->delay);
        describe_series(&drift->share);
        /* The kernel adds a wait for a CPU when it is over: workers that could run, and less CPU than usual, say the
           same. */
        more = part > drift->delay.usual + 0.1 + 3 * drift->delay.spread ||
               ((part > DRIFT_QUEUEING_PART || all_run) && look->share < 0.85 * drift->share.usual);
    }
    if (more && ++drift->crowded <= DRIFT_WINDOWS)
        return CROWD_MORE;
    if (more) { /* this is how it is now: begin anew */
        drift->delay.count = drift->delay.next = 0;
        drift->share.count = drift->share.next = 0;
        for (unsigned m = 0; m < DRIFT_METRICS; m++)
            drift->of[m].count = drift->of[m].next = drift->of[m].streak = 0;
    }
    drift->crowded = 0;
    remember_window(&drift->delay, part);
    remember_window(&drift->share, look->share);
    return part > DRIFT_QUEUEING_PART ? CROWD_QUEUEING : CROWD_NONE;
}

static void begin_drift_window(vg_drift *drift, const vg_pool_facts *facts, const vg_look *look)
{
    drift->window = look->now;
    drift->window_real = look->real;
    drift->loaded = true;
    drift->ended = facts->all_ended;
    drift->tried = facts->steals_tried;
    drift->won = facts->steals_won;
}

void vg_judge_drift(vg_pool_history *history, const vg_subject *subject, const vg_look *look)
{
    const vg_pool_facts *facts = &history->facts;
    if (history->drift == NULL)
        history->drift = calloc(1, sizeof *history->drift);
    vg_drift *drift = history->drift;
    if (drift == NULL)
        return;
    drift->loaded = drift->loaded && facts->visible != 0;
    if (drift->window != 0 && look->now - drift->window < DRIFT_WINDOW_NS) {
        for (unsigned m = 0; m < DRIFT_METRICS; m++) /* a finding stands until the next window is judged */
            if (drift->of[m].streak >= drift_rules[m].streak)
                find_drift(&drift->of[m], (drift_metric)m, facts, subject, look);
        return;
    }
    /* an idle pool's histograms stay as they were */
    const bool timed = facts->all_ended == drift->ended && drift->timed
                           ? true
                           : subject->calls->latencies(subject->object, &drift->latencies);
    const drift_crowd crowd_now = how_crowded(drift, facts, look);
    if (crowd_now != CROWD_MORE && drift->window != 0) {
        const double seconds = (double)(look->now - drift->window) / 1e9;
        double value[DRIFT_METRICS] = {0};
        uint64_t samples[DRIFT_METRICS] = {0};
        if (timed && drift->timed && crowd_now == CROWD_NONE) {
            const vg_latencies *now = &drift->latencies;
            const vg_latencies *old = &drift->before;
            value[DRIFT_WAIT] = window_quantile(now->wait, old->wait, 0.5, now->tick_ns, &samples[DRIFT_WAIT]);
            value[DRIFT_TAIL] = window_quantile(now->wait, old->wait, 0.99, now->tick_ns, &samples[DRIFT_TAIL]);
            value[DRIFT_RUN] = window_quantile(now->run, old->run, 0.5, now->tick_ns, &samples[DRIFT_RUN]);
        }
        if (drift->loaded) {
            samples[DRIFT_THROUGHPUT] = facts->all_ended - drift->ended;
            value[DRIFT_THROUGHPUT] = (double)samples[DRIFT_THROUGHPUT] / seconds;
            /* a throughput that has broken down has few samples by its nature */
            if (drift->of[DRIFT_THROUGHPUT].count >= DRIFT_LEAST)
                samples[DRIFT_THROUGHPUT] = drift_rules[DRIFT_THROUGHPUT].least;
        }
        samples[DRIFT_STEALS] = facts->steals_tried - drift->tried;
        if (samples[DRIFT_STEALS] != 0)
            value[DRIFT_STEALS] = (double)(facts->steals_won - drift->won) / (double)samples[DRIFT_STEALS];
        for (unsigned m = 0; m < DRIFT_METRICS; m++)
            if (samples[m] < drift_rules[m].least)
                drift->of[m].streak = 0;
            else if (judge_window(&drift->of[m], &drift_rules[m], value[m], look))
                find_drift(&drift->of[m], (drift_metric)m, facts, subject, look);
    }
    for (unsigned m = 0; crowd_now == CROWD_MORE && m < DRIFT_METRICS; m++)
        if (drift->of[m].streak < drift_rules[m].streak)
            drift->of[m].streak = 0; /* windows in a row: what stands already is not cleared by a crowd */
    drift->before = drift->latencies;
    drift->timed = timed;
    begin_drift_window(drift, facts, look);
}
