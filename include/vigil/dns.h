/* SPDX-License-Identifier: MIT */
/*
 * vigil/dns.h - names to addresses, without blocking. Its library is libvigil-dns.
 *
 * With c-ares the loop talks to the name servers by itself: A and AAAA are asked together, lost
 * datagrams are asked for again after a fraction of a second, answers are kept as long as they
 * may be. Without c-ares the library asks the system (getaddrinfo) on a pool, with the same calls;
 * then the fields that say so have no effect, and services cannot be looked up.
 *
 * Threads: every call here is the owner's (vigil/loop.h). No call blocks. A lookup keeps the loop
 * alive. It is rejected with
 *
 *   -ENOENT      there is no such name, or it has no address
 *   -ETIMEDOUT   no server has answered
 *   -EIO         no server can be reached, or they answer that they cannot
 *   -ECANCELED   the resolver was given back; or the token's status
 */
#ifndef VIGIL_DNS_H
#define VIGIL_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vigil/base.h>
#include <vigil/cancel.h>
#include <vigil/io.h>
#include <vigil/loop.h>
#include <vigil/pool.h>
#include <vigil/promise.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vigil_dns vigil_dns;

/* Start from VIGIL_DNS_OPTIONS_INIT. */
typedef struct vigil_dns_options {
    size_t size;
    const char *servers; /* "127.0.0.1:5353,[::1]:53"; NULL: the system's. With c-ares */
    int64_t
        attempt_ns;    /* until a query is sent again; doubles each round. 0: 100 ms. With c-ares */
    unsigned attempts; /* for each server; 0: 6. With c-ares */
    unsigned in_flight; /* lookups at once, others wait; 0: 100 */
    unsigned kept;      /* answers that are kept while they are valid; 0: 1024. With c-ares */
    vigil_pool *pool;   /* where getaddrinfo runs; must be set without c-ares */
} vigil_dns_options;
#define VIGIL_DNS_OPTIONS_INIT VG_SIZED(vigil_dns_options)

/* Make a resolver. options may be NULL, with c-ares. Owner; does not block.
   0; -EINVAL; -ENOMEM; -EPERM; -ESHUTDOWN. */
VIGIL_API int vigil_dns_create(vigil_dns **dns, vigil_loop *loop, const vigil_dns_options *options);

/* Give the resolver back, before its loop is destroyed. Lookups that wait are rejected with
   -ECANCELED. NULL is allowed. Owner; does not block. */
VIGIL_API void vigil_dns_destroy(vigil_dns *dns);

/* Whether the library was built with c-ares. Any thread; does not block. Returns true if so. */
VIGIL_API bool vigil_dns_has_cares(void);

/* The addresses of a name, in the order in which they should be tried. */
typedef struct vigil_dns_addresses {
    size_t count;
    unsigned seconds;     /* for how long they are valid; 0: not known */
    vigil_address *items; /* in the same piece of memory */
} vigil_dns_addresses;

/* Look a name up: hosts file, then A and AAAA. An address is its own answer. *promise is fulfilled
   with a vigil_dns_addresses (VIGIL_POINTER) with this port. Owner; does not block.
   0; -EINVAL; -ENOMEM; -ECANCELED; -EPERM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_dns(vigil_dns *dns, const char *name, unsigned port,
                                vigil_cancel_token *token, vigil_promise **promise);

/* One place of a service, of an SRV record. */
typedef struct vigil_dns_place {
    unsigned priority; /* lower is first */
    unsigned weight;   /* share among equal priorities */
    unsigned port;
    char host[256];
} vigil_dns_place;

/* The places of a service, sorted by priority, then by weight from the highest. */
typedef struct vigil_dns_places {
    size_t count;
    vigil_dns_place *items; /* in the same piece of memory */
} vigil_dns_places;

/* Look a service up: "_imaps._tcp.example.org". *promise is fulfilled with a vigil_dns_places
   (VIGIL_POINTER). Owner; does not block.
   0; -EINVAL; -EOPNOTSUPP without c-ares; -ENOMEM; -ECANCELED; -EPERM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_dns_service(vigil_dns *dns, const char *name, vigil_cancel_token *token,
                                        vigil_promise **promise);

/* Look a name up and connect (vigil_promise_connect). options.timeout_ns is for both steps.
   options and token may be NULL. Owner; does not block.
   0; -EINVAL; -ENOMEM; -ECANCELED; -EPERM; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_promise_dns_connect(vigil_dns *dns, const char *name, unsigned port,
                                        const vigil_connect_options *options,
                                        vigil_cancel_token *token, vigil_promise **promise);

typedef struct vigil_dns_stats {
    size_t size;
    uint64_t lookups;   /* asked for */
    uint64_t from_kept; /* answered without a query */
    uint64_t in_flight, waiting;
} vigil_dns_stats;
#define VIGIL_DNS_STATS_INIT VG_SIZED(vigil_dns_stats)

/* Fill *stats, which starts from VIGIL_DNS_STATS_INIT. Owner; does not block.
   0; -EINVAL. */
VIGIL_API int vigil_dns_stats_get(const vigil_dns *dns, vigil_dns_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
