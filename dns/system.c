/* SPDX-License-Identifier: MIT */
/* The engine without c-ares: getaddrinfo on a pool. */
#include "resolver.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool vg_dns_engine_is_cares(void)
{
    return false;
}

typedef struct question {
    unsigned port;
    char name[256];
} question;

/* On a worker. */
static vigil_value ask_system(void *arg)
{
    const question *it = arg;
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    char port[8];
    size_t count = 0;
    (void)snprintf(port, sizeof port, "%u", it->port);
    const int rc = getaddrinfo(it->name, port, &hints, &list);
    if (rc != 0)
        return vigil_value_error(rc == EAI_NONAME || rc == EAI_NODATA ? -ENOENT
                                 : rc == EAI_AGAIN                    ? -ETIMEDOUT
                                 : rc == EAI_MEMORY                   ? -ENOMEM
                                                                      : -EIO);
    for (const struct addrinfo *node = list; node != NULL; node = node->ai_next)
        count++;
    vigil_dns_addresses *found = vg_dns_addresses_make(count);
    for (const struct addrinfo *node = list; found != NULL && node != NULL; node = node->ai_next) {
        vigil_address *address = &found->items[found->count++];
        address->length = node->ai_addrlen;
        memcpy(&address->storage, node->ai_addr, node->ai_addrlen);
    }
    freeaddrinfo(list);
    return found != NULL ? vigil_value_pointer(found, free) : vigil_value_error(-ENOMEM);
}

static vigil_value came(vigil_value *value, void *arg)
{
    vg_dns_answered(arg, vigil_value_move(value), 0);
    return vigil_value_none();
}

static vigil_value failed(vigil_value *reason, void *arg)
{
    vg_dns_answered(arg, vigil_value_error(reason->status), 0);
    return vigil_value_none();
}

void vg_dns_engine_ask(vigil_dns *dns, vg_dns_lookup *lookup)
{
    vigil_promise *promise;
    question *it = malloc(sizeof *it);
    int error = it == NULL ? -ENOMEM : 0;
    if (error == 0) {
        it->port = lookup->port;
        memcpy(it->name, lookup->name, sizeof it->name);
        vigil_async_options options = VIGIL_ASYNC_OPTIONS_INIT;
        options.done = free;
        error = vigil_async(dns->loop, dns->options.pool, ask_system, it, &options, &promise);
        if (error != 0)
            free(it);
    }
    if (error == 0) {
        error = vigil_promise_then(promise, came, failed, lookup, NULL);
        vigil_promise_unref(promise);
    }
    if (error != 0)
        vg_dns_answered(lookup, vigil_value_error(error), 0);
}

int vg_dns_engine_open(vigil_dns *dns)
{
    if (dns->options.pool == NULL)
        return vigil_why_set(-EINVAL, "options.pool is NULL: without c-ares names are looked up on a pool");
    if (dns->options.servers != NULL)
        return vigil_why_set(-EINVAL, "options.servers needs c-ares");
    return 0;
}

void vg_dns_engine_close(vigil_dns *dns)
{
    (void)dns; /* what is on the pool ends by itself, and its answer is thrown away */
}
