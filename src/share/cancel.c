/* SPDX-License-Identifier: MIT */
/*
 * cancel.c - one word that says why, and a list of handlers.
 *
 * Source and token are one object. The lock guards the lists; no handler runs under it. The aborting thread takes
 * handlers one by one and notes the running one. A thread that removes a running handler sleeps until the note
 * changes, so after a remove the handler's memory is free.
 *
 * A source made of others has a link in each. Links are no references: the source takes them back under the other's
 * lock when it goes. An abort takes a reference under the same lock, if there still is one.
 *
 * As in the DOM, an abort first marks all dependants, then runs the source's handlers, then theirs. Marking and
 * freeing walk queues: a chain may have any length.
 */
#include "base/why.h"
#include "cancel.h"

#include "base/futex.h"
#include "base/list.h"
#include "base/mutex.h"
#include "base/raise.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From a source made of others to one of them. */
typedef struct vg_cancel_link {
    vg_list_link in_parent; /* under the parent's lock: among its dependants */
    vigil_cancel_token *child;
    vigil_cancel_token *parent; /* a reference */
} vg_cancel_link;

struct vigil_cancel_token {
    _Atomic uint32_t refs;
    _Atomic int32_t status; /* written once, under the lock */
    vg_mutex lock;
    _Atomic uint32_t turn; /* changes when a handler has returned; removers sleep on it */
    vigil_cancel_handler *first;
    vigil_cancel_handler *last;
    vigil_cancel_handler *running;
    const char *runner;         /* the thread, by an address of its own */
    vg_list dependants;         /* of vg_cancel_link */
    vigil_cancel_token *queued; /* the next in the queue of the thread that aborts or frees it */
    const vg_cancel_clock *clock;
    size_t parents;
    char text[VIGIL_CANCEL_TEXT];
    vg_cancel_link parent[];
};

static _Thread_local char cancel_thread;

/* Queue it behind *last. */
static void queue_token(vigil_cancel_token **last, vigil_cancel_token *token)
{
    token->queued = NULL;
    if (*last != NULL)
        (*last)->queued = token;
    *last = token;
}

static vigil_cancel_token *make_token(size_t parents)
{
    if (parents > (SIZE_MAX / 2 - sizeof(vigil_cancel_token)) / sizeof(vg_cancel_link))
        return NULL;
    vigil_cancel_token *token = calloc(1, sizeof *token + parents * sizeof(vg_cancel_link));
    if (token == NULL)
        return NULL;
    atomic_init(&token->refs, 1U);
    atomic_init(&token->status, 0);
    atomic_init(&token->turn, 0U);
    vg_mutex_init(&token->lock);
    vg_list_init(&token->dependants);
    return token;
}

int vigil_cancel_create(vigil_cancel_source **source)
{
    if (source == NULL)
        return VG_WHY_NULL("source");
    vigil_cancel_token *token = make_token(0);
    if (token == NULL)
        return -ENOMEM;
    *source = (vigil_cancel_source *)token;
    return 0;
}

vigil_cancel_token *vigil_cancel_token_of(vigil_cancel_source *source)
{
    return (vigil_cancel_token *)source;
}

/* ---- references -------------------------------------------------------------------------------------------------- */

vigil_cancel_token *vigil_cancel_ref(vigil_cancel_token *token)
{
    if (token != NULL) /* relaxed: the caller has one already */
        (void)atomic_fetch_add_explicit(&token->refs, 1, memory_order_relaxed);
    return token;
}

/* Under the lock of a parent, which the token's end needs too. */
static bool ref_token_if_alive(vigil_cancel_token *token)
{
    uint32_t refs = atomic_load_explicit(&token->refs, memory_order_relaxed);
    do {
        if (refs == 0)
            return false;
        /* relaxed: the lock orders us and its end */
    } while (!atomic_compare_exchange_weak_explicit(&token->refs, &refs, refs + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

/* True: that was the last one; the caller frees. */
static bool drop_token_ref(vigil_cancel_token *token)
{
    const vg_cancel_clock *clock = token->clock;
    if (clock != NULL)
        clock->hold(clock); /* our reference may be all that kept it */
    /* release: our last touch; acquire: the others', if we are the last */
    uint32_t before = atomic_fetch_sub_explicit(&token->refs, 1, memory_order_acq_rel);
    if (clock != NULL)
        clock->let_go(clock, before == 2); /* 2: only the clock is left */
    return before == 1;
}

/* A token ends. Parents that become free join the queue. */
static void end_token(vigil_cancel_token *token, vigil_cancel_token **dead)
{
    for (size_t i = 0; i < token->parents; i++) {
        vigil_cancel_token *parent = token->parent[i].parent;
        vg_mutex_lock(&parent->lock);
        vg_list_remove_init(&token->parent[i].in_parent);
        vg_mutex_unlock(&parent->lock);
        if (drop_token_ref(parent))
            queue_token(dead, parent);
    }
    if (token->clock != NULL)
        token->clock->let_go(token->clock, false);
}

void vigil_cancel_unref(vigil_cancel_token *token)
{
    if (token == NULL || !drop_token_ref(token))
        return;
    vigil_cancel_token *dead = NULL;
    queue_token(&dead, token);
    for (vigil_cancel_token *next; token != NULL; token = next) {
        end_token(token, &dead);
        next = token->queued;
        free(token);
    }
}

void vigil_cancel_destroy(vigil_cancel_source *source)
{
    vigil_cancel_unref((vigil_cancel_token *)source);
}

void vg_cancel_set_clock(vigil_cancel_source *source, const vg_cancel_clock *clock)
{
    clock->hold(clock); /* until the end of the source */
    ((vigil_cancel_token *)source)->clock = clock;
}

/* ---- aborting ---------------------------------------------------------------------------------------------------- */

int vigil_cancel_status(const vigil_cancel_token *token)
{
    /* acquire: the text, and what the aborting thread did before; pairs with the release in vigil_cancel_abort */
    return token == NULL ? 0 : atomic_load_explicit(&token->status, memory_order_acquire);
}

const char *vigil_cancel_text(const vigil_cancel_token *token)
{
    return vigil_cancel_status(token) == 0 ? "" : token->text;
}

static void unlink_cancel_handler(vigil_cancel_token *token, vigil_cancel_handler *handler)
{
    if (handler->vg_previous != NULL)
        handler->vg_previous->vg_next = handler->vg_next;
    else
        token->first = handler->vg_next;
    if (handler->vg_next != NULL)
        handler->vg_next->vg_previous = handler->vg_previous;
    else
        token->last = handler->vg_previous;
    handler->vg_token = NULL;
}

static __attribute__((noinline)) void call_cancel_handler(vigil_cancel_handler *handler, int status)
{
    vg_raise_frame frame; /* the rest of the handlers is called whatever this one does */
    vg_raise_push(&frame);
    if (VG_RAISE_LAND(&frame) == 0)
        handler->fn(handler, status);
    vg_raise_pop(&frame);
}

static void run_cancel_handlers(vigil_cancel_token *token, int status)
{
    vg_mutex_lock(&token->lock);
    while (token->first != NULL) {
        vigil_cancel_handler *handler = token->first;
        unlink_cancel_handler(token, handler);
        token->running = handler;
        token->runner = &cancel_thread;
        vg_mutex_unlock(&token->lock);
        call_cancel_handler(handler, status);
        vg_mutex_lock(&token->lock);
        token->running = NULL;
        /* relaxed: a sleeper takes the lock again */
        (void)atomic_fetch_add_explicit(&token->turn, 1, memory_order_relaxed);
        (void)vg_futex_wake(&token->turn, VG_WAKE_ALL);
    }
    vg_mutex_unlock(&token->lock);
}

/* False: it was aborted before. */
static bool mark_aborted(vigil_cancel_token *token, int status, const char *text)
{
    vg_mutex_lock(&token->lock);
    bool first = atomic_load_explicit(&token->status, memory_order_relaxed) == 0;
    if (first) {
        (void)snprintf(token->text, sizeof token->text, "%s", text);
        /* release: the text, and what we did before; pairs with the acquire in vigil_cancel_status */
        atomic_store_explicit(&token->status, status, memory_order_release);
    }
    vg_mutex_unlock(&token->lock);
    return first;
}

/* Mark the dependants of a marked token and queue them. */
static void mark_dependants(vigil_cancel_token *token, int status, vigil_cancel_token **aborted)
{
    vg_list found;
    vg_list_init(&found);
    vg_mutex_lock(&token->lock);
    vg_list_link *link;
    while ((link = vg_list_pop_front(&token->dependants)) != NULL) /* none is added to a token that is aborted */
        if (ref_token_if_alive(vg_list_entry(link, vg_cancel_link, in_parent)->child))
            vg_list_push_back(&found, link); /* ours as long as the child's reference */
    vg_mutex_unlock(&token->lock);
    while ((link = vg_list_pop_front(&found)) != NULL) {
        vigil_cancel_token *child = vg_list_entry(link, vg_cancel_link, in_parent)->child;
        if (mark_aborted(child, status, token->text))
            queue_token(aborted, child);
        else
            vigil_cancel_unref(child);
    }
}

int vigil_cancel_abort(vigil_cancel_source *source, int status, const char *text)
{
    if (source == NULL)
        return VG_WHY_NULL("source");
    vigil_cancel_token *token = (vigil_cancel_token *)source;
    if (status >= 0)
        status = -ECANCELED;
    if (!mark_aborted(token, status, text != NULL ? text : ""))
        return -EALREADY;
    vigil_cancel_token *aborted = NULL;
    (void)vigil_cancel_ref(token); /* a handler may give back all that there are */
    queue_token(&aborted, token);
    for (vigil_cancel_token *marked = token; marked != NULL; marked = marked->queued)
        mark_dependants(marked, status, &aborted);
    for (vigil_cancel_token *next; token != NULL; token = next) {
        next = token->queued;
        run_cancel_handlers(token, status);
        vigil_cancel_unref(token);
    }
    return 0;
}

/* ---- handlers ---------------------------------------------------------------------------------------------------- */

int vigil_cancel_add(vigil_cancel_token *token, vigil_cancel_handler *handler)
{
    if (token == NULL || handler == NULL)
        return token == NULL ? VG_WHY_NULL("token") : VG_WHY_NULL("handler");
    if (handler->fn == NULL)
        return VG_WHY_NULL("handler->fn");
    int error = 0;
    vg_mutex_lock(&token->lock);
    if (atomic_load_explicit(&token->status, memory_order_relaxed) != 0) {
        error = -ECANCELED;
    } else {
        handler->vg_token = token;
        handler->vg_next = NULL;
        handler->vg_previous = token->last;
        if (token->last != NULL)
            token->last->vg_next = handler;
        else
            token->first = handler;
        token->last = handler;
    }
    vg_mutex_unlock(&token->lock);
    return error;
}

int vigil_cancel_remove(vigil_cancel_token *token, vigil_cancel_handler *handler)
{
    if (token == NULL || handler == NULL)
        return token == NULL ? VG_WHY_NULL("token") : VG_WHY_NULL("handler");
    vg_mutex_lock(&token->lock);
    while (token->running == handler && token->runner != &cancel_thread) {
        uint32_t turn = atomic_load_explicit(&token->turn, memory_order_relaxed); /* changes under the lock */
        vg_mutex_unlock(&token->lock);
        (void)vg_futex_wait(&token->turn, turn, VG_NO_DEADLINE);
        vg_mutex_lock(&token->lock);
    }
    int answer = -EALREADY;
    if (token->running != handler && handler->vg_token == token) {
        unlink_cancel_handler(token, handler);
        answer = 0;
    }
    vg_mutex_unlock(&token->lock);
    return answer;
}

/* ---- following others -------------------------------------------------------------------------------------------- */

/* False: the parent is aborted. */
static bool follow_parent(vigil_cancel_token *parent, vg_cancel_link *link)
{
    vg_mutex_lock(&parent->lock);
    bool open = atomic_load_explicit(&parent->status, memory_order_relaxed) == 0;
    if (open)
        vg_list_push_back(&parent->dependants, &link->in_parent);
    vg_mutex_unlock(&parent->lock);
    return open;
}

int vigil_cancel_create_any(vigil_cancel_source **source, vigil_cancel_token *const *tokens, size_t count)
{
    if (source == NULL || (tokens == NULL && count != 0))
        return source == NULL ? VG_WHY_NULL("source") : VG_WHY_NULL("tokens");
    for (size_t i = 0; i < count; i++)
        if (tokens[i] == NULL)
            return vg_why_say(-EINVAL, "tokens[%zu] is NULL", i);
    vigil_cancel_token *token = make_token(count);
    if (token == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        vg_cancel_link *link = &token->parent[i];
        vg_list_link_init(&link->in_parent);
        link->child = token;
        link->parent = vigil_cancel_ref(tokens[i]);
        token->parents = i + 1;
        if (!follow_parent(tokens[i], link)) {
            (void)vigil_cancel_abort((vigil_cancel_source *)token, vigil_cancel_status(tokens[i]),
                                     vigil_cancel_text(tokens[i]));
            break;
        }
    }
    *source = (vigil_cancel_source *)token;
    return 0;
}
