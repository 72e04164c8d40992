/* SPDX-License-Identifier: MIT */
/* A client: its hosts and its life. */
#include "client.h"

#include "call.h"
#include "link.h"
#include "out.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SECONDS INT64_C(1000000000)

/* ---- hosts -------------------------------------------------------------------------------------------------------- */

static unsigned bucket_of(const char *name, unsigned port)
{
    uint32_t hash = port;
    for (; *name != 0; name++)
        hash = hash * 31 + ((unsigned char)*name | 0x20U);
    return (hash ^ hash >> 16) % VG_WEB_BUCKETS;
}

vg_web_host *vg_web_host_of(vigil_http_client *client, const vg_web_url *url)
{
    vg_web_host **bucket = &client->buckets[bucket_of(url->host, url->port)];
    for (vg_web_host *host = *bucket; host != NULL; host = host->next)
        if (host->port == url->port && host->secure == url->secure && strcasecmp(host->name, url->host) == 0)
            return host;
    const size_t length = strlen(url->host) + 1;
    vg_web_host *host = calloc(1, sizeof *host + length);
    if (host == NULL)
        return NULL;
    host->client = client;
    host->port = url->port;
    host->secure = url->secure;
    host->brackets = url->brackets;
    memcpy(host->name, url->host, length);
    host->next = *bucket;
    *bucket = host;
    return host;
}

void vg_web_host_maybe_free(vg_web_host *host)
{
    if (host->links != 0 || host->making != 0 || host->waiting != 0 || host->holds != 0)
        return;
    if (host->client->destroyed) { /* nobody walks the buckets any more */
        free(host);
        return;
    }
    vg_web_host **place = &host->client->buckets[bucket_of(host->name, host->port)];
    while (*place != host)
        place = &(*place)->next;
    *place = host->next;
    free(host);
}

static vg_web_call *host_pop(vg_web_host *host)
{
    vg_web_call *call = host->first;
    host->first = call->next;
    if (host->first == NULL)
        host->last = NULL;
    call->next = NULL;
    call->waits = false;
    host->waiting--;
    host->client->waiting--;
    return call;
}

void vg_web_host_next(vg_web_host *host)
{
    vigil_http_client *client = host->client;
    if (host->holds != 0)
        return; /* who holds it calls this again */
    host->holds++;
    client->references++; /* options.connect may destroy the client */
    while (!client->destroyed && host->first != NULL) {
        vg_web_link *link = vg_web_link_idle(host);
        if (link != NULL) {
            vg_web_link_use(link, host_pop(host));
            continue;
        }
        if (host->making >= host->waiting || host->links + host->making >= client->options.most_per_host)
            break;
        const int error = vg_web_link_make(host);
        if (error != 0 && host->first != NULL)
            vg_web_call_fail(host->first, error);
    }
    host->holds--;
    vg_web_host_maybe_free(host);
    vg_web_client_unref(client);
}

/* ---- life --------------------------------------------------------------------------------------------------------- */

int vigil_http_client_create(vigil_http_client **client, vigil_loop *loop, const vigil_http_client_options *options)
{
    const vigil_http_client_options plain = VIGIL_HTTP_CLIENT_OPTIONS_INIT;
    if (client == NULL || loop == NULL)
        return vigil_why_set(-EINVAL, "client or loop is NULL");
    if (options == NULL)
        options = &plain;
    if (options->size != sizeof *options)
        return vigil_why_set(-EINVAL, "options must start from VIGIL_HTTP_CLIENT_OPTIONS_INIT");
    if (options->head_bytes > VG_WEB_MOST_HEAD)
        return vg_web_why(-EINVAL, "options.head_bytes is %zu; the most is %d", options->head_bytes, VG_WEB_MOST_HEAD);
    vigil_http_client *it = calloc(1, sizeof *it);
    if (it == NULL)
        return vigil_why_set(-ENOMEM, "no memory for a client");
    it->loop = loop;
    it->references = 1;
    it->options = *options;
    vigil_http_client_options *ours = &it->options;
    ours->most_per_host = options->most_per_host != 0 ? options->most_per_host : 8;
    ours->most_idle = options->most_idle != 0 ? options->most_idle : 64;
    ours->idle_ns = options->idle_ns != 0 ? options->idle_ns : 30 * SECONDS;
    ours->connect_ns = options->connect_ns != 0 ? options->connect_ns : 10 * SECONDS;
    ours->head_bytes = options->head_bytes != 0 ? options->head_bytes : 32768;
    *client = it;
    return 0;
}

void vg_web_client_unref(vigil_http_client *client)
{
    if (--client->references == 0)
        free(client);
}

int vigil_http_client_destroy(vigil_http_client *client)
{
    if (client == NULL)
        return 0;
    client->destroyed = true;
    for (int i = 0; i < VG_WEB_BUCKETS; i++)
        for (vg_web_host *host = client->buckets[i]; host != NULL; host = host->next) {
            host->holds++; /* it stays while the buckets are walked */
            while (host->first != NULL)
                vg_web_call_fail(host->first, -ECANCELED);
        }
    while (client->links != NULL)
        vg_web_link_end(client->links, -ECANCELED);
    for (int i = 0; i < VG_WEB_BUCKETS; i++) {
        vg_web_host *next;
        for (vg_web_host *host = client->buckets[i]; host != NULL; host = next) {
            next = host->next;
            host->holds--;
            vg_web_host_maybe_free(host); /* else the last connection that is being made, or its holder, frees it */
        }
    }
    if (client->timer.id != 0)
        (void)vigil_timer_cancel(client->loop, client->timer);
    vg_web_client_unref(client);
    return 0;
}

int vigil_http_client_stats_get(const vigil_http_client *client, vigil_http_client_stats *stats)
{
    if (client == NULL || stats == NULL || stats->size != sizeof *stats)
        return vigil_why_set(-EINVAL, "client is NULL, or stats does not start from VIGIL_HTTP_CLIENT_STATS_INIT");
    *stats = (vigil_http_client_stats){.size = sizeof *stats,
                                       .calls = client->calls,
                                       .connections = client->connections,
                                       .open = client->open,
                                       .idle = client->idle,
                                       .waiting = client->waiting};
    return 0;
}
