/* SPDX-License-Identifier: MIT */
/* A certificate in words. */
#include <openssl/x509v3.h>
#include <string.h>

#include "tls_session.h"

#define NAMED(name)         \
    case X509_V_ERR_##name: \
        return #name

const char *vg_tls_verify_name(long result)
{
    switch (result) {
        NAMED(UNABLE_TO_GET_ISSUER_CERT);
        NAMED(UNABLE_TO_GET_CRL);
        NAMED(UNABLE_TO_DECRYPT_CERT_SIGNATURE);
        NAMED(UNABLE_TO_DECRYPT_CRL_SIGNATURE);
        NAMED(UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY);
        NAMED(CERT_SIGNATURE_FAILURE);
        NAMED(CRL_SIGNATURE_FAILURE);
        NAMED(CERT_NOT_YET_VALID);
        NAMED(CERT_HAS_EXPIRED);
        NAMED(CRL_NOT_YET_VALID);
        NAMED(CRL_HAS_EXPIRED);
        NAMED(ERROR_IN_CERT_NOT_BEFORE_FIELD);
        NAMED(ERROR_IN_CERT_NOT_AFTER_FIELD);
        NAMED(ERROR_IN_CRL_LAST_UPDATE_FIELD);
        NAMED(ERROR_IN_CRL_NEXT_UPDATE_FIELD);
        NAMED(OUT_OF_MEM);
        NAMED(DEPTH_ZERO_SELF_SIGNED_CERT);
        NAMED(SELF_SIGNED_CERT_IN_CHAIN);
        NAMED(UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
        NAMED(UNABLE_TO_VERIFY_LEAF_SIGNATURE);
        NAMED(CERT_CHAIN_TOO_LONG);
        NAMED(CERT_REVOKED);
        NAMED(INVALID_CA);
        NAMED(PATH_LENGTH_EXCEEDED);
        NAMED(INVALID_PURPOSE);
        NAMED(CERT_UNTRUSTED);
        NAMED(CERT_REJECTED);
        NAMED(HOSTNAME_MISMATCH);
    default:
        return "UNSPECIFIED";
    }
}

/* A name that could be taken for two of them is quoted. */
static void put_name(BIO *text, const char *kind, const unsigned char *data, int length)
{
    bool plain = true;
    for (int i = 0; i < length; i++)
        plain = plain && data[i] >= 0x20 && data[i] < 0x7f && !strchr("\",\\'", data[i]);
    BIO_printf(text, "%s:", kind);
    if (plain) {
        BIO_write(text, data, length);
        return;
    }
    BIO_puts(text, "\"");
    for (int i = 0; i < length; i++) {
        if (data[i] < 0x20 || data[i] >= 0x7f)
            BIO_printf(text, "\\u%04x", data[i]);
        else if (data[i] == '"' || data[i] == '\\')
            BIO_printf(text, "\\%c", data[i]);
        else
            BIO_write(text, data + i, 1);
    }
    BIO_puts(text, "\"");
}

static void put_address(BIO *text, const ASN1_OCTET_STRING *address)
{
    const unsigned char *at = ASN1_STRING_get0_data(address);
    int length = ASN1_STRING_length(address);
    BIO_puts(text, "IP Address:");
    if (length == 4)
        BIO_printf(text, "%d.%d.%d.%d", at[0], at[1], at[2], at[3]);
    for (int i = 0; length == 16 && i < 16; i += 2)
        BIO_printf(text, i == 0 ? "%X" : ":%X", at[i] << 8 | at[i + 1]);
    if (length != 4 && length != 16)
        BIO_puts(text, "<invalid>");
}

bool vg_tls_names(const X509 *certificate, BIO *text)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    if (!names)
        return false;
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        const ASN1_STRING *value = name->d.ia5;
        if (i > 0)
            BIO_puts(text, ", ");
        if (name->type == GEN_IPADD)
            put_address(text, name->d.iPAddress);
        else if (name->type == GEN_DNS || name->type == GEN_URI || name->type == GEN_EMAIL)
            put_name(text,
                     name->type == GEN_DNS   ? "DNS"
                     : name->type == GEN_URI ? "URI"
                                             : "email",
                     ASN1_STRING_get0_data(value), ASN1_STRING_length(value));
        else
            BIO_puts(text, "othername:<unsupported>");
    }
    GENERAL_NAMES_free(names);
    return true;
}
