/* SPDX-License-Identifier: MIT */
/* Realms for lib/vm.js. */
#include "bind_vm.h"

#include "bind.h"

static void forget(void *pointer)
{
    (void)pointer; /* the realm goes with its global object */
}

/* realm(sandbox): [a handle, the global object]. The handle is good while somebody keeps the global object. */
static vg_val make_realm(vg_call *call)
{
    vigil_js *js = call->host;
    vg_val items[2];
    vg_realm *realm;
    if (!js->realm_class)
        js->realm_class = vg_class_new(call->engine, "Realm", forget);
    realm = js->realm_class ? vg_realm_new(call->engine, vg_arg(call, 0), &items[1]) : NULL;
    if (!realm)
        return vg_throw(call, "no memory for a context");
    items[0] = vg_instance(call->engine, js->realm_class, NULL, realm);
    return items[0] ? vg_array(call->engine, 2, items) : vg_throw(call, "no memory for a context");
}

/* run(handle, text, url, line); without a handle: in the realm of the program */
static vg_val run(vg_call *call)
{
    vigil_js *js = call->host;
    vg_realm *realm = NULL;
    vg_val thrown = NULL, result;
    if (vg_arg_is(call, 0, VG_OBJECT) && js->realm_class)
        realm = vg_instance_pointer(call->engine, js->realm_class, vg_arg(call, 0));
    result = vg_realm_eval(call->engine, realm, vg_arg(call, 1), vg_arg(call, 2), (int)vg_arg_number(call, 3), &thrown);
    call->thrown = thrown;
    return result;
}

/* noEval(handle): whether code of texts is forbidden there now */
static vg_val no_eval(vg_call *call)
{
    vigil_js *js = call->host;
    vg_realm *realm = js->realm_class ? vg_instance_pointer(call->engine, js->realm_class, vg_arg(call, 0)) : NULL;
    return vg_bool(call->engine, realm && vg_realm_no_eval(call->engine, realm));
}

/* check(text, url, line): throws the SyntaxError of a script that has one */
static vg_val check(vg_call *call)
{
    vg_val thrown = NULL;
    if (!vg_syntax(call->engine, vg_arg(call, 0), vg_arg(call, 1), (int)vg_arg_number(call, 2), &thrown))
        call->thrown = thrown;
    return NULL;
}

static const vg_binding_entry entries[] = {{"realm", make_realm}, {"run", run}, {"check", check}, {"noEval", no_eval}};

static vg_val vm_binding(vg_call *call)
{
    vg_val object = vg_object(call->engine);
    if (!vg_js_bind(call->host, object, entries, sizeof entries / sizeof *entries))
        return vg_throw(call, "no memory");
    return object;
}

void vg_js_vm_end(vigil_js *js)
{
    vg_class_free(js->realm_class);
    js->realm_class = NULL;
}

bool vg_js_bind_vm(vigil_js *js)
{
    static const vg_binding_entry entry = {"vm", vm_binding};
    return vg_js_bind(js, js->binding, &entry, 1);
}
