/* SPDX-License-Identifier: MIT */
/*
 * Everything that JavaScriptCore's library exports and its headers do not declare, in one place.
 *
 * The names are looked up at run time, so that a version without one of them still loads: the host then does without, in the
 * way that engine.h names at each function. js/tests/fallback.c holds what is believed about each of them, so that a version
 * that behaves differently is noticed there and not in a program.
 *
 *   JSLock, JSUnlock      While the lock is held from C nothing drains the microtasks behind our back. Inside a C function that
 *                         JavaScript called, the engine has given its lock up: take it again before the VM is touched.
 *   VM::drainMicrotasks   Runs them now. The context group is the VM. The lock must be held.
 *   SetUnhandledRejectionCallback   Called with (promise, reason) at the end of a drain. There is no notice of late handling.
 *   SetExecutionTimeLimit Its callback is asked once, and must be armed again.
 *   initializeMainThread  Makes the main run loop, once for the process, on the calling thread and its GLib context. A full collection that
 *                         the engine starts by itself asks for it, and crashes where it is missing.
 *   JSPromise's members   The state, the value and the handled flag. They must only be asked about promises, and the C API has no
 *                         test for one: the cell's type byte does (the sixth byte of every cell). It is calibrated
 *                         against a known promise and several objects that are none; if that fails, nothing is asked.
 *   SetEvalEnabled        For one context: whether eval and Function make code of texts; an EvalError with the message otherwise.
 *   JSObjectGetProxyTarget   The bits of null, as a pointer, for a proxy that was revoked.
 *   JSFunction::sourceCode  Where a function was written, as fields that engine_jsc_place.c calibrates.
 *   StringImpl::createUninitialized, OpaqueJSString::tryCreate   A string with one byte per character, which is written once. Those of
 *                         the C API are made by way of a copy of two bytes per character.
 *   JSFunction::create    A function that is called with the lock held. Its name carries the types of all its arguments, so a version that
 *                         changes them does not have it.
 *   VM::throwException    How such a function throws.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "engine_jsc_extra.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#define TYPE_BYTE 5

static vg_jsc_extra table;
/* 0 nobody has looked, 1 somebody looks, 2 the table is complete. */
static _Atomic uint32_t looked;

/* ISO C has no cast from an object pointer to a function pointer; POSIX promises that the bytes mean the same. */
static void look_up(void *place, const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    memcpy(place, &symbol, sizeof symbol);
}

const vg_jsc_extra *vg_jsc_extra_get(void)
{
    uint32_t seen = 0;
    /* acquire: the table is read after the flag; pairs with the release below. */
    if (atomic_load_explicit(&looked, memory_order_acquire) == 2)
        return &table;
    /* acquire on success: nothing to see yet, but the winner's writes may not move before it won. */
    if (!atomic_compare_exchange_strong_explicit(&looked, &seen, 1, memory_order_acquire, memory_order_acquire)) {
        /* acquire: as above. The winner is a dozen look-ups away from the end. */
        while (atomic_load_explicit(&looked, memory_order_acquire) != 2)
            ;
        return &table;
    }
    look_up(&table.lock, "JSLock");
    look_up(&table.unlock, "JSUnlock");
    look_up(&table.drain, "_ZN3JSC2VM15drainMicrotasksEv");
    look_up(&table.set_rejection_callback, "JSGlobalContextSetUnhandledRejectionCallback");
    look_up(&table.set_time_limit, "JSContextGroupSetExecutionTimeLimit");
    look_up(&table.clear_time_limit, "JSContextGroupClearExecutionTimeLimit");
    look_up(&table.backtrace, "JSContextCreateBacktrace");
    look_up(&table.configure_gc_signal, "JSConfigureSignalForGC");
    look_up(&table.initialize_main_thread, "_ZN3WTF20initializeMainThreadEv");
    look_up(&table.set_eval_enabled, "JSGlobalContextSetEvalEnabled");
    look_up(&table.memory, "JSGetMemoryUsageStatistics");
    look_up(&table.promise_status, "_ZNK3JSC9JSPromise6statusERNS_2VME");
    look_up(&table.promise_result, "_ZNK3JSC9JSPromise6resultERNS_2VME");
    look_up(&table.promise_handled, "_ZNK3JSC9JSPromise9isHandledERNS_2VME");
    look_up(&table.source_code, "_ZNK3JSC10JSFunction10sourceCodeEv");
    look_up(&table.make_function,
            "_ZN3JSC10JSFunction6createERNS_2VMEPNS_14JSGlobalObjectEjRKN3WTF6StringENS5_11FunctionPtrILNS5_6PtrTagE1E"
            "FlS4_PNS_9CallFrameEELNS5_18FunctionAttributesE2EEENS_24ImplementationVisibilityENS_9IntrinsicESF_PKNS_"
            "6DOMJIT9SignatureE");
    look_up(&table.string_of_bytes, "_ZN3WTF10StringImpl19createUninitializedEmRSt4spanIhLm18446744073709551615EE");
    look_up(&table.string_ref, "_ZN14OpaqueJSString9tryCreateEON3WTF6StringE");
    look_up(&table.throw_value, "_ZN3JSC2VM14throwExceptionEPNS_14JSGlobalObjectENS_7JSValueE");
    look_up(&table.proxy_target, "JSObjectGetProxyTarget");
    look_up(&table.not_a_constructor, "_ZN3JSC29callHostFunctionAsConstructorEPNS_14JSGlobalObjectEPNS_9CallFrameE");
    if (!table.lock || !table.unlock)
        table.drain = NULL; /* of no use without the lock */
    if (!table.promise_result || !table.promise_handled)
        table.promise_status = NULL;
    if (!table.string_of_bytes)
        table.string_ref = NULL;
    if (!table.clear_time_limit)
        table.set_time_limit = NULL;
    /* release: the table before the flag; pairs with the acquires above. */
    atomic_store_explicit(&looked, 2, memory_order_release);
    return &table;
}

static unsigned char type_byte(JSValueRef cell)
{
    return ((const unsigned char *)(const void *)cell)[TYPE_BYTE];
}

const void *vg_jsc_promise(JSContextRef context, JSValueRef value, JSObjectRef promise_constructor)
{
    JSObjectRef known, other;
    if (!vg_jsc_extra_get()->promise_status || JSValueGetType(context, value) != kJSTypeObject)
        return NULL;
    known = JSObjectMakeDeferredPromise(context, &other, &other, NULL);
    if (!known || type_byte(value) != type_byte(known))
        return NULL;
    /* The byte means something only if it tells a promise from a plain object, an array and a function. */
    if (type_byte(known) == type_byte(JSObjectMake(context, NULL, NULL)) ||
        type_byte(known) == type_byte(JSObjectMakeArray(context, 0, NULL, NULL)) ||
        type_byte(known) == type_byte(promise_constructor))
        return NULL;
    return value;
}
