/* SPDX-License-Identifier: MIT */
/*
 * bots: a game server in miniature, on one pool.
 *
 * Two thousand bots live on a small map. Twenty times a second the server asks each of them for its turn, in the class of
 * its role: fighters CRITICAL, movers HIGH, thinkers NORMAL, planners LOW, savers IDLE. Every two seconds there is a raid:
 * three network threads report hits (CRITICAL) all at once, and the whole map wants new paths (LOW). A pool that keeps
 * its word answers the hits at once while the paths pile up, forgets nobody, and is silent when the game is over.
 *
 * The view is one plain line per half second: how many tasks wait, and how long the unlucky ones (p99) waited since the
 * line before, for each class. At the end the program compares what it handed over with what ran, and fails if they differ.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <vigil/pool.h>
#include <vigil/version.h>

enum {
    WORKERS = 33,
    BOTS = 2000,
    TICKS_PER_SECOND = 20,
    TICKS_PER_LINE = 10,
    TICKS_PER_RAID = 40,
    NETWORK_THREADS = 3,
    HITS_PER_THREAD = 500,
    PATHS_PER_RAID = 12000,
    SIDE = 64, /* of the map */
    CELLS = SIDE * SIDE
};

static const char *const class_name[VIGIL_PRIORITIES] = {"CRITICAL", "HIGH", "NORMAL", "LOW", "IDLE"};
static const char *const class_role[VIGIL_PRIORITIES] = {"answers a hit", "moves", "thinks", "plans a path", "saves"};
static const char *const class_colour[VIGIL_PRIORITIES] = {"\033[31m", "\033[33m", "\033[32m", "\033[36m", "\033[90m"};

/* ---- time and latencies ------------------------------------------------------------------------------------------ */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
    struct timespec until = {(time_t)(ns / 1000000000U), (long)(ns % 1000000000U)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

/* Eight steps for each doubling: a value read back is at most an eighth too large. */
enum {
    STEPS = 8,
    BUCKETS = 64 * STEPS
};

struct waits {
    _Atomic uint64_t bucket[BUCKETS];
    _Atomic uint64_t ran;
};

static unsigned bucket_of(uint64_t ns)
{
    if (ns < STEPS)
        return (unsigned)ns;
    unsigned top = 63U - (unsigned)__builtin_clzll(ns);
    return (top - 2) * STEPS + (unsigned)((ns >> (top - 3)) & (STEPS - 1));
}

static uint64_t bucket_end(unsigned bucket)
{
    if (bucket < STEPS)
        return bucket;
    unsigned top = bucket / STEPS + 2;
    return (uint64_t)(STEPS + bucket % STEPS + 1) << (top - 3);
}

/* The wait that `share` of the tasks in counts[] did not exceed; 0 if there are none. */
static uint64_t quantile(const uint64_t counts[BUCKETS], double share)
{
    uint64_t total = 0, seen = 0;
    for (unsigned i = 0; i < BUCKETS; i++)
        total += counts[i];
    for (unsigned i = 0; i < BUCKETS; i++) {
        seen += counts[i];
        if (total > 0 && (double)seen >= share * (double)total)
            return bucket_end(i);
    }
    return 0;
}

/* "812us", in at most five characters. */
static const char *in_words(uint64_t ns, char text[16])
{
    if (ns == 0)
        snprintf(text, 16, "-");
    else if (ns < 10000)
        snprintf(text, 16, "%.1fus", (double)ns / 1e3);
    else if (ns < 1000000)
        snprintf(text, 16, "%" PRIu64 "us", ns / 1000);
    else if (ns < 10000000)
        snprintf(text, 16, "%.1fms", (double)ns / 1e6);
    else if (ns < 1000000000)
        snprintf(text, 16, "%" PRIu64 "ms", ns / 1000000);
    else
        snprintf(text, 16, "%.1fs", (double)ns / 1e9);
    return text;
}

/* ---- the world --------------------------------------------------------------------------------------------------- */

struct order; /* a piece of work for a bot */

struct world {
    vigil_pool *pool;
    bool wall[CELLS];                     /* fixed before the first task */
    struct waits waits[VIGIL_PRIORITIES]; /* written by the workers */
    uint64_t accepted[VIGIL_PRIORITIES];  /* by the main thread */
    uint64_t late[VIGIL_PRIORITIES];      /* turns skipped because the bot was still at its last one */
    _Atomic uint64_t accepted_hits, refused;
    struct order *turns, *hits, *paths;
};

static struct world world;

struct order {
    vigil_task task;
    uint64_t given_at;
    vigil_priority class;
    uint32_t random;
    unsigned place, goal, steps;
    _Atomic bool busy; /* set by who submits, cleared as the last act of run: only then may it be submitted again */
};

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Breadth first from place to goal; the number of steps, 0 if there is no way. */
static unsigned plan(unsigned place, unsigned goal)
{
    uint16_t distance[CELLS] = {0}, queue[CELLS];
    unsigned head = 0, tail = 0;
    distance[place] = 1;
    queue[tail++] = (uint16_t)place;
    while (head < tail) {
        unsigned at = queue[head++];
        if (at == goal)
            return distance[at] - 1U;
        const unsigned next[4] = {at - 1, at + 1, at - SIDE, at + SIDE}; /* the map's border is wall */
        for (int i = 0; i < 4; i++)
            if (!world.wall[next[i]] && distance[next[i]] == 0) {
                distance[next[i]] = (uint16_t)(distance[at] + 1);
                queue[tail++] = (uint16_t)next[i];
            }
    }
    return 0;
}

static unsigned free_cell(uint32_t *random)
{
    unsigned cell;
    do
        cell = next_random(random) % CELLS;
    while (world.wall[cell]);
    return cell;
}

static void act(struct order *bot)
{
    uint32_t mixed = bot->random;
    switch (bot->class) {
    case VIGIL_CRITICAL: /* dodge: the nearest free cell */
    case VIGIL_HIGH: {
        static const int way[4] = {-1, 1, -SIDE, SIDE};
        unsigned next = (unsigned)((int)bot->place + way[next_random(&bot->random) % 4]);
        if (!world.wall[next])
            bot->place = next;
        break;
    }
    case VIGIL_NORMAL: /* weigh a few hundred moves */
        for (int i = 0; i < 600; i++)
            mixed ^= next_random(&bot->random) * 2654435761U;
        bot->goal = world.wall[mixed % CELLS] ? bot->goal : mixed % CELLS;
        break;
    case VIGIL_LOW:
        bot->steps = plan(bot->place, bot->goal);
        bot->goal = free_cell(&bot->random);
        break;
    case VIGIL_IDLE: /* a checksum of the whole map, as if it were written to disk */
        for (unsigned i = 0; i < CELLS; i++)
            mixed = (mixed ^ world.wall[i]) * 16777619U;
        bot->steps = mixed;
        break;
    }
}

static int turn(vigil_task *task)
{
    struct order *bot = (struct order *)task;
    struct waits *waits = &world.waits[bot->class];
    atomic_fetch_add_explicit(&waits->bucket[bucket_of(now_ns() - bot->given_at)], 1, memory_order_relaxed);
    act(bot);
    atomic_fetch_add_explicit(&waits->ran, 1, memory_order_relaxed);
    /* Release: a thread that sees the bot idle sees its fields; pairs with the acquire in make_ready. */
    atomic_store_explicit(&bot->busy, false, memory_order_release);
    return 0;
}

/* ---- handing over ------------------------------------------------------------------------------------------------ */

static bool make_ready(struct order *bot, uint64_t now)
{
    /* Acquire: see turn(). Only one thread hands over this bot, so nobody sets it in between. */
    if (atomic_load_explicit(&bot->busy, memory_order_acquire))
        return false;
    atomic_store_explicit(&bot->busy, true, memory_order_relaxed);
    bot->given_at = now;
    return true;
}

/* Submits those of the orders that are not still at work, in batches of one class. */
static void hand_over(struct order *orders, unsigned count)
{
    uint64_t now = now_ns();
    vigil_task *batch[256];
    size_t filled = 0;
    for (unsigned i = 0; i < count; i++) {
        struct order *bot = &orders[i];
        if (make_ready(bot, now))
            batch[filled++] = &bot->task;
        else
            world.late[bot->class]++;
        bool last_of_class = i + 1 == count || orders[i + 1].class != bot->class;
        if (filled == 256 || (last_of_class && filled > 0)) {
            if (vigil_pool_submit_batch(world.pool, batch, filled, bot->class) == 0)
                world.accepted[bot->class] += filled;
            else
                atomic_fetch_add_explicit(&world.refused, filled, memory_order_relaxed);
            filled = 0;
        }
    }
}

/* One network thread: its hits arrive one by one, as fast as it can read them. */
static void *report_hits(void *first)
{
    struct order *hits = first;
    for (unsigned i = 0; i < HITS_PER_THREAD; i++) {
        if (!make_ready(&hits[i], now_ns()))
            continue; /* the last raid's hit is not answered yet */
        if (vigil_pool_submit(world.pool, &hits[i].task, VIGIL_CRITICAL) == 0)
            atomic_fetch_add_explicit(&world.accepted_hits, 1, memory_order_relaxed);
        else
            atomic_fetch_add_explicit(&world.refused, 1, memory_order_relaxed);
    }
    return NULL;
}

static void raid(void)
{
    hand_over(world.paths, PATHS_PER_RAID);
    pthread_t network[NETWORK_THREADS];
    bool started[NETWORK_THREADS];
    for (int i = 0; i < NETWORK_THREADS; i++)
        started[i] = pthread_create(&network[i], NULL, report_hits, world.hits + i * HITS_PER_THREAD) == 0;
    for (int i = 0; i < NETWORK_THREADS; i++)
        if (started[i])
            pthread_join(network[i], NULL);
}

/* ---- building it ------------------------------------------------------------------------------------------------- */

static struct order *new_orders(unsigned count, uint32_t *random)
{
    struct order *orders = calloc(count, sizeof *orders);
    if (orders == NULL)
        return NULL;
    for (unsigned i = 0; i < count; i++) {
        vigil_task_init(&orders[i].task, turn, NULL);
        orders[i].random = next_random(random) | 1U;
        orders[i].place = free_cell(random);
        orders[i].goal = free_cell(random);
    }
    return orders;
}

static bool build_world(void)
{
    static const unsigned share[VIGIL_PRIORITIES] = {5, 25, 40, 25, 5}; /* percent of the bots in each role */
    uint32_t random = 2463534242U;
    for (unsigned i = 0; i < CELLS; i++) {
        unsigned x = i % SIDE, y = i / SIDE;
        world.wall[i] = x == 0 || y == 0 || x == SIDE - 1 || y == SIDE - 1 || next_random(&random) % 4 == 0;
    }
    world.turns = new_orders(BOTS, &random);
    world.hits = new_orders(NETWORK_THREADS * HITS_PER_THREAD, &random);
    world.paths = new_orders(PATHS_PER_RAID, &random);
    if (world.turns == NULL || world.hits == NULL || world.paths == NULL)
        return false;
    unsigned bot = 0, upto = 0;
    for (int role = 0; role < VIGIL_PRIORITIES; role++)
        for (upto += BOTS * share[role] / 100; bot < upto; bot++)
            world.turns[bot].class = (vigil_priority)role;
    for (unsigned i = 0; i < PATHS_PER_RAID; i++)
        world.paths[i].class = VIGIL_LOW; /* hits are VIGIL_CRITICAL, which is 0 */
    return true;
}

/* ---- showing it -------------------------------------------------------------------------------------------------- */

static bool colours;

static const char *colour(const char *code)
{
    return colours ? code : "";
}

static void show_heading(void)
{
    printf("For each class: how many wait now, and the p99 of the waits that ended since the line before.\n\n%s",
           colour("\033[1m"));
    printf("  sec tasks/s parked");
    for (int i = 0; i < VIGIL_PRIORITIES; i++)
        printf(" %11s", class_name[i]);
    printf("%s\n", colour("\033[0m"));
}

/* One line: what waits now, and what happened since the last line. */
static void show_line(uint64_t since_start_ns, uint64_t since_line_ns, bool raided)
{
    static uint64_t seen[VIGIL_PRIORITIES][BUCKETS];
    static uint64_t seen_ran;
    vigil_pool_stats stats = VIGIL_POOL_STATS_INIT;
    if (vigil_pool_stats_get(world.pool, &stats) < 0)
        return;

    uint64_t ran = 0;
    for (int i = 0; i < VIGIL_PRIORITIES; i++)
        ran += atomic_load_explicit(&world.waits[i].ran, memory_order_relaxed);
    printf("%5.1f %7.0f %6u", (double)since_start_ns / 1e9, (double)(ran - seen_ran) * 1e9 / (double)since_line_ns,
           stats.parked);
    seen_ran = ran;

    for (int i = 0; i < VIGIL_PRIORITIES; i++) {
        uint64_t fresh[BUCKETS];
        for (unsigned b = 0; b < BUCKETS; b++) {
            uint64_t count = atomic_load_explicit(&world.waits[i].bucket[b], memory_order_relaxed);
            fresh[b] = count - seen[i][b];
            seen[i][b] = count;
        }
        char text[16];
        printf(" %s%5" PRIu64 " %5s%s", colour(class_colour[i]), stats.by_class[i].queued,
               in_words(quantile(fresh, 0.99), text), colour("\033[0m"));
    }
    printf("%s\n", raided ? " raid" : "");
    fflush(stdout);
}

/* The table at the end. Returns whether every accepted task ran. */
static bool show_summary(void)
{
    bool whole = true;
    printf("\n%s%-9s %-13s %9s %9s %6s %7s %7s %7s%s\n", colour("\033[1m"), "class", "the bot", "accepted", "ran",
           "late", "p50", "p99", "longest", colour("\033[0m"));
    for (int i = 0; i < VIGIL_PRIORITIES; i++) {
        uint64_t counts[BUCKETS];
        for (unsigned b = 0; b < BUCKETS; b++)
            counts[b] = atomic_load_explicit(&world.waits[i].bucket[b], memory_order_relaxed);
        uint64_t accepted = world.accepted[i];
        if (i == VIGIL_CRITICAL)
            accepted += atomic_load_explicit(&world.accepted_hits, memory_order_relaxed);
        uint64_t ran = atomic_load_explicit(&world.waits[i].ran, memory_order_relaxed);
        whole = whole && accepted == ran;
        char p50[16], p99[16], longest[16];
        printf("%s%-9s%s %-13s %9" PRIu64 " %9" PRIu64 " %6" PRIu64 " %7s %7s %7s\n", colour(class_colour[i]),
               class_name[i], colour("\033[0m"), class_role[i], accepted, ran, world.late[i],
               in_words(quantile(counts, 0.5), p50), in_words(quantile(counts, 0.99), p99),
               in_words(quantile(counts, 1.0), longest));
    }
    return whole;
}

/* The game is over, the pool is still there: what does it cost? The last worker may still look around for its spin time,
   so give it a moment first. */
static void show_silence(void)
{
    struct rusage before, after;
    vigil_pool_stats stats = VIGIL_POOL_STATS_INIT;
    sleep_until(now_ns() + 20000000U);
    getrusage(RUSAGE_SELF, &before);
    sleep_until(now_ns() + 1000000000U);
    getrusage(RUSAGE_SELF, &after);
    vigil_pool_stats_get(world.pool, &stats);
    long switches = after.ru_nvcsw - before.ru_nvcsw - 1; /* one is this thread's own sleep */
    printf("idle for 1 s: %u of %u workers parked, %ld wake-ups\n", stats.parked, stats.workers,
           switches > 0 ? switches : 0);
}

/* ---- main -------------------------------------------------------------------------------------------------------- */

static int run(unsigned seconds)
{
    uint64_t start = now_ns(), last_line = start;
    unsigned ticks = seconds * TICKS_PER_SECOND;
    bool raided = false;
    show_heading();
    for (unsigned tick = 1; tick <= ticks; tick++) {
        hand_over(world.turns, BOTS);
        if (tick % TICKS_PER_RAID == TICKS_PER_RAID / 2) {
            raid();
            raided = true;
        }
        sleep_until(start + (uint64_t)tick * 1000000000U / TICKS_PER_SECOND);
        if (tick % TICKS_PER_LINE == 0) {
            uint64_t now = now_ns();
            show_line(now - start, now - last_line, raided);
            last_line = now;
            raided = false;
        }
    }
    int error = vigil_pool_wait_idle(world.pool, VIGIL_FOREVER);
    if (error < 0) {
        fprintf(stderr, "bots: waiting for the last tasks: %s\n", vigil_strerror(error));
        return 1;
    }

    bool whole = show_summary();
    vigil_audit audit = VIGIL_AUDIT_INIT;
    error = vigil_pool_audit(world.pool, &audit);
    printf("\naudit: %s\n", audit.text);
    show_silence();
    printf("%s\n", whole && error == 0 ? "every accepted task ran, none is left" : "TASKS WERE LOST OR RAN TWICE");
    return whole && error == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    unsigned seconds = 10;
    if (argc == 3 && strcmp(argv[1], "--seconds") == 0 && atoi(argv[2]) > 0 && atoi(argv[2]) <= 3600) {
        seconds = (unsigned)atoi(argv[2]);
    } else if (argc != 1) {
        fprintf(stderr, "usage: bots [--seconds 1..3600]\n");
        return 2;
    }
    colours = isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL;

    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.name = "bots";
    options.workers = WORKERS;
    int error = build_world() ? vigil_pool_create(&world.pool, &options) : -ENOMEM;
    if (error < 0) {
        fprintf(stderr, "bots: the game does not start: %s\n", vigil_strerror(error));
        return 1;
    }
    printf("vigil %s: %d bots on %d workers and %u CPUs, %d turns a second, a raid every %d s, for %u s.\n",
           vigil_version_string(), BOTS, WORKERS, vigil_cpu_count(), TICKS_PER_SECOND,
           TICKS_PER_RAID / TICKS_PER_SECOND, seconds);
    int status = run(seconds);
    vigil_pool_destroy(world.pool);
    free(world.turns);
    free(world.hits);
    free(world.paths);
    return status;
}
