/* SPDX-License-Identifier: MIT */
/* Lookups, those that wait, and answers that are kept; see resolver.h. */
#include "resolver.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- answers that are kept ----------------------------------------------------------------------------------------- */

/* One place per name: a table that cannot grow. */
static vg_dns_kept *place_of(const vigil_dns *dns, const char *name)
{
    uint32_t hash = 2166136261U;
    for (; *name != 0; name++)
        hash = (hash ^ ((unsigned char)*name | 0x20U)) * 16777619U;
    return &dns->kept[hash % dns->options.kept];
}

vigil_dns_addresses *vg_dns_addresses_make(size_t room)
{
    const size_t before = (sizeof(vigil_dns_addresses) + 15) / 16 * 16;
    vigil_dns_addresses *it = calloc(1, before + room * sizeof *it->items);
    if (it != NULL)
        it->items = (vigil_address *)(void *)((char *)it + before);
    return it;
}

static vigil_dns_addresses *copy_of(const vigil_dns_addresses *from, unsigned port)
{
    vigil_dns_addresses *copy = vg_dns_addresses_make(from->count);
    if (copy == NULL)
        return NULL;
    copy->count = from->count;
    copy->seconds = from->seconds;
    memcpy(copy->items, from->items, from->count * sizeof *from->items);
    for (size_t i = 0; i < copy->count; i++) {
        vigil_address *address = &copy->items[i];
        if (address->any.sa_family == AF_INET)
            ((struct sockaddr_in *)(void *)&address->storage)->sin_port = htons((uint16_t)port);
        else
            ((struct sockaddr_in6 *)(void *)&address->storage)->sin6_port = htons((uint16_t)port);
    }
    return copy;
}

static void kept_clear(vg_dns_kept *kept)
{
    free(kept->name);
    free(kept->addresses);
    *kept = (vg_dns_kept){0};
}

static void keep(vigil_dns *dns, const vg_dns_lookup *lookup, const vigil_dns_addresses *addresses, unsigned seconds)
{
    vg_dns_kept *kept = place_of(dns, lookup->name);
    kept_clear(kept);
    kept->name = strdup(lookup->name);
    kept->addresses = copy_of(addresses, 0);
    if (kept->name == NULL || kept->addresses == NULL)
        kept_clear(kept);
    else
        kept->until = vigil_loop_now(dns->loop) + (uint64_t)seconds * UINT64_C(1000000000);
}

static vigil_dns_addresses *from_kept(vigil_dns *dns, const char *name, unsigned port)
{
    vg_dns_kept *kept = place_of(dns, name);
    const uint64_t now = vigil_loop_now(dns->loop);
    if (kept->name == NULL || strcasecmp(kept->name, name) != 0)
        return NULL;
    if (kept->until <= now) {
        kept_clear(kept);
        return NULL;
    }
    vigil_dns_addresses *copy = copy_of(kept->addresses, port);
    if (copy != NULL)
        copy->seconds = (unsigned)((kept->until - now) / UINT64_C(1000000000));
    return copy;
}

/* "127.0.0.1" and "::1" are their own answers. */
static vigil_dns_addresses *from_literal(const char *name, unsigned port)
{
    struct in_addr four;
    struct in6_addr six;
    char text[300];
    vigil_dns_addresses *it = NULL;
    const bool is_four = inet_pton(AF_INET, name, &four) == 1;
    if (!is_four && inet_pton(AF_INET6, name, &six) != 1)
        return NULL;
    it = vg_dns_addresses_make(1);
    if (it == NULL)
        return NULL;
    (void)snprintf(text, sizeof text, is_four ? "%s:%u" : "[%s]:%u", name, port);
    it->count = 1;
    (void)vigil_address_init(&it->items[0], text);
    return it;
}

/* ---- lookups ------------------------------------------------------------------------------------------------------- */

static void lookup_free(vg_dns_lookup *lookup)
{
    vigil_shown_end(&lookup->shown);
    vigil_promise_unref(lookup->inner);
    vigil_promise_unref(lookup->outer);
    free(lookup);
}

static void hold_loop(vigil_dns *dns)
{
    const bool wanted = dns->in_flight != 0 || dns->waiting != 0;
    if (wanted == dns->held)
        return;
    dns->held = wanted && vigil_loop_ref(dns->loop) == 0;
    if (!wanted)
        (void)vigil_loop_unref(dns->loop);
}

static void next(vigil_dns *dns)
{
    if (dns->starting)
        return; /* an answer inside of the question: the loop below goes on */
    dns->starting = true;
    while (dns->first != NULL && dns->in_flight < dns->options.in_flight && !dns->destroyed) {
        vg_dns_lookup *lookup = dns->first;
        dns->first = lookup->next;
        if (dns->first == NULL)
            dns->last = NULL;
        dns->waiting--;
        if (vigil_promise_state_get(lookup->outer) != VIGIL_PENDING) {
            lookup_free(lookup); /* taken back before it was asked */
            vg_dns_unref(dns);
            continue;
        }
        dns->in_flight++;
        vg_dns_engine_ask(dns, lookup);
    }
    dns->starting = false;
    hold_loop(dns);
}

void vg_dns_answered(vg_dns_lookup *lookup, vigil_value value, unsigned seconds)
{
    vigil_dns *dns = lookup->dns;
    dns->in_flight--;
    if (value.kind == VIGIL_POINTER && !lookup->service && seconds != 0 && !dns->destroyed)
        keep(dns, lookup, value.pointer, seconds);
    if (vigil_promise_resolve(lookup->inner, value) != 0)
        vigil_value_destroy(&value);
    lookup_free(lookup);
    if (!dns->destroyed)
        next(dns);
    else
        hold_loop(dns);
    vg_dns_unref(dns);
}

static int check_name(const vigil_dns *dns, const char *name, unsigned port, vigil_promise **promise)
{
    if (dns == NULL || name == NULL || promise == NULL)
        return vigil_why_set(-EINVAL, "dns, name or promise is NULL");
    if (port > 65535)
        return vigil_why_set(-EINVAL, "port is above 65535");
    const size_t length = strlen(name);
    if (length == 0 || length > 254)
        return vigil_why_set(-EINVAL, "the name is empty, or longer than 254 bytes");
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] <= 0x20 || (unsigned char)name[i] >= 0x7f)
            return vigil_why_set(-EINVAL, "the name has a character that no host name has");
    return 0;
}

static int begin(vigil_dns *dns, const char *name, unsigned port, bool service, vigil_cancel_token *token,
                 vigil_promise **promise)
{
    vg_dns_lookup *lookup = calloc(1, sizeof *lookup);
    if (lookup == NULL)
        return vigil_why_set(-ENOMEM, "no memory for a lookup");
    lookup->dns = dns;
    lookup->port = port;
    lookup->service = service;
    memcpy(lookup->name, name, strlen(name) + 1);
    int error = vigil_promise_create(&lookup->inner, dns->loop);
    if (error == 0) {
        if (token == NULL)
            lookup->outer = vigil_promise_ref(lookup->inner);
        else
            error = vigil_promise_guard(lookup->inner, token, VIGIL_FOREVER, &lookup->outer);
    }
    if (error != 0) {
        lookup_free(lookup);
        return error;
    }
    *promise = vigil_promise_ref(lookup->outer);
    (void)vigil_shown_begin(&lookup->shown, dns->loop, lookup->name); /* a lookup that is not shown is one too */
    dns->references++;
    if (dns->last != NULL)
        dns->last->next = lookup;
    else
        dns->first = lookup;
    dns->last = lookup;
    dns->waiting++;
    dns->lookups++;
    next(dns);
    return 0;
}

int vigil_promise_dns(vigil_dns *dns, const char *name, unsigned port, vigil_cancel_token *token,
                      vigil_promise **promise)
{
    const int error = check_name(dns, name, port, promise);
    if (error != 0)
        return error;
    vigil_dns_addresses *found = from_literal(name, port);
    if (found == NULL) {
        found = from_kept(dns, name, port);
        dns->from_kept += found != NULL;
    }
    if (found == NULL)
        return begin(dns, name, port, false, token, promise);
    if (vigil_cancel_status(token) != 0) {
        free(found);
        return vigil_why_set(-ECANCELED, "the token is aborted");
    }
    dns->lookups++;
    const int rc = vigil_promise_resolved(dns->loop, vigil_value_pointer(found, free), promise);
    if (rc != 0)
        free(found);
    return rc;
}

int vigil_promise_dns_service(vigil_dns *dns, const char *name, vigil_cancel_token *token, vigil_promise **promise)
{
    const int error = check_name(dns, name, 0, promise);
    if (error != 0)
        return error;
    if (!vg_dns_engine_is_cares())
        return vigil_why_set(-EOPNOTSUPP, "services can be looked up with c-ares alone");
    return begin(dns, name, 0, true, token, promise);
}

/* ---- life ---------------------------------------------------------------------------------------------------------- */

bool vigil_dns_has_cares(void)
{
    return vg_dns_engine_is_cares();
}

int vigil_dns_create(vigil_dns **dns, vigil_loop *loop, const vigil_dns_options *options)
{
    const vigil_dns_options plain = VIGIL_DNS_OPTIONS_INIT;
    if (dns == NULL || loop == NULL)
        return vigil_why_set(-EINVAL, "dns or loop is NULL");
    if (options == NULL)
        options = &plain;
    if (options->size != sizeof *options)
        return vigil_why_set(-EINVAL, "options must start from VIGIL_DNS_OPTIONS_INIT");
    if (options->attempt_ns < 0)
        return vigil_why_set(-EINVAL, "options.attempt_ns is negative; 0 is the default of 100 ms");
    vigil_dns *it = calloc(1, sizeof *it);
    if (it == NULL)
        return vigil_why_set(-ENOMEM, "no memory for a resolver");
    it->loop = loop;
    it->references = 1;
    it->options = *options;
    it->options.attempt_ns = options->attempt_ns != 0 ? options->attempt_ns : 100000000;
    it->options.attempts = options->attempts != 0 ? options->attempts : 6;
    it->options.in_flight = options->in_flight != 0 ? options->in_flight : 100;
    it->options.kept = options->kept != 0 ? options->kept : 1024;
    it->kept = calloc(it->options.kept, sizeof *it->kept);
    const int error = it->kept == NULL ? vigil_why_set(-ENOMEM, "no memory for a resolver") : vg_dns_engine_open(it);
    it->options.servers = NULL; /* the caller's text */
    if (error != 0) {
        free(it->kept);
        free(it);
        return error;
    }
    *dns = it;
    return 0;
}

void vg_dns_unref(vigil_dns *dns)
{
    if (--dns->references != 0)
        return;
    for (unsigned i = 0; i < dns->options.kept; i++)
        kept_clear(&dns->kept[i]);
    free(dns->kept);
    free(dns);
}

void vigil_dns_destroy(vigil_dns *dns)
{
    if (dns == NULL)
        return;
    dns->destroyed = true;
    while (dns->first != NULL) {
        vg_dns_lookup *lookup = dns->first;
        dns->first = lookup->next;
        dns->waiting--;
        (void)vigil_promise_reject(lookup->inner, vigil_value_error(-ECANCELED));
        lookup_free(lookup);
        dns->references--;
    }
    vg_dns_engine_close(dns);
    hold_loop(dns);
    vg_dns_unref(dns);
}

int vigil_dns_stats_get(const vigil_dns *dns, vigil_dns_stats *stats)
{
    if (dns == NULL || stats == NULL || stats->size != sizeof *stats)
        return vigil_why_set(-EINVAL, "dns is NULL, or stats does not start from VIGIL_DNS_STATS_INIT");
    *stats = (vigil_dns_stats){.size = sizeof *stats,
                               .lookups = dns->lookups,
                               .from_kept = dns->from_kept,
                               .in_flight = dns->in_flight,
                               .waiting = dns->waiting};
    return 0;
}
