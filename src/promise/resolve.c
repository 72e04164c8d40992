/* SPDX-License-Identifier: MIT */
/*
 * resolve.c - the public calls that make and settle a promise: directly on the owner, else through the lane.
 */
#include "base/why.h"
#include "calls.h"
#include "promise.h"

/* Another thread has stored its value and sent the promise here. */
static void deliver_value(vigil_post *post)
{
    vigil_promise *promise = vg_promise_of(post);
    vigil_value value = promise->value;
    vg_promise_resolve_with(promise, &value);
}

static inline int make_promise(vigil_loop *loop, vigil_promise **out, uint8_t kind, uint32_t users, const void *created)
{
    int error;
    vg_realm *realm = vg_realm_of(loop, &error);
    if (realm == NULL)
        return error;
    if (out == NULL)
        return vg_why(-EINVAL, "promise is NULL: there is nowhere to put the result");
    vigil_promise *promise = vg_promise_new(realm, kind, users, 0, created);
    if (promise == NULL)
        return vg_realm_ended(realm) ? vg_why(-ESHUTDOWN, "the loop has ended; make a new one")
                                     : vg_why(-ENOMEM, "no memory for another promise");
    *out = promise;
    return 0;
}

int vigil_promise_create(vigil_promise **promise, vigil_loop *loop)
{
    return make_promise(loop, promise, VG_KIND_ROOT, 1, __builtin_return_address(0));
}

int vigil_resolver_create(vigil_resolver **resolver, vigil_promise **promise, vigil_loop *loop)
{
    if (resolver == NULL)
        return VG_WHY_NULL("resolver");
    int error = make_promise(loop, promise, VG_KIND_RESOLVER, 2, __builtin_return_address(0));
    if (error == 0)
        *resolver = (vigil_resolver *)*promise;
    return error;
}

/* Of a known kind, and not empty. */
static bool is_sensible_value(const vigil_value *value)
{
    if (value->kind == VIGIL_PROMISE)
        return value->promise != NULL;
    if (value->kind == VIGIL_THENABLE)
        return value->thenable != NULL && value->thenable->then != NULL;
    return (unsigned)value->kind <= VIGIL_AGGREGATE;
}

static inline int resolve_by_user(vigil_promise *promise, const vigil_value *value)
{
    vg_realm *realm = promise->realm;
    vigil_loop *loop = realm->loop;
    int error = vg_guard_any(loop);
    if (error != 0)
        return error;
    if (vg_realm_ended(realm))
        return vg_why(-ESHUTDOWN, "the loop has ended, and with it all its promises are settled");
    if (__builtin_expect(value->kind >= VIGIL_PROMISE, 0) && !is_sensible_value(value))
        return vg_why(-EINVAL, "value.kind is not known, or value names no promise or thenable");
    if (!vg_promise_claim(promise))
        return -EALREADY; /* no reason is noted: to be late is nothing special */
    if (vg_on_owner(realm)) {
        vg_promise_resolve_with(promise, value);
        return 0;
    }
    promise->value = *value;
    promise->link.post.run = deliver_value;
    promise->link.post.cancel = deliver_value; /* the promise is settled in any case; its handlers are cancelled */
    error = vigil_loop_post_internal(loop, &promise->link.post);
    if (error != 0)
        vg_promise_unclaim(promise);
    return error;
}

int vigil_promise_resolve(vigil_promise *promise, vigil_value value)
{
    if (promise == NULL)
        return VG_WHY_NULL("promise");
    if (promise->kind != VG_KIND_ROOT)
        return vg_why(-EPERM,
                      "the promise is settled by its handler, its operation or its resolver, and by nobody else");
    return resolve_by_user(promise, &value);
}

int vigil_promise_reject(vigil_promise *promise, vigil_value reason)
{
    if (promise == NULL)
        return VG_WHY_NULL("promise");
    if (!vigil_value_is_error(&reason))
        return vg_why(-EINVAL, "reason.kind is not VIGIL_ERROR or VIGIL_AGGREGATE; make it with vigil_value_error");
    return vigil_promise_resolve(promise, reason);
}

int vigil_resolver_resolve(vigil_resolver *resolver, vigil_value value)
{
    return resolver == NULL ? VG_WHY_NULL("resolver") : resolve_by_user((vigil_promise *)resolver, &value);
}

int vigil_resolver_reject(vigil_resolver *resolver, vigil_value reason)
{
    if (resolver == NULL)
        return VG_WHY_NULL("resolver");
    vigil_promise *promise = (vigil_promise *)resolver;
    if (!vigil_value_is_error(&reason))
        return vg_why(-EINVAL, "reason.kind is not VIGIL_ERROR or VIGIL_AGGREGATE; make it with vigil_value_error");
    return resolve_by_user(promise, &reason);
}

void vigil_resolver_destroy(vigil_resolver *resolver)
{
    if (resolver == NULL)
        return;
    vigil_promise *promise = (vigil_promise *)resolver;
    vigil_value error = vigil_value_error(-EPIPE);
    (void)resolve_by_user(promise, &error);
    vigil_promise_unref(promise);
}

int vigil_promise_resolved(vigil_loop *loop, vigil_value value, vigil_promise **out)
{
    int error;
    vg_realm *realm = vg_realm_of_owner(loop, &error);
    if (realm == NULL)
        return error;
    if (out == NULL || !is_sensible_value(&value))
        return vg_why(-EINVAL, "value.kind is not known, or promise is NULL");
    if (value.kind == VIGIL_PROMISE && value.promise->realm == realm) {
        *out = value.promise;
        return 0;
    }
    vigil_promise *promise = vg_promise_new(realm, VG_KIND_DERIVED, 1, 0, __builtin_return_address(0));
    if (promise == NULL)
        return vg_why(-ENOMEM, "no memory for another promise");
    *out = promise;
    vg_promise_resolve(promise, value);
    return 0;
}

int vigil_promise_try(vigil_loop *loop, vigil_value (*fn)(void *arg), void *arg, vigil_promise **out)
{
    int error;
    vg_realm *realm = vg_realm_of_owner(loop, &error);
    if (realm == NULL)
        return error;
    if (out == NULL || fn == NULL)
        return vg_why(-EINVAL, "fn or promise is NULL");
    vigil_promise *promise = vg_promise_new(realm, VG_KIND_DERIVED, 1, 0, __builtin_return_address(0));
    if (promise == NULL)
        return vg_why(-ENOMEM, "no memory for another promise");
    *out = promise;
    vg_promise_resolve(promise, vg_call_plain(fn, arg));
    return 0;
}

vigil_loop *vigil_promise_loop(const vigil_promise *promise)
{
    return promise == NULL ? NULL : promise->realm->loop;
}
