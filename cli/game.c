/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "game.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <vigil/record.h>
#include <vigil/watchdog.h>

#include "faults.h"
#include "kinds.h"
#include "say.h"

enum {
    BOTS = 1000,
    TURNS_PER_SECOND = 20,
    HITS = 600,
    PATHS = 6000,
    SIDE = 48, /* of the map */
    CELLS = SIDE * SIDE,
    TURN_NS = 1000000000 / TURNS_PER_SECOND,
    SECOND_NS = 1000000000
};

static const char *const class_role[VIGIL_PRIORITIES] = {"answers a hit", "moves", "thinks", "plans a path", "saves"};

struct bot {
    vigil_task task;
    vigil_priority class;
    uint32_t random;
    unsigned place, goal, steps;
    _Atomic bool busy; /* set by the loop when it submits, cleared as the last act of the task */
};

static struct {
    struct game game;
    bool wall[CELLS];
    struct bot *bots, *hits, *paths;
    uint64_t accepted[VIGIL_PRIORITIES], refused, late; /* by the loop alone */
    _Atomic uint64_t ran[VIGIL_PRIORITIES];
    int chat[2]; /* the workers' end, the loop's end */
    uint64_t chat_lines, turns, raids, weather;
    bool quiet;  /* no turns now */
    int stands;  /* looks in a row at which nothing moved */
    bool broken; /* the fault is in: no more raids, which could mend it by chance */
} world;

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* ---- what bots do, on the workers -------------------------------------------------------------------------------- */

static int done(struct bot *bot)
{
    atomic_fetch_add_explicit(&world.ran[bot->class], 1, memory_order_relaxed);
    /* release: the loop's acquire in hand_over sees everything that this turn wrote into the bot */
    atomic_store_explicit(&bot->busy, false, memory_order_release);
    return 0;
}

static int bot_moves(vigil_task *task)
{
    static const int way[4] = {-1, 1, -SIDE, SIDE};
    struct bot *bot = (struct bot *)task;
    unsigned next = (unsigned)((int)bot->place + way[next_random(&bot->random) % 4]);
    if (!world.wall[next])
        bot->place = next;
    if (next_random(&bot->random) % 200 == 0 && send(world.chat[0], "hi", 2, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return done(bot); /* nobody reads that fast; it was only chat */
    return done(bot);
}

static int bot_answers_a_hit(vigil_task *task)
{
    return bot_moves(task);
}

static int bot_thinks(vigil_task *task)
{
    struct bot *bot = (struct bot *)task;
    uint32_t mixed = bot->random;
    for (int i = 0; i < 6000; i++)
        mixed ^= next_random(&bot->random) * 2654435761U;
    bot->goal = world.wall[mixed % CELLS] ? bot->goal : mixed % CELLS;
    return done(bot);
}

/* Breadth first from place to goal. */
static int bot_plans_a_path(vigil_task *task)
{
    struct bot *bot = (struct bot *)task;
    uint16_t distance[CELLS] = {0}, queue[CELLS];
    unsigned head = 0, tail = 0;
    distance[bot->place] = 1;
    queue[tail++] = (uint16_t)bot->place;
    while (head < tail && queue[head] != bot->goal) {
        unsigned at = queue[head++];
        const unsigned next[4] = {at - 1, at + 1, at - SIDE, at + SIDE}; /* the map's border is wall */
        for (int i = 0; i < 4; i++)
            if (!world.wall[next[i]] && distance[next[i]] == 0) {
                distance[next[i]] = (uint16_t)(distance[at] + 1);
                queue[tail++] = (uint16_t)next[i];
            }
    }
    bot->steps = distance[bot->goal];
    return done(bot);
}

/* Waits for a slow disk, and says so. */
static int bot_saves(vigil_task *task)
{
    struct bot *bot = (struct bot *)task;
    struct timespec disk = {0, 1000000 + next_random(&bot->random) % 4000000};
    vigil_blocking_begin();
    clock_nanosleep(CLOCK_MONOTONIC, 0, &disk, NULL);
    vigil_blocking_end();
    return done(bot);
}

/* A battle is fought in halves. */
struct battle {
    unsigned from, to;
    uint32_t result;
};

static int battle_rages(void *arg)
{
    struct battle *battle = arg;
    if (battle->to - battle->from <= 16) {
        uint32_t random = battle->from + 1;
        for (int i = 0; i < 2000; i++)
            next_random(&random);
        battle->result = random;
        return 0;
    }
    unsigned middle = battle->from + (battle->to - battle->from) / 2;
    struct battle left = {battle->from, middle, 0}, right = {middle, battle->to, 0};
    int status = vigil_join(world.game.pool, battle_rages, &left, battle_rages, &right);
    battle->result = left.result ^ right.result;
    return status;
}

static int raid_is_fought(void *arg)
{
    (void)arg;
    struct battle battle = {0, 1024, 0};
    return battle_rages(&battle);
}

static vigil_task_fn const work_of[VIGIL_PRIORITIES] = {bot_answers_a_hit, bot_moves, bot_thinks, bot_plans_a_path,
                                                        bot_saves};

/* ---- the server, on the loop ------------------------------------------------------------------------------------- */

static void hand_over(struct bot *bots, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct bot *bot = &bots[i];
        /* acquire: pairs with the release in done() */
        if (atomic_load_explicit(&bot->busy, memory_order_acquire)) {
            world.late++;
            continue;
        }
        atomic_store_explicit(&bot->busy, true, memory_order_relaxed); /* the submit publishes it */
        if (vigil_pool_submit(world.game.pool, &bot->task, bot->class) == 0) {
            world.accepted[bot->class]++;
        } else {
            world.refused++;
            atomic_store_explicit(&bot->busy, false, memory_order_relaxed);
        }
    }
}

static void turn_begins(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)loop, (void)timer, (void)arg;
    if (world.quiet)
        return;
    world.turns++;
    hand_over(world.bots, BOTS);
}

static void raid_begins(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)loop, (void)timer, (void)arg;
    if (world.quiet || world.broken)
        return;
    world.raids++;
    hand_over(world.paths, PATHS);
    hand_over(world.hits, HITS);
    if (vigil_pool_call(world.game.pool, raid_is_fought, NULL, NULL, VIGIL_HIGH) < 0)
        world.refused++;
}

static void weather_changes(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)loop, (void)timer, (void)arg;
    world.weather++;
}

static void chat_arrives(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)loop, (void)watch, (void)events, (void)arg;
    char lines[2];
    while (recv(fd, lines, sizeof lines, MSG_DONTWAIT) == 2)
        world.chat_lines++;
}

static void end_of_game(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)timer, (void)arg;
    vigil_loop_pause(loop);
}

static void told_to_end(vigil_loop *loop, vigil_signal signal, const vigil_signal_info *info, void *arg)
{
    (void)signal, (void)info, (void)arg;
    vigil_loop_pause(loop);
}

/* What ends with the stall that it leads to ends when that is there: work is queued, nobody runs or looks, twice in a
   row. Turns go on until then, so a worker that was still awake when the fault came only delays it. */
static void harm_bites(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)arg;
    vigil_pool_stats stats = {.size = sizeof stats};
    vigil_pool_stats_get(world.game.pool, &stats);
    bool stands = stats.total.queued > 0 && stats.total.running == 0 && stats.searching == 0;
    world.stands = stands ? world.stands + 1 : 0;
    if (world.stands < 2)
        return;
    vigil_timer_cancel(loop, timer);
    world.game.options->fault->when_it_stands(&world.game);
}

static void harm_is_done(vigil_loop *loop, vigil_timer timer, void *arg)
{
    (void)timer;
    const struct fault *fault = world.game.options->fault;
    vigil_pool_stats stats = {.size = sizeof stats};
    if (fault->when_idle) {
        world.quiet = true;
        vigil_pool_stats_get(world.game.pool, &stats);
        if (stats.total.queued + stats.total.running > 0 || stats.searching > 0) {
            vigil_timer_start(loop, 5000000, harm_is_done, arg, NULL);
            return;
        }
    }
    world.quiet = false;
    world.broken = true;
    fault->inject(&world.game);
    if (fault->then_rest) {
        world.turns++;
        hand_over(world.bots, BOTS);
        world.quiet = true;
    }
    if (fault->when_it_stands != NULL) {
        vigil_timer_options options = {.size = sizeof options, .delay_ns = TURN_NS, .interval_ns = TURN_NS / 2};
        vigil_timer_start_with(loop, &options, harm_bites, NULL, NULL);
    }
}

/* ---- beginning and end ------------------------------------------------------------------------------------------- */

static unsigned free_cell(uint32_t *random)
{
    unsigned cell;
    do
        cell = next_random(random) % CELLS;
    while (world.wall[cell]);
    return cell;
}

static struct bot *new_bots(unsigned count, int class, uint32_t *random)
{
    static const unsigned share[VIGIL_PRIORITIES] = {5, 30, 40, 20, 5}; /* percent of the bots in each role */
    struct bot *bots = calloc(count, sizeof *bots);
    if (bots == NULL)
        return NULL;
    for (unsigned i = 0; i < count; i++) {
        unsigned role = 0, percent = i * 100 / count;
        for (unsigned upto = share[0]; percent >= upto; upto += share[role])
            role++;
        bots[i].class = class < 0 ? (vigil_priority)role : (vigil_priority) class;
        vigil_task_init(&bots[i].task, work_of[bots[i].class], NULL);
        bots[i].random = next_random(random) | 1U;
        bots[i].place = free_cell(random);
        bots[i].goal = free_cell(random);
    }
    return bots;
}

static int repeat(vigil_loop *loop, int64_t every_ns, int64_t first_ns, vigil_timer_fn fn)
{
    vigil_timer_options options = {.size = sizeof options, .delay_ns = first_ns, .interval_ns = every_ns};
    return vigil_timer_start_with(loop, &options, fn, NULL, NULL);
}

static int build(const struct game_options *options)
{
    uint32_t random = 2463534242U;
    for (unsigned i = 0; i < CELLS; i++) {
        unsigned x = i % SIDE, y = i / SIDE;
        world.wall[i] = x == 0 || y == 0 || x == SIDE - 1 || y == SIDE - 1 || next_random(&random) % 4 == 0;
    }
    world.bots = new_bots(BOTS, -1, &random);
    world.hits = new_bots(HITS, VIGIL_CRITICAL, &random);
    world.paths = new_bots(PATHS, VIGIL_LOW, &random);
    if (world.bots == NULL || world.hits == NULL || world.paths == NULL)
        return -ENOMEM;
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, world.chat) < 0)
        return -errno;

    vigil_loop_options loop_options = VIGIL_LOOP_OPTIONS_INIT;
    loop_options.name = "server";
    int error = vigil_loop_create(&world.game.loop, &loop_options);
    vigil_loop *loop = world.game.loop;
    vigil_pool_options pool_options = VIGIL_POOL_OPTIONS_INIT;
    pool_options.name = "game";
    pool_options.workers = GAME_WORKERS;
    if (options->fault != NULL && options->fault->prepare != NULL)
        options->fault->prepare(&pool_options);
    /* Signals first: threads that the pool starts inherit the mask. */
    if (error == 0)
        error = vigil_signal_add(loop, SIGINT, told_to_end, NULL, NULL);
    if (error == 0)
        error = vigil_signal_add(loop, SIGTERM, told_to_end, NULL, NULL);
    if (error == 0)
        error = vigil_pool_create(&world.game.pool, &pool_options);
    if (error == 0)
        error = vigil_watch_add(loop, world.chat[1], VIGIL_FD_READ, 0, chat_arrives, NULL, NULL, NULL);
    if (error == 0)
        error = repeat(loop, TURN_NS, TURN_NS, turn_begins);
    if (error == 0)
        error = repeat(loop, 2LL * SECOND_NS, SECOND_NS, raid_begins);
    if (error == 0)
        error = repeat(loop, 333000000, 333000000, weather_changes);
    if (error == 0 && options->seconds > 0)
        error = vigil_timer_start(loop, (int64_t)options->seconds * (int64_t)SECOND_NS, end_of_game, NULL, NULL);
    if (error == 0 && options->fault != NULL)
        error = vigil_timer_start(loop, FAULT_DELAY_NS, harm_is_done, NULL, NULL);
    if (error == 0) {
        vigil_watchdog_options watchdog = VIGIL_WATCHDOG_OPTIONS_INIT;
        if (options->recover)
            watchdog.recover = VIGIL_RECOVER_REWAKE | VIGIL_RECOVER_SPARE | VIGIL_RECOVER_REJECT;
        error = vigil_watchdog_start(&watchdog);
    }
    return error;
}

static bool show_summary(void)
{
    bool whole = true;
    printf("\n%s%-9s %-14s %9s %9s%s\n", style(BOLD), "class", "the bot", "accepted", "ran", style(PLAIN));
    for (unsigned i = 0; i < VIGIL_PRIORITIES; i++) {
        uint64_t ran = atomic_load_explicit(&world.ran[i], memory_order_relaxed);
        printf("%s%-9s%s %-14s %9" PRIu64 " %9" PRIu64 "%s\n", style(class_style(i)), class_name(i), style(PLAIN),
               class_role[i], world.accepted[i], ran, ran == world.accepted[i] ? "" : "  <- differs");
        whole = whole && ran == world.accepted[i];
    }
    printf("%" PRIu64 " turns, %" PRIu64 " raids, %" PRIu64 " lines of chat, %" PRIu64
           " bots were late for a turn, %" PRIu64 " refused\n",
           world.turns, world.raids, world.chat_lines, world.late, world.refused);
    return whole;
}

/* The view is over and the terminal free when this returns. */
static void tell_the_viewer(int fd, char what, bool wait)
{
    char answer;
    if (fd < 0 || send(fd, &what, 1, MSG_NOSIGNAL) != 1)
        return;
    while (wait && recv(fd, &answer, 1, 0) < 0 && errno == EINTR)
        ;
}

/* The fault holds workers for good: the process ends as it is, and takes its record along. */
static void end_as_it_is(void)
{
    char path[4096];
    show_summary();
    printf("What the fault took is lost; the game ends without it.\n");
    fflush(stdout);
    int length = vigil_record_path(path, sizeof path);
    if (length > 0 && (size_t)length < sizeof path)
        unlink(path);
    _exit(0);
}

int game_play(const struct game_options *options)
{
    world.game.options = options;
    int error = build(options);
    if (error < 0) {
        say_error("the game does not start: %s", vigil_strerror(error));
        return 1;
    }
    tell_the_viewer(options->viewer, 'r', false);
    error = vigil_loop_run(world.game.loop, VIGIL_RUN);
    if (error < 0) {
        say_error("the game's loop ended early: %s", vigil_strerror(error));
        return 1;
    }
    tell_the_viewer(options->viewer, 'e', true);
    if (options->fault != NULL && options->fault->release != NULL && !options->fault->release(&world.game))
        end_as_it_is();
    error = vigil_pool_wait_idle(world.game.pool, 30LL * SECOND_NS);
    bool whole = show_summary() && error == 0;
    vigil_audit audit = {.size = sizeof audit};
    int lost = vigil_pool_audit(world.game.pool, &audit);
    printf("audit: %s\n", audit.text);
    whole = whole && lost == 0;
    printf("%s\n", whole ? "every accepted task ran, none is left" : "NOT EVERY ACCEPTED TASK RAN");
    fflush(stdout);
    vigil_watchdog_stop();
    vigil_pool_destroy(world.game.pool);
    vigil_loop_destroy(world.game.loop);
    close(world.chat[0]);
    close(world.chat[1]);
    free(world.bots);
    free(world.hits);
    free(world.paths);
    return whole ? 0 : 1;
}
