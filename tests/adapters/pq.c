/* SPDX-License-Identifier: MIT */
/* libpq on a loop, with a PostgreSQL server of the test's own in a temporary folder. */
#include "../jobs/server.h"
#include "../loop/loop_test.h"

#include <vigil/adapters/pq.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

static struct server server;
static char where[160];

static int start_server(void **state)
{
    (void)state;
    must(server_make(&server));
    server_where(&server, "postgres", where, sizeof where);
    return 0;
}

static int stop_server(void **state)
{
    (void)state;
    server_remove(&server);
    return 0;
}

struct client {
    vigil_loop *loop;
    vigil_pq *pq;
    unsigned readies, results, ends, notices, losses;
    int status; /* of on_ready */
    int end;    /* of the last query */
    ExecStatusType kind;
    long long number, sum;
    unsigned more; /* queries that a callback still sends */
};

static void on_ready(vigil_pq *pq, int status, void *arg)
{
    struct client *client = arg;
    must(pq == client->pq);
    client->readies++;
    client->status = status;
}

static void on_result(vigil_pq *pq, PGresult *result, int status, void *arg)
{
    struct client *client = arg;
    if (result != NULL) {
        client->results++;
        client->kind = PQresultStatus(result);
        if (client->kind == PGRES_TUPLES_OK && PQntuples(result) > 0)
            client->number = atoll(PQgetvalue(result, 0, 0));
        PQclear(result);
        return;
    }
    client->ends++;
    client->end = status;
    client->sum += client->number;
    if (client->more > 0) {
        client->more--;
        must_equal(PQsendQuery(vigil_pq_conn(pq), "select 7"), 1);
        must_equal(vigil_pq_results(pq, VIGIL_FOREVER, on_result, client), 0);
    }
}

static void client_open(struct client *client)
{
    memset(client, 0, sizeof *client);
    client->loop = loop_plain();
    must_equal(vigil_pq_open(&client->pq, client->loop, where, VIGIL_FOREVER, on_ready, client), 0);
    must_equal(client->readies, 0);
    must_equal(vigil_pq_results(client->pq, VIGIL_FOREVER, on_result, client), -EBUSY);
    while (client->readies == 0)
        must(vigil_loop_run(client->loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(client->status, 0);
}

static void client_end(struct client *client)
{
    vigil_pq_close(client->pq);
    must_equal(vigil_loop_run(client->loop, VIGIL_RUN), 0); /* nothing is left that keeps it */
    must_equal(vigil_loop_destroy(client->loop), 0);
}

static void wait_for_ends(struct client *client, unsigned ends)
{
    while (client->ends < ends)
        must(vigil_loop_run(client->loop, VIGIL_RUN_ONCE) >= 0);
}

static void queries_follow_each_other(void **state)
{
    struct client client;
    const unsigned count = (unsigned)scaled(2000, 200);
    (void)state;
    client_open(&client);
    client.more = count;
    must_equal(PQsendQuery(vigil_pq_conn(client.pq), "select 7"), 1);
    must_equal(vigil_pq_results(client.pq, VIGIL_FOREVER, on_result, &client), 0);
    must_equal(vigil_pq_results(client.pq, VIGIL_FOREVER, on_result, &client), -EBUSY);
    wait_for_ends(&client, count + 1);
    must_equal(client.results, count + 1);
    must_equal(client.sum, 7 * (count + 1));
    client_end(&client);
}

static void parameters_of_megabytes_go_both_ways(void **state)
{
    const size_t length = 4U << 20;
    struct client client;
    char *text = malloc(length + 1);
    (void)state;
    must(text != NULL);
    memset(text, 'x', length);
    text[length] = 0;
    const char *values[] = {text};
    client_open(&client);
    must_equal(PQsendQueryParams(vigil_pq_conn(client.pq), "select length($1), $1", 1, NULL, values, NULL, NULL, 0), 1);
    must_equal(vigil_pq_results(client.pq, VIGIL_FOREVER, on_result, &client), 0);
    wait_for_ends(&client, 1);
    must_equal(client.number, length);
    free(text);
    client_end(&client);
}

static void a_pipeline_gives_each_its_results(void **state)
{
    struct client client;
    (void)state;
    client_open(&client);
    must_equal(PQenterPipelineMode(vigil_pq_conn(client.pq)), 1);
    for (int i = 0; i < 10; i++)
        must_equal(PQsendQueryParams(vigil_pq_conn(client.pq), "select 3", 0, NULL, NULL, NULL, NULL, 0), 1);
    must_equal(PQpipelineSync(vigil_pq_conn(client.pq)), 1);
    for (unsigned i = 1; i <= 10; i++) {
        must_equal(vigil_pq_results(client.pq, VIGIL_FOREVER, on_result, &client), 0);
        wait_for_ends(&client, i);
    }
    must_equal(client.sum, 30);
    client_end(&client);
}

static void an_error_of_the_server_is_a_result(void **state)
{
    struct client client;
    (void)state;
    client_open(&client);
    must_equal(PQsendQuery(vigil_pq_conn(client.pq), "select 1; nonsense"), 1);
    must_equal(vigil_pq_results(client.pq, VIGIL_FOREVER, on_result, &client), 0);
    wait_for_ends(&client, 1);
    must_equal(client.kind, PGRES_FATAL_ERROR);
    must_equal(client.end, 0);
    client_end(&client);
}

static void a_query_that_takes_too_long_is_told(void **state)
{
    struct client client;
    (void)state;
    client_open(&client);
    must_equal(PQsendQuery(vigil_pq_conn(client.pq), "select 5 from pg_sleep(0.3)"), 1);
    must_equal(vigil_pq_results(client.pq, 20000000, on_result, &client), 0);
    wait_for_ends(&client, 1);
    must_equal(client.end, -ETIMEDOUT);
    must_equal(client.results, 0);
    must_equal(vigil_pq_results(client.pq, VIGIL_FOREVER, on_result, &client), 0); /* it still runs */
    wait_for_ends(&client, 2);
    must_equal(client.end, 0);
    must_equal(client.number, 5);
    client_end(&client);
}

static void on_notify(vigil_pq *pq, PGnotify *notify, void *arg)
{
    struct client *client = arg;
    if (notify == NULL) {
        client->losses++;
        return;
    }
    must_equal(strcmp(notify->extra, "words"), 0);
    PQfreemem(notify);
    if (++client->notices == 3)
        must_equal(vigil_pq_on_notify(pq, NULL, NULL), 0);
}

static void say(struct client *client, const char *words)
{
    const unsigned ends = client->ends;
    must_equal(PQsendQuery(vigil_pq_conn(client->pq), words), 1);
    must_equal(vigil_pq_results(client->pq, VIGIL_FOREVER, on_result, client), 0);
    wait_for_ends(client, ends + 1);
}

static void notifications_come_to_a_connection_at_rest(void **state)
{
    struct client client, other;
    (void)state;
    client_open(&client);
    client_open(&other);
    say(&client, "listen news");
    must_equal(vigil_pq_on_notify(client.pq, on_notify, &client), 0);
    for (int i = 0; i < 3; i++)
        say(&other, "notify news, 'words'");
    must_equal(vigil_loop_run(client.loop, VIGIL_RUN), 0); /* ends: after three nobody waits any more */
    must_equal(client.notices, 3);
    vigil_pq_close(client.pq);
    must_equal(vigil_loop_destroy(client.loop), 0);
    client_end(&other);
}

static void a_connection_that_is_cut_tells_all_who_wait(void **state)
{
    struct client client, idle, killer;
    (void)state;
    client_open(&client);
    client_open(&idle);
    client_open(&killer);
    must_equal(vigil_pq_on_notify(idle.pq, on_notify, &idle), 0);
    must_equal(PQsendQuery(vigil_pq_conn(client.pq), "select pg_sleep(60)"), 1);
    must_equal(vigil_pq_results(client.pq, VIGIL_FOREVER, on_result, &client), 0);
    say(&killer, "select count(pg_terminate_backend(pid)) from pg_stat_activity "
                 "where pid <> pg_backend_pid() and backend_type = 'client backend'");
    wait_for_ends(&client, 1);
    must_equal(client.kind, PGRES_FATAL_ERROR);
    while (idle.losses == 0)
        must(vigil_loop_run(idle.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(PQstatus(vigil_pq_conn(client.pq)), CONNECTION_BAD);
    client_end(&client);
    client_end(&idle);
    client_end(&killer);
}

static void close_in_result(vigil_pq *pq, PGresult *result, int status, void *arg)
{
    struct client *client = arg;
    (void)status;
    client->results++;
    PQclear(result);
    vigil_pq_close(pq);
}

static void close_when_ready(vigil_pq *pq, int status, void *arg)
{
    struct client *client = arg;
    client->readies++;
    client->status = status;
    vigil_pq_close(pq);
}

static void it_is_closed_inside_its_callbacks(void **state)
{
    struct client client;
    (void)state;
    client_open(&client);
    must_equal(PQsendQuery(vigil_pq_conn(client.pq), "select 1; select 2"), 1);
    must_equal(vigil_pq_results(client.pq, VIGIL_FOREVER, close_in_result, &client), 0);
    must_equal(vigil_loop_run(client.loop, VIGIL_RUN), 0);
    must_equal(client.results, 1);
    must_equal(vigil_loop_destroy(client.loop), 0);

    memset(&client, 0, sizeof client);
    client.loop = loop_plain();
    must_equal(vigil_pq_open(&client.pq, client.loop, where, VIGIL_FOREVER, close_when_ready, &client), 0);
    must_equal(vigil_loop_run(client.loop, VIGIL_RUN), 0);
    must_equal(client.readies, 1);
    must_equal(client.status, 0);
    must_equal(vigil_loop_destroy(client.loop), 0);
}

static void a_server_that_is_not_there_is_told(void **state)
{
    struct client client = {.loop = loop_plain()};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    char place[96];
    (void)state;
    must_equal(vigil_pq_open(&client.pq, client.loop, "nonsense", VIGIL_FOREVER, on_ready, &client), -ECONNREFUSED);
    must_equal(bind(listener, (struct sockaddr *)(void *)&address, length), 0);
    must_equal(getsockname(listener, (struct sockaddr *)(void *)&address, &length), 0);
    (void)snprintf(place, sizeof place, "hostaddr=127.0.0.1 port=%d user=vigil sslmode=disable",
                   ntohs(address.sin_port));
    const int error = vigil_pq_open(&client.pq, client.loop, place, VIGIL_FOREVER, close_when_ready, &client);
    if (error == 0) { /* nobody listens there yet */
        must_equal(vigil_loop_run(client.loop, VIGIL_RUN), 0);
        must_equal(client.status, -ECONNREFUSED);
    } else {
        must_equal(error, -ECONNREFUSED);
    }
    must_equal(vigil_loop_destroy(client.loop), 0);
    client.loop = loop_plain();
    must_equal(listen(listener, 1), 0); /* somebody listens, and never answers */
    must_equal(vigil_pq_open(&client.pq, client.loop, place, 30000000, close_when_ready, &client), 0);
    must_equal(vigil_loop_run(client.loop, VIGIL_RUN), 0);
    must_equal(client.status, -ETIMEDOUT);
    must_equal(vigil_loop_destroy(client.loop), 0);
    must_equal(close(listener), 0);
}

static void copies_are_left_to_the_caller(void **state)
{
    struct client client;
    char *row;
    int got;
    unsigned rows = 0;
    (void)state;
    client_open(&client);
    must_equal(PQsendQuery(vigil_pq_conn(client.pq), "copy (select generate_series(1, 5)) to stdout"), 1);
    must_equal(vigil_pq_results(client.pq, VIGIL_FOREVER, on_result, &client), 0);
    while (client.results == 0)
        must(vigil_loop_run(client.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(client.kind, PGRES_COPY_OUT);
    must_equal(client.ends, 0);
    while ((got = PQgetCopyData(vigil_pq_conn(client.pq), &row, 0)) > 0) {
        rows++;
        PQfreemem(row);
    }
    must_equal(got, -1);
    must_equal(rows, 5);
    must_equal(vigil_pq_results(client.pq, VIGIL_FOREVER, on_result, &client), 0);
    wait_for_ends(&client, 1);
    must_equal(client.kind, PGRES_COMMAND_OK);
    client_end(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(queries_follow_each_other),
        test(parameters_of_megabytes_go_both_ways),
        test(a_pipeline_gives_each_its_results),
        test(an_error_of_the_server_is_a_result),
        test(a_query_that_takes_too_long_is_told),
        test(notifications_come_to_a_connection_at_rest),
        test(a_connection_that_is_cut_tells_all_who_wait),
        test(it_is_closed_inside_its_callbacks),
        test(a_server_that_is_not_there_is_told),
        test(copies_are_left_to_the_caller),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
