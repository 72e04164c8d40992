/* SPDX-License-Identifier: MIT */
/* The engine with c-ares: its sockets are watched, its timeouts are a timer of the loop. */
#include "resolver.h"

#include <ares.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

typedef struct watched {
    int fd;
    vigil_watch watch;
} watched;

typedef struct engine {
    vigil_dns *dns;
    ares_channel channel;
    vigil_timer timer; /* id 0: none */
    uint64_t timer_at;
    watched *sockets;
    size_t count, room;
} engine;

bool vg_dns_engine_is_cares(void)
{
    return true;
}

/* ---- sockets and time ----------------------------------------------------------------------------------------------- */

static void set_timer(engine *it);

static void on_socket(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    vigil_dns *dns = arg;
    engine *it = dns->engine;
    (void)loop;
    (void)watch;
    dns->references++;
    ares_process_fd(it->channel, (events & ~(unsigned)VIGIL_FD_WRITE) != 0 ? fd : ARES_SOCKET_BAD,
                    (events & (unsigned)VIGIL_FD_WRITE) != 0 ? fd : ARES_SOCKET_BAD);
    if (!dns->destroyed)
        set_timer(it);
    vg_dns_unref(dns);
}

static void on_timer(vigil_loop *loop, vigil_timer timer, void *arg)
{
    vigil_dns *dns = arg;
    engine *it = dns->engine;
    (void)loop;
    (void)timer;
    it->timer.id = 0;
    dns->references++;
    ares_process_fd(it->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    if (!dns->destroyed)
        set_timer(it);
    vg_dns_unref(dns);
}

static void set_timer(engine *it)
{
    struct timeval left;
    vigil_timer_options options = VIGIL_TIMER_OPTIONS_INIT;
    if (ares_timeout(it->channel, NULL, &left) == NULL)
        return;
    options.delay_ns = (int64_t)left.tv_sec * 1000000000 + (int64_t)left.tv_usec * 1000;
    options.flags = VIGIL_TIMER_UNREF;
    const uint64_t due = vigil_loop_now_update(it->dns->loop) + (uint64_t)options.delay_ns;
    if (it->timer.id != 0) {
        if (it->timer_at <= due)
            return; /* it fires before, at worst for nothing */
        (void)vigil_timer_cancel(it->dns->loop, it->timer);
        it->timer.id = 0;
    }
    if (vigil_timer_start_with(it->dns->loop, &options, on_timer, it->dns, &it->timer) == 0)
        it->timer_at = due;
}

static void on_state(void *arg, ares_socket_t fd, int readable, int writable)
{
    engine *it = arg;
    size_t i = 0;
    const unsigned events = (readable ? (unsigned)VIGIL_FD_READ : 0U) | (writable ? (unsigned)VIGIL_FD_WRITE : 0U);
    while (i < it->count && it->sockets[i].fd != fd)
        i++;
    if (i < it->count) {
        if (events != 0) {
            (void)vigil_watch_modify(it->dns->loop, it->sockets[i].watch, events);
            return;
        }
        (void)vigil_watch_remove(it->dns->loop, it->sockets[i].watch);
        it->sockets[i] = it->sockets[--it->count];
        return;
    }
    if (events == 0)
        return;
    if (it->count == it->room) {
        watched *more = realloc(it->sockets, (it->room + 8) * sizeof *more);
        if (more == NULL)
            return; /* the query times out */
        it->sockets = more;
        it->room += 8;
    }
    it->sockets[i].fd = fd;
    if (vigil_watch_add(it->dns->loop, fd, events, VIGIL_WATCH_UNREF, on_socket, NULL, it->dns,
                        &it->sockets[i].watch) == 0)
        it->count++;
}

/* ---- answers -------------------------------------------------------------------------------------------------------- */

static vigil_value value_of(int status)
{
    switch (status) {
    case ARES_ENODATA:
    case ARES_ENOTFOUND:
    case ARES_EBADNAME:
        return vigil_value_error(-ENOENT);
    case ARES_ETIMEOUT:
        return vigil_value_error(-ETIMEDOUT);
    case ARES_ENOMEM:
        return vigil_value_error(-ENOMEM);
    case ARES_ECANCELLED:
    case ARES_EDESTRUCTION:
        return vigil_value_error(-ECANCELED);
    default:
        return vigil_value_error(-EIO);
    }
}

static void on_addresses(void *arg, int status, int timeouts, struct ares_addrinfo *info)
{
    vg_dns_lookup *lookup = arg;
    size_t count = 0;
    unsigned seconds = UINT32_MAX;
    (void)timeouts;
    if (status != ARES_SUCCESS) {
        vg_dns_answered(lookup, value_of(status), 0);
        return;
    }
    for (const struct ares_addrinfo_node *node = info->nodes; node != NULL; node = node->ai_next)
        count += node->ai_family == AF_INET || node->ai_family == AF_INET6;
    vigil_dns_addresses *found = vg_dns_addresses_make(count);
    if (found == NULL || count == 0) {
        free(found);
        ares_freeaddrinfo(info);
        vg_dns_answered(lookup, vigil_value_error(count == 0 ? -ENOENT : -ENOMEM), 0);
        return;
    }
    for (const struct ares_addrinfo_node *node = info->nodes; node != NULL; node = node->ai_next) {
        if (node->ai_family != AF_INET && node->ai_family != AF_INET6)
            continue;
        vigil_address *address = &found->items[found->count++];
        address->length = node->ai_addrlen;
        memcpy(&address->storage, node->ai_addr, node->ai_addrlen);
        if ((unsigned)node->ai_ttl < seconds)
            seconds = (unsigned)node->ai_ttl; /* 0 from the hosts file: read again each time */
    }
    for (const struct ares_addrinfo_cname *name = info->cnames; name != NULL; name = name->next)
        if ((unsigned)name->ttl < seconds)
            seconds = (unsigned)name->ttl;
    ares_freeaddrinfo(info);
    found->seconds = seconds;
    vg_dns_answered(lookup, vigil_value_pointer(found, free), seconds);
}

static int compare_places(const void *left, const void *right)
{
    const vigil_dns_place *a = left;
    const vigil_dns_place *b = right;
    if (a->priority != b->priority)
        return a->priority < b->priority ? -1 : 1;
    return a->weight == b->weight ? 0 : a->weight > b->weight ? -1 : 1;
}

static void on_places(void *arg, int status, int timeouts, unsigned char *bytes, int length)
{
    vg_dns_lookup *lookup = arg;
    struct ares_srv_reply *list = NULL;
    size_t count = 0;
    (void)timeouts;
    if (status == ARES_SUCCESS)
        status = ares_parse_srv_reply(bytes, length, &list);
    for (const struct ares_srv_reply *it = list; it != NULL; it = it->next)
        count++;
    vigil_dns_places *found = status == ARES_SUCCESS ? calloc(1, sizeof *found + count * sizeof *found->items) : NULL;
    if (found != NULL)
        found->items = (vigil_dns_place *)(void *)(found + 1);
    if (found == NULL) {
        ares_free_data(list);
        vg_dns_answered(lookup, status == ARES_SUCCESS ? vigil_value_error(-ENOMEM) : value_of(status), 0);
        return;
    }
    for (const struct ares_srv_reply *it = list; it != NULL; it = it->next) {
        vigil_dns_place *place = &found->items[found->count++];
        place->priority = it->priority;
        place->weight = it->weight;
        place->port = it->port;
        (void)strncpy(place->host, it->host, sizeof place->host - 1);
    }
    ares_free_data(list);
    qsort(found->items, found->count, sizeof *found->items, compare_places);
    vg_dns_answered(lookup, vigil_value_pointer(found, free), 0);
}

/* ---- the engine ----------------------------------------------------------------------------------------------------- */

void vg_dns_engine_ask(vigil_dns *dns, vg_dns_lookup *lookup)
{
    engine *it = dns->engine;
    char port[8];
    dns->references++;
    if (lookup->service) {
        ares_query(it->channel, lookup->name, ns_c_in, ns_t_srv, on_places, lookup);
    } else {
        const struct ares_addrinfo_hints hints = {
            .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = ARES_AI_NUMERICSERV};
        unsigned rest = lookup->port;
        size_t at = sizeof port - 1;
        port[at] = 0;
        do {
            port[--at] = (char)('0' + rest % 10);
            rest /= 10;
        } while (rest != 0);
        ares_getaddrinfo(it->channel, lookup->name, port + at, &hints, on_addresses, lookup);
    }
    if (!dns->destroyed)
        set_timer(it);
    vg_dns_unref(dns);
}

int vg_dns_engine_open(vigil_dns *dns)
{
    struct ares_options options = {0};
    engine *it = calloc(1, sizeof *it);
    if (it == NULL)
        return vigil_why_set(-ENOMEM, "no memory for a resolver");
    if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS) {
        free(it);
        return vigil_why_set(-ENOMEM, "c-ares does not start");
    }
    it->dns = dns;
    options.timeout = (int)(dns->options.attempt_ns / 1000000 > 0 ? dns->options.attempt_ns / 1000000 : 1);
    options.tries = (int)dns->options.attempts;
    options.sock_state_cb = on_state;
    options.sock_state_cb_data = it;
    options.socket_receive_buffer_size = 1 << 20; /* room for the answers to all that is in flight */
    int status = ares_init_options(&it->channel, &options,
                                   ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB | ARES_OPT_SOCK_RCVBUF);
    if (status == ARES_SUCCESS && dns->options.servers != NULL) {
        status = ares_set_servers_ports_csv(it->channel, dns->options.servers);
        if (status != ARES_SUCCESS)
            ares_destroy(it->channel);
    }
    if (status != ARES_SUCCESS) {
        ares_library_cleanup();
        free(it);
        return status == ARES_ENOMEM ? vigil_why_set(-ENOMEM, "no memory for a resolver")
                                     : vigil_why_set(-EINVAL, "options.servers is no list of addresses");
    }
    dns->engine = it;
    return 0;
}

void vg_dns_engine_close(vigil_dns *dns)
{
    engine *it = dns->engine;
    ares_destroy(it->channel); /* ends every query, and closes the sockets */
    if (it->timer.id != 0)
        (void)vigil_timer_cancel(dns->loop, it->timer);
    ares_library_cleanup();
    free(it->sockets);
    free(it);
    dns->engine = NULL;
}
