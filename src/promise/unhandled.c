/* SPDX-License-Identifier: MIT */
/*
 * unhandled.c - rejections that nobody handles. A promise rejected without a handler is listed and held; at the end of
 * the checkpoint those that still have none are reported. One that gets a handler later is listed again. Any handler
 * counts: then the derived promise reports.
 */
#include "base/why.h"
#include "unhandled.h"
#include "promise.h"
#include "then.h"

#include "base/options.h"
#include "base/raise.h"
#include "loop/sleep.h"

void vg_realm_rejected(vg_realm *realm, vigil_promise *promise)
{
    vg_promise_hold(promise);
    vg_list_push_back(&realm->rejected, &promise->listed);
    realm->loop->upstairs_waits = true;
    vg_loop_stir(realm->loop);
}

static __attribute__((noinline)) void call_rejection_hook(vg_realm *realm, vigil_promise *promise,
                                                          void (*hook)(void *user, const vigil_rejection *rejection))
{
    if (hook == NULL)
        return;
    vigil_rejection it = {
        .size = sizeof it, .promise = promise, .reason = *vg_promise_value(promise), .created = promise->created};
    it.reason.destroy = NULL;
#ifndef NDEBUG
    it.trace = promise->trace_count != 0 ? promise->trace : NULL;
    it.trace_count = promise->trace_count;
#endif
    vg_raise_frame frame;
    vg_raise_push(&frame);
    if (VG_RAISE_LAND(&frame) == 0)
        hook(realm->hooks.user, &it);
    vg_raise_pop(&frame);
}

/* What the end of the loop has rejected is nobody's mistake. */
static bool rejected_by_the_end(vg_realm *realm, vigil_promise *promise)
{
    return realm->ending && vg_promise_value(promise)->status == -ESHUTDOWN;
}

#ifndef VIGIL_CHECK
static void log_rejection(vigil_promise *promise)
{
    char name[96];
    const int status = vg_promise_value(promise)->status;
    vg_log(VG_LOG_REJECTION,
           "a promise was rejected with %d (%s) and nobody handles it; it was made in %s. Add a handler "
           "(vigil_promise_catch), or set hooks (vigil_promise_hooks_set) to hear of each.",
           status, vigil_strerror(status), vg_log_function(promise->created, name, sizeof name));
}
#endif

static void report_rejection(vg_realm *realm, vigil_promise *promise)
{
    if ((promise->flags & VG_LATE) != 0) {
        promise->flags &= (uint16_t)~VG_LATE;
        vg_tally(&realm->handled_late, 1);
        call_rejection_hook(realm, promise, realm->hooks.handled);
        return;
    }
    uint32_t state = atomic_load_explicit(&promise->state, memory_order_relaxed);
    if ((promise->flags & (VG_HANDLED | VG_REPORTED)) != 0 || (state & (VG_WAITED | VG_TAKEN)) != 0 ||
        rejected_by_the_end(realm, promise))
        return;
    promise->flags |= VG_REPORTED;
    vg_tally(&realm->unhandled, 1);
#ifndef VIGIL_CHECK
    if (realm->hooks.unhandled == NULL)
        log_rejection(promise);
#endif
    call_rejection_hook(realm, promise, realm->hooks.unhandled);
}

void vg_realm_report(vg_upstairs *upstairs, vigil_loop *loop)
{
    vg_realm *realm = (vg_realm *)upstairs;
    (void)loop;
    while (!vg_list_empty(&realm->rejected)) {
        vigil_promise *promise = vg_promise_listed(vg_list_first(&realm->rejected));
        vg_list_remove(&promise->listed);
        report_rejection(realm, promise);
        vg_promise_unhold(promise);
    }
}

int vigil_promise_hooks_set(vigil_loop *loop, const vigil_promise_hooks *hooks)
{
    int error;
    vg_realm *realm = vg_realm_of_owner(loop, &error);
    if (realm == NULL)
        return error;
    vigil_promise_hooks taken = {.size = sizeof taken};
    if (hooks != NULL &&
        vg_options_take(&taken, sizeof taken, hooks, hooks->size, offsetof(vigil_promise_hooks, user), "hooks") != 0)
        return vg_why(-EINVAL, "hooks->size must be the size of the struct");
    realm->hooks = taken;
    atomic_store_explicit(&realm->traced, taken.unhandled != NULL || taken.handled != NULL, memory_order_relaxed);
    return 0;
}

int vigil_promise_mark_handled(vigil_promise *promise)
{
    if (promise == NULL)
        return VG_WHY_NULL("promise");
    int error = vg_guard_owner(promise->realm->loop);
    if (error != 0)
        return error;
    if (!vg_realm_ended(promise->realm)) /* nothing is reported afterwards */
        vg_promise_handled(promise);
    return 0;
}
