/* SPDX-License-Identifier: MIT */
/* What lib/tls_link.js asks of a session, and certificates in words. */
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bind_tls.h"
#include "tls_session.h"

static vg_val text_or_none(vg_call *call, const char *text)
{
    return text ? vg_string(call->engine, text) : vg_undefined(call->engine);
}

/* ---- sessions --------------------------------------------------------------------------------------------------- */

/* info(session): [version, cipher, its standard name, its version, protocol, host, resumed, verdict's name, verdict's text] */
static vg_val do_info(vg_call *call)
{
    vg_tls_session *session = vg_js_tls_session(call);
    vg_engine *engine = call->engine;
    const SSL_CIPHER *cipher;
    const unsigned char *protocol;
    unsigned length;
    long verdict = X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT; /* Node's word for "there is none" */
    X509 *peer;
    vg_val items[9];
    if (!session)
        return NULL;
    cipher = SSL_get_current_cipher(session->ssl);
    SSL_get0_alpn_selected(session->ssl, &protocol, &length);
    peer = SSL_get1_peer_certificate(session->ssl);
    if (peer || SSL_session_reused(session->ssl))
        verdict = SSL_get_verify_result(session->ssl);
    X509_free(peer);
    items[0] = vg_string(engine, SSL_get_version(session->ssl));
    items[1] = text_or_none(call, cipher ? SSL_CIPHER_get_name(cipher) : NULL);
    items[2] = text_or_none(call, cipher ? SSL_CIPHER_standard_name(cipher) : NULL);
    items[3] = text_or_none(call, cipher ? SSL_CIPHER_get_version(cipher) : NULL);
    items[4] = length > 0 ? vg_latin1(engine, protocol, length) : vg_undefined(engine);
    items[5] = text_or_none(call, session->asked_host ? session->asked_host
                                                      : SSL_get_servername(session->ssl, TLSEXT_NAMETYPE_host_name));
    items[6] = vg_bool(engine, SSL_session_reused(session->ssl));
    items[7] = text_or_none(call, verdict == X509_V_OK ? NULL : vg_tls_verify_name(verdict));
    items[8] = vg_string(engine, X509_verify_cert_error_string(verdict));
    return vg_array(engine, 9, items);
}

static vg_val der_of(vg_call *call, X509 *certificate)
{
    unsigned char *bytes = NULL;
    int length = i2d_X509(certificate, &bytes);
    vg_val value = length > 0 ? vg_js_tls_bytes(call, bytes, (size_t)length) : NULL;
    OPENSSL_free(bytes);
    return value;
}

/* peer(session): the peer's certificate and its chain, as DER */
static vg_val do_peer(vg_call *call)
{
    vg_tls_session *session = vg_js_tls_session(call);
    STACK_OF(X509) *chain = session ? SSL_get_peer_cert_chain(session->ssl) : NULL;
    X509 *first = session ? SSL_get1_peer_certificate(session->ssl) : NULL;
    vg_val items[32];
    size_t count = 0;
    if (!first)
        return vg_array(call->engine, 0, items);
    if ((items[count] = der_of(call, first)) != NULL)
        count++;
    for (int i = session->server ? 0 : 1; i < sk_X509_num(chain) && count < 32; i++)
        if ((items[count] = der_of(call, sk_X509_value(chain, i))) != NULL)
            count++;
    X509_free(first);
    return vg_array(call->engine, count, items);
}

/* own(session): our certificate, as DER */
static vg_val do_own(vg_call *call)
{
    vg_tls_session *session = vg_js_tls_session(call);
    X509 *certificate = session ? SSL_get_certificate(session->ssl) : NULL;
    return certificate ? der_of(call, certificate) : NULL;
}

/* session(session): what resumes it later; undefined: nothing */
static vg_val do_session(vg_call *call)
{
    vg_tls_session *session = vg_js_tls_session(call);
    SSL_SESSION *ticket = session ? SSL_get_session(session->ssl) : NULL;
    unsigned char *bytes = NULL;
    int length = ticket ? i2d_SSL_SESSION(ticket, &bytes) : 0;
    vg_val value = length > 0 ? vg_js_tls_bytes(call, bytes, (size_t)length) : NULL;
    OPENSSL_free(bytes);
    return value;
}

/* finished(session, the peer's): the message that ended the agreement */
static vg_val do_finished(vg_call *call)
{
    vg_tls_session *session = vg_js_tls_session(call);
    unsigned char bytes[EVP_MAX_MD_SIZE];
    size_t length = 0;
    if (session)
        length = vg_to_bool(call->engine, vg_arg(call, 1)) ? SSL_get_peer_finished(session->ssl, bytes, sizeof bytes)
                                                           : SSL_get_finished(session->ssl, bytes, sizeof bytes);
    return length > 0 ? vg_js_tls_bytes(call, bytes, length) : NULL;
}

/* ephemeral(session): [type, name or undefined, bits] of the key that was agreed with */
static vg_val do_ephemeral(vg_call *call)
{
    vg_tls_session *session = vg_js_tls_session(call);
    EVP_PKEY *key = NULL;
    char name[64] = "";
    vg_val items[3];
    if (!session || !SSL_get_peer_tmp_key(session->ssl, &key))
        return NULL;
    bool dh = EVP_PKEY_is_a(key, "DH");
    if (EVP_PKEY_is_a(key, "EC"))
        EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, name, sizeof name, NULL);
    else
        snprintf(name, sizeof name, "%s", EVP_PKEY_get0_type_name(key));
    items[0] = vg_string(call->engine, dh ? "DH" : "ECDH");
    items[1] = dh ? vg_undefined(call->engine) : vg_string(call->engine, name);
    items[2] = vg_number(call->engine, EVP_PKEY_get_bits(key));
    EVP_PKEY_free(key);
    return vg_array(call->engine, 3, items);
}

/* export(session, length, label, context): keys for another use; undefined if it cannot */
static vg_val do_export(vg_call *call)
{
    vg_tls_session *session = vg_js_tls_session(call);
    double wanted = vg_arg_number(call, 1);
    size_t label_length = 0, length = 0;
    char *label = vg_arg_text(call, 2, &label_length);
    unsigned char *context = NULL, *out = wanted >= 0 && wanted < 1 << 20 ? malloc((size_t)wanted + 1) : NULL;
    bool has = vg_to_bytes(call->engine, vg_arg(call, 3), &context, &length);
    vg_val value = NULL;
    if (session && label && out &&
        SSL_export_keying_material(session->ssl, out, (size_t)wanted, label, label_length, context, length, has) == 1)
        value = vg_js_tls_bytes(call, out, (size_t)wanted);
    ERR_clear_error();
    free(out);
    free(label);
    return value;
}

/* fragment(session, size): whether it is a size that records can have */
static vg_val do_fragment(vg_call *call)
{
    vg_tls_session *session = vg_js_tls_session(call);
    return vg_bool(call->engine, session && SSL_set_max_send_fragment(session->ssl, (long)vg_arg_number(call, 1)) == 1);
}

/* ---- certificates ----------------------------------------------------------------------------------------------- */

static void set(vg_call *call, vg_val object, const char *name, vg_val value)
{
    vg_val thrown;
    if (value)
        vg_set(call->engine, object, name, value, &thrown);
}

/* What a BIO holds; it is freed. */
static vg_val text_of(vg_call *call, BIO *bio)
{
    char *data = NULL;
    long length = bio ? BIO_get_mem_data(bio, &data) : 0;
    vg_val value = vg_text(call->engine, length > 0 ? data : "", length > 0 ? (size_t)length : 0);
    BIO_free(bio);
    return value;
}

/* key, value, key, value, ... */
static vg_val name_of(vg_call *call, const X509_NAME *name)
{
    vg_val items[64];
    size_t count = 0;
    for (int i = 0; i < X509_NAME_entry_count(name) && count + 2 <= 64; i++) {
        X509_NAME_ENTRY *entry = X509_NAME_get_entry(name, i);
        ASN1_OBJECT *object = X509_NAME_ENTRY_get_object(entry);
        int nid = OBJ_obj2nid(object), length;
        unsigned char *value = NULL;
        char number[80];
        OBJ_obj2txt(number, sizeof number, object, 1);
        length = ASN1_STRING_to_UTF8(&value, X509_NAME_ENTRY_get_data(entry));
        if (length < 0)
            continue;
        items[count++] = vg_string(call->engine, nid == NID_undef ? number : OBJ_nid2sn(nid));
        items[count++] = vg_text(call->engine, (char *)value, (size_t)length);
        OPENSSL_free(value);
    }
    return vg_array(call->engine, count, items);
}

static vg_val time_of(vg_call *call, const ASN1_TIME *when)
{
    BIO *bio = BIO_new(BIO_s_mem());
    if (bio)
        ASN1_TIME_print(bio, when);
    return text_of(call, bio);
}

static vg_val fingerprint_of(vg_call *call, const X509 *certificate, const EVP_MD *digest)
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    char text[3 * EVP_MAX_MD_SIZE + 1] = "";
    unsigned length;
    if (X509_digest(certificate, digest, bytes, &length) != 1)
        return NULL;
    for (unsigned i = 0; i < length; i++)
        snprintf(text + 3 * (size_t)i, 4, i + 1 < length ? "%02X:" : "%02X", bytes[i]);
    return vg_string(call->engine, text);
}

static vg_val hex_of(vg_call *call, const BIGNUM *number, const char *before)
{
    char *hex = number ? BN_bn2hex(number) : NULL;
    const char *shown = hex;
    char text[64];
    vg_val value;
    if (!hex)
        return NULL;
    if (*before) { /* as numbers are written: without zeros at the front, in small letters */
        while (shown[0] == '0' && shown[1])
            shown++;
        snprintf(text, sizeof text, "%s%s", before, shown);
        shown = text;
    }
    value = vg_string(call->engine, shown);
    OPENSSL_free(hex);
    return value;
}

static void describe_key(vg_call *call, vg_val object, X509 *certificate)
{
    EVP_PKEY *key = X509_get0_pubkey(certificate);
    BIGNUM *modulus = NULL, *exponent = NULL;
    unsigned char *bytes = NULL;
    char curve[64];
    int length;
    if (!key)
        return;
    if (!EVP_PKEY_is_a(key, "RSA"))
        vg_set_number(call->engine, object, "bits", EVP_PKEY_get_bits(key));
    if (EVP_PKEY_is_a(key, "RSA")) {
        EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_N, &modulus);
        EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &exponent);
        set(call, object, "modulus", hex_of(call, modulus, ""));
        vg_set_number(call->engine, object, "bits", EVP_PKEY_get_bits(key));
        set(call, object, "exponent", hex_of(call, exponent, "0x"));
        BN_free(modulus);
        BN_free(exponent);
        length = i2d_PUBKEY(key, &bytes);
        if (length > 0)
            set(call, object, "pubkey", vg_js_tls_bytes(call, bytes, (size_t)length));
        OPENSSL_free(bytes);
    } else if (EVP_PKEY_is_a(key, "EC") &&
               EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, curve, sizeof curve, NULL)) {
        size_t size = EVP_PKEY_get1_encoded_public_key(key, &bytes);
        const char *nist = EC_curve_nid2nist(OBJ_txt2nid(curve));
        if (size > 0)
            set(call, object, "pubkey", vg_js_tls_bytes(call, bytes, size));
        OPENSSL_free(bytes);
        set(call, object, "asn1Curve", vg_string(call->engine, curve));
        if (nist)
            set(call, object, "nistCurve", vg_string(call->engine, nist));
    }
}

static vg_val uses_of(vg_call *call, const X509 *certificate)
{
    EXTENDED_KEY_USAGE *uses = X509_get_ext_d2i(certificate, NID_ext_key_usage, NULL, NULL);
    vg_val items[32];
    size_t count = 0;
    char text[80];
    if (!uses)
        return NULL;
    for (int i = 0; i < sk_ASN1_OBJECT_num(uses) && count < 32; i++) {
        OBJ_obj2txt(text, sizeof text, sk_ASN1_OBJECT_value(uses, i), 1);
        items[count++] = vg_string(call->engine, text);
    }
    EXTENDED_KEY_USAGE_free(uses);
    return vg_array(call->engine, count, items);
}

/* describe(DER): an object as Node's getPeerCertificate has it; subject and issuer are lists */
static vg_val do_describe(vg_call *call)
{
    unsigned char *bytes;
    const unsigned char *at;
    size_t length;
    X509 *certificate = NULL;
    vg_val object;
    BIGNUM *serial;
    BIO *names;
    if (!vg_to_bytes(call->engine, vg_arg(call, 0), &bytes, &length))
        return NULL;
    at = bytes;
    certificate = d2i_X509(NULL, &at, (long)length);
    ERR_clear_error();
    if (!certificate)
        return NULL;
    object = vg_object(call->engine);
    set(call, object, "subject", name_of(call, X509_get_subject_name(certificate)));
    set(call, object, "issuer", name_of(call, X509_get_issuer_name(certificate)));
    names = BIO_new(BIO_s_mem());
    if (names && vg_tls_names(certificate, names))
        set(call, object, "subjectaltname", text_of(call, names));
    else
        BIO_free(names);
    set(call, object, "ca", vg_bool(call->engine, X509_check_ca(certificate) == 1));
    describe_key(call, object, certificate);
    set(call, object, "valid_from", time_of(call, X509_get0_notBefore(certificate)));
    set(call, object, "valid_to", time_of(call, X509_get0_notAfter(certificate)));
    set(call, object, "fingerprint", fingerprint_of(call, certificate, EVP_sha1()));
    set(call, object, "fingerprint256", fingerprint_of(call, certificate, EVP_sha256()));
    set(call, object, "fingerprint512", fingerprint_of(call, certificate, EVP_sha512()));
    set(call, object, "ext_key_usage", uses_of(call, certificate));
    serial = ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), NULL);
    set(call, object, "serialNumber", hex_of(call, serial, ""));
    BN_free(serial);
    X509_free(certificate);
    return object;
}

static const vg_binding_entry entries[] = {
    {"tlsInfo", do_info},       {"tlsPeer", do_peer},         {"tlsOwn", do_own},
    {"tlsSession", do_session}, {"tlsFinished", do_finished}, {"tlsEphemeral", do_ephemeral},
    {"tlsExport", do_export},   {"tlsFragment", do_fragment}, {"tlsDescribe", do_describe},
};

bool vg_js_bind_tls_words(vigil_js *js)
{
    return vg_js_bind(js, js->binding, entries, sizeof entries / sizeof *entries);
}
