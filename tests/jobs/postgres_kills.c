/* SPDX-License-Identifier: MIT */
/* The killing harness on PostgreSQL: also connections are cut, and the server crashes. */
#include "kills.h"
#include "server.h"

#include <libpq-fe.h>

static struct server server;
static char where[256];

static bool cut_somebody_off(unsigned dice)
{
    if (dice < 5) {
        must_equal(server_stop(&server, "immediate"), 0);
        must_equal(server_start(&server), 0);
        return true;
    }
    PGconn *connection = PQconnectdb(where);
    PQclear(PQexec(
        connection,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> "
        "pg_backend_pid() ORDER BY random() LIMIT 1"));
    PQfinish(connection);
    return true;
}

static void the_account_is_exact(void **state)
{
    (void)state;
    the_account_is_exact_whoever_dies(where, scaled(2000, 20));
}

int main(void)
{
    if (!server_make(&server)) {
        print_message("left out: there is no PostgreSQL server (Debian: postgresql)\n");
        return 0;
    }
    server_where(&server, "postgres", where, sizeof where);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_account_is_exact)}; /* the helpers' watchdog is a thread: no fork beside it */
    int failed = run_all(tests);
    server_remove(&server);
    return failed;
}
