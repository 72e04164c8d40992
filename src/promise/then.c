/* SPDX-License-Identifier: MIT */
/*
 * then.c - handlers and derived promises. A derived promise is its own reaction: in its source's list, then a
 * microtask that calls the handler, then resolved with the result. It is held until then; the queue holds the source.
 *
 * finally in ECMAScript goes on with `resolve(result).then(() => value)`, which the derived promise adopts. Only the
 * timing of the two inner promises can be seen, so the derived promise is queued twice more instead: same order, no
 * allocation.
 */
#include "base/why.h"
#include "then.h"
#include "adopt.h"
#include "calls.h"
#include "promise.h"
#include "unhandled.h"

#include "base/options.h"
#include "base/raise.h"
#include "loop/sleep.h"

/* ---- the reaction of a derived promise --------------------------------------------------------------------------- */

/* The handler has returned the value that it was lent. */
static bool returns_lent_value(const vigil_value *result, const vigil_value *lent)
{
    return result->destroy != NULL && result->destroy == lent->destroy && result->pointer == lent->pointer &&
           result->kind == lent->kind;
}

static vg_handlers take_handlers(vigil_promise *derived)
{
    derived->flags &= (uint16_t)~VG_HANDLERS;
    return derived->handlers;
}

static void run_then(vigil_post *post)
{
    vigil_promise *derived = vg_promise_of(post);
    vigil_promise *source = derived->link.source;
    if (__builtin_expect((derived->flags & VG_FORCED) == 0, 1)) {
        const vg_handlers handlers = take_handlers(derived);
        bool fulfilled = vg_promise_state(source) == VIGIL_FULFILLED;
        vigil_then_fn fn = fulfilled ? handlers.fulfilled : handlers.rejected;
        if (fn == NULL) {
            vg_promise_pass_on(derived, source);
        } else {
            vigil_value *lent = vg_promise_value(source);
            vigil_value result;
            vg_call_then(&result, fn, lent, handlers.arg);
            if (__builtin_expect(returns_lent_value(&result, lent), 0) && fulfilled == !vigil_value_is_error(&result))
                vg_promise_pass_on(derived, source);
            else
                vg_promise_resolve_with(derived, &result);
        }
        if (__builtin_expect(handlers.done != NULL, 0))
            vg_call_done(handlers.done, handlers.arg);
    }
    vg_promise_unhold(derived);
    vg_promise_unhold(source);
}

/* The loop is closed, or the source is gone. */
static void cancel_reaction(vigil_post *post)
{
    vigil_promise *derived = vg_promise_of(post);
    vigil_promise *source = derived->link.source;
    if (source == NULL) {
        if ((derived->flags & VG_HANDLERS) != 0) {
            vg_handlers handlers = take_handlers(derived);
            vg_call_done(handlers.done, handlers.arg);
        }
        vg_promise_orphan(derived);
        return;
    }
    if ((derived->flags & VG_FORCED) == 0) {
        vg_handlers handlers = {.done = NULL};
        if ((derived->flags & VG_HANDLERS) != 0)
            handlers = take_handlers(derived);
        vg_promise_resolve(derived, vigil_value_error(-ECANCELED));
        vg_call_done(handlers.done, handlers.arg);
    }
    vg_promise_unhold(derived);
    vg_promise_unhold(source);
}

/* ---- finally ----------------------------------------------------------------------------------------------------- */

static void finally_ends(vigil_post *post)
{
    vigil_promise *derived = vg_promise_of(post);
    vigil_promise *source = derived->link.source;
    if ((derived->flags & VG_FORCED) == 0)
        vg_promise_pass_on(derived, source);
    vg_promise_unhold(derived);
    vg_promise_unhold(source);
}

static void finally_hops(vigil_post *post)
{
    post->run = finally_ends;
    vg_promise_queue(vg_promise_of(post)->realm, (vg_link *)(void *)post);
}

/* fn returned a promise, now settled: link.source is that, handlers.arg the source. */
static void finally_waited(vigil_post *post)
{
    vigil_promise *derived = vg_promise_of(post);
    vigil_promise *inner = derived->link.source;
    if ((derived->flags & VG_FORCED) != 0) {
        vg_promise_unhold(derived);
        vg_promise_unhold(inner);
        return;
    }
    vigil_promise *source = take_handlers(derived).arg;
    post->run = finally_ends;
    if (vg_promise_state(inner) == VIGIL_REJECTED) { /* it wins: pass that on */
        vg_promise_unhold(source);
        vg_promise_queue(derived->realm, &derived->link);
        return;
    }
    derived->link.source = source;
    vg_promise_unhold(inner);
    vg_promise_queue(derived->realm, &derived->link);
}

static void drop_source(void *source)
{
    vg_promise_unhold(source);
}

static void run_finally(vigil_post *post)
{
    vigil_promise *derived = vg_promise_of(post);
    vigil_promise *source = derived->link.source;
    if ((derived->flags & VG_FORCED) != 0) {
        vg_promise_unhold(derived);
        vg_promise_unhold(source);
        return;
    }
    vg_handlers handlers = take_handlers(derived);
    vigil_value result = vg_call_plain(handlers.finally, handlers.arg);
    if (result.kind == VIGIL_PROMISE && result.promise != derived && result.promise->realm == derived->realm) {
        vigil_promise *inner = result.promise;
        derived->handlers = (vg_handlers){.arg = source, .done = drop_source};
        derived->flags |= VG_HANDLERS | VG_ADOPTS;
        post->run = finally_waited;
        vg_promise_subscribe(inner, &derived->link);
        vigil_promise_unref(inner);
        return;
    }
    if (vigil_value_is_error(&result) || result.kind == VIGIL_PROMISE || result.kind == VIGIL_THENABLE) {
        vg_promise_resolve(derived, result);
        vg_promise_unhold(derived);
        vg_promise_unhold(source);
        return;
    }
    vigil_value_destroy(&result);
    post->run = finally_hops;
    vg_promise_queue(derived->realm, &derived->link);
}

/* ---- subscribing ------------------------------------------------------------------------------------------------- */

void vg_promise_handled(vigil_promise *promise)
{
    if ((promise->flags & VG_HANDLED) != 0)
        return;
    promise->flags |= VG_HANDLED;
    if ((promise->flags & VG_REPORTED) != 0) {
        promise->flags |= VG_LATE;
        vg_realm_rejected(promise->realm, promise);
    }
}

void vg_promise_follow(vigil_promise *promise, vg_link *link)
{
    link->source = promise;
    if (vg_promise_state(promise) != VIGIL_PENDING) {
        vg_promise_hold(promise);
        if (link->post.vg_reserved == VG_DIRECT) {
            link->post.run(&link->post);
        } else {
            vg_promise_queue(promise->realm, link);
            vg_loop_stir(promise->realm->loop);
        }
        return;
    }
    vg_link *last = promise->last;
    if (last == NULL) {
        link->post.vg_next = &link->post;
    } else {
        link->post.vg_next = last->post.vg_next;
        last->post.vg_next = &link->post;
    }
    promise->last = link;
}

void vg_promise_subscribe(vigil_promise *promise, vg_link *link)
{
    vg_promise_handled(promise);
    vg_promise_follow(promise, link);
}

void vg_promise_subscribe_removable(vigil_promise *promise, vg_removable *removable)
{
    removable->previous = promise->last;
    removable->link.post.vg_reserved = VG_REMOVABLE;
    vg_promise_subscribe(promise, &removable->link);
}

bool vg_promise_unsubscribe(vigil_promise *promise, vg_removable *removable)
{
    vg_link *link = &removable->link;
    if (link->source != promise || promise->last == NULL || vg_promise_state(promise) != VIGIL_PENDING)
        return false;
    link->source = NULL;
    vg_link *next = (vg_link *)(void *)link->post.vg_next;
    if (next == link) {
        promise->last = NULL;
        return true;
    }
    vg_link *before = removable->previous != NULL ? removable->previous : promise->last;
    before->post.vg_next = &next->post;
    if (promise->last == link)
        promise->last = before;
    else if (next->post.vg_reserved == VG_REMOVABLE)
        ((vg_removable *)(void *)next)->previous = removable->previous;
    return true;
}

/* Inlined, so that handlers are written in place: see vg_value_copy. */
static inline __attribute__((always_inline)) int add_handlers(vigil_promise *promise, void (*run)(vigil_post *post),
                                                              const vg_handlers handlers, vigil_promise **out,
                                                              const void *created)
{
    vg_realm *realm = promise->realm;
    int error = vg_realm_guard_owner(realm);
    if (error != 0)
        return error;
    vigil_promise *derived = vg_promise_new(realm, VG_KIND_DERIVED, out != NULL ? 1 : 0, 1, created);
    if (derived == NULL)
        return vg_why(-ENOMEM, "no memory for another promise");
    derived->flags |= VG_WAITING | VG_HANDLERS;
    derived->handlers.fulfilled = handlers.fulfilled;
    derived->handlers.rejected = handlers.rejected;
    derived->handlers.arg = handlers.arg;
    derived->handlers.done = handlers.done;
    derived->link.post.run = run;
    derived->link.post.cancel = cancel_reaction;
    if (out != NULL)
        *out = derived;
    vg_promise_subscribe(promise, &derived->link);
    return 0;
}

int vigil_promise_then(vigil_promise *promise, vigil_then_fn fulfilled, vigil_then_fn rejected, void *arg,
                       vigil_promise **derived)
{
    if (promise == NULL)
        return VG_WHY_NULL("promise");
    vg_handlers handlers = {.fulfilled = fulfilled, .rejected = rejected, .arg = arg, .done = NULL};
    return add_handlers(promise, run_then, handlers, derived, __builtin_return_address(0));
}

int vigil_promise_then_with(vigil_promise *promise, const vigil_handlers *given, vigil_promise **derived)
{
    if (promise == NULL || given == NULL)
        return promise == NULL ? VG_WHY_NULL("promise") : VG_WHY_NULL("handlers");
    vigil_handlers taken;
    if (vg_options_take(&taken, sizeof taken, given, given->size, offsetof(vigil_handlers, done), "handlers") != 0)
        return vg_why(-EINVAL, "handlers->size must be the size of the struct");
    vg_handlers handlers = {
        .fulfilled = taken.fulfilled, .rejected = taken.rejected, .arg = taken.arg, .done = taken.done};
    return add_handlers(promise, run_then, handlers, derived, __builtin_return_address(0));
}

int vigil_promise_catch(vigil_promise *promise, vigil_then_fn rejected, void *arg, vigil_promise **derived)
{
    if (promise == NULL)
        return VG_WHY_NULL("promise");
    vg_handlers handlers = {.fulfilled = NULL, .rejected = rejected, .arg = arg, .done = NULL};
    return add_handlers(promise, run_then, handlers, derived, __builtin_return_address(0));
}

int vigil_promise_finally(vigil_promise *promise, vigil_value (*fn)(void *arg), void *arg, vigil_promise **derived)
{
    if (promise == NULL)
        return VG_WHY_NULL("promise");
    vg_handlers handlers = {.fulfilled = NULL, .finally = fn, .arg = arg, .done = NULL};
    if (fn == NULL) /* as in ECMAScript: then(NULL, NULL) */
        return add_handlers(promise, run_then, (vg_handlers){.done = NULL}, derived, __builtin_return_address(0));
    return add_handlers(promise, run_finally, handlers, derived, __builtin_return_address(0));
}

vigil_promise *vigil_promise_chain(vigil_promise *promise, vigil_then_fn fulfilled, vigil_then_fn rejected, void *arg)
{
    if (promise == NULL)
        return NULL;
    vigil_promise *derived = NULL;
    vg_handlers handlers = {.fulfilled = fulfilled, .rejected = rejected, .arg = arg, .done = NULL};
    (void)add_handlers(promise, run_then, handlers, &derived, __builtin_return_address(0));
    vigil_promise_unref(promise);
    return derived;
}

/* ---- reactions in the user's memory ------------------------------------------------------------------------------ */

static __attribute__((noinline)) int call_reaction(vigil_reaction *reaction, vigil_promise *source)
{
    vg_raise_frame frame;
    int status;
    vg_raise_push(&frame);
    if (VG_RAISE_LAND(&frame) == 0) {
        reaction->run(reaction, vg_promise_state(source), vg_promise_value(source));
        status = 0;
    } else {
        status = frame.status;
    }
    vg_raise_pop(&frame);
    return status;
}

static void run_reaction(vigil_post *post)
{
    vigil_reaction *reaction = (vigil_reaction *)(void *)post;
    vigil_promise *source = reaction->vg_source;
    reaction->vg_source = NULL;
    int status = call_reaction(reaction, source);
    vg_promise_unhold(source);
    if (status != 0)
        vigil_raise(status); /* to the loop, as from any callback */
}

static __attribute__((noinline)) int call_reaction_cancel(vigil_reaction *reaction)
{
    vg_raise_frame frame;
    int status;
    vg_raise_push(&frame);
    if (VG_RAISE_LAND(&frame) == 0) {
        reaction->cancel(reaction);
        status = 0;
    } else {
        status = frame.status;
    }
    vg_raise_pop(&frame);
    return status;
}

static void cancel_user_reaction(vigil_post *post)
{
    vigil_reaction *reaction = (vigil_reaction *)(void *)post;
    vigil_promise *source = reaction->vg_source;
    reaction->vg_source = NULL;
    int status = reaction->cancel != NULL ? call_reaction_cancel(reaction) : 0;
    if (source == NULL)
        return; /* the call that dropped the promise must not see this raise */
    vg_promise_unhold(source);
    if (status != 0)
        vigil_raise(status); /* to the loop, which is ending */
}

int vigil_promise_reaction_add(vigil_promise *promise, vigil_reaction *reaction)
{
    if (promise == NULL)
        return VG_WHY_NULL("promise");
    int error = vg_realm_guard_owner(promise->realm);
    if (error != 0)
        return error;
    if (reaction == NULL || reaction->run == NULL)
        return vg_why(-EINVAL, "reaction or reaction->run is NULL");
    vigil_post_init(&reaction->vg_post, run_reaction, cancel_user_reaction);
    vg_promise_subscribe_removable(promise, (vg_removable *)(void *)reaction);
    return 0;
}

int vigil_promise_reaction_remove(vigil_promise *promise, vigil_reaction *reaction)
{
    if (promise == NULL || reaction == NULL)
        return promise == NULL ? VG_WHY_NULL("promise") : VG_WHY_NULL("reaction");
    int error = vg_guard_owner(promise->realm->loop);
    if (error != 0)
        return error;
    if (vg_promise_state(promise) != VIGIL_PENDING)
        return -EBUSY;
    return vg_promise_unsubscribe(promise, (vg_removable *)(void *)reaction) ? 0 : -ENOENT;
}
