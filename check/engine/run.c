/* SPDX-License-Identifier: MIT */
/* Exploring a scenario: set-up, one execution after the other, findings,
 * replay. */
#define _GNU_SOURCE
#include "internal.h"
#include "state.h"
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

ENGINE_STATE struct engine G = {.current = -1};
ENGINE_STATE void *vgc_user_sp = NULL;
ENGINE_STATE void *vgc_engine_sp = NULL;
extern void *vgc_plain_sp;
ENGINE_STATE void *vgc_plain_sp = NULL;
ENGINE_STATE static bool ready = false;

enum {
    LOOK_AROUND = 200,
    CHECKPOINT_SECONDS = 30
};

extern char __data_start[], _end[];
extern char __start_vgc_state[], __stop_vgc_state[];

void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
void *__real_malloc(size_t size);
void __real_free(void *block);
int __real_clock_gettime(clockid_t id, struct timespec *out);
size_t thread_area_size(void);
void symbols_setup(void);
uint32_t heap_first_leak(char *text, size_t room);
uint64_t clock_start(void);
void message_resolve(char *text, size_t room);

void *map_pages(size_t size)
{
    void *p = __real_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        fprintf(stderr, "vigil check: cannot reserve %zu bytes of address space\n", size);
        exit(2);
    }
    return p;
}

static void on_crash(int number, siginfo_t *info, void *context)
{
    static ENGINE_STATE bool inside = false;
    const ucontext_t *u = context;
    if (G.current < 0 || inside) { /* the engine itself, or what it says of a crash */
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    inside = true;
    char where[160];
    const char *name = sigdescr_np(number); /* strsignal translates, and needs the locale of a thread that is broken */
    describe_pc((const char *)u->uc_mcontext.gregs[REG_RIP] + 1, where, sizeof where);
    inside = false;
    fail(VGC_CRASH, "signal %d (%s), address %p, in t%d at %s", number, name, info->si_addr, G.current, where);
}

static void catch_crashes(void)
{
    stack_t stack = {.ss_sp = map_pages(65536), .ss_size = 65536};
    sigaltstack(&stack, NULL);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

static void set_up(void)
{
    if (ready)
        return;
    ready = true;
    size_t threads = (thread_area_size() + 0xFFFFF) & ~(size_t)0xFFFFF;
    size_t size = threads + (size_t)HEAP_PER_THREAD * MAX_THREADS;
    /* A fixed place, so that addresses in counterexamples are the same every
   * time. */
    G.arena = __real_mmap((void *)0x200000000000, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (G.arena == MAP_FAILED)
        G.arena = map_pages(size);
    G.heap = G.arena + threads;
    G.data_start = __data_start;
    G.data_end = _end;
    G.data_copy = map_pages((size_t)(_end - __data_start));
    G.nodes = map_pages(sizeof(struct node) * MAX_STEPS * 4);
    G.trace = map_pages(sizeof(struct trace_line) * MAX_STEPS * 2);
    thread_setup();
    memory_setup();
    race_setup();
    heap_setup();
    symbols_setup();
    unseen_setup();
    catch_crashes();
}

/* What static data looks like before each execution: as it is when the
 * exploration begins. */
static void remember_data(void)
{
    memcpy(G.data_copy, G.data_start, (size_t)(G.data_end - G.data_start));
}

/* Puts static data back, around the engine's own. */
static void reset_data(bool certainly)
{
    char *own = __start_vgc_state, *own_end = __stop_vgc_state;
    if (BROKEN(VGC_RULE_STATIC_RESET) && !certainly)
        return;
    if (own >= G.data_start && own < G.data_end) {
        memcpy(G.data_start, G.data_copy, (size_t)(own - G.data_start));
        memcpy(own_end, G.data_copy + (own_end - G.data_start), (size_t)(G.data_end - own_end));
    } else {
        memcpy(G.data_start, G.data_copy, (size_t)(G.data_end - G.data_start));
    }
}

/* The same for a snapshot in the middle of an execution. */
void data_save(char *copy, bool restore)
{
    char *own = __start_vgc_state, *own_end = __stop_vgc_state;
    if (own < G.data_start || own >= G.data_end)
        own = own_end = G.data_end;
    size_t first = (size_t)(own - G.data_start), second = (size_t)(G.data_end - own_end);
    if (restore) {
        memcpy(G.data_start, copy, first);
        memcpy(own_end, copy + first, second);
    } else {
        memcpy(copy, G.data_start, first);
        memcpy(copy + first, own_end, second);
    }
}

static void *run_body(void *unused)
{
    (void)unused;
    unseen_refuse();
    G.scenario->body();
    return NULL;
}

_Noreturn void fail(enum vgc_finding finding, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(G.result->message, sizeof G.result->message, format, list);
    va_end(list);
    G.finding = finding;
    leave_to_main(END_FINDING);
}

_Noreturn void vgc_assertion_failed(const char *expression, const char *text, const char *file, int line)
{
    const char *slash = strrchr(file, '/');
    fail(VGC_ASSERTION, "t%d: %s (%s) at %s:%d", G.current, text, expression, slash ? slash + 1 : file, line);
}

const void *vgc_arg(void)
{
    return G.scenario->arg;
}

int vgc_choose(int n)
{
    if (n < 1 || n > 64)
        fail(VGC_MISUSE, "vgc_choose(%d): must be from 1 to 64", n);
    int k = choose(n);
    spin_progress();
    if (G.tracing)
        __builtin_snprintf(trace_add(OP_NOTE, __builtin_return_address(0))->text, 60, "chooses %d of 0..%d", k, n - 1);
    return k;
}

/* One execution, following the first `fixed` nodes of the search stack. */
static void execute(void)
{
    if (++G.generation == 0)
        G.generation = 1;
    thread_reset();
    memory_reset();
    race_reset();
    heap_reset();
    files_reset();
    outcome_begin();
    bounded_begin();
    G.depth = 0;
    G.steps = 0;
    G.alone_steps = 0;
    G.step_alone = false;
    G.sleep = G.sleep_reads = 0;
    G.now = clock_start();
    G.quiescing = -1;
    G.membarrier_registered = false;
    G.budget_alloc = G.opt.fail_alloc;
    G.budget_thread = G.opt.fail_thread;
    G.budget_spurious = G.opt.spurious;
    G.budget_weak = G.opt.weak_cas;
    G.budget_timeout = G.opt.early_timeouts;
    G.budget_reuse = G.opt.reuse;
    G.cut = false;
    G.ending = END_NONE;
    G.finding = VGC_PASS;
    G.trace_count = 0;
    G.fixed = G.node_count;
    if (!G.replaying && G.opt.mode == VGC_PCT)
        pct_begin();
    /* The start of the body is the first decision, though there is only one to
   * take. */
    if (G.node_count == 0) {
        G.nodes[0] = (struct node){.enabled = 1, .backtrack = 1, .read_only = true};
        G.node_count = 1;
        G.fixed = 1;
    }
    G.depth = 1;
    G.sched_node = 0;
    G.steps = 1;
    if (!fork_restore()) {
        reset_data(false);
        thread_new(run_body, NULL);
    }
    thread_enter_from_main(0);
    if (G.ending == END_FORK) {
        fork_take();
        thread_enter_from_main(0);
    }
    int threads = G.thread_count;
    G.current = -1;
    if (G.ending == END_COMPLETE && !G.opt.allow_leaks &&
        heap_first_leak(G.result->message, sizeof G.result->message) != 0) {
        G.ending = END_FINDING;
        G.finding = VGC_LEAK;
    }
    if (G.ending == END_COMPLETE && !G.opt.allow_leaks && files_count() != 0) {
        snprintf(G.result->message, sizeof G.result->message, "%d descriptor(s) never closed", files_count());
        G.ending = END_FINDING;
        G.finding = VGC_LEAK;
    }
    G.result->steps += (uint64_t)G.steps;
    if (G.steps > G.result->longest)
        G.result->longest = G.steps;
    if (threads > G.result->most_threads)
        G.result->most_threads = threads;
}

/* Of this process's own CPU time: a limit means the same on a busy machine. */
static double seconds_now(void)
{
    struct timespec t;
    __real_clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void apply_options(const struct vgc_scenario *scenario, const struct vgc_options *options)
{
    G.scenario = scenario;
    G.opt = options != NULL ? *options : scenario->opt;
    if (G.opt.max_steps <= 0)
        G.opt.max_steps = 5000;
    if (G.opt.max_steps > MAX_STEPS)
        G.opt.max_steps = MAX_STEPS;
    if (G.opt.preemptions <= 0)
        G.opt.preemptions = 2;
    if (G.opt.runs == 0)
        G.opt.runs = 20000;
    if (G.opt.seed == 0)
        G.opt.seed = 1;
    if (G.opt.pct_depth <= 0)
        G.opt.pct_depth = 3;
    G.random = G.opt.seed * 0x9E3779B97F4A7C15ULL | 1;
    G.node_count = 0;
    G.replaying = G.tracing = false;
}

/* How much of the search tree lies behind us, judged by the branches still open
 * on the stack. */
static double explored_part(void)
{
    double done = 0, weight = 1;
    for (uint32_t i = 0; i < G.node_count && weight > 1e-9; i++) {
        const struct node *n = &G.nodes[i];
        int total = n->is_choice ? n->count : __builtin_popcount(n->backtrack);
        int before = n->is_choice ? n->taken : __builtin_popcount(n->done);
        done += weight * before / total;
        weight /= total;
    }
    return done;
}

static bool is_random_mode(void)
{
    return G.opt.mode == VGC_PCT || G.opt.mode == VGC_RANDOM;
}

extern bool vgc_show_progress;
ENGINE_STATE bool vgc_show_progress = false;

static void show_progress(double started, double now)
{
    const struct vgc_result *r = G.result;
    double part = is_random_mode() ? (double)r->executions / (double)G.opt.runs : explored_part();
    if (G.opt.mode == VGC_STATEFUL) {
        fprintf(stderr, "  %s: %llu states, %.0f per second\n", G.scenario->name, (unsigned long long)state_count(),
                (double)state_count() / (now - started + 1e-9));
        return;
    }
    fprintf(stderr, "  %s: %llu executions, %.0f per second, about %.2f %% of the tree", G.scenario->name,
            (unsigned long long)r->executions, (double)r->executions / (now - started + 1e-9), part * 100);
    if (part > 0.001)
        fprintf(stderr, ", about %.0f s to go", (now - started) * (1 - part) / part);
    fprintf(stderr, "\n");
}

static void explore(const struct vgc_scenario *scenario, const struct vgc_options *options, struct vgc_result *result)
{
    memset(result, 0, sizeof *result);
    set_up();
    G.result = result;
    apply_options(scenario, options);
    remember_data();
    fork_forget();
    state_begin();
    if (G.opt.mode == VGC_STATEFUL)
        state_setup();
    if (G.opt.mode == VGC_PREEMPT)
        bounded_setup();
    checkpoint_resume();
    const double before = result->seconds;
    double started = seconds_now(), shown = started, written = started;
    uint64_t runs = 0;
    for (;;) {
        execute();
        runs++;
        if (G.ending == END_COMPLETE) {
            result->executions++;
            result->truncated += G.cut;
            outcome_commit();
        } else if (G.ending == END_REDUNDANT) {
            result->redundant++;
        } else if (G.ending == END_TRUNCATED) {
            result->truncated++;
        } else {
            result->verdict = G.finding;
            result->schedule = schedule_string();
            message_resolve(result->message, sizeof result->message);
            break;
        }
        if (private_again()) { /* what was left out so far may have mattered */
            result->executions = result->redundant = result->truncated = 0;
            G.node_count = 0;
            outcome_forget();
            if (G.opt.mode == VGC_STATEFUL)
                state_setup();
            if (G.opt.mode == VGC_PREEMPT)
                bounded_setup();
            continue;
        }
        bool more;
        if (is_random_mode()) {
            G.node_count = 0;
            more = runs < G.opt.runs;
        } else {
            more = dpor_next();
        }
        if (!more) {
            /* A search in which no execution came to its end has gone round in circles, and has shown nothing. */
            result->verdict = result->truncated || result->executions == 0 ? VGC_TRUNCATED : VGC_PASS;
            break;
        }
        if (G.opt.max_executions != 0 && result->executions >= G.opt.max_executions) {
            result->verdict = VGC_INCOMPLETE;
            break;
        }
        if ((runs & 127) == 0 || G.steps > 500) {
            double now = seconds_now();
            if (G.opt.time_limit > 0 && now - started > G.opt.time_limit) {
                if (is_random_mode())
                    result->verdict = result->truncated ? VGC_TRUNCATED : VGC_PASS;
                else
                    result->verdict = VGC_INCOMPLETE;
                result->seconds = before + now - started;
                checkpoint_write();
                break;
            }
            if (now - written > CHECKPOINT_SECONDS) {
                written = now;
                result->seconds = before + now - started;
                checkpoint_write();
            }
            if (vgc_show_progress && now - shown > 5) {
                shown = now;
                show_progress(started, now);
            }
        }
    }
    if (G.opt.mode == VGC_STATEFUL)
        result->states = state_count();
    result->seconds = before + seconds_now() - started;
    if (result->verdict != VGC_INCOMPLETE)
        checkpoint_done();
    reset_data(true);
    outcome_finish(result);
}

/* A search with a bound would begin again with each place that turns out to be shared (private.c). Some runs by chance find most of
 * them before. */
static bool look_around(const struct vgc_scenario *scenario, const struct vgc_options *options,
                        struct vgc_result *result)
{
    struct vgc_options around = options != NULL ? *options : scenario->opt;
    if (around.mode != VGC_PREEMPT || around.broken_rules != 0)
        return true;
    around.mode = VGC_PCT;
    around.runs = LOOK_AROUND;
    around.time_limit = 0;
    explore(scenario, &around, result);
    const bool nothing = result->verdict == VGC_PASS || result->verdict == VGC_TRUNCATED;
    if (nothing)
        vgc_result_free(result);
    return nothing;
}

void vgc_explore(const struct vgc_scenario *scenario, const struct vgc_options *options, struct vgc_result *result)
{
    private_begin();
    if (look_around(scenario, options, result))
        explore(scenario, options, result);
}

bool vgc_replay(const struct vgc_scenario *scenario, const struct vgc_options *options, const char *schedule,
                struct vgc_result *result)
{
    memset(result, 0, sizeof *result);
    set_up();
    G.result = result;
    apply_options(scenario, options);
    if (!schedule_parse(schedule))
        return false;
    G.replaying = G.tracing = true;
    remember_data();
    execute();
    reset_data(true);
    G.replaying = false;
    result->verdict = G.ending == END_FINDING ? G.finding : (G.ending == END_COMPLETE ? VGC_PASS : VGC_TRUNCATED);
    result->executions = 1;
    result->schedule = schedule_string();
    message_resolve(result->message, sizeof result->message);
    print_counterexample();
    G.tracing = false;
    outcome_finish(result);
    return true;
}

void vgc_result_free(struct vgc_result *result)
{
    __real_free(result->schedule);
    for (size_t i = 0; i < result->outcome_count; i++)
        __real_free((void *)(uintptr_t)result->outcomes[i].text);
    __real_free(result->outcomes);
    memset(result, 0, sizeof *result);
}
