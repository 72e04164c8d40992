/* SPDX-License-Identifier: MIT */
/*
 * The scheduler. A thread that reaches a visible operation writes it down and asks who moves next; if that is itself,
 * it just goes on, else the coroutine is switched. Decisions come from the search stack while it lasts (that is how an
 * execution is repeated up to the point where it must differ), then from the mode.
 */
#include "internal.h"
#include "stacks.h"
#include "state.h"
#include <string.h>

ENGINE_STATE static struct {
    int priority[MAX_THREADS];
    int changes[16];
    int change_count;
    int next_priority; /* for threads that come down: lower and lower */
    int expected_steps;
} pct;

uint64_t next_random(void)
{
    uint64_t x = G.random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    G.random = x;
    return x * 0x2545F4914F6CDD1DULL >> 16;
}

static int random_below(int n)
{
    return (int)(next_random() % (uint64_t)n);
}

/* PCT (Burckhardt et al. 2010): random priorities, the highest that can run
 * does, and at d - 1 random steps the running thread comes down below all
 * others. */
void pct_begin(void)
{
    for (int i = 0; i < MAX_THREADS; i++)
        pct.priority[i] = 1000 + i;
    for (int i = MAX_THREADS - 1; i > 0; i--) {
        int j = random_below(i + 1), p = pct.priority[i];
        pct.priority[i] = pct.priority[j];
        pct.priority[j] = p;
    }
    if (pct.expected_steps < G.result->longest)
        pct.expected_steps = G.result->longest;
    if (pct.expected_steps < 16)
        pct.expected_steps = 16;
    pct.change_count = G.opt.pct_depth - 1;
    if (pct.change_count > 16)
        pct.change_count = 16;
    for (int i = 0; i < pct.change_count; i++)
        pct.changes[i] = 1 + random_below(pct.expected_steps);
    pct.next_priority = 900;
}

void pct_yield(void)
{
    pct.priority[G.current] = pct.next_priority--;
}

static int pct_pick(uint32_t enabled)
{
    for (int i = 0; i < pct.change_count; i++)
        if (pct.changes[i] == G.steps)
            pct_yield();
    int best = -1;
    for (int i = 0; i < G.thread_count; i++)
        if ((enabled >> i & 1) && (best < 0 || pct.priority[i] > pct.priority[best]))
            best = i;
    return best;
}

static const char *blocked_in(const struct thread *t)
{
    switch (t->status) {
    case T_FUTEX:
        return t->waiting_at != NULL && t->waiting_at->size == 0 ? "waits on a condition variable or barrier"
                                                                 : "sleeps on a futex";
    case T_JOINING:
        return "waits for a thread to end";
    case T_LOCKING:
        return t->op.kind == OP_SEM_WAIT ? "waits for a semaphore"
               : t->op.kind == OP_ONCE   ? "waits for another thread's pthread_once"
               : t->op.kind == OP_LOCK   ? "waits for a mutex"
                                         : "waits for a read-write lock";
    case T_SPINNING:
        return "polls in a loop";
    case T_POLLING:
        return "waits for a file";
    default:
        return "waits";
    }
}

_Noreturn static void nobody_can_move(void)
{
    char text[400];
    size_t length = 0;
    bool spinning = false;
    text[0] = 0;
    for (int i = 0; i < G.thread_count; i++) {
        struct thread *t = &G.threads[i];
        if (t->status == T_ENDED)
            continue;
        spinning |= t->status == T_SPINNING;
        char where[64];
        where[0] = 0;
        if (t->waiting_at != NULL && t->status != T_JOINING)
            describe_address(t->waiting_at->address, where, sizeof where);
        int n = __builtin_snprintf(text + length, sizeof text - length, "%st%d %s%s%s", length ? "; " : "", i,
                                   blocked_in(t), where[0] ? " at " : "", where);
        length += n > 0 ? (size_t)n : 0;
        if (length >= sizeof text - 1)
            break;
    }
    if (spinning)
        fail(VGC_ENDLESS_LOOP, "no thread can end its loop: %s", text);
    fail(VGC_DEADLOCK, "nobody can move: %s", text);
}

/* No thread is ready. Either all is over, or something outside the threads
 * moves: the quiescing thread, the clock, or the rule that a store becomes
 * visible in finite time. */
static void when_idle(void)
{
    if (G.live == 0)
        leave_to_main(END_COMPLETE);
    for (int i = 0; i < G.thread_count; i++) {
        struct thread *t = &G.threads[i];
        if (t->status == T_SPINNING && t->spin_for_good) {
            if (spin_outdated(t))
                leave_to_main(END_REDUNDANT);
            spin_wait_after_all(i);
            continue;
        }
        if (t->status == T_SPINNING && t->read_old) {
            t->force_left = t->loop_length;
            sched_wake(i, 0);
            return;
        }
    }
    /* Behind the pollers, which still can move; before the clock, which vgc_quiesce does not wait for. */
    if (G.quiescing >= 0) {
        sched_wake(G.quiescing, 0);
        return;
    }
    uint64_t nearest = UINT64_MAX;
    for (int i = 0; i < G.thread_count; i++) {
        struct thread *t = &G.threads[i];
        if (t->timed && t->status != T_ENDED && t->status != T_READY && t->deadline < nearest)
            nearest = t->deadline;
    }
    uint64_t timer = files_next_deadline();
    if (timer < nearest)
        nearest = timer;
    if (nearest != UINT64_MAX) {
        if (nearest > G.now)
            G.now = nearest;
        files_changed(0);
        for (int i = 0; i < G.thread_count; i++) {
            struct thread *t = &G.threads[i];
            if (t->timed && t->status != T_ENDED && t->status != T_READY && t->deadline <= G.now) {
                t->timed_out = true;
                sched_wake(i, 0);
                t->op.queue = t->waiting_at != NULL ? USE_WRITE : USE_NONE;
                t->op.address = t->waiting_at != NULL ? t->waiting_at->address : 0;
            }
        }
        return;
    }
    if (G.opt.allow_sleepers && G.threads[0].status == T_ENDED)
        leave_to_main(END_COMPLETE);
    nobody_can_move();
}

static int lowest(uint32_t mask)
{
    return __builtin_ctz(mask);
}

/* The stateful search: a thread whose next step nobody else can notice, nor be noticed by it. It may as well be made at once, and
 * nothing else need be tried before it. */
static int local_step(uint32_t enabled)
{
    for (uint32_t rest = enabled; rest != 0; rest &= rest - 1) {
        const struct op *op = &G.threads[lowest(rest)].op;
        const bool empty = op->memory == USE_NONE && op->queue == USE_NONE && op->table == USE_NONE && !op->all;
        if (((op->kind == OP_START || op->kind == OP_RESUME) && empty) ||
            (op->order != __ATOMIC_SEQ_CST && private_step(op)))
            return lowest(rest);
    }
    return -1;
}

static int pick(void)
{
    if (__builtin_expect(++G.steps > G.opt.max_steps || G.depth >= MAX_STEPS * 4 - 1, 0))
        leave_to_main(END_TRUNCATED);
    if (__builtin_expect(G.enabled == 0, 0))
        when_idle();
    uint32_t enabled = G.enabled;
    struct node *n = &G.nodes[G.depth];
    if (G.depth < G.fixed) {
        if (n->is_choice || !(enabled >> n->taken & 1))
            fail(VGC_MISUSE,
                 "the program does not repeat itself: thread %d cannot move at "
                 "decision %u. Does it use a real "
                 "clock, real randomness, or memory that is not put back?",
                 n->taken, G.depth);
        G.sched_node = G.depth++;
        return n->taken;
    }
    *n = (struct node){.enabled = (uint16_t)enabled, .read_only = true};
    int self = (enabled >> G.current & 1) ? G.current : -1;
    int chosen;
    switch (G.replaying ? VGC_FULL : G.opt.mode) {
    case VGC_DPOR:
        n->sleep = G.sleep;
        n->sleep_reads = G.sleep_reads;
        if ((enabled & ~(uint32_t)G.sleep) == 0)
            leave_to_main(END_REDUNDANT);
        chosen = self >= 0 && !(G.sleep >> self & 1) ? self : lowest(enabled & ~(uint32_t)G.sleep);
        n->backtrack = (uint16_t)(1u << chosen);
        break;
    case VGC_STATEFUL:
        chosen = local_step(enabled);
        if (chosen >= 0) {
            n->backtrack = (uint16_t)(1u << chosen);
            break;
        }
        if (state_seen())
            leave_to_main(END_REDUNDANT);
        chosen = self >= 0 ? self : lowest(enabled);
        n->backtrack = (uint16_t)enabled;
        break;
    case VGC_PREEMPT:
        chosen = bounded_pick(n, enabled);
        break;
    case VGC_PCT:
        chosen = pct_pick(enabled);
        break;
    case VGC_RANDOM: {
        int k = random_below(__builtin_popcount(enabled));
        uint32_t rest = enabled;
        while (k-- > 0)
            rest &= rest - 1;
        chosen = lowest(rest);
        break;
    }
    default: /* VGC_FULL */
        chosen = self >= 0 ? self : lowest(enabled);
        n->backtrack = (uint16_t)enabled;
        break;
    }
    n->taken = (uint8_t)chosen;
    G.sched_node = G.depth++;
    G.node_count = G.depth;
    return chosen;
}

/* With nobody else alive, and nothing that others did left to be reordered, there is nothing to decide: no node, no event.
 * Most of setting up and tearing down is like that. */
static void alone_step(void)
{
    G.step_alone = true;
    if (G.thread_count > 1)
        step_label(G.current);
    if (++G.alone_steps > 1000000)
        leave_to_main(END_TRUNCATED);
}

void update_alone(void)
{
    G.alone = false;
    if (G.live != 1 || G.opt.broken_rules != 0)
        return;
    const struct thread *left = NULL;
    for (int i = 0; i < G.thread_count; i++)
        if (G.threads[i].status != T_ENDED)
            left = &G.threads[i];
    for (int i = 0; i < G.thread_count; i++) {
        const struct thread *t = &G.threads[i];
        const clock_vec *past = G.opt.mode == VGC_STATEFUL ? &left->hb : &left->dep;
        if (t != left && t->last_event != 0 && G.events[t->last_event - 1].seq > past->at[i])
            return;
    }
    G.alone = true;
}

/* What functions that have returned left below the stack pointer would make equal states look different. */
static void wipe_dead_stack(char *user_sp)
{
    typedef long long eight __attribute__((vector_size(64), aligned(8)));
    for (char *at = user_sp - DEAD_STACK; at < user_sp; at += sizeof(eight))
        *(eight *)(void *)at = (eight){0};
}

void sched_point(const struct op *op)
{
    struct thread *me = ME;
    me->op = *op;
    me->user_sp = vgc_user_sp;
    if (G.alone) {
        alone_step();
        return;
    }
    if (G.opt.mode == VGC_STATEFUL)
        wipe_dead_stack(me->user_sp);
    int next = pick();
    if (next != G.current) {
        thread_switch(next);
        vgc_user_sp = me->user_sp; /* other threads have run since */
    }
    me->operands = 0;
    event_begin();
}

void sched_block(enum status status)
{
    struct thread *me = ME;
    me->status = status;
    me->user_sp = vgc_user_sp;
    me->waker = 0;
    G.enabled &= ~(1u << G.current);
    int next = pick();
    if (next != G.current) {
        thread_switch(next);
        vgc_user_sp = me->user_sp; /* other threads have run since */
    }
    event_begin();
}

/* by_event: number + 1 of the event that made it ready; the thread's next step
 * depends on it. */
void sched_wake(int thread, uint32_t by_event)
{
    struct thread *t = &G.threads[thread];
    t->status = T_READY;
    t->waker = by_event;
    G.enabled |= 1u << thread;
}

_Noreturn void sched_thread_ended(void)
{
    struct thread *me = ME;
    me->status = T_ENDED;
    step_label(G.current);
    G.enabled &= ~(1u << G.current);
    G.live--;
    G.alone = false;
    for (int i = 0; i < G.thread_count; i++)
        if (G.threads[i].status == T_JOINING && G.threads[i].joining == G.current)
            sched_wake(i, me->last_event);
    int next = pick();
    thread_switch(next);
    __builtin_unreachable();
}

int choose(int n)
{
    if (n <= 1)
        return 0;
    struct node *c = &G.nodes[G.depth];
    if (__builtin_expect(G.depth >= MAX_STEPS * 4 - 1, 0))
        leave_to_main(END_TRUNCATED);
    if (G.depth < G.fixed) {
        if (!c->is_choice || c->taken >= n || (!G.replaying && c->count != n))
            fail(VGC_MISUSE,
                 "the program does not repeat itself: another number of "
                 "possibilities at decision %u",
                 G.depth);
        c->count = (uint8_t)n;
        G.depth++;
        bounded_choice(c->taken);
        return c->taken;
    }
    *c = (struct node){.is_choice = 1, .count = (uint8_t)n};
    if (!G.replaying && (G.opt.mode == VGC_PCT || G.opt.mode == VGC_RANDOM))
        c->taken = (uint8_t)((next_random() & 3) != 0 ? 0 : random_below(n));
    G.depth++;
    G.node_count = G.depth;
    bounded_choice(c->taken);
    return c->taken;
}

int choose_message(int n)
{
    if (n <= 1)
        return 0;
    struct node *c = &G.nodes[G.depth];
    const bool is_new = G.depth >= G.fixed;
    const int taken = choose(n);
    if (is_new && G.opt.mode == VGC_PREEMPT)
        c->only_newest = bounded_only_newest();
    if (taken > 0)
        bounded_old();
    return taken;
}
