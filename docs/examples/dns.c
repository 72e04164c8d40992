/* SPDX-License-Identifier: MIT */
/* Examples of vigil/dns.h, one for each function. */
#include <assert.h>
#include <stdio.h>
#include <vigil/dns.h>
#include <vigil/vigil.h>

static unsigned settled;

/*
 * vigil_dns_create: make a resolver
 * vigil_dns_has_cares: see how names are looked up here
 */
static vigil_dns *make_resolver(vigil_loop *loop, vigil_pool *pool)
{
    vigil_dns *dns;
    vigil_dns_options options = VIGIL_DNS_OPTIONS_INIT;
    if (!vigil_dns_has_cares())
        options.pool = pool; /* getaddrinfo runs there */
    int rc = vigil_dns_create(&dns, loop, &options);
    assert(rc == 0);
    return dns;
}

/* vigil_promise_dns: look a name up */
static vigil_value show(vigil_value *value, void *arg)
{
    const vigil_dns_addresses *found = value->pointer;
    (void)arg;
    assert(found->count > 0);
    printf("%zu addresses\n", found->count);
    settled++;
    return vigil_value_none();
}

static void look_up(vigil_dns *dns)
{
    vigil_promise *promise;
    int rc = vigil_promise_dns(dns, "localhost", 80, NULL, &promise);
    assert(rc == 0);
    vigil_promise_unref(vigil_promise_chain(promise, show, NULL, NULL));
}

/* vigil_promise_dns_service: find the servers of a domain */
static vigil_value places(vigil_value *value, void *arg)
{
    const vigil_dns_places *found = value->pointer;
    (void)arg;
    for (size_t i = 0; i < found->count; i++)
        printf("%s:%u\n", found->items[i].host, found->items[i].port);
    return vigil_value_none();
}

static vigil_value no_places(vigil_value *reason, void *arg)
{
    (void)arg;
    printf("no service: %s\n", vigil_strerror(reason->status));
    return vigil_value_none();
}

static void find_service(vigil_dns *dns)
{
    vigil_promise *promise;
    if (vigil_promise_dns_service(dns, "_imaps._tcp.localhost", NULL,
                                  &promise) == 0)
        vigil_promise_unref(
            vigil_promise_chain(promise, places, no_places, NULL));
}

/* vigil_promise_dns_connect: connect by name */
static vigil_value refused(vigil_value *reason, void *arg)
{
    (void)arg;
    assert(reason->status < 0);
    settled++;
    return vigil_value_none();
}

static void connect_by_name(vigil_dns *dns)
{
    vigil_promise *promise;
    vigil_connect_options options = VIGIL_CONNECT_OPTIONS_INIT;
    options.timeout_ns = INT64_C(5000000000);
    int rc = vigil_promise_dns_connect(dns, "localhost", 1, &options,
                                       NULL, &promise);
    assert(rc == 0);
    vigil_promise_unref(
        vigil_promise_chain(promise, NULL, refused, NULL));
}

/* vigil_dns_stats_get: see how much it has to do */
static void show_stats(vigil_dns *dns)
{
    vigil_dns_stats stats = VIGIL_DNS_STATS_INIT;
    assert(vigil_dns_stats_get(dns, &stats) == 0);
    assert(stats.lookups >= 2);
}

/* vigil_dns_destroy: give the resolver back */
static void give_back(vigil_dns *dns)
{
    vigil_dns_destroy(dns);
}

int main(void)
{
    vigil_loop *loop;
    vigil_pool *pool;
    int rc = vigil_loop_create(&loop, NULL);
    assert(rc == 0);
    rc = vigil_pool_create(&pool, NULL);
    assert(rc == 0);
    vigil_dns *dns = make_resolver(loop, pool);
    look_up(dns);
    connect_by_name(dns);
    while (settled < 2)
        (void)vigil_loop_run(loop, VIGIL_RUN_ONCE);
    show_stats(dns);
    find_service(dns); /* taken back with the resolver */
    give_back(dns);
    (void)vigil_loop_run(loop, VIGIL_RUN);
    rc = vigil_loop_destroy(loop);
    assert(rc == 0);
    return vigil_pool_destroy(pool);
}
