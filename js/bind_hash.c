/* SPDX-License-Identifier: MIT */
/* Digests in steps and keys at once, for lib/crypto_hash.js. */
#include "bind_hash.h"

#ifdef VG_HAVE_GCRYPT

#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "constants.h"
#include "work_hash.h"

static void finalize(void *pointer)
{
    vg_digest_free(pointer);
}

static vg_val instance(vg_call *call, vg_digest *digest)
{
    vigil_js *js = call->host;
    if (!digest)
        return NULL;
    if (!js->digest_class)
        js->digest_class = vg_class_new(call->engine, "Digest", finalize);
    vg_val value = js->digest_class ? vg_instance(call->engine, js->digest_class, NULL, digest) : NULL;
    if (!value)
        vg_digest_free(digest);
    return value;
}

static vg_digest *digest_of(vg_call *call)
{
    vigil_js *js = call->host;
    return js->digest_class ? vg_instance_pointer(call->engine, js->digest_class, vg_arg(call, 0)) : NULL;
}

/* (algorithm, key): undefined if there is no such algorithm */
static vg_val hash_open(vg_call *call)
{
    char *name = vg_arg_text(call, 0, NULL);
    unsigned char *key = NULL;
    size_t length = 0;
    if (!vg_to_bytes(call->engine, vg_arg(call, 1), &key, &length))
        key = NULL;
    else if (!key)
        key = (unsigned char *)""; /* an empty key is a key */
    vg_val value = instance(call, name ? vg_digest_new(name, key, length) : NULL);
    free(name);
    return value;
}

static vg_val hash_copy(vg_call *call)
{
    vg_digest *digest = digest_of(call);
    return digest ? instance(call, vg_digest_copy(digest)) : vg_throw(call, "a digest is expected");
}

static vg_val hash_add(vg_call *call)
{
    vg_digest *digest = digest_of(call);
    unsigned char *data;
    size_t length;
    if (!digest || !vg_to_bytes(call->engine, vg_arg(call, 1), &data, &length))
        return vg_throw(call, "a digest and bytes are expected");
    if (length > 0)
        vg_digest_add(digest, data, length);
    return NULL;
}

static void free_bytes(void *data, void *arg)
{
    (void)arg;
    free(data);
}

static vg_val bytes_of(vg_call *call, const void *bytes, size_t length)
{
    unsigned char *copy = malloc(length + 1);
    if (!copy)
        return vg_throw(call, "no memory");
    memcpy(copy, bytes, length);
    return vg_bytes(call->engine, copy, length, free_bytes, NULL);
}

static vg_val hash_end(vg_call *call)
{
    vg_digest *digest = digest_of(call);
    size_t length;
    if (!digest)
        return vg_throw(call, "a digest is expected");
    const unsigned char *bytes = vg_digest_end(digest, &length);
    return bytes_of(call, bytes, length);
}

/* The work of the pool, at once and on this thread. */
static vg_val run_now(vg_call *call, unsigned kind, const vigil_js_datum *args, size_t count)
{
    vg_work work = {.pub = {.args = args, .count = count}};
    int error = vg_work_hash_kind(kind)(&work);
    vg_val value = error < 0 ? vg_throw(call, work.pub.message[0] ? work.pub.message : "no memory")
                             : bytes_of(call, work.pub.result.data, work.pub.result.length);
    free(work.out);
    return value;
}

static bool bytes_at(vg_call *call, size_t i, vigil_js_datum *datum)
{
    unsigned char *data;
    if (!vg_to_bytes(call->engine, vg_arg(call, i), &data, &datum->length))
        return false;
    datum->kind = VIGIL_JS_DATUM_BYTES;
    datum->data = data ? data : (unsigned char *)"";
    return true;
}

static vigil_js_datum number_at(vg_call *call, size_t i)
{
    return (vigil_js_datum){.kind = VIGIL_JS_DATUM_NUMBER, .number = vg_arg_number(call, i)};
}

/* (algorithm, password, salt, iterations, length) */
static vg_val pbkdf2_now(vg_call *call)
{
    vigil_js_datum args[5] = {{0}, {0}, {0}, number_at(call, 3), number_at(call, 4)};
    char *name = vg_arg_text(call, 0, NULL);
    args[0].data = name;
    vg_val value = name && vg_work_digest_length(name) && bytes_at(call, 1, &args[1]) && bytes_at(call, 2, &args[2])
                       ? run_now(call, VG_WORK_PBKDF2, args, 5)
                       : vg_throw(call, "an algorithm, a password and salt are expected");
    free(name);
    return value;
}

/* (password, salt, cost, parallelization, length) */
static vg_val scrypt_now(vg_call *call)
{
    vigil_js_datum args[5] = {{0}, {0}, number_at(call, 2), number_at(call, 3), number_at(call, 4)};
    if (!vg_work_digest_length("sha256") || !bytes_at(call, 0, &args[0]) || !bytes_at(call, 1, &args[1]))
        return vg_throw(call, "a password and salt are expected");
    return run_now(call, VG_WORK_SCRYPT, args, 5);
}

static const vg_binding_entry entries[] = {
    {"hashOpen", hash_open}, {"hashCopy", hash_copy},   {"hashAdd", hash_add},
    {"hashEnd", hash_end},   {"pbkdf2Now", pbkdf2_now}, {"scryptNow", scrypt_now},
};

bool vg_js_bind_hash(vigil_js *js)
{
    return vg_js_bind(js, js->binding, entries, sizeof entries / sizeof *entries);
}

#else

bool vg_js_bind_hash(vigil_js *js)
{
    (void)js;
    return true;
}

#endif

void vg_js_hash_end(vigil_js *js)
{
    if (js->digest_class)
        vg_class_free(js->digest_class);
    js->digest_class = NULL;
}
