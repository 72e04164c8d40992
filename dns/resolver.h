/* SPDX-License-Identifier: MIT */
/*
 * resolver.h - lookups, those that wait, and answers that are kept. How a question is asked is the engine's: cares.c talks to the
 * servers, system.c asks getaddrinfo on a pool. One of them is compiled.
 */
#ifndef VG_DNS_RESOLVER_H
#define VG_DNS_RESOLVER_H

#include <vigil/dns.h>
#include <vigil/io.h>

typedef struct vg_dns_lookup {
    vigil_dns *dns;
    struct vg_dns_lookup *next;
    vigil_promise *inner, *outer; /* outer: what the user has */
    vigil_shown shown;            /* by its name, until it is answered */
    unsigned port;
    bool service;
    char name[256];
} vg_dns_lookup;

typedef struct vg_dns_kept {
    char *name;
    uint64_t until; /* of the loop's time */
    vigil_dns_addresses *addresses;
} vg_dns_kept;

struct vigil_dns {
    vigil_loop *loop;
    vigil_dns_options options;
    void *engine;
    vg_dns_lookup *first, *last; /* that wait */
    unsigned in_flight, waiting;
    uint64_t lookups, from_kept;
    bool destroyed, held; /* held: the loop is kept alive */
    bool starting;        /* vg_dns_next is below us */
    uint64_t references;
    vg_dns_kept *kept;
};

/* Zeroed, with room for so many addresses; count is 0. NULL: no memory. */
vigil_dns_addresses *vg_dns_addresses_make(size_t room);

/* Of the engine. 0, or an error. */
int vg_dns_engine_open(vigil_dns *dns);
/* Ends all that is in flight, with -ECANCELED. */
void vg_dns_engine_close(vigil_dns *dns);
/* Ask. Answers with vg_dns_answered, once, perhaps inside the call. */
void vg_dns_engine_ask(vigil_dns *dns, vg_dns_lookup *lookup);
bool vg_dns_engine_is_cares(void);

/* The lookup is over and freed. value: an error, or what was found, which is handed over. seconds: for how long it is valid. */
void vg_dns_answered(vg_dns_lookup *lookup, vigil_value value, unsigned seconds);
void vg_dns_unref(vigil_dns *dns);

#endif
