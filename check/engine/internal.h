/* SPDX-License-Identifier: MIT */
/*
 * What the files of the engine share. One execution of a scenario is a run of coroutines inside this process; the
 * state of the execution hangs off the one global `G`. `G` lives in a section of its own, because all other static
 * data of the program is put back before each execution.
 *
 * Sequence numbers. Each thread counts its visible steps (`seq`). The clocks of a thread are indexed by thread:
 *   hb   happens-before, as C11 defines it: decides about data races, and about how old a value a load may return;
 *   dep  the order of dependent steps of this execution: decides about partial-order reduction, and about which of the
 *        permitted old values are offered at all (see memory.c).
 * A plain access between step s and s+1 is labelled s+1.
 */
#ifndef VGC_INTERNAL_H
#define VGC_INTERNAL_H

#include <stddef.h>
#include <stdint.h>
#include <vigil_check.h>

enum {
    MAX_THREADS = 15,
    CLOCK_SLOTS = 16,
    MAX_CANDIDATES = 250, /* a choice is counted in a byte */
    MAX_SPIN = 24,
    STACK_SIZE = 256 * 1024,
    MAX_STEPS = 30000
};

typedef struct {
    int16_t at[CLOCK_SLOTS];
} clock_vec __attribute__((aligned(32)));

static inline void clock_join(clock_vec *into, const clock_vec *from)
{
    for (int i = 0; i < CLOCK_SLOTS; i++)
        into->at[i] = into->at[i] > from->at[i] ? into->at[i] : from->at[i];
}

static inline bool clock_within(const clock_vec *a, const clock_vec *b)
{
    int beyond = 0;
    for (int i = 0; i < CLOCK_SLOTS; i++)
        beyond |= a->at[i] > b->at[i];
    return !beyond;
}

/* One store in the modification order of its location. `pos` numbers that
 * order; a store that is put in front of newer ones shifts their numbers. */
struct message {
    uint64_t value;
    struct message *older, *newer;
    const void *pc;
    int pos;
    int16_t writer; /* -1: the initial value */
    int16_t seq;
    uint32_t event; /* that wrote it */
    bool claimed;   /* a read-modify-write reads it and directly follows it */
    bool published; /* the two clocks below say something */
    clock_vec hb;
    clock_vec behind;  /* scorder.c: seq_cst operations that come before whatever
                        comes after this message */
    clock_vec readers; /* the same, as far as loads of this message say so */
};

/* "Step `seq` of this thread has seen `message`": newest first, both fields
 * grow. */
struct sighting {
    struct sighting *before;
    struct message *message;
    int16_t seq;
};

/* "Event number `event` has used this object": newest first. */
struct use {
    struct use *before;
    uint32_t event;
    uint8_t kind;
};

/* How a step uses an object. Two uses are independent if both are READ or both
 * are ADD. */
enum use_kind {
    USE_NONE = 0,
    USE_READ,
    USE_ADD,
    USE_WRITE
};

/* An address that was used atomically, or as a futex, mutex or file. */
struct location {
    uintptr_t address;
    uint8_t size;
    bool stale;     /* written by plain code since: take the value from memory */
    bool has_early; /* some message was placed before newer ones */
    bool locked;    /* as a mutex */
    uint8_t depth;  /* how often its owner has locked it: recursive mutexes */
    int8_t user;    /* private.c: the only thread that has used it, + 1; 0: nobody; -1: several */
    bool written;   /* by one of them */
    int16_t owner;
    uint32_t next_in_cell;
    uint32_t waiters;  /* threads asleep here */
    uint32_t spinners; /* threads that poll this and are held back */
    struct message *newest, *oldest;
    struct sighting *seen[MAX_THREADS];
    int16_t used_at[MAX_THREADS]; /* the last step of each thread here */
    struct use *memory_uses, *queue_uses;
    clock_vec *mutex_clock;        /* what an unlock, or a post, has published */
    clock_vec *read_clock;         /* what readers of an rwlock have published, for writers */
    struct sc_access *sc_accesses; /* newest first */
};

enum op_kind {
    OP_START = 1,
    OP_LOAD,
    OP_STORE,
    OP_RMW,
    OP_CAS,
    OP_FENCE,
    OP_MEMBARRIER,
    OP_FUTEX_WAIT,
    OP_FUTEX_WAKE,
    OP_RESUME,
    OP_CREATE,
    OP_JOIN,
    OP_LOCK,
    OP_TRYLOCK,
    OP_UNLOCK,
    OP_QUIESCE,
    OP_SLEEP,
    OP_FILE,
    OP_NOTE,
    OP_FREE,
    OP_COND_WAIT,
    OP_COND_WAKE,
    OP_SEM_WAIT,
    OP_SEM_POST,
    OP_READ_LOCK,
    OP_WRITE_LOCK,
    OP_RW_UNLOCK,
    OP_ONCE,
    OP_ONCE_DONE,
    OP_BARRIER,
    OP_HEAP,
    OP_DESTROY
};

/* What a thread is about to do: enough to tell whether it depends on what
 * another one does. */
struct op {
    uint8_t kind;
    uint8_t size;
    uint8_t memory; /* use_kind of the location at address */
    uint8_t queue;  /* use_kind of the futex queue there */
    uint8_t table;  /* use_kind of the thread table */
    bool all;       /* depends on every step of every other thread */
    bool opened;    /* it let go of an object that nobody could have taken just before it (dpor.c) */
    bool quiet;     /* a load that tells its thread nothing new: a membarrier before or after it is the same */
    int8_t order;
    uintptr_t address;
    const void *pc;
};

struct event {
    int16_t thread, seq;
    uint32_t node;
    struct op op; /* as it turned out: a failed compare-exchange is a read */
    clock_vec dep;
};

/* A decision of this execution: which thread moves, or which of n possibilities
 * is taken. The list of them is the search stack, and replays the execution. */
struct node {
    uint8_t is_choice;
    uint8_t taken;    /* thread, or number of the possibility */
    uint8_t count;    /* choices: of how many */
    bool only_newest; /* choices: of a message, and the bound permits no old one */
    bool read_only;   /* all explored steps of `taken` at this node were reads */
    uint16_t enabled, backtrack, done, sleep;
    uint16_t done_reads, sleep_reads; /* those of done, sleep whose step was a
                                       read whatever its op says */
    int16_t preemptions;
};

enum status {
    T_UNUSED = 0,
    T_READY, /* its next op can run */
    T_FUTEX, /* asleep on a futex */
    T_JOINING,
    T_LOCKING,
    T_SPINNING,
    T_QUIESCING,
    T_SLEEPING, /* nanosleep */
    T_POLLING,  /* waits for a file */
    T_ENDED
};

struct spin_entry {
    const void *pc;
    struct location *location;
    struct message *message;
    uint64_t state;
    uint64_t first_state; /* before that load */
    bool hashed, first_hashed;
};

struct thread {
    void *sp;      /* where its coroutine stands */
    void *user_sp; /* where the code under check stands: callee-saved registers,
                    then its frames */
    char *stack_top;
    char *engine_top; /* of the stack on which the engine works for it */
    char *tls;        /* thread pointer */
    enum status status;
    int16_t seq;
    bool detached, joined, timed, timed_out, read_old;
    int joining;
    int force_left;  /* loads that must return the newest message (spin.c) */
    int loop_length; /* loads in the polling loop that it is held back in */
    uint64_t deadline;
    struct location *waiting_at;
    uint32_t waker; /* event that woke it */
    int wake_result;
    struct op op;
    uint64_t operands; /* of that op: what is stored, compared, added; for the stateful search */
    clock_vec hb, dep;
    clock_vec pending_hb;            /* what an acquire fence would take over */
    clock_vec fence_hb;              /* what a relaxed store publishes */
    uint32_t last_sc, last_sc_fence; /* numbers in the order of seq_cst operations */
    uint32_t last_felt;              /* its last event that a membarrier of another thread does not commute with, + 1 */
    uint32_t last_event;             /* + 1 */
    int spin_count;
    int spin_first; /* held back for good: where its round begins in `spin` */
    bool spin_for_good;
    bool spin_hashed; /* spin_state is that of the load that it is about to make */
    uint64_t spin_state;
    struct spin_entry spin[MAX_SPIN];
    void *(*function)(void *);
    void *argument, *value;
    const void *key_values[8];
    char name[16];
};

enum ending {
    END_NONE = 0,
    END_COMPLETE,
    END_REDUNDANT,
    END_TRUNCATED,
    END_FINDING,
    END_FORK /* not the end: thread 0 asks for a snapshot (fork.c) */
};

struct trace_line {
    int thread;
    uint8_t kind, size;
    int8_t order;
    bool wrote, read, old;
    const void *pc;
    uintptr_t address;
    uint64_t got, put;
    char text[160];
};

struct engine {
    /* set up once */
    void *main_sp;
    unsigned long main_tp;
    char *arena; /* stacks and thread-local blocks, then heaps */
    char *heap;
    char *data_start, *data_end, *data_copy;
    bool fsgsbase;

    /* the exploration */
    const struct vgc_scenario *scenario;
    struct vgc_options opt;
    struct vgc_result *result;
    struct node *nodes;
    uint32_t node_count; /* nodes on the stack */
    uint32_t fixed;      /* nodes that this execution must follow */
    bool replaying;      /* the schedule came from outside */
    bool tracing;
    uint64_t random;

    /* the execution */
    uint32_t generation;
    uint32_t depth;
    uint32_t sched_node; /* node of the step that runs */
    int steps;
    int current;
    int thread_count;
    int live;
    bool alone;      /* one thread lives, and all that others did is in its past */
    bool step_alone; /* the step that runs began so */
    bool cut;        /* a cap of the engine hid a possibility: the execution counts as truncated */
    uint32_t alone_steps;
    struct event scratch;
    uint32_t enabled;
    uint16_t sleep, sleep_reads;
    uint64_t now;
    enum ending ending;
    enum vgc_finding finding;
    int budget_alloc, budget_thread, budget_spurious, budget_weak, budget_timeout, budget_reuse;
    int quiescing;
    bool membarrier_registered;

    struct thread threads[MAX_THREADS];

    uint32_t location_count;
    uint32_t event_count;
    struct location *locations;
    struct message *messages, *message_next;
    struct sighting *sightings, *sighting_next;
    struct use *uses, *use_next;
    struct event *events;
    struct use *table_uses;
    uint32_t last_all_event; /* + 1 */
    clock_vec sc_hb;

    struct trace_line *trace;
    uint32_t trace_count;
};

extern struct engine G;
extern void *vgc_user_sp;   /* set by the entry stubs */
extern void *vgc_engine_sp; /* where they go to; NULL outside of an execution */

#define ME           (&G.threads[G.current])
#define BROKEN(rule) __builtin_expect((G.opt.broken_rules & (rule)) != 0, 0)

/* context.S */
void vgc_switch(void **save_sp, void *to_sp);
extern char vgc_coroutine_start[];

/* thread.c */
void thread_setup(void);
void thread_reset(void);
int thread_new(void *(*function)(void *), void *argument);
void thread_switch(int to);
_Noreturn void leave_to_main(enum ending ending);
void thread_leave_for_fork(void);
void thread_enter_from_main(int to);

/* sched.c */
void sched_point(const struct op *op); /* returns when the op may run; begins its event */
void sched_block(enum status status);  /* the current thread cannot go on;
                                         returns when it was chosen again */
void sched_wake(int thread, uint32_t by_event);
_Noreturn void sched_thread_ended(void);
int choose(int n);
int choose_message(int n); /* the same; 0 is the newest one */
uint64_t next_random(void);
void pct_begin(void);
void pct_yield(void);

/* fork.c */
void fork_point(void);
void fork_forget(void);
bool fork_restore(void);
void fork_take(void);

/* dpor.c */
void update_alone(void);
void step_label(int thread);
void event_begin(void);
void event_end_at(struct location *l); /* works out races with earlier events;
                                          l: where the step was, or NULL */
void event_end(void);
void dpor_blocked(int thread, struct location *l);
struct event *event_current(void);
bool dpor_next(void); /* moves the search stack to the next execution; false at the end */

/* bounded.c */
void bounded_setup(void);
void bounded_begin(void);
void bounded_event(const struct event *e);
void bounded_choice(int taken);
int bounded_pick(struct node *n, uint32_t enabled);
bool bounded_only_newest(void);
uint64_t **bounded_table(size_t **room, size_t **count);
void bounded_old(void);

/* checkpoint.c */
bool checkpoint_resume(void);
void checkpoint_write(void);
void checkpoint_done(void);
void checkpoint_fix_addresses(char **argv);

/* private.c */
void *private_memory(size_t *size);
void private_begin(void);
bool private_again(void);
bool private_step(const struct op *op);
bool private_place(uintptr_t address);
void private_use(struct location *l);

/* memory.c */
struct location *location_new(uintptr_t address, int size);
struct location *location_at(uintptr_t address, int size, const void *pc);
void location_forget(uintptr_t address, size_t size);
bool memory_is_scarce(void);
uint64_t memory_load(uintptr_t address, int size, int order, const void *pc);
void memory_store(uintptr_t address, int size, int order, uint64_t value, const void *pc);
uint64_t memory_rmw(uintptr_t address, int size, int order, int operation, uint64_t operand, const void *pc);
bool memory_cas(uintptr_t address, int size, int order, int failure, uint64_t *expected, uint64_t desired, bool weak,
                const void *pc);
void memory_fence(int order, const void *pc);
void memory_membarrier(const void *pc);
void memory_reset(void);
void memory_setup(void);
void memory_invalidate(uint32_t first_location, uintptr_t address, size_t size);
enum {
    RMW_EXCHANGE,
    RMW_ADD,
    RMW_SUB,
    RMW_AND,
    RMW_OR,
    RMW_XOR,
    RMW_NAND
};

/* scorder.c */
struct sc_access {
    struct sc_access *before;
    struct message *message;
    int16_t thread, seq;
};
void sc_setup(void);
void sc_reset(void);
struct reach {
    clock_vec hb; /* all that these steps have seen */
    clock_vec sc; /* the seq_cst operations that come before */
};
struct reach sc_reach(const clock_vec *hb, int thread, bool sc);
struct message *sc_oldest(struct location *l, const struct reach *r);
void sc_load(struct location *l, struct message *m, bool sc);
void sc_store(struct location *l, struct message *m, bool sc);
uint32_t sc_fence(int thread, const clock_vec *after);
void sc_join_event(clock_vec *into, uint32_t event);
struct message *newest_seen(struct location *l, const clock_vec *clock, struct message *best);

/* spin.c */
bool spin_check(struct location *location, struct message *message, const void *pc);
void spin_before_load(uintptr_t address, const void *pc);
bool spin_outdated(const struct thread *t);
void spin_wait_after_all(int thread);
void spin_progress(void);
uint64_t hash_words(const void *start, const void *end, uint64_t seed);

/* race.c */
struct cell {
    uint32_t generation;
    uint32_t records;
    uint32_t locations;
    uint32_t unused;
};
struct cell *cell_at(uintptr_t address); /* NULL: memory that we do not watch */
void access_plain(uintptr_t address, size_t size, bool write, const void *pc);
void vgc_access_plain(uintptr_t address, size_t size, bool write,
                      const void *pc); /* for the code under check: context.S */
void access_atomic(uintptr_t address, size_t size, bool write, const void *pc);
void access_free(uintptr_t address, size_t size, const void *pc);
void race_setup(void);
void race_reset(void);

/* heap.c */
void heap_step(uint8_t kind, const void *pc);
void heap_setup(void);
void heap_reset(void);
void heap_check(uintptr_t address, size_t size, bool write, const void *pc);
void stack_check(uintptr_t address, const void *pc);

/* unseen.c */
void unseen_instrumented(void);
void unseen_setup(void);
void unseen_refuse(void);
void *heap_alloc(size_t size, size_t align, int fill, const void *pc, bool mapped);
void heap_free(void *block, const void *pc);
void heap_end(void);
bool heap_describe(uintptr_t address, char *text, size_t room);
bool alloc_fails(void);
enum {
    HEAP_PER_THREAD = 32 * 1024 * 1024
};

/* sync.c, sync_mutex.c */
int sync_lock(void *mutex, bool try_only, bool timed, uint64_t deadline, const void *pc);
int sync_unlock(void *mutex, const void *pc);
void sync_sleepers_changed(struct location *l);

/* futex.c */
bool risk(int *budget);
long futex_wait(uintptr_t address, uint32_t expected, uint64_t deadline, bool timed, const void *pc);
long futex_wake(uintptr_t address, int count, const void *pc);

/* files.c */
void files_reset(void);
void files_forget_location(void);
int files_count(void);
void files_changed(uint32_t by_event);
uint64_t files_next_deadline(void);

/* report.c */
_Noreturn void fail(enum vgc_finding finding, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct trace_line *trace_add(uint8_t kind, const void *pc);
void print_counterexample(void);
void value_text(uint64_t value, int size, char *text, size_t room);
char *schedule_string(void);
bool schedule_parse(const char *text);

/* symbols.c */
void describe_address(uintptr_t address, char *text, size_t room);
void describe_pc(const void *pc, char *text, size_t room);
struct dl_phdr_info;
void objects_visit(int (*visit)(struct dl_phdr_info *info, size_t size, void *context), void *context);
void symbols_resolve(const void **pcs, size_t count);

/* outcome.c */
void outcome_begin(void);
bool outcome_pending(void);
void outcome_commit(void);
void outcome_forget(void);
void outcome_finish(struct vgc_result *result);

/* state.c */
bool state_seen(void);
void state_setup(void);
void state_begin(void);
bool state_forgotten(uintptr_t address);
uint64_t hash_memory(const void *start, const void *end, uint64_t seed);
uint64_t state_count(void);
uint64_t **state_table(size_t **room, size_t **count);

/* coverage.c */
void coverage_begin(void);
void coverage_end(const char *program);

/* real functions behind the wrappers */
void *map_pages(size_t size);

#endif
