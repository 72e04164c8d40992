/* SPDX-License-Identifier: MIT */
/*
 * Names and addresses for lib/dns.js: getaddrinfo, getnameinfo and the system's resolver, each on the pool. Node's dns.lookup is
 * getaddrinfo, with all that the system's configuration says; dns.resolve asks the name servers, for records of every kind, so the
 * answer goes to JavaScript as it came.
 */
#include "bind_dns.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <errno.h>
#include <netdb.h>
#include <resolv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vigil/record.h>

#include "bind.h"
#include "net.h"
#include "port.h"
#include "turn.h"

typedef struct vg_lookup {
    vg_done done;
    vigil_task task;
    vg_port *port;
    double id;
    char *name, *servers;
    int family, flags, type, tries, patience;
    unsigned port_number;
    int status; /* of a failure: EAI_* of a lookup, h_errno of a query, negative: an errno */
    char *out;
    size_t length;
} vg_lookup;

static void lookup_free(vg_lookup *lookup)
{
    free(lookup->name);
    free(lookup->servers);
    free(lookup->out);
    free(lookup);
}

/* ---- on the pool ------------------------------------------------------------------------------------------------ */

static void find_addresses(vg_lookup *lookup)
{
    struct addrinfo hints = {.ai_family = lookup->family, .ai_socktype = SOCK_STREAM, .ai_flags = lookup->flags};
    struct addrinfo *found = NULL;
    size_t count = 0;
    int error = getaddrinfo(lookup->name, NULL, &hints, &found);
    lookup->status = error == EAI_SYSTEM ? -errno : error;
    if (error)
        return;
    for (struct addrinfo *one = found; one; one = one->ai_next)
        count++;
    lookup->out = malloc(count * (INET6_ADDRSTRLEN + 1) + 1);
    if (!lookup->out)
        lookup->status = -ENOMEM;
    for (struct addrinfo *one = found; one && lookup->out; one = one->ai_next) {
        char text[INET6_ADDRSTRLEN];
        const void *address = one->ai_family == AF_INET ? (void *)&((struct sockaddr_in *)one->ai_addr)->sin_addr
                                                        : (void *)&((struct sockaddr_in6 *)one->ai_addr)->sin6_addr;
        if (inet_ntop(one->ai_family, address, text, sizeof text))
            lookup->length += (size_t)sprintf(lookup->out + lookup->length, "%s\n", text);
    }
    freeaddrinfo(found);
}

static void find_name(vg_lookup *lookup)
{
    struct sockaddr_storage address;
    socklen_t length;
    char host[NI_MAXHOST], service[NI_MAXSERV];
    int error;
    if (!vg_net_address(lookup->name, lookup->port_number, &address, &length)) {
        lookup->status = -EINVAL;
        return;
    }
    error = getnameinfo((struct sockaddr *)&address, length, host, sizeof host, service, sizeof service, NI_NAMEREQD);
    lookup->status = error == EAI_SYSTEM ? -errno : error;
    if (error)
        return;
    lookup->out = malloc(strlen(host) + strlen(service) + 3);
    if (lookup->out)
        lookup->length = (size_t)sprintf(lookup->out, "%s\n%s\n", host, service);
    else
        lookup->status = -ENOMEM;
}

/* servers: "address port\n..." in place of the system's. The resolver's own list has room for three of IPv4. */
static void use_servers(struct __res_state *state, const char *servers)
{
    int count = 0;
    char address[64];
    unsigned port;
    while (count < MAXNS && sscanf(servers, "%63s %u", address, &port) == 2) {
        struct sockaddr_in *to = &state->nsaddr_list[count];
        memset(to, 0, sizeof *to);
        to->sin_family = AF_INET;
        to->sin_port = htons((uint16_t)port);
        if (inet_pton(AF_INET, address, &to->sin_addr) == 1)
            count++;
        servers = strchr(servers, '\n');
        if (!servers)
            break;
        servers++;
    }
    if (count > 0)
        state->nscount = count;
}

static void ask(vg_lookup *lookup)
{
    struct __res_state state;
    int length;
    memset(&state, 0, sizeof state);
    if (res_ninit(&state) < 0) {
        lookup->status = -EIO;
        return;
    }
    if (lookup->servers)
        use_servers(&state, lookup->servers);
    if (lookup->patience > 0)
        state.retrans = lookup->patience;
    if (lookup->tries > 0)
        state.retry = lookup->tries;
    lookup->out = malloc(NS_MAXMSG);
    errno = 0;
    length = lookup->out
                 ? res_nquery(&state, lookup->name, ns_c_in, lookup->type, (unsigned char *)lookup->out, NS_MAXMSG)
                 : -1;
    if (length < 0)
        lookup->status = state.res_h_errno == TRY_AGAIN && errno == ECONNREFUSED ? -ECONNREFUSED : state.res_h_errno;
    else
        lookup->length = (size_t)length;
    if (length < 0 && lookup->status == 0)
        lookup->status = -EIO;
    res_nclose(&state);
}

static void finish(vg_lookup *lookup)
{
    vg_port *port = lookup->port;
    vg_port_send(port, &lookup->done);
    vg_port_release(port);
}

static vg_lookup *of_task(vigil_task *task)
{
    return (vg_lookup *)(void *)((char *)task - offsetof(vg_lookup, task));
}

static int run_lookup(vigil_task *task)
{
    vg_lookup *lookup = of_task(task);
    vigil_blocking_begin();
    find_addresses(lookup);
    vigil_blocking_end();
    finish(lookup);
    return 0;
}

static int run_service(vigil_task *task)
{
    vg_lookup *lookup = of_task(task);
    vigil_blocking_begin();
    find_name(lookup);
    vigil_blocking_end();
    finish(lookup);
    return 0;
}

static int run_query(vigil_task *task)
{
    vg_lookup *lookup = of_task(task);
    vigil_blocking_begin();
    ask(lookup);
    vigil_blocking_end();
    finish(lookup);
    return 0;
}

static void cancel_task(vigil_task *task)
{
    vg_lookup *lookup = of_task(task);
    lookup->status = -ECANCELED;
    finish(lookup);
}

/* ---- back on the loop ------------------------------------------------------------------------------------------- */

static vg_lookup *of_done(vg_done *done)
{
    return (vg_lookup *)(void *)((char *)done - offsetof(vg_lookup, done));
}

static void free_out(void *data, void *arg)
{
    (void)arg;
    free(data);
}

static void deliver(vigil_js *js, vg_done *done)
{
    vg_lookup *lookup = of_done(done);
    vg_engine *engine = js->engine;
    vg_val id = vg_number(engine, lookup->id), value;
    if (lookup->status) {
        value = vg_number(engine, lookup->status);
    } else if (lookup->type) {
        value = vg_bytes(engine, lookup->out, lookup->length, free_out, NULL);
        lookup->out = NULL;
    } else {
        value = vg_text(engine, lookup->out, lookup->length);
    }
    if (!value)
        value = vg_number(engine, -ENOMEM);
    lookup_free(lookup);
    vg_js_in_flight(js, -1);
    vg_js_dispatch(js, VG_DISPATCH_COMPLETE, id, value, NULL);
}

static void drop(vg_done *done)
{
    lookup_free(of_done(done));
}

static vg_val begin(vg_call *call, vg_lookup *lookup, vigil_task_fn run)
{
    vigil_js *js = call->host;
    vigil_pool *pool = vigil_js_pool(js);
    int error = !pool || !lookup->name ? -ENOMEM : 0;
    if (error == 0) {
        lookup->id = vg_arg_number(call, 0);
        lookup->done.deliver = deliver;
        lookup->done.drop = drop;
        lookup->port = js->port;
        vg_port_hold(js->port);
        vigil_task_init(&lookup->task, run, cancel_task);
        error = vigil_pool_submit(pool, &lookup->task, VIGIL_NORMAL);
        if (error < 0)
            vg_port_release(js->port);
    }
    if (error < 0)
        lookup_free(lookup);
    else
        vg_js_in_flight(js, 1);
    return vg_number(call->engine, error);
}

/* lookup(number, name, family, flags): the completion gets "address\n..." or an EAI_* number or a negative errno */
static vg_val do_lookup(vg_call *call)
{
    vg_lookup *lookup = calloc(1, sizeof *lookup);
    double family = vg_arg_number(call, 2);
    if (!lookup)
        return vg_number(call->engine, -ENOMEM);
    lookup->name = vg_arg_text(call, 1, NULL);
    lookup->family = family == 4 ? AF_INET : family == 6 ? AF_INET6 : AF_UNSPEC;
    lookup->flags = (int)vg_arg_number(call, 3);
    return begin(call, lookup, run_lookup);
}

/* service(number, address, port): "host\nservice\n" */
static vg_val do_service(vg_call *call)
{
    vg_lookup *lookup = calloc(1, sizeof *lookup);
    if (!lookup)
        return vg_number(call->engine, -ENOMEM);
    lookup->name = vg_arg_text(call, 1, NULL);
    lookup->port_number = (unsigned)vg_arg_number(call, 2);
    return begin(call, lookup, run_service);
}

/* query(number, name, type, servers, seconds, tries): the answer's bytes, or h_errno */
static vg_val do_query(vg_call *call)
{
    vg_lookup *lookup = calloc(1, sizeof *lookup);
    if (!lookup)
        return vg_number(call->engine, -ENOMEM);
    lookup->name = vg_arg_text(call, 1, NULL);
    lookup->type = (int)vg_arg_number(call, 2);
    lookup->servers = vg_arg_is(call, 3, VG_STRING) ? vg_arg_text(call, 3, NULL) : NULL;
    lookup->patience = (int)vg_arg_number(call, 4);
    lookup->tries = (int)vg_arg_number(call, 5);
    return begin(call, lookup, run_query);
}

/* dns(): the functions, and the numbers that they use */
static vg_val open_dns(vg_call *call)
{
    static const vg_binding_entry entries[] = {{"lookup", do_lookup}, {"service", do_service}, {"query", do_query}};
    static const struct {
        const char *name;
        int value;
    } numbers[] = {
        {"ADDRCONFIG", AI_ADDRCONFIG}, {"ALL", AI_ALL},
        {"V4MAPPED", AI_V4MAPPED},     {"EAI_NONAME", EAI_NONAME},
        {"EAI_AGAIN", EAI_AGAIN},      {"EAI_FAIL", EAI_FAIL},
        {"EAI_FAMILY", EAI_FAMILY},    {"EAI_MEMORY", EAI_MEMORY},
        {"EAI_NODATA", EAI_NODATA},    {"HOST_NOT_FOUND", HOST_NOT_FOUND},
        {"TRY_AGAIN", TRY_AGAIN},      {"NO_RECOVERY", NO_RECOVERY},
        {"NO_DATA", NO_DATA},
    };
    vigil_js *js = call->host;
    vg_val object = vg_object(call->engine);
    VIGIL_RECORD_NAME(run_lookup, "dns.lookup");
    VIGIL_RECORD_NAME(run_service, "dns.lookupService");
    VIGIL_RECORD_NAME(run_query, "dns.resolve");
    if (!vg_js_bind(js, object, entries, sizeof entries / sizeof *entries))
        return vg_throw(call, "no memory");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        vg_set_number(call->engine, object, numbers[i].name, numbers[i].value);
    return object;
}

bool vg_js_bind_dns(vigil_js *js)
{
    static const vg_binding_entry entry = {"dns", open_dns};
    return vg_js_bind(js, js->binding, &entry, 1);
}
