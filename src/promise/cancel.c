/* SPDX-License-Identifier: MIT */
/*
 * cancel.c - one word that says why, and a list of those who want to be told.
 *
 * Source and token are the same object under two names. The lock guards the list; it is never held while a handler runs.
 * The thread that aborts takes one handler after the other from the list and notes which one is running; who removes a
 * handler that is running elsewhere sleeps until that note changes. So after a remove the handler's memory is free to go.
 *
 * A source that follows others (vigil_cancel_create_any) has a handler in each of them. They do not count as references to it: when it
 * goes it takes them back. Such a handler may therefore meet a source whose last reference has just gone, and takes one of
 * its own only if there is still another.
 */
#include "cancel.h"

#include "base/futex.h"
#include "base/mutex.h"
#include "base/raise.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct vg_parent {
    vigil_cancel_handler handler; /* first */
    vigil_cancel_token *child;
    vigil_cancel_token *token; /* a reference */
} vg_parent;

struct vigil_cancel_token {
    _Atomic uint32_t refs;
    _Atomic int32_t status; /* written once, under the lock */
    vg_mutex lock;
    _Atomic uint32_t turn; /* changes when a handler has returned; removers sleep on it */
    vigil_cancel_handler *first;
    vigil_cancel_handler *last;
    vigil_cancel_handler *running;
    const char *runner; /* the thread, by an address of its own */
    const vg_cancel_clock *clock;
    size_t parents;
    char text[VIGIL_CANCEL_TEXT];
    vg_parent parent[];
};

static _Thread_local char cancel_thread;

static vigil_cancel_token *make_token(size_t parents)
{
    if (parents > (SIZE_MAX / 2 - sizeof(vigil_cancel_token)) / sizeof(vg_parent))
        return NULL;
    vigil_cancel_token *token = calloc(1, sizeof *token + parents * sizeof(vg_parent));
    if (token == NULL)
        return NULL;
    atomic_init(&token->refs, 1U);
    atomic_init(&token->status, 0);
    atomic_init(&token->turn, 0U);
    vg_mutex_init(&token->lock);
    return token;
}

int vigil_cancel_create(vigil_cancel_source **source)
{
    if (source == NULL)
        return -EINVAL;
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

static bool ref_token_if_alive(vigil_cancel_token *token)
{
    uint32_t refs = atomic_load_explicit(&token->refs, memory_order_relaxed);
    do {
        if (refs == 0)
            return false;
        /* relaxed: the object is there in any case: its end waits for us in vigil_cancel_remove */
    } while (!atomic_compare_exchange_weak_explicit(&token->refs, &refs, refs + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

static void destroy_token(vigil_cancel_token *token)
{
    for (size_t i = 0; i < token->parents; i++) {
        (void)vigil_cancel_remove(token->parent[i].token, &token->parent[i].handler);
        vigil_cancel_unref(token->parent[i].token);
    }
    if (token->clock != NULL)
        token->clock->let_go(token->clock, false);
    free(token);
}

void vigil_cancel_unref(vigil_cancel_token *token)
{
    if (token == NULL)
        return;
    const vg_cancel_clock *clock = token->clock;
    if (clock != NULL)
        clock->hold(clock); /* our reference may have been all that kept it */
    /* release: our last touch; acquire: the others', if we are the last */
    uint32_t before = atomic_fetch_sub_explicit(&token->refs, 1, memory_order_acq_rel);
    if (before == 1)
        destroy_token(token);
    if (clock != NULL)
        clock->let_go(clock, before == 2); /* only the clock itself is left: nobody wants to know any more */
}

void vigil_cancel_destroy(vigil_cancel_source *source)
{
    vigil_cancel_unref((vigil_cancel_token *)source);
}

void vg_cancel_set_clock(vigil_cancel_source *source, const vg_cancel_clock *clock)
{
    clock->hold(clock); /* till the end of the source */
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
        /* relaxed: who sleeps on it takes the lock again */
        (void)atomic_fetch_add_explicit(&token->turn, 1, memory_order_relaxed);
        (void)vg_futex_wake(&token->turn, VG_WAKE_ALL);
    }
    vg_mutex_unlock(&token->lock);
}

int vigil_cancel_abort(vigil_cancel_source *source, int status, const char *text)
{
    if (source == NULL)
        return -EINVAL;
    vigil_cancel_token *token = (vigil_cancel_token *)source;
    if (status >= 0)
        status = -ECANCELED;
    vg_mutex_lock(&token->lock);
    if (atomic_load_explicit(&token->status, memory_order_relaxed) != 0) {
        vg_mutex_unlock(&token->lock);
        return -EALREADY;
    }
    (void)snprintf(token->text, sizeof token->text, "%s", text != NULL ? text : "");
    /* release: the text, and what we did before; pairs with the acquire in vigil_cancel_status */
    atomic_store_explicit(&token->status, status, memory_order_release);
    vg_mutex_unlock(&token->lock);
    (void)vigil_cancel_ref(token); /* a handler may give back all that there are */
    run_cancel_handlers(token, status);
    vigil_cancel_unref(token);
    return 0;
}

/* ---- handlers ---------------------------------------------------------------------------------------------------- */

int vigil_cancel_add(vigil_cancel_token *token, vigil_cancel_handler *handler)
{
    if (token == NULL || handler == NULL || handler->fn == NULL)
        return -EINVAL;
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
        return -EINVAL;
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

static void parent_aborted(vigil_cancel_handler *handler, int status)
{
    vg_parent *parent = (vg_parent *)(void *)handler;
    vigil_cancel_token *child = parent->child;
    if (!ref_token_if_alive(child))
        return;
    (void)vigil_cancel_abort((vigil_cancel_source *)child, status, vigil_cancel_text(parent->token));
    vigil_cancel_unref(child);
}

int vigil_cancel_create_any(vigil_cancel_source **source, vigil_cancel_token *const *tokens, size_t count)
{
    if (source == NULL || (tokens == NULL && count != 0))
        return -EINVAL;
    for (size_t i = 0; i < count; i++)
        if (tokens[i] == NULL)
            return -EINVAL;
    vigil_cancel_token *token = make_token(count);
    if (token == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        vg_parent *parent = &token->parent[i];
        parent->handler.fn = parent_aborted;
        parent->child = token;
        parent->token = vigil_cancel_ref(tokens[i]);
        token->parents = i + 1;
        if (vigil_cancel_add(tokens[i], &parent->handler) != 0) {
            (void)vigil_cancel_abort((vigil_cancel_source *)token, vigil_cancel_status(tokens[i]),
                                     vigil_cancel_text(tokens[i]));
            break;
        }
    }
    *source = (vigil_cancel_source *)token;
    return 0;
}
