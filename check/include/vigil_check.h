/* SPDX-License-Identifier: MIT */
/*
 * vigil_check.h: a model checker for plain C11, as a library.
 *
 * What it does
 * ------------
 * A *scenario* is a C function. The checker runs it many times, each time with another interleaving of its threads and
 * another permitted result of every atomic load, until it has seen all of them (up to stated bounds), or found a fault.
 * The code under check is compiled unchanged with -fsanitize=thread and linked with this library in place of the
 * sanitizer's own run time; system calls are taken over at link time. `vigil_add_check()` in check/CMakeLists.txt
 * does both. A check program then is: scenario files + the sources under check + the engine.
 *
 *      #include <vigil_check.h>
 *
 *      static _Atomic int ready;
 *      static int data;
 *
 *      static void *producer(void *arg)
 *      {
 *          (void)arg;
 *          data = 42;
 *          atomic_store_explicit(&ready, 1, memory_order_release);
 *          return NULL;
 *      }
 *
 *      VGC_SCENARIO(message_passing, "whoever sees the flag sees the data")
 *      {
 *          pthread_t t = vgc_thread_start(producer, NULL);
 *          if (atomic_load_explicit(&ready, memory_order_acquire))
 *              vgc_assert(data == 42, "the data came with the flag");
 *          vgc_thread_join(t);
 *      }
 *
 * Rules for scenario code
 * -----------------------
 * - The body runs as thread 0. Threads are made by pthread_create, or by vgc_thread_start, which cannot fail.
 * - An execution ends when every thread has ended. A thread that sleeps for ever is a deadlock, also if the body is done.
 * - Static data, thread-local data and the heap are put back before each execution: start from C's initial values.
 * - Be deterministic: no real clock, no real randomness, no addresses as data. Ask vgc_choose() instead.
 * - No waiting loops are needed: use vgc_quiesce(), or join. A loop that polls is understood (the thread is put to sleep
 *   until something that it read changes), but costs executions.
 * - Write each wake-up scenario twice: once ending in vgc_quiesce(), once racing with shutdown. A later wake hides a lost one.
 *
 * What counts as a finding: see enum vgc_finding. The first finding ends the scenario, and is printed as a table with
 * one column per thread, source lines, values, and the older values that each load could also have returned, followed
 * by a short string that replays it (`--replay`).
 *
 * The memory model, its limits and the way the search works are described in check/README.md.
 */
#ifndef VIGIL_CHECK_H
#define VIGIL_CHECK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VGC_VERSION "0.2.0"

#ifdef __cplusplus
extern "C" {
#endif

/* What an exploration can end with. VGC_PASS means: the whole bounded space was seen, or the asked-for number of random
 * runs was made, and nothing was found. */
enum vgc_finding {
    VGC_PASS = 0,
    VGC_ASSERTION,      /* vgc_assert, assert or abort                                                              */
    VGC_DEADLOCK,       /* some thread sleeps and nobody can wake it: a lost wake-up looks like this                */
    VGC_DATA_RACE,      /* a plain access not ordered by happens-before with another one, one of the two a write    */
    VGC_USE_AFTER_FREE, /* access to a freed block, or outside any block of the heap                                */
    VGC_DOUBLE_FREE,    /* free of a freed block, or of something that never was one                                */
    VGC_LEAK,           /* a block still allocated when every thread has ended                                      */
    VGC_ENDLESS_LOOP,   /* threads poll in loops that nobody will ever end                                          */
    VGC_CRASH,          /* a signal: null pointer, division by zero, stack overflow                                 */
    VGC_MISUSE,         /* the code did something that the checker does not model; the text says what               */
    VGC_TRUNCATED,      /* some executions hit a bound of the engine: nothing bad was seen, but not everything     */
    VGC_INCOMPLETE,     /* the time or execution limit came first: nothing bad was seen so far                      */
    VGC_FINDINGS
};

/* How the space of executions is searched. */
enum vgc_mode {
    VGC_DPOR = 0, /* every execution once up to the order of independent steps (source sets, sleep sets)            */
    VGC_FULL,     /* every interleaving, no reduction: to check the reduction                                       */
    VGC_PREEMPT,  /* every interleaving with at most `preemptions` preemptions                                      */
    VGC_STATEFUL, /* every interleaving, but a state seen before is not entered again                               */
    VGC_PCT,      /* `runs` runs under random thread priorities with `pct_depth` - 1 random changes                 */
    VGC_RANDOM,   /* `runs` runs with every decision random                                                        */
    VGC_MODES
};

/* All settings of a scenario. Zero always means the default, so that a designated initialiser names only what differs. */
struct vgc_options {
    enum vgc_mode mode;
    bool sc_memory;  /* sequentially consistent memory: loads see the newest store; much smaller space         */
    int preemptions; /* VGC_PREEMPT: the bound (default 2)                                                     */
    bool bound_old;  /* VGC_PREEMPT: reading an old value, or storing before a newer one, counts as a preemption      */
    int max_steps;   /* scheduling steps per execution; more is VGC_TRUNCATED (default 5000, at most 30000)    */
    uint64_t max_executions; /* stop after so many (0: no limit) and say VGC_INCOMPLETE                              */
    double time_limit;   /* seconds of CPU (0: no limit), then VGC_INCOMPLETE; in the random modes it ends the runs  */
    uint64_t runs;       /* VGC_PCT, VGC_RANDOM: how many runs (default 20000)                                     */
    uint64_t seed;       /* VGC_PCT, VGC_RANDOM (default 1)                                                        */
    int pct_depth;       /* VGC_PCT: bugs up to this depth are found with known probability (default 3)            */
    int fail_alloc;      /* up to so many allocations per execution may fail; each one that does is a choice       */
    int fail_thread;     /* the same for pthread_create                                                           */
    int spurious;        /* the same for futex waits that return though nobody woke them                          */
    int weak_cas;        /* the same for weak compare-exchange that fails for no reason (gcc only: clang does not
                              tell weak from strong)                                                                */
    int early_timeouts;  /* the same for timed waits that end before the rest of the program has come to rest     */
    int reuse;           /* up to so many allocations per execution may return the address of a block that was freed
                              (each is a choice); malloc and free are then steps of their own                      */
    bool futex_fences;   /* futex calls are full fences, as in Linux today; nothing promises it */
    bool no_membarrier;  /* membarrier(2) answers ENOSYS                                                          */
    bool allow_leaks;    /* blocks alive at the end are no finding                                                */
    bool allow_sleepers; /* threads asleep when the body has ended are no finding                                 */
    uint32_t broken_rules; /* enum vgc_rule bits: break the engine on purpose (its own tests only)                  */
};

/* A scenario as it is registered. */
struct vgc_scenario {
    const char *name;
    const char *property; /* what must hold, in words: goes into the table                                          */
    void (*body)(void);
    const void *arg;         /* for bodies shared by several scenarios: vgc_arg()                                    */
    enum vgc_finding expect; /* VGC_PASS, or the finding that must be made                                           */
    const char *bound;       /* the size of the configuration in words ("1 owner x 4, 2 thieves x 2")               */
    bool deep;               /* run only with --deep                                                                */
    struct vgc_options opt;
};

/*
 * Registers a scenario and opens its body. Further fields of struct vgc_scenario may follow the property:
 *
 *      VGC_SCENARIO(stop_races_submit, "each task runs or is cancelled", .bound = "1 worker x 2", .opt.fail_alloc = 1)
 *      { ... }
 */
#define VGC_SCENARIO(id, property_text, ...)                            \
    static void vgc_body_##id(void);                                    \
    VGC_REGISTER(id, #id, vgc_body_##id, property_text, ##__VA_ARGS__); \
    static void vgc_body_##id(void)

/* The same with a function that already exists, and a name of one's own: for one body used with several arguments. */
#define VGC_REGISTER(id, name_text, function, property_text, ...)                                            \
    static const struct vgc_scenario vgc_scenario_##id = {                                                   \
        .name = (name_text), .property = (property_text), .body = (function), ##__VA_ARGS__};                \
    __attribute__((used, section("vgc_scenarios"))) static const struct vgc_scenario *vgc_scenario_at_##id = \
        &vgc_scenario_##id

/* ---- what a body may call ---------------------------------------------------------------------------------------- */

/* A number from 0 to n-1; the checker tries each. n is at most 64. */
int vgc_choose(int n);

/* The property. If `condition` is false the execution ends with VGC_ASSERTION and this text. */
#define vgc_assert(condition, text) \
    ((condition) ? (void)0 : vgc_assertion_failed(#condition, (text), __FILE__, __LINE__))
__attribute__((noreturn)) void vgc_assertion_failed(const char *expression, const char *text, const char *file,
                                                    int line);

/* Blocks until no other thread can move without the clock advancing, then goes on and has seen everything that they did
 * (it happens after all of it). Only one thread at a time may be in it. */
void vgc_quiesce(void);

/* A line in the counterexample, in this thread's column. Costs nothing while no counterexample is printed: then its arguments are not
 * evaluated either. */
#define vgc_note(...) (vgc_noting() ? vgc_note_text(__VA_ARGS__) : (void)0)
bool vgc_noting(void);
__attribute__((format(printf, 1, 2))) void vgc_note_text(const char *format, ...);

/* Litmus tests: adds a line to the set of outcomes. It counts when this execution ends well. */
__attribute__((format(printf, 1, 2))) void vgc_outcome(const char *format, ...);

/* pthread_create that never is made to fail, and pthread_join. */
pthread_t vgc_thread_start(void *(*function)(void *), void *argument);
void *vgc_thread_join(pthread_t thread);

/* The virtual clock, in nanoseconds; every clock id reads it. It stands still, except that vgc_clock_advance moves it, and
 * that it jumps to the nearest deadline when no thread can move otherwise. */
uint64_t vgc_clock_now(void);
void vgc_clock_advance(uint64_t nanoseconds);

/* Number of this model thread: 0 is the body, then in order of creation. */
int vgc_thread_number(void);

/* The `arg` of the scenario that runs. */
const void *vgc_arg(void);

/* VGC_STATEFUL: states that differ only in what lies here are taken to be the same, and steps that touch nothing else need no turn of
 * their own. For counters that nothing depends on. Called by the body before it starts a thread; you answer for it that nothing does. */
void vgc_forget(const void *address, size_t size);

/* How many heap blocks are allocated now: to check that something was given back. */
size_t vgc_live_blocks(void);

/* ---- running from C ---------------------------------------------------------------------------------------------- */

struct vgc_outcome_line {
    const char *text;
    uint64_t executions;
};

struct vgc_result {
    enum vgc_finding verdict;
    uint64_t executions; /* complete ones                                                                            */
    uint64_t redundant;  /* begun, then given up because an equal one had been seen                                  */
    uint64_t truncated;  /* cut at the step bound                                                                    */
    uint64_t steps;      /* over all executions                                                                      */
    uint64_t states;     /* VGC_STATEFUL: different states                                                           */
    int longest;         /* steps of the longest execution                                                           */
    int most_threads;
    double seconds;
    char message[512]; /* what was found                                                                           */
    char *schedule;    /* replays it; owned by the result                                                          */
    struct vgc_outcome_line *outcomes; /* sorted by text; owned by the result                                        */
    size_t outcome_count;
};

/* Explores one scenario. `options` replaces scenario->opt if it is not NULL. */
void vgc_explore(const struct vgc_scenario *scenario, const struct vgc_options *options, struct vgc_result *result);

/* Runs the one execution that `schedule` describes and prints it as a table to standard output. False if the schedule does
 * not fit the program. */
bool vgc_replay(const struct vgc_scenario *scenario, const struct vgc_options *options, const char *schedule,
                struct vgc_result *result);

void vgc_result_free(struct vgc_result *result);
const char *vgc_finding_name(enum vgc_finding finding);
const char *vgc_mode_name(enum vgc_mode mode);

/* The command line driver: runs all registered scenarios and prints the table. A program that does not define main gets
 * one that calls this. Exit status 0: every scenario ended as expected. `--help` lists the options. */
int vgc_main(int argc, char **argv);

/* Registered scenarios, in link order. */
size_t vgc_scenario_count(void);
const struct vgc_scenario *vgc_scenario_at(size_t index);

/* ---- the engine's own tests -------------------------------------------------------------------------------------- */

/* Rules of the engine that can be broken on purpose. Litmus and self tests must notice each. */
enum vgc_rule {
    VGC_RULE_STALE_LOADS = 1u << 0,      /* a load may return an older value                                       */
    VGC_RULE_OLD_STORES = 1u << 1,       /* a store may be placed before newer ones in modification order           */
    VGC_RULE_ACQUIRE = 1u << 2,          /* an acquire load takes over what the release published                   */
    VGC_RULE_RELEASE = 1u << 3,          /* a release store publishes                                               */
    VGC_RULE_ACQUIRE_FENCE = 1u << 4,    /* an acquire fence takes over what earlier relaxed loads saw               */
    VGC_RULE_RELEASE_FENCE = 1u << 5,    /* a release fence publishes with later relaxed stores                      */
    VGC_RULE_RELEASE_SEQUENCE = 1u << 6, /* a read-modify-write passes on what it read                              */
    VGC_RULE_SC_FENCE = 1u << 7,         /* seq_cst fences are in one order that all see                            */
    VGC_RULE_SC_ACCESS = 1u << 8,        /* seq_cst accesses are in that order too                                   */
    VGC_RULE_COHERENCE = 1u << 9,        /* a thread never reads older than what it has seen                        */
    VGC_RULE_ATOMICITY = 1u << 10,       /* nothing comes between the read and the write of a read-modify-write      */
    VGC_RULE_MEMBARRIER = 1u << 11,      /* membarrier fences all threads                                           */
    VGC_RULE_FUTEX_NEWEST = 1u << 12,    /* a futex wait compares the newest value                                  */
    VGC_RULE_FUTEX_ATOMIC = 1u << 13,    /* ... and goes to sleep in the same step                                  */
    VGC_RULE_FUTEX_ONE = 1u << 14,       /* a wake of one wakes one                                                 */
    VGC_RULE_RACE_WRITES = 1u << 15,     /* write against write is a race                                           */
    VGC_RULE_RACE_READS = 1u << 16,      /* read against write is a race                                            */
    VGC_RULE_FENCE_NO_HB = 1u << 17,     /* seq_cst fences alone do not order plain accesses                         */
    VGC_RULE_REVERSE_RACES = 1u << 18,   /* the search reverses every race, also between stores                      */
    VGC_RULE_SLEEP_WAKE = 1u << 19,      /* a sleeping thread leaves the sleep set when a dependent step runs         */
    VGC_RULE_QUARANTINE = 1u << 20,      /* freed memory is not to be touched                                        */
    VGC_RULE_JOIN = 1u << 21,            /* join takes over what the thread did                                      */
    VGC_RULE_CREATE = 1u << 22,          /* a new thread has seen what its creator did                               */
    VGC_RULE_MUTEX = 1u << 23,           /* lock takes over what unlock published                                    */
    VGC_RULE_STATIC_RESET = 1u << 24,    /* static data is put back between executions                               */
    VGC_RULE_SPURIOUS = 1u << 25,        /* futex waits may return without a wake                                   */
    VGC_RULE_COUNT = 26,
    VGC_PLAIN_BOUND =
        1u << 26 /* not a rule: VGC_PREEMPT enters equal nodes again, and leaves a thread before any step */
};

#ifdef __cplusplus
}
#endif
#endif
