/* SPDX-License-Identifier: MIT */
/*
 * drift.c - has something become worse against this process's own recent past?
 *
 * Once a second (of the watchdog's clock) five numbers are taken of a pool: how long tasks wait (median and 99th percentile) and run
 * (median), how many end, how many attempts to steal succeed. Each is compared with the median of its last windows. Both sides of
 * the comparison are robust: the spread is the median distance from the median (MAD), so a few odd seconds neither raise an alarm
 * nor spoil the past; three windows in a row must be off, by six times the spread and by a factor, and by more than a
 * noise floor.
 *
 * What keeps it silent when nothing is wrong:
 *   idle          a window without enough samples is no window
 *   less to do    throughput is judged only in windows in which work was waiting all the time
 *   a busy machine  what the workers wait for a CPU is watched too: where that is much, latencies say nothing about the tasks; where
 *                 it has risen, or the process has got less CPU than usual, nothing is judged
 *   a new normal  after KEPT windows that are off the past is forgotten, and the finding with it
 */
#include "judge.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEPT = 30,  /* windows that are remembered */
    LEAST = 12, /* of these, before anything is said */
    STREAK = 3, /* windows in a row that are off, and shown */
    TAIL_STREAK = 8,
    SAMPLED = 4, /* workers whose CPU time is looked at */
};
#define WINDOW_NS     UINT64_C(1000000000)
#define QUEUEING_PART 0.3

typedef enum metric {
    WAIT,
    TAIL,
    RUN,
    THROUGHPUT,
    STEALS,
    METRICS
} metric;

typedef struct rule {
    bool fall;       /* less is worse */
    double factor;   /* at least so many times worse */
    double floor;    /* and by at least so much, in the metric's unit */
    uint64_t least;  /* samples in a window */
    unsigned streak; /* windows in a row that must be off */
} rule;

static const rule rules[METRICS] = {
    [WAIT] = {.factor = 3, .floor = 1e6, .least = 50, .streak = STREAK},                    /* ns */
    [TAIL] = {.factor = 5, .floor = 2e7, .least = 1000, .streak = TAIL_STREAK},             /* ns */
    [RUN] = {.factor = 3, .floor = 2e5, .least = 50, .streak = STREAK},                     /* ns */
    [THROUGHPUT] = {.fall = true, .factor = 2, .floor = 20, .least = 50, .streak = STREAK}, /* tasks a second */
    [STEALS] = {.fall = true, .factor = 2, .floor = 0.2, .least = 200, .streak = STREAK},   /* of 1 */
};

typedef struct series {
    double past[KEPT];
    unsigned count, next;
    double off[STREAK]; /* the last values that were off */
    unsigned streak;    /* how many in a row */
    double usual, spread;
    uint64_t since;
} series;

typedef struct vg_drift {
    uint64_t window; /* when it began; 0: none yet */
    bool loaded;     /* work was waiting at every look of it */
    uint64_t ended, tried, won;
    uint64_t delay_ns;    /* of the sampled workers */
    uint64_t window_real; /* when it began, on the real clock */
    vg_latencies latencies;
    vg_latencies before;
    bool timed; /* `before` is there */
    series of[METRICS];
    series delay; /* part of their time that the workers waited for a CPU */
    series share; /* of the CPUs that the process had */
} vg_drift;

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *values, unsigned count)
{
    double sorted[KEPT];
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_size);
    return count % 2 != 0 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static void describe(series *it)
{
    double away[KEPT];
    it->usual = median(it->past, it->count);
    for (unsigned i = 0; i < it->count; i++)
        away[i] = it->past[i] > it->usual ? it->past[i] - it->usual : it->usual - it->past[i];
    it->spread = 1.4826 * median(away, it->count); /* that of a normal distribution with this MAD */
}

static void remember(series *it, double value)
{
    it->past[it->next] = value;
    it->next = (it->next + 1) % KEPT;
    it->count += it->count < KEPT;
}

static bool is_off(const series *it, const rule *by, double value)
{
    const double distance = by->fall ? it->usual - value : value - it->usual;
    if (distance < by->floor || distance < 6 * it->spread)
        return false;
    return by->fall ? value * by->factor <= it->usual : value >= it->usual * by->factor;
}

/* One window's value. True: it has been off for long enough. */
static bool judge(series *it, const rule *by, double value, const vg_look *look)
{
    if (it->count < LEAST) {
        remember(it, value);
        return false;
    }
    if (it->streak == 0)
        describe(it); /* the past does not change while the present is off */
    if (!is_off(it, by, value)) {
        remember(it, value);
        it->streak = 0;
        return false;
    }
    if (it->streak == 0)
        it->since = look->now;
    it->off[it->streak % STREAK] = value;
    if (++it->streak > KEPT) { /* this is how it is now */
        it->count = 0;
        it->next = 0;
        it->streak = 0;
        return false;
    }
    return it->streak >= by->streak;
}

/* The value that `part` (0 to 1) of the difference of two histograms is below, in ns; *samples: how many there are. */
static double quantile(const uint64_t *now, const uint64_t *before, double part, double tick_ns, uint64_t *samples)
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

static void say_value(vg_words *to, metric which, double value)
{
    if (which == THROUGHPUT)
        vg_say(to, "%.0f a second", value);
    else if (which == STEALS)
        vg_say(to, "%.0f %%", 100 * value);
    else if (value < 1e6)
        vg_say(to, "%.0f us", value / 1e3);
    else if (value < 1e9)
        vg_say(to, "%.1f ms", value / 1e6);
    else
        vg_say(to, "%.2f s", value / 1e9);
}

static void tell(const series *it, metric which, const vg_pool_facts *facts, const vg_subject *subject,
                 const vg_look *look)
{
    static const char *const what[METRICS] = {
        [WAIT] = "tasks wait longer than they used to: the median is",
        [TAIL] = "some tasks wait longer than they used to: the 99th percentile is",
        [RUN] = "tasks run longer than they used to: the median is",
        [THROUGHPUT] = "less gets done than before, although work waits:",
        [STEALS] = "fewer attempts to steal succeed than before:",
    };
    static const char *const advice[METRICS] = {
        [WAIT] = "Compare what is submitted now with what was before: more tasks, longer ones, or bursts.",
        [TAIL] = "Look for long tasks that others queue behind, and for bursts.",
        [RUN] = "The tasks themselves have become slower: look at their data, at shared locks and at calls that wait.",
        [THROUGHPUT] =
            "If run times have risen too, the tasks have become slower; otherwise look for blocked or hogged workers.",
        [STEALS] = "Work comes in pieces too small or too few to share, or many workers look for it at once.",
    };
    const double value = it->off[(it->streak - 1) % STREAK];
    const bool fall = rules[which].fall;
    const bool bad = fall ? value * 5 <= it->usual : value >= it->usual * 10;
    vg_finding *finding = vg_find(look, VIGIL_STALL_DRIFT, bad ? VIGIL_SEVERITY_WARNING : VIGIL_SEVERITY_INFO, subject,
                                  facts->name, it->since);
    if (finding == NULL)
        return;
    finding->key = which + 1;
    vigil_verdict *verdict = &finding->verdict;
    vg_words reason = vg_words_into(verdict->reason, sizeof verdict->reason);
    vg_say(&reason, "In pool \"%s\" %s ", facts->name, what[which]);
    say_value(&reason, which, value);
    vg_say(&reason, ", it was ");
    say_value(&reason, which, it->usual);
    vg_say(&reason, ".");
    vg_words evidence = vg_words_into(verdict->evidence, sizeof verdict->evidence);
    vg_say(&evidence, "median of the %u seconds before: ", it->count);
    say_value(&evidence, which, it->usual);
    vg_say(&evidence, ", usual spread ");
    say_value(&evidence, which, it->spread);
    vg_say(&evidence, "\nthe last seconds:");
    for (unsigned i = STREAK; i-- > 0;) {
        vg_say(&evidence, i == STREAK - 1 ? " " : ", ");
        say_value(&evidence, which, it->off[(it->streak + STREAK - 1 - i) % STREAK]);
    }
    vg_say(&evidence, "\n");
    (void)snprintf(verdict->advice, sizeof verdict->advice, "%s", advice[which]);
}

/* How long some of the workers have waited for a CPU in all; returns how many were asked. */
static unsigned read_delay(const vg_pool_facts *facts, uint64_t *delay_ns)
{
    unsigned looked = 0;
    *delay_ns = 0;
    for (size_t i = 0; i < facts->count && looked < SAMPLED; i++) {
        vg_thread_look one;
        if (facts->worker[i].thread == 0 || facts->worker[i].spare)
            continue;
        vg_thread_look_at(facts->worker[i].thread, &one);
        looked++;
        *delay_ns += one.delay_ns;
    }
    return looked;
}

typedef enum crowd {
    ROOM,     /* enough CPU for everybody */
    QUEUEING, /* the workers wait for a CPU so often that latencies are those of the machine */
    CROWDED   /* and more than usual, or with less CPU for us than usual: this second says nothing about the tasks */
} crowd;

static crowd how_crowded(vg_drift *drift, const vg_pool_facts *facts, const vg_look *look)
{
    uint64_t delay = 0;
    const unsigned looked = read_delay(facts, &delay);
    const uint64_t delayed = delay - drift->delay_ns;
    const uint64_t span = look->real - drift->window_real;
    drift->delay_ns = delay;
    if (looked == 0 || span == 0 || (int64_t)delayed < 0)
        return ROOM;
    const double part = (double)delayed / ((double)span * looked);
    bool more = false;
    if (drift->delay.count >= LEAST) {
        describe(&drift->delay);
        describe(&drift->share);
        more = part > drift->delay.usual + 0.1 + 3 * drift->delay.spread ||
               (part > QUEUEING_PART && look->share < 0.85 * drift->share.usual);
    }
    remember(&drift->delay, part);
    remember(&drift->share, look->share);
    if (more)
        return CROWDED;
    return part > QUEUEING_PART ? QUEUEING : ROOM;
}

static void begin_window(vg_drift *drift, const vg_pool_facts *facts, const vg_look *look)
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
    if (drift->window != 0 && look->now - drift->window < WINDOW_NS) {
        for (unsigned m = 0; m < METRICS; m++) /* what was found stays found till the next window is judged */
            if (drift->of[m].streak >= rules[m].streak)
                tell(&drift->of[m], (metric)m, facts, subject, look);
        return;
    }
    /* an idle pool's histograms stay as they were */
    const bool timed = facts->all_ended == drift->ended && drift->timed
                           ? true
                           : subject->calls->latencies(subject->object, &drift->latencies);
    const crowd crowd_now = how_crowded(drift, facts, look);
    if (crowd_now != CROWDED && drift->window != 0) {
        const double seconds = (double)(look->now - drift->window) / 1e9;
        double value[METRICS] = {0};
        uint64_t samples[METRICS] = {0};
        if (timed && drift->timed && crowd_now == ROOM) {
            const vg_latencies *now = &drift->latencies;
            const vg_latencies *old = &drift->before;
            value[WAIT] = quantile(now->wait, old->wait, 0.5, now->tick_ns, &samples[WAIT]);
            value[TAIL] = quantile(now->wait, old->wait, 0.99, now->tick_ns, &samples[TAIL]);
            value[RUN] = quantile(now->run, old->run, 0.5, now->tick_ns, &samples[RUN]);
        }
        if (drift->loaded) {
            samples[THROUGHPUT] = facts->all_ended - drift->ended;
            value[THROUGHPUT] = (double)samples[THROUGHPUT] / seconds;
            /* a throughput that has broken down has few samples by its nature */
            if (drift->of[THROUGHPUT].count >= LEAST)
                samples[THROUGHPUT] = rules[THROUGHPUT].least;
        }
        samples[STEALS] = facts->steals_tried - drift->tried;
        if (samples[STEALS] != 0)
            value[STEALS] = (double)(facts->steals_won - drift->won) / (double)samples[STEALS];
        for (unsigned m = 0; m < METRICS; m++)
            if (samples[m] < rules[m].least)
                drift->of[m].streak = 0;
            else if (judge(&drift->of[m], &rules[m], value[m], look))
                tell(&drift->of[m], (metric)m, facts, subject, look);
    }
    drift->before = drift->latencies;
    drift->timed = timed;
    begin_window(drift, facts, look);
}
