/* SPDX-License-Identifier: MIT */
/*
 * Does the reduction lose anything where threads block? Random programs of stores, loads, futex waits and wakes, mutexes, polling
 * loops and membarriers are explored with partial-order reduction, without it, and statefully; the sets of outcomes must be equal.
 * (The litmus tests do the same for the memory model alone, against the axioms.)
 *
 * Whoever sleeps when nothing moves any more is woken by thread 0, and how many that were is part of the outcome: a lost
 * wake-up is an outcome like another here.
 */
#include "random.h"
#include <vigil_check.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind {
    STORE,
    LOAD,
    ADD,
    WAIT,
    WAKE,
    LOCKED,
    TRY,
    BARRIER,
    FENCE,
    POLL,
    COPY, /* a value that lies in a register while its thread waits for its turn */
    KINDS,
    PUT = KINDS, /* relaxed, on more places: some of them are used by one thread alone (private.c) */
    GET,
    BUMP,
    LOCKS, /* from here on: semaphores, read-write locks, condition variables, once (sync.c) */
    DOWN = LOCKS,
    UP,
    TRY_DOWN,
    READ,
    WRITE,
    TRY_READ,
    AWAIT,
    AWAIT_ONCE,
    SIGNAL,
    BROADCAST,
    ONLY_SIGNAL,
    ONCE,
    ALL_KINDS
};

struct op {
    enum kind kind;
    int word, value;
};

struct program {
    int locks; /* 0, or the semaphore's first value + 1 */
    int threads, count[3];
    struct op op[3][4];
};

static _Atomic unsigned word[2];
static _Atomic unsigned place[4];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t semaphore;
static int guarded, shared, flag, made;
static int result[3][4];
static const struct program *running;

static long futex(_Atomic unsigned *w, int operation, unsigned value)
{
    return syscall(SYS_futex, w, operation, value, NULL, NULL, 0);
}

static void make_once(void)
{
    made += 1;
}

static int run_lock(enum kind kind)
{
    int got = 0;
    switch (kind) {
    case DOWN:
        return sem_wait(&semaphore);
    case UP:
        return sem_post(&semaphore);
    case TRY_DOWN:
        return sem_trywait(&semaphore);
    case READ:
        pthread_rwlock_rdlock(&rwlock);
        got = shared;
        pthread_rwlock_unlock(&rwlock);
        return got;
    case WRITE:
        pthread_rwlock_wrlock(&rwlock);
        got = shared++;
        pthread_rwlock_unlock(&rwlock);
        return got;
    case TRY_READ:
        if (pthread_rwlock_tryrdlock(&rwlock) != 0)
            return -1;
        got = shared;
        pthread_rwlock_unlock(&rwlock);
        return got;
    case AWAIT:
        pthread_mutex_lock(&mutex);
        while (flag == 0) {
            pthread_cond_wait(&cond, &mutex);
            got++;
        }
        flag--;
        pthread_mutex_unlock(&mutex);
        return got;
    case AWAIT_ONCE:
        pthread_mutex_lock(&mutex);
        pthread_cond_wait(&cond, &mutex);
        got = flag;
        pthread_mutex_unlock(&mutex);
        return got;
    case SIGNAL:
    case BROADCAST:
        pthread_mutex_lock(&mutex);
        got = flag++;
        if (kind == SIGNAL)
            pthread_cond_signal(&cond);
        else
            pthread_cond_broadcast(&cond);
        pthread_mutex_unlock(&mutex);
        return got;
    case ONLY_SIGNAL:
        return pthread_cond_signal(&cond);
    default:
        pthread_once(&once, make_once);
        return made;
    }
}

static int run_op(const struct op *o)
{
    if (o->kind >= LOCKS)
        return run_lock(o->kind);
    _Atomic unsigned *w = &word[o->word];
    int got = 0;
    switch (o->kind) {
    case STORE:
        atomic_store_explicit(w, (unsigned)o->value, memory_order_release);
        return 0;
    case LOAD:
        return (int)atomic_load_explicit(w, memory_order_relaxed);
    case ADD:
        return (int)atomic_fetch_add_explicit(w, 1, memory_order_acq_rel);
    case WAIT:
        return (int)futex(w, FUTEX_WAIT_PRIVATE, (unsigned)o->value);
    case WAKE:
        return (int)futex(w, FUTEX_WAKE_PRIVATE, (unsigned)o->value + 1);
    case LOCKED:
        pthread_mutex_lock(&mutex);
        got = guarded++;
        pthread_mutex_unlock(&mutex);
        return got;
    case TRY:
        if (pthread_mutex_trylock(&mutex) != 0)
            return -1;
        got = guarded++;
        pthread_mutex_unlock(&mutex);
        return got;
    case BARRIER:
        return (int)syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    case PUT:
        atomic_store_explicit(&place[o->value], 1, memory_order_relaxed);
        return 0;
    case GET:
        return (int)atomic_load_explicit(&place[o->value], memory_order_relaxed);
    case BUMP:
        return (int)atomic_fetch_add_explicit(&place[o->value], 1, memory_order_relaxed);
    case COPY:
        atomic_store_explicit(w, atomic_fetch_add_explicit(&word[1 - o->word], 1, memory_order_relaxed),
                              memory_order_release);
        return 0;
    case FENCE:
        atomic_thread_fence(memory_order_seq_cst);
        return 0;
    default: /* polls until the word is not 0, or the other one is */
        while (atomic_load_explicit(w, memory_order_relaxed) == 0 &&
               atomic_load_explicit(&word[1 - o->word], memory_order_relaxed) == 0)
            ;
        return (int)atomic_load_explicit(w, memory_order_relaxed);
    }
}

static void *run_thread(void *arg)
{
    int t = (int)(intptr_t)arg;
    for (int i = 0; i < running->count[t]; i++)
        result[t][i] = run_op(&running->op[t][i]);
    return NULL;
}

static void body(void)
{
    pthread_t handle[3];
    char text[100];
    size_t length = 0;
    long rescued = 0;
    running = vgc_arg();
    sem_init(&semaphore, 0, (unsigned)running->locks - 1);
    (void)syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    for (int t = 0; t < running->threads; t++)
        handle[t] = vgc_thread_start(run_thread, (void *)(intptr_t)t);
    for (int round = 0; round < 5; round++) {
        vgc_quiesce();
        atomic_store_explicit(&word[0], 7, memory_order_release); /* ends polling */
        if (running->locks) {
            pthread_mutex_lock(&mutex);
            flag++;
            pthread_cond_broadcast(&cond);
            pthread_mutex_unlock(&mutex);
            sem_post(&semaphore);
            continue;
        }
        rescued = rescued * 10 + futex(&word[0], FUTEX_WAKE_PRIVATE, 9) * 3 + futex(&word[1], FUTEX_WAKE_PRIVATE, 9);
    }
    for (int t = 0; t < running->threads; t++)
        vgc_thread_join(handle[t]);
    for (int t = 0; t < running->threads; t++)
        for (int i = 0; i < running->count[t]; i++)
            length += (size_t)snprintf(text + length, sizeof text - length, "%d ", result[t][i]);
    snprintf(text + length, sizeof text - length, "rescued %ld", rescued);
    vgc_outcome("%s", text);
}

static uint64_t state;

static int dice(int n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)((state >> 20) % (uint64_t)n);
}

/* One thread has a membarrier, the others rely on it; two of the four places are met by more than one thread, at most. */
static void make_around_membarrier(struct program *p)
{
    static const enum kind kinds[] = {PUT, GET, GET, PUT, BUMP};
    memset(p, 0, sizeof *p);
    p->threads = 2 + (dice(3) == 0);
    for (int t = 0; t < p->threads; t++) {
        p->count[t] = (t == 0 || p->threads == 2 ? 2 : 1) + dice(3);
        for (int i = 0; i < p->count[t]; i++) {
            const bool barrier = t == 0 ? i == 1 : dice(8) == 0;
            p->op[t][i] = (struct op){barrier ? BARRIER : kinds[dice(5)], 0, dice(3) == 0 ? 2 + t % 2 : dice(2)};
        }
    }
}

static void make_locks(struct program *p)
{
    memset(p, 0, sizeof *p);
    p->locks = 1 + dice(2);
    p->threads = 2 + (dice(2) == 0);
    for (int t = 0; t < p->threads; t++) {
        p->count[t] = p->threads == 3 ? 1 + dice(2) : 1 + dice(3);
        for (int i = 0; i < p->count[t]; i++)
            p->op[t][i] = (struct op){(enum kind)(LOCKS + dice(ALL_KINDS - LOCKS)), 0, 0};
    }
}

static void make(struct program *p)
{
    memset(p, 0, sizeof *p);
    p->threads = 2 + (dice(4) == 0);
    for (int t = 0; t < p->threads; t++) {
        p->count[t] = p->threads == 3 ? 1 + dice(2) : 2 + dice(2);
        for (int i = 0; i < p->count[t]; i++)
            p->op[t][i] = (struct op){(enum kind)dice(KINDS), dice(2), dice(2)};
    }
}

static bool same(const struct vgc_result *a, const struct vgc_result *b)
{
    if (a->verdict != b->verdict)
        return false;
    if (a->verdict != VGC_PASS)
        return true; /* both found it; what was seen until then may differ */
    if (a->outcome_count != b->outcome_count)
        return false;
    for (size_t i = 0; i < a->outcome_count; i++)
        if (strcmp(a->outcomes[i].text, b->outcomes[i].text) != 0)
            return false;
    return true;
}

static void describe(const struct program *p)
{
    static const char *const names[] = {
        "store", "load",     "add",   "wait",       "wake",   "locked",    "try",         "barrier",  "fence",
        "poll",  "copy",     "put",   "get",        "bump",   "down",      "up",          "try_down", "read",
        "write", "try_read", "await", "await_once", "signal", "broadcast", "only_signal", "once"};
    for (int t = 0; t < p->threads; t++) {
        printf("    t%d:", t + 1);
        for (int i = 0; i < p->count[t]; i++)
            printf(" %s(%d,%d)", names[p->op[t][i].kind], p->op[t][i].word, p->op[t][i].value);
        printf("\n");
    }
}

static void describe_difference(const struct vgc_result *a, const struct vgc_result *b)
{
    printf("    %s against %s\n", vgc_finding_name(a->verdict), vgc_finding_name(b->verdict));
    for (size_t i = 0; i < b->outcome_count; i++) {
        bool there = false;
        for (size_t k = 0; k < a->outcome_count && !there; k++)
            there = strcmp(a->outcomes[k].text, b->outcomes[i].text) == 0;
        if (!there)
            printf("    only in the second: %s\n", b->outcomes[i].text);
    }
}

/* The same bound with and without what bounded.c leaves out. */
static int compare_bounds(const struct vgc_scenario *s, const struct vgc_options *like, int bound)
{
    struct vgc_options cached = *like, plain;
    struct vgc_result a, b;
    cached.mode = VGC_PREEMPT;
    cached.preemptions = bound;
    cached.bound_old = bound == 2;
    plain = cached;
    plain.broken_rules = VGC_PLAIN_BOUND;
    plain.max_executions = 10000;
    vgc_explore(s, &plain, &b);
    int wrong = 0;
    if (b.verdict != VGC_INCOMPLETE) {
        vgc_explore(s, &cached, &a);
        wrong = !same(&a, &b);
        if (wrong) {
            printf("  FAILED: %d preemptions, with and without memory of nodes\n", bound);
            describe(s->arg);
            describe_difference(&a, &b);
        }
        vgc_result_free(&a);
    }
    vgc_result_free(&b);
    return wrong;
}

int random_programs(int count, uint64_t seed, bool locks)
{
    int wrong = 0, compared = 0, skipped = 0;
    uint64_t reduced = 0, all = 0;
    state = seed * 0x9E3779B97F4A7C15ULL | 1;
    for (int i = 0; i < count; i++) {
        static struct program p;
        if (locks)
            make_locks(&p);
        else if (i % 3 == 2)
            make_around_membarrier(&p);
        else
            make(&p);
        struct vgc_scenario s = {.name = "random", .property = "", .body = body, .arg = &p};
        struct vgc_options dpor = {.mode = VGC_DPOR, .spurious = i % 5 == 0, .sc_memory = i % 4 == 1}, full = dpor,
                           stateful = dpor;
        full.mode = VGC_FULL;
        full.max_executions = locks ? 3000 : 10000;
        stateful.mode = VGC_STATEFUL;
        struct vgc_result a, b, c;
        vgc_explore(&s, &full, &b);
        if (b.verdict == VGC_INCOMPLETE) {
            skipped++;
            vgc_result_free(&b);
            continue;
        }
        vgc_explore(&s, &dpor, &a);
        vgc_explore(&s, &stateful, &c);
        wrong += compare_bounds(&s, &dpor, 1 + i % 3);
        compared++;
        reduced += a.executions;
        all += b.executions;
        if (!same(&a, &b) || !same(&c, &b)) {
            printf("  FAILED random program %d of seed %llu: %s\n", i, (unsigned long long)seed,
                   same(&a, &b) ? "stateful against full" : "dpor against full");
            describe(&p);
            describe_difference(same(&a, &b) ? &c : &a, &b);
            wrong++;
        }
        vgc_result_free(&a);
        vgc_result_free(&b);
        vgc_result_free(&c);
    }
    printf("\nrandom programs that %s: %d compared (%d too large), %llu executions with reduction, %llu without, %d "
           "different\n",
           locks ? "use locks" : "block", compared, skipped, (unsigned long long)reduced, (unsigned long long)all,
           wrong);
    return wrong;
}
