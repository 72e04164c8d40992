/* SPDX-License-Identifier: MIT */
/*
 * pipeline.c - items through stages. README.md, "Pipelines".
 *
 * A token carries one item and is a task. Tokens are numbered anew by the first stage. A serial stage has a slot for
 * each token, by number modulo tokens. A slot holds nothing, a token that waits for its turn, or the turn that waits
 * for its token. Who comes second, by an exchange, finds the first and runs the stage for that token.
 */
#include "call.h"

#include "base/mutex.h"
#include "base/why.h"
#include "pool/group.h"
#include "pool/pool_struct.h"

#include <errno.h>
#include <stdlib.h>
#include <vigil/graph.h>

typedef struct pipeline_run pipeline_run;

enum {
#ifdef VIGIL_CHECK
    PIPE_SPINS = 0,
#else
    PIPE_SPINS = 100,
#endif
};

typedef struct pipe_token {
    vigil_task task; /* first */
    pipeline_run *run;
    void *item;
    bool loaded;     /* item is one, and not yet through */
    uint64_t number; /* of the item */
    size_t stage;    /* the next */
    bool its_turn;   /* at that stage */
    bool offered;    /* spawned to read, by nobody's turn */
    struct pipe_token *next_free;
} pipe_token;

struct pipeline_run {
    vg_parallel call;
    const vigil_stage *stages;
    size_t stage_count;
    size_t token_count;
    pipe_token *tokens;
    _Atomic(pipe_token *) *slots; /* [stage * token_count + number % token_count] */
    vigil_group group;
    vg_mutex input;       /* the rest is under it; the first stage itself runs without it */
    _Atomic bool reading; /* a token is in the first stage */
    bool offered;         /* a token was spawned to read and has not started */
    bool ended;
    pipe_token *free;
    uint64_t read; /* items; by the reader alone */
};

static pipe_token the_turn; /* its address is the mark of a turn that waits */

static void spawn_token(pipeline_run *run, pipe_token *token)
{
    const int refused = vigil_group_spawn(&run->group, &token->task);
    if (__builtin_expect(refused != 0, 0))
        vg_parallel_fail(&run->call, refused);
}

typedef struct stage_call {
    const vigil_stage *stage;
    void **item;
} stage_call;

static int run_stage_call(void *arg)
{
    const stage_call *it = arg;
    return it->stage->run(it->stage->arg, it->item);
}

static int call_stage(pipeline_run *run, size_t stage, void **item)
{
    stage_call it = {.stage = &run->stages[stage], .item = item};
    const int status = vg_parallel_guarded(run->call.pool, run_stage_call, &it);
    if (status < 0)
        vg_parallel_fail(&run->call, status);
    return status;
}

/* ---- the first stage ---- */

/* Another token is in the first stage: it may be short. */
static void await_reader(const pipeline_run *run)
{
    for (unsigned i = 0; i < PIPE_SPINS && atomic_load_explicit(&run->reading, memory_order_relaxed); i++)
        vg_spin_pause(); /* relaxed: a hint; begin_to_read looks under the lock */
}

/* A token without an item may read the next. false: another does, or there is no more. */
static bool begin_to_read(pipeline_run *run, pipe_token *token)
{
    bool mine = false;
    await_reader(run);
    vg_mutex_lock(&run->input);
    if (token->offered)
        token->offered = run->offered = false;
    const bool reading = atomic_load_explicit(&run->reading, memory_order_relaxed); /* written under the lock */
    if (!run->ended && reading) {
        token->next_free = run->free;
        run->free = token;
    } else if (!run->ended) {
        atomic_store_explicit(&run->reading, true, memory_order_relaxed);
        mine = true;
    }
    vg_mutex_unlock(&run->input);
    return mine;
}

/* The next thread reads. One free token is offered to workers that have nothing to do; it stays in the deque while
   all are busy, and the tokens that run read one after the other without a queue. */
static void end_to_read(pipeline_run *run, bool ended)
{
    vg_mutex_lock(&run->input);
    pipe_token *next = ended || run->offered ? NULL : run->free;
    run->ended = ended;
    atomic_store_explicit(&run->reading, false, memory_order_relaxed); /* as above */
    if (next != NULL) {
        run->free = next->next_free;
        next->offered = run->offered = true;
    }
    vg_mutex_unlock(&run->input);
    if (next != NULL)
        spawn_token(run, next);
}

/* The token has no item: it reads later, if at all. */
static void free_token(pipeline_run *run, pipe_token *token)
{
    token->loaded = false;
    vg_mutex_lock(&run->input);
    token->next_free = run->free;
    run->free = token;
    vg_mutex_unlock(&run->input);
}

/* Load the token. false: there is nothing, now or ever. */
static bool read_item(pipeline_run *run, pipe_token *token)
{
    if (!begin_to_read(run, token))
        return false;
    token->item = NULL;
    token->number = run->read;
    const int more = vg_parallel_stopped(&run->call) ? 0 : call_stage(run, 0, &token->item);
    if (more > 0) {
        run->read++;
        token->loaded = true;
        token->stage = 1;
    }
    end_to_read(run, more <= 0);
    return more > 0;
}

/* ---- serial stages ---- */

static _Atomic(pipe_token *) *turn_slot(pipeline_run *run, size_t stage, uint64_t number)
{
    return &run->slots[stage * run->token_count + number % run->token_count];
}

/* Is it the token's turn? If not it waits in its slot, and is no longer ours. */
static bool take_turn(pipeline_run *run, pipe_token *token)
{
    if (token->its_turn) {
        token->its_turn = false;
        return true;
    }
    _Atomic(pipe_token *) *slot = turn_slot(run, token->stage, token->number);
    /* T1 release: who finds the token sees it and its item; acquire: we see what the stage did before, if the turn is
       there. Pairs with T2. */
    if (atomic_exchange_explicit(slot, token, memory_order_acq_rel) != &the_turn)
        return false;
    /* relaxed: its next user is the token with the same number modulo tokens, which was free before it was read */
    atomic_store_explicit(slot, NULL, memory_order_relaxed);
    return true;
}

/* The stage has handled this number: the next one's turn. Returns that token if it waits. */
static pipe_token *pass_turn(pipeline_run *run, size_t stage, uint64_t number)
{
    _Atomic(pipe_token *) *slot = turn_slot(run, stage, number + 1);
    /* T2 release: the next token sees what the stage did; acquire: we see the token. Pairs with T1. */
    pipe_token *waiting = atomic_exchange_explicit(slot, &the_turn, memory_order_acq_rel);
    if (waiting != NULL)
        atomic_store_explicit(slot, NULL, memory_order_relaxed); /* as in take_turn */
    return waiting;
}

/* A serial stage has handled `number`, and so may handle those that wait behind it. In the last stage we do it
   ourselves: only one may, and nothing comes after it. false: the pipeline is over. */
static bool serve_waiting(pipeline_run *run, size_t stage, uint64_t number)
{
    pipe_token *waiting;
    while ((waiting = pass_turn(run, stage, number)) != NULL) {
        if (stage + 1 < run->stage_count) {
            waiting->its_turn = true;
            spawn_token(run, waiting);
            return true;
        }
        number = waiting->number;
        if (vg_parallel_stopped(&run->call) || call_stage(run, stage, &waiting->item) < 0)
            return false;
        free_token(run, waiting);
    }
    return true;
}

/* ---- tokens ---- */

/* One stage. false: the token waits elsewhere, or the pipeline is over. */
static bool run_one_stage(pipeline_run *run, pipe_token *token)
{
    const size_t stage = token->stage;
    const uint64_t number = token->number;
    const bool serial = run->stages[stage].kind == VIGIL_STAGE_SERIAL;
    if (serial && !take_turn(run, token))
        return false;
    if (vg_parallel_stopped(&run->call) || call_stage(run, stage, &token->item) < 0)
        return false;
    token->stage++;
    if (!serial)
        return true;
    token->loaded = token->stage < run->stage_count; /* what is through is not dropped */
    return serve_waiting(run, stage, number);
}

static int run_pipe_token(vigil_task *task)
{
    pipe_token *token = (pipe_token *)(void *)task;
    pipeline_run *run = token->run;
    for (;;) {
        if (!token->loaded && !read_item(run, token))
            return 0;
        while (token->stage < run->stage_count)
            if (!run_one_stage(run, token))
                return 0;
        token->loaded = false;
    }
}

static int run_whole_pipeline(void *arg)
{
    pipeline_run *run = arg;
    vg_group_prepare(&run->group, run->call.pool, vg_worker_of(run->call.pool), 0);
    for (size_t i = run->token_count; i-- > 1;) {
        run->tokens[i].next_free = run->free;
        run->free = &run->tokens[i];
    }
    spawn_token(run, &run->tokens[0]);
    const int status = vigil_group_wait(&run->group);
    if (status != 0) /* the pool was closed */
        vg_parallel_fail(&run->call, status);
    return 0;
}

static int check_stages(const vigil_stage *stages, size_t count, const vigil_pipeline_options *options)
{
    if (stages == NULL || count == 0)
        return stages == NULL ? VG_WHY_NULL("stages") : vg_why(-EINVAL, "count is 0; a pipeline has a first stage");
    for (size_t i = 0; i < count; i++) {
        if (stages[i].run == NULL)
            return vg_why_say(-EINVAL, "stages[%zu].run is NULL", i);
        if ((unsigned)stages[i].kind > VIGIL_STAGE_PARALLEL)
            return vg_why_say(-EINVAL, "stages[%zu].kind is %d; serial and parallel are known", i, (int)stages[i].kind);
    }
    if (options != NULL && options->size != sizeof *options)
        return vg_why(-EINVAL, "options->size is not what VIGIL_PIPELINE_OPTIONS_INIT sets");
    if (options != NULL && options->tokens > UINT32_MAX)
        return vg_why_say(-EINVAL, "options->tokens is %zu; the most is %u", options->tokens, UINT32_MAX);
    return 0;
}

int vigil_pipeline_run(vigil_pool *pool, const vigil_stage *stages, size_t count, const vigil_pipeline_options *options)
{
    pipeline_run run = {.stages = stages, .stage_count = count};
    vigil_parallel_options common = VIGIL_PARALLEL_OPTIONS_INIT;
    if (options != NULL) {
        common.priority = options->priority;
        common.token = options->token;
    }
    int error = vg_parallel_begin(&run.call, pool, &common);
    if (error == 0)
        error = check_stages(stages, count, options);
    if (error != 0)
        return error;
    run.token_count = options != NULL && options->tokens != 0 ? options->tokens : 2U * vigil_pool_workers(pool);
    run.tokens = calloc(run.token_count, sizeof *run.tokens);
    run.slots = calloc(run.token_count * count, sizeof *run.slots);
    if (run.tokens == NULL || run.slots == NULL) {
        error = vg_why(-ENOMEM, "no memory for the tokens of a pipeline");
    } else {
        vg_mutex_init(&run.input);
        for (size_t i = 0; i < run.token_count; i++) {
            vigil_task_init(&run.tokens[i].task, run_pipe_token, NULL);
            run.tokens[i].run = &run;
        }
        for (size_t stage = 1; stage < count; stage++)
            atomic_store_explicit(turn_slot(&run, stage, 0), &the_turn,
                                  memory_order_relaxed); /* published by the spawn */
        error = vg_parallel_inside(&run.call, run_whole_pipeline, &run);
        if (error == 0)
            error = atomic_load_explicit(&run.call.failed, memory_order_relaxed); /* as in vg_parallel_fail */
        for (size_t i = 0; i < run.token_count; i++)
            if (run.tokens[i].loaded && options != NULL && options->drop != NULL)
                options->drop(options->user, run.tokens[i].item);
    }
    free(run.tokens);
    free((void *)run.slots);
    return error;
}
