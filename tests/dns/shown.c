/* SPDX-License-Identifier: MIT */
/* A lookup is shown by its name until it is over, whether it is asked, waits for its turn, or is taken back. */
#include "../io/io_test.h"
#include "watch_test.h"

#include <vigil/dns.h>

static unsigned queries(const vg_snapshot *seen, const char *name)
{
    unsigned count = 0;
    must_equal(seen->loop_count, 1);
    for (size_t i = 0; i < seen->loops[0].io_count; i++) {
        const vg_io_view *io = &seen->loops[0].ios[i];
        if (io->kind != VG_IO_QUERY || (name != NULL && strcmp(io->name, name) != 0))
            continue;
        must_equal(io->wait, VG_IO_WAITS_ANSWER);
        must(io->wait_ns <= io->age_ns);
        count++;
    }
    return count;
}

static void lookups_are_shown_until_they_are_over(void **state)
{
    (void)state;
    vigil_dns *dns;
    vigil_dns_options options = VIGIL_DNS_OPTIONS_INIT;
    vigil_datagrams_options packets = VIGIL_DATAGRAMS_OPTIONS_INIT;
    vigil_datagrams *silent; /* a server that never answers */
    vigil_address address;
    vigil_promise *promises[2];
    char text[VIGIL_ADDRESS_TEXT];
    vigil_loop *loop = loop_plain();
    must_equal(vigil_address_init(&address, "127.0.0.1:0"), 0);
    packets.local = &address;
    must_equal(vigil_datagrams_open(&silent, loop, &packets), 0);
    must_equal(vigil_datagrams_address(silent, &address), 0);
    must(vigil_address_text(&address, text, sizeof text) > 0);
    options.servers = text;
    options.in_flight = 1; /* the second waits for its turn */
    must_equal(vigil_dns_create(&dns, loop, &options), 0);
    must_equal(vigil_promise_dns(dns, "one.test", 80, NULL, &promises[0]), 0);
    must_equal(vigil_promise_dns(dns, "two.test", 80, NULL, &promises[1]), 0);
    vg_snapshot *seen = snapshot_of(getpid());
    must_equal(queries(seen, "one.test"), 1);
    must_equal(queries(seen, "two.test"), 1);
    must_equal(queries(seen, NULL), 2);
    vg_snapshot_free(seen);
    vigil_dns_destroy(dns);
    while (vigil_promise_state_get(promises[0]) == VIGIL_PENDING ||
           vigil_promise_state_get(promises[1]) == VIGIL_PENDING)
        must(vigil_loop_run(loop, VIGIL_RUN_NOWAIT) >= 0);
    seen = snapshot_of(getpid());
    must_equal(queries(seen, NULL), 0);
    vg_snapshot_free(seen);
    vigil_promise_unref(promises[0]);
    vigil_promise_unref(promises[1]);
    must_equal(vigil_datagrams_close(silent), 0);
    must_equal(vigil_loop_run(loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        watch_test(lookups_are_shown_until_they_are_over),
    };
    if (!vigil_dns_has_cares()) /* the system cannot be told which server to ask */
        return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
