/* SPDX-License-Identifier: MIT */
/* The operations of work_crypto.h on this thread, ciphers in steps, and lists of names. */
#include "bind_crypto.h"

#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/objects.h>
#include <stdlib.h>
#include <string.h>

#include "bind.h"
#include "work_crypto.h"

#define MOST_ARGUMENTS 12

static void free_bytes(void *data, void *arg)
{
    (void)arg;
    free(data);
}

static vg_val throw_error(vg_call *call, const char *otherwise)
{
    char text[160];
    unsigned long code = ERR_peek_error();
    if (code)
        ERR_error_string_n(code, text, sizeof text);
    ERR_clear_error();
    return vg_throw(call, code ? text : otherwise);
}

/* ---- at once ---------------------------------------------------------------------------------------------------- */

/* Bytes stay the engine's: nothing of JavaScript runs before the operation is over. */
static bool datum_of(vg_call *call, size_t i, vigil_js_datum *datum)
{
    vg_val value = vg_arg(call, i);
    unsigned char *bytes;
    switch (vg_type_of(call->engine, value)) {
    case VG_BOOL:
        *datum = (vigil_js_datum){.kind = VIGIL_JS_DATUM_BOOL, .number = vg_to_bool(call->engine, value)};
        return true;
    case VG_NUMBER:
        *datum = (vigil_js_datum){.kind = VIGIL_JS_DATUM_NUMBER, .number = vg_to_number(call->engine, value)};
        return true;
    case VG_STRING:
        datum->kind = VIGIL_JS_DATUM_TEXT;
        datum->data = vg_to_text(call->engine, value, &datum->length);
        return datum->data != NULL;
    case VG_OBJECT:
        if (!vg_to_bytes(call->engine, value, &bytes, &datum->length))
            return false;
        datum->kind = VIGIL_JS_DATUM_BYTES;
        datum->data = bytes ? bytes : (unsigned char *)"";
        return true;
    default:
        return true;
    }
}

/* (operation, arguments...): bytes */
static vg_val crypto_now(vg_call *call)
{
    vigil_js_datum args[MOST_ARGUMENTS] = {{0}};
    vg_work work = {.pub = {.args = args}};
    size_t count = call->count < MOST_ARGUMENTS ? call->count : MOST_ARGUMENTS;
    int error = 0;
    vg_val value;
    for (; error == 0 && work.pub.count < count; work.pub.count++)
        if (!datum_of(call, work.pub.count, &args[work.pub.count]))
            error = -ENOMEM;
    if (error == 0)
        error = vg_crypto_run(&work);
    for (size_t i = 0; i < work.pub.count; i++)
        if (args[i].kind == VIGIL_JS_DATUM_TEXT)
            free((void *)(uintptr_t)args[i].data);
    if (error < 0) {
        free(work.out);
        return vg_throw(call, work.pub.message[0] ? work.pub.message : "no memory");
    }
    value = vg_bytes(call->engine, work.out, work.pub.result.length, free_bytes, NULL);
    return value ? value : vg_throw(call, "no memory");
}

/* ---- ciphers in steps ------------------------------------------------------------------------------------------- */

static void finalize(void *pointer)
{
    EVP_CIPHER_CTX_free(pointer);
}

static EVP_CIPHER_CTX *context_of(vg_call *call)
{
    vigil_js *js = call->host;
    return js->cipher_class ? vg_instance_pointer(call->engine, js->cipher_class, vg_arg(call, 0)) : NULL;
}

/* (name, key, iv, encrypt, length of the tag): lengths were compared by the caller. Only CCM must know how long its tag will be. */
static vg_val cipher_open(vg_call *call)
{
    vigil_js *js = call->host;
    char *name = vg_arg_text(call, 0, NULL);
    const EVP_CIPHER *cipher;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    unsigned char *key = NULL, *iv = NULL;
    size_t key_length = 0, iv_length = 0;
    int encrypt = vg_to_bool(call->engine, vg_arg(call, 3)), tag = (int)vg_arg_number(call, 4);
    vg_val value = NULL;
    bool good;
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
    ERR_clear_error();
    cipher = name ? EVP_get_cipherbyname(name) : NULL;
    if (!js->cipher_class)
        js->cipher_class = vg_class_new(call->engine, "Cipher", finalize);
    good = cipher && context && js->cipher_class && vg_to_bytes(call->engine, vg_arg(call, 1), &key, &key_length) &&
           vg_to_bytes(call->engine, vg_arg(call, 2), &iv, &iv_length);
    if (good && EVP_CIPHER_get_mode(cipher) == EVP_CIPH_WRAP_MODE)
        EVP_CIPHER_CTX_set_flags(context, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
    good = good && EVP_CipherInit_ex(context, cipher, NULL, NULL, NULL, encrypt) > 0;
    if (good && (EVP_CIPHER_get_flags(cipher) & EVP_CIPH_FLAG_AEAD_CIPHER))
        good = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, (int)iv_length, NULL) > 0;
    if (good && EVP_CIPHER_get_mode(cipher) == EVP_CIPH_CCM_MODE)
        good = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, tag, NULL) > 0;
    good = good && (size_t)EVP_CIPHER_CTX_get_key_length(context) == key_length &&
           (size_t)EVP_CIPHER_CTX_get_iv_length(context) == iv_length &&
           EVP_CipherInit_ex(context, NULL, NULL, key, iv_length ? iv : NULL, encrypt) > 0;
    if (good)
        value = vg_instance(call->engine, js->cipher_class, NULL, context);
    free(name);
    if (value)
        return value;
    EVP_CIPHER_CTX_free(context);
    return throw_error(call, "Invalid initialization vector");
}

static vg_val give(vg_call *call, unsigned char *out, int length)
{
    vg_val value = vg_bytes(call->engine, out, (size_t)length, free_bytes, NULL);
    return value ? value : vg_throw(call, "no memory");
}

/* (cipher, bytes, whether they are only authenticated, length of the data that follow for CCM): bytes */
static vg_val cipher_add(vg_call *call)
{
    EVP_CIPHER_CTX *context = context_of(call);
    unsigned char *in = NULL, *out = NULL;
    size_t length;
    int written = 0;
    bool aside = vg_to_bool(call->engine, vg_arg(call, 2)), announced = call->count > 3;
    if (!context || !vg_to_bytes(call->engine, vg_arg(call, 1), &in, &length) || length > INT32_MAX - 64)
        return vg_throw(call, "a cipher and bytes are expected");
    out = malloc(length + 64);
    ERR_clear_error();
    if (!out || (announced && EVP_CipherUpdate(context, NULL, &written, NULL, (int)vg_arg_number(call, 3)) <= 0) ||
        ((length > 0 || (!aside && EVP_CIPHER_CTX_get_mode(context) == EVP_CIPH_CCM_MODE)) &&
         EVP_CipherUpdate(context, aside ? NULL : out, &written, in, (int)length) <= 0)) {
        free(out);
        return throw_error(call, "Trying to add data in unsupported state");
    }
    return give(call, out, aside ? 0 : written);
}

static vg_val cipher_end(vg_call *call)
{
    EVP_CIPHER_CTX *context = context_of(call);
    unsigned char *out = malloc(64);
    int written = 0;
    ERR_clear_error();
    if (!context || !out || EVP_CipherFinal_ex(context, out, &written) <= 0) {
        free(out);
        return throw_error(call, "Unsupported state or unable to authenticate data");
    }
    return give(call, out, written);
}

/* (cipher, bytes): sets the tag; (cipher, length): gives it */
static vg_val cipher_tag(vg_call *call)
{
    EVP_CIPHER_CTX *context = context_of(call);
    unsigned char *bytes, tag[16] = {0}, *out;
    size_t length;
    int wanted;
    if (!context)
        return vg_throw(call, "a cipher is expected");
    if (vg_to_bytes(call->engine, vg_arg(call, 1), &bytes, &length)) {
        if (EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, (int)length, bytes) <= 0)
            return throw_error(call, "Invalid authentication tag");
        return NULL;
    }
    wanted = (int)vg_arg_number(call, 1);
    if (wanted < 1 || wanted > 16 || EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, wanted, tag) <= 0)
        return throw_error(call, "there is no tag");
    out = malloc(16);
    if (!out)
        return vg_throw(call, "no memory");
    memcpy(out, tag, sizeof tag);
    return give(call, out, wanted);
}

static vg_val cipher_padding(vg_call *call)
{
    EVP_CIPHER_CTX *context = context_of(call);
    if (!context)
        return vg_throw(call, "a cipher is expected");
    EVP_CIPHER_CTX_set_padding(context, vg_to_bool(call->engine, vg_arg(call, 1)));
    return NULL;
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

static const char *mode_of(const EVP_CIPHER *cipher)
{
    switch (EVP_CIPHER_get_mode(cipher)) {
    case EVP_CIPH_ECB_MODE:
        return "ecb";
    case EVP_CIPH_CBC_MODE:
        return "cbc";
    case EVP_CIPH_CFB_MODE:
        return "cfb";
    case EVP_CIPH_OFB_MODE:
        return "ofb";
    case EVP_CIPH_CTR_MODE:
        return "ctr";
    case EVP_CIPH_GCM_MODE:
        return "gcm";
    case EVP_CIPH_CCM_MODE:
        return "ccm";
    case EVP_CIPH_XTS_MODE:
        return "xts";
    case EVP_CIPH_WRAP_MODE:
        return "wrap";
    case EVP_CIPH_OCB_MODE:
        return "ocb";
    default:
        return "stream";
    }
}

/* (name): [name, number, mode, block size, length of the vector, of the key, whether it authenticates]; undefined: there is none */
static vg_val cipher_info(vg_call *call)
{
    char *name = vg_arg_text(call, 0, NULL);
    const EVP_CIPHER *cipher = name ? EVP_get_cipherbyname(name) : NULL;
    EVP_CIPHER *there = NULL;
    vg_engine *engine = call->engine;
    vg_val items[7];
    const char *shown;
    /* Old ciphers have names, but nothing behind them. */
    if (cipher)
        there = EVP_CIPHER_fetch(NULL, EVP_CIPHER_get0_name(cipher), NULL);
    free(name);
    ERR_clear_error();
    if (!there)
        return NULL;
    EVP_CIPHER_free(there);
    shown = OBJ_nid2sn(EVP_CIPHER_get_nid(cipher));
    items[0] = vg_string(engine, shown ? shown : EVP_CIPHER_get0_name(cipher));
    items[1] = vg_number(engine, EVP_CIPHER_get_nid(cipher));
    items[2] = vg_string(engine, mode_of(cipher));
    items[3] = vg_number(engine, EVP_CIPHER_get_block_size(cipher));
    items[4] = vg_number(engine, EVP_CIPHER_get_iv_length(cipher));
    items[5] = vg_number(engine, EVP_CIPHER_get_key_length(cipher));
    items[6] = vg_bool(engine, EVP_CIPHER_get_flags(cipher) & EVP_CIPH_FLAG_AEAD_CIPHER);
    return vg_array(engine, 7, items);
}

typedef struct names {
    vg_engine *engine;
    vg_val items[512];
    size_t count;
} names;

static void add_name(const EVP_CIPHER *cipher, const char *from, const char *to, void *arg)
{
    names *list = arg;
    (void)to;
    if (cipher && from && list->count < sizeof list->items / sizeof *list->items)
        list->items[list->count++] = vg_string(list->engine, from);
}

static vg_val cipher_names(vg_call *call)
{
    names list = {.engine = call->engine};
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_ADD_ALL_CIPHERS, NULL);
    EVP_CIPHER_do_all_sorted(add_name, &list);
    return vg_array(call->engine, list.count, list.items);
}

static vg_val curve_names(vg_call *call)
{
    EC_builtin_curve curves[128];
    vg_val items[128];
    size_t count = EC_get_builtin_curves(curves, 128);
    if (count > 128)
        count = 128;
    for (size_t i = 0; i < count; i++)
        items[i] = vg_string(call->engine, OBJ_nid2sn(curves[i].nid));
    return vg_array(call->engine, count, items);
}

static const vg_binding_entry entries[] = {
    {"now", crypto_now},         {"cipherOpen", cipher_open},   {"cipherAdd", cipher_add},
    {"cipherEnd", cipher_end},   {"cipherTag", cipher_tag},     {"cipherPadding", cipher_padding},
    {"cipherInfo", cipher_info}, {"cipherNames", cipher_names}, {"curveNames", curve_names},
};

/* The rest of the binding, when lib/crypto_native.js is loaded: programs that never do pay for one function. */
static vg_val crypto_binding(vg_call *call)
{
    vg_val object = vg_object(call->engine);
    return vg_js_bind(call->host, object, entries, sizeof entries / sizeof *entries) ? object
                                                                                     : vg_throw(call, "no memory");
}

bool vg_js_bind_crypto(vigil_js *js)
{
    static const vg_binding_entry entry[] = {{"openssl", crypto_binding}};
    return vg_js_bind(js, js->binding, entry, 1);
}

void vg_js_crypto_end(vigil_js *js)
{
    if (js->cipher_class)
        vg_class_free(js->cipher_class);
    js->cipher_class = NULL;
}
