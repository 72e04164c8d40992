/* SPDX-License-Identifier: MIT */
/* A stream with TLS is a stream; whom it does not trust it does not talk to, and says why. */
#include "certs.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <vigil/tls.h>
#include <vigil/vigil.h>

enum {
    HOUR = 3600,
    LONG = 300000
};

static struct cert authority, good, other, expired, early, alone, client_cert;

struct scene {
    vigil_loop *loop;
    vigil_tls *server_tls, *client_tls;
    vigil_stream *server, *client;
    unsigned started;
    int server_status, client_status;
    char server_text[LONG + 1], client_text[LONG + 1];
    size_t server_length, client_length;
    int64_t server_end, client_end;
};

static vigil_tls_certificate files_of(const struct cert *cert)
{
    return (vigil_tls_certificate){cert->chain, cert->file};
}

static void make_server(struct scene *scene, const struct cert *cert, vigil_tls_options *more)
{
    vigil_tls_options options = VIGIL_TLS_OPTIONS_INIT;
    vigil_tls_certificate files;
    if (more != NULL)
        options = *more;
    options.server = true;
    if (options.count == 0) {
        files = files_of(cert);
        options.certificates = &files;
        options.count = 1;
    }
    must_equal(vigil_tls_create(&scene->server_tls, &options), 0);
}

static void make_client(struct scene *scene, vigil_tls_options *more)
{
    vigil_tls_options options = VIGIL_TLS_OPTIONS_INIT;
    if (more != NULL)
        options = *more;
    options.trust = authority.chain;
    must_equal(vigil_tls_create(&scene->client_tls, &options), 0);
}

static void server_started(vigil_stream *stream, int status, void *arg)
{
    struct scene *scene = arg;
    must(stream == scene->server);
    scene->started++;
    scene->server_status = status;
}

static void client_started(vigil_stream *stream, int status, void *arg)
{
    struct scene *scene = arg;
    must(stream == scene->client);
    scene->started++;
    scene->client_status = status;
}

static void connect_both(struct scene *scene, const char *host)
{
    int ends[2];
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    must_equal(vigil_stream_open(&scene->server, scene->loop, ends[0], NULL), 0);
    must_equal(vigil_stream_open(&scene->client, scene->loop, ends[1], NULL), 0);
    scene->started = 0;
    scene->server_length = scene->client_length = 0;
    scene->server_end = scene->client_end = 1;
    must_equal(vigil_tls_start(scene->server_tls, scene->server, NULL, server_started, scene), 0);
    must_equal(vigil_tls_start(scene->client_tls, scene->client, host, client_started, scene), 0);
    while (scene->started < 2)
        must(vigil_loop_run(scene->loop, VIGIL_RUN_ONCE) >= 0);
}

static void server_data(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    struct scene *scene = arg;
    (void)stream;
    if (length <= 0) {
        scene->server_end = length;
        return;
    }
    must(scene->server_length + (size_t)length <= LONG);
    memcpy(scene->server_text + scene->server_length, data, (size_t)length);
    scene->server_length += (size_t)length;
}

static void client_data(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    struct scene *scene = arg;
    (void)stream;
    if (length <= 0) {
        scene->client_end = length;
        return;
    }
    must(scene->client_length + (size_t)length <= LONG);
    memcpy(scene->client_text + scene->client_length, data, (size_t)length);
    scene->client_length += (size_t)length;
}

static void count_data(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    struct scene *scene = arg;
    (void)stream;
    (void)data;
    scene->client_length += length > 0 ? (size_t)length : 0;
}

static void read_both(struct scene *scene)
{
    must_equal(vigil_stream_on_data(scene->server, server_data, scene), 0);
    must_equal(vigil_stream_on_data(scene->client, client_data, scene), 0);
}

static void close_both(struct scene *scene)
{
    must_equal(vigil_stream_close(scene->client), 0);
    must_equal(vigil_stream_close(scene->server), 0);
}

static void scene_begin(struct scene *scene)
{
    memset(scene, 0, sizeof *scene);
    scene->loop = loop_plain();
}

static void scene_end(struct scene *scene)
{
    vigil_tls_destroy(scene->server_tls);
    vigil_tls_destroy(scene->client_tls);
    must_equal(vigil_loop_run(scene->loop, VIGIL_RUN), 0);
    must_equal(vigil_loop_destroy(scene->loop), 0);
}

/* ---- talking ------------------------------------------------------------------------------------------------------ */

static struct scene scene;

static void long_texts_go_both_ways_and_end(void **state)
{
    (void)state;
    static char text[LONG];
    scene_begin(&scene);
    make_server(&scene, &good, NULL);
    make_client(&scene, NULL);
    connect_both(&scene, "good.test");
    must_equal(scene.client_status, 0);
    must_equal(scene.server_status, 0);
    for (int i = 0; i < LONG; i++)
        text[i] = (char)(i * 7 + i / 251);
    read_both(&scene);
    for (int i = 0; i < LONG; i += 1000) { /* several parts in a record */
        must(vigil_stream_write(scene.client, text + i, 10) >= 0);
        must(vigil_stream_write(scene.client, text + i + 10, 990) >= 0);
    }
    must(vigil_stream_write(scene.server, text, LONG) >= 0);
    while (scene.server_length < LONG || scene.client_length < LONG)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(memcmp(scene.server_text, text, LONG), 0);
    must_equal(memcmp(scene.client_text, text, LONG), 0);
    must_equal(vigil_stream_finish(scene.client), 0); /* the other way stays open */
    while (scene.server_end == 1)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(scene.server_end, 0);
    scene.client_length = 0;
    must_equal(vigil_stream_write(scene.server, "last", 4), 0);
    must_equal(vigil_stream_close(scene.server), 0);
    while (scene.client_end == 1)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(scene.client_end, 0);
    must_equal(scene.client_length, 4);
    must_equal(vigil_stream_close(scene.client), 0);
    scene_end(&scene);
}

struct noted_write {
    vigil_write write; /* first */
    unsigned calls;
    int status;
};

static void note_write(vigil_write *write, int status)
{
    struct noted_write *it = (struct noted_write *)(void *)write;
    it->calls++;
    it->status = status;
}

static int file_of(size_t length)
{
    char path[] = "/tmp/vigil-tls-XXXXXX";
    const int fd = mkostemp(path, O_CLOEXEC);
    must(fd >= 0);
    must_equal(unlink(path), 0);
    for (size_t i = 0; i < length; i += sizeof "0123456789abcde")
        must_equal(write(fd, "0123456789abcde", sizeof "0123456789abcde"), sizeof "0123456789abcde");
    must_equal(ftruncate(fd, (off_t)length), 0);
    return fd;
}

static void a_file_goes_through_tls_in_its_place(void **state)
{
    (void)state;
    struct noted_write note = {.write.done = note_write};
    const int file = file_of(LONG - 8);
    scene_begin(&scene);
    make_server(&scene, &good, NULL);
    make_client(&scene, NULL);
    connect_both(&scene, "good.test");
    read_both(&scene);
    must(vigil_stream_write(scene.server, "head", 4) >= 0);
    must(vigil_stream_send_file(scene.server, &note.write, file, 0, 0) >= 0);
    must(vigil_stream_write(scene.server, "tail", 4) >= 0);
    while (scene.client_length < LONG)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    must(memcmp(scene.client_text, "head", 4) == 0);
    for (size_t i = 0; i < LONG - 8; i++)
        must_equal(scene.client_text[4 + i], "0123456789abcde"[i % 16]);
    must(memcmp(scene.client_text + LONG - 4, "tail", 4) == 0);
    must_equal(note.calls, 1);
    must_equal(note.status, 0);
    must_equal(close(file), 0);
    close_both(&scene);
    scene_end(&scene);
}

/* The file is cut inside a record that OpenSSL holds, because nobody reads. */
static void a_file_that_is_cut_under_tls_says_so(void **state)
{
    (void)state;
    enum {
        ALL = 4000000
    };
    struct noted_write note = {.write.done = note_write};
    vigil_stream_stats stats = VIGIL_STREAM_STATS_INIT;
    const int file = file_of(ALL);
    scene_begin(&scene);
    make_server(&scene, &good, NULL);
    make_client(&scene, NULL);
    connect_both(&scene, "good.test");
    must_equal(vigil_stream_send_file(scene.server, &note.write, file, 0, 0), 1);
    for (int i = 0; i < 8; i++)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_NOWAIT) >= 0);
    must_equal(vigil_stream_stats_get(scene.server, &stats), 0);
    must(stats.unsent > 0 && stats.unsent < ALL);
    must_equal(ftruncate(file, (off_t)(ALL - stats.unsent + 100)), 0);
    must_equal(vigil_stream_on_data(scene.client, count_data, &scene), 0);
    while (note.calls == 0)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(note.status, -ENODATA);
    must_equal(close(file), 0);
    close_both(&scene);
    scene_end(&scene);
}

static void what_was_agreed_can_be_seen(void **state)
{
    (void)state;
    vigil_tls_info info = VIGIL_TLS_INFO_INIT;
    vigil_tls_options server = VIGIL_TLS_OPTIONS_INIT, client = VIGIL_TLS_OPTIONS_INIT;
    scene_begin(&scene);
    server.protocols = "h2,http/1.1";
    client.protocols = "other,http/1.1";
    make_server(&scene, &good, &server);
    make_client(&scene, &client);
    connect_both(&scene, "good.test");
    must_equal(vigil_tls_info_get(scene.client, &info), 0);
    must_equal(strcmp(info.version, "TLSv1.3"), 0);
    must_equal(strcmp(info.protocol, "http/1.1"), 0);
    must_equal(strcmp(info.peer, "CN = good.test"), 0);
    must(info.valid_until > time(NULL));
    must(!info.resumed);
    must_equal(vigil_tls_info_get(scene.server, &info), 0);
    must_equal(strcmp(info.host, "good.test"), 0);
    must_equal(info.peer[0], 0);
    must_equal(strcmp(vigil_tls_why(scene.client), ""), 0);
    close_both(&scene);
    scene_end(&scene);
}

static void nothing_in_common_by_alpn_is_refused(void **state)
{
    (void)state;
    vigil_tls_options server = VIGIL_TLS_OPTIONS_INIT, client = VIGIL_TLS_OPTIONS_INIT;
    scene_begin(&scene);
    server.protocols = "h2";
    client.protocols = "http/1.1";
    make_server(&scene, &good, &server);
    make_client(&scene, &client);
    connect_both(&scene, "good.test");
    must_equal(scene.client_status, -EPROTO);
    must_equal(scene.server_status, -EPROTO);
    must(vigil_tls_why(scene.client)[0] != 0);
    close_both(&scene);
    scene_end(&scene);
}

static void the_name_chooses_the_certificate(void **state)
{
    (void)state;
    static const char *const names[] = {"good.test", "other.test", "www.other.test", "127.0.0.1"};
    static const char *const peers[] = {"CN = good.test", "CN = other.test", "CN = other.test", "CN = good.test"};
    vigil_tls_certificate files[] = {files_of(&good), files_of(&other)};
    vigil_tls_options options = VIGIL_TLS_OPTIONS_INIT;
    options.certificates = files;
    options.count = 2;
    scene_begin(&scene);
    make_server(&scene, NULL, &options);
    make_client(&scene, NULL);
    for (size_t i = 0; i < count_of(names); i++) {
        vigil_tls_info info = VIGIL_TLS_INFO_INIT;
        connect_both(&scene, names[i]);
        must_equal(scene.client_status, 0);
        must_equal(vigil_tls_info_get(scene.client, &info), 0);
        must_equal(strcmp(info.peer, peers[i]), 0);
        close_both(&scene);
    }
    scene_end(&scene);
}

/* ---- whom to trust ------------------------------------------------------------------------------------------------- */

static void certificates_that_are_refused(void **state)
{
    (void)state;
    const struct {
        const struct cert *cert;
        const char *host;
        int status;
        const char *why[3];
    } table[] = {
        {&expired, "expired.test", -EKEYEXPIRED, {"CN = expired.test", "has expired", "valid until 20"}},
        {&early, "early.test", -EKEYREJECTED, {"CN = early.test", "not valid yet", "from 20"}},
        {&good, "wrong.test", -EKEYREJECTED, {"CN = good.test", "is not for wrong.test", ""}},
        {&good, "good.test.evil.test", -EKEYREJECTED, {"CN = good.test", "is not for", ""}},
        {&good, "127.0.0.2", -EKEYREJECTED, {"CN = good.test", "is not for 127.0.0.2", ""}},
        {&alone, "alone.test", -EKEYREJECTED, {"CN = alone.test", "signed by itself", "not trusted"}},
    };
    for (size_t i = 0; i < count_of(table); i++) {
        scene_begin(&scene);
        make_server(&scene, table[i].cert, NULL);
        make_client(&scene, NULL);
        connect_both(&scene, table[i].host);
        must_equal(scene.client_status, table[i].status);
        for (int k = 0; k < 3; k++)
            if (strstr(vigil_tls_why(scene.client), table[i].why[k]) == NULL)
                fail_msg("'%s' is not in '%s'", table[i].why[k], vigil_tls_why(scene.client));
        must_equal(vigil_stream_write(scene.client, "x", 1), table[i].status);
        close_both(&scene);
        /* the same with the check switched off */
        vigil_tls_options options = VIGIL_TLS_OPTIONS_INIT;
        vigil_tls_destroy(scene.client_tls);
        options.insecure = true;
        make_client(&scene, &options);
        connect_both(&scene, NULL);
        must_equal(scene.client_status, 0);
        close_both(&scene);
        scene_end(&scene);
    }
    scene_begin(&scene);
    make_client(&scene, NULL);
    int ends[2];
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    must_equal(vigil_stream_open(&scene.client, scene.loop, ends[1], NULL), 0);
    must_equal(vigil_tls_start(scene.client_tls, scene.client, NULL, NULL, NULL), -EINVAL); /* whom? */
    must_equal(vigil_stream_close(scene.client), 0);
    must_equal(close(ends[0]), 0);
    scene_end(&scene);
}

static void servers_verify_their_clients_on_demand(void **state)
{
    (void)state;
    vigil_tls_certificate files = files_of(&client_cert);
    vigil_tls_certificate bad = files_of(&alone);
    const struct {
        vigil_tls_clients clients;
        const vigil_tls_certificate *shown;
        int status;
        const char *peer;
    } table[] = {{VIGIL_TLS_CLIENTS_ANY, &files, 0, ""},
                 {VIGIL_TLS_CLIENTS_ASKED, NULL, 0, ""},
                 {VIGIL_TLS_CLIENTS_ASKED, &files, 0, "CN = ada"},
                 {VIGIL_TLS_CLIENTS_REQUIRED, &files, 0, "CN = ada"},
                 {VIGIL_TLS_CLIENTS_REQUIRED, NULL, -EPROTO, NULL},
                 {VIGIL_TLS_CLIENTS_REQUIRED, &bad, -EKEYREJECTED, NULL},
                 {VIGIL_TLS_CLIENTS_ASKED, &bad, -EKEYREJECTED, NULL}};
    for (size_t i = 0; i < count_of(table); i++) {
        vigil_tls_options server = VIGIL_TLS_OPTIONS_INIT, client = VIGIL_TLS_OPTIONS_INIT;
        vigil_tls_info info = VIGIL_TLS_INFO_INIT;
        scene_begin(&scene);
        server.clients = table[i].clients;
        server.trust = authority.chain;
        client.certificates = table[i].shown;
        client.count = table[i].shown != NULL;
        make_server(&scene, &good, &server);
        make_client(&scene, &client);
        connect_both(&scene, "good.test");
        must_equal(scene.server_status, table[i].status);
        if (table[i].peer != NULL) {
            must_equal(vigil_tls_info_get(scene.server, &info), 0);
            must_equal(strcmp(info.peer, table[i].peer), 0);
        } else {
            must(vigil_tls_why(scene.server)[0] != 0);
        }
        close_both(&scene);
        scene_end(&scene);
    }
}

/* ---- sessions and files --------------------------------------------------------------------------------------------- */

/* The session comes behind the handshake, with the first bytes. */
static bool talk_and_see_if_resumed(void)
{
    vigil_tls_info info = VIGIL_TLS_INFO_INIT;
    connect_both(&scene, "good.test");
    must_equal(scene.client_status, 0);
    must_equal(vigil_tls_info_get(scene.client, &info), 0);
    read_both(&scene);
    must_equal(vigil_stream_write(scene.server, "x", 1), 0);
    while (scene.client_length == 0)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    close_both(&scene);
    return info.resumed;
}

static void sessions_are_resumed_also_after_a_reload(void **state)
{
    (void)state;
    scene_begin(&scene);
    make_server(&scene, &good, NULL);
    make_client(&scene, NULL);
    must(!talk_and_see_if_resumed());
    must(talk_and_see_if_resumed());
    must(talk_and_see_if_resumed());
    must_equal(vigil_tls_reload(scene.server_tls), 0);
    must(talk_and_see_if_resumed());
    must_equal(vigil_tls_reload(scene.client_tls), 0);
    must(talk_and_see_if_resumed());
    scene_end(&scene);
}

static void new_certificates_are_used_without_a_restart(void **state)
{
    (void)state;
    struct cert renewed;
    scene_begin(&scene);
    cert_make(&renewed, "renewed.test", "DNS:renewed.test", &authority, -HOUR, HOUR);
    make_server(&scene, &renewed, NULL);
    make_client(&scene, NULL);
    connect_both(&scene, "renewed.test");
    must_equal(scene.client_status, 0);
    /* broken files change nothing */
    FILE *out = fopen(renewed.chain, "w");
    must(out != NULL && fputs("nothing", out) >= 0);
    must_equal(fclose(out), 0);
    must_equal(vigil_tls_reload(scene.server_tls), -EBADMSG);
    must(strstr(vigil_why(), "renewed.test.pem") != NULL);
    vigil_stream *old_server = scene.server, *old_client = scene.client;
    connect_both(&scene, "renewed.test");
    must_equal(scene.client_status, 0);
    close_both(&scene);
    /* a new certificate for another name, in the same files */
    X509_free(renewed.x509);
    EVP_PKEY_free(renewed.key);
    const struct cert before = renewed;
    cert_make(&renewed, "second.test", "DNS:second.test", &authority, -HOUR, HOUR);
    must_equal(rename(renewed.chain, before.chain), 0);
    must_equal(rename(renewed.file, before.file), 0);
    must_equal(vigil_tls_reload(scene.server_tls), 0);
    connect_both(&scene, "second.test");
    must_equal(scene.client_status, 0);
    close_both(&scene);
    /* the connection from before goes on */
    scene.server = old_server;
    scene.client = old_client;
    read_both(&scene);
    must_equal(vigil_stream_write(scene.client, "x", 1), 0);
    while (scene.server_length == 0)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    close_both(&scene);
    (void)unlink(before.chain);
    (void)unlink(before.file);
    cert_free(&renewed);
    scene_end(&scene);
}

static void files_that_are_wrong_are_named(void **state)
{
    (void)state;
    vigil_tls *tls;
    vigil_tls_options options = VIGIL_TLS_OPTIONS_INIT;
    vigil_tls_certificate files = {"/nonexistent.pem", good.file};
    options.server = true;
    must_equal(vigil_tls_create(&tls, &options), -EINVAL);
    options.certificates = &files;
    options.count = 1;
    must_equal(vigil_tls_create(&tls, &options), -ENOENT);
    must(strstr(vigil_why(), "/nonexistent.pem") != NULL);
    files = (vigil_tls_certificate){good.chain, other.file};
    must_equal(vigil_tls_create(&tls, &options), -EKEYREJECTED);
    must(strstr(vigil_why(), "other.test.key") != NULL);
    files = (vigil_tls_certificate){good.file, good.file};
    must_equal(vigil_tls_create(&tls, &options), -EBADMSG);
    files = (vigil_tls_certificate){good.chain, good.chain};
    must_equal(vigil_tls_create(&tls, &options), -EBADMSG);
    options.protocols = "a,,b";
    must_equal(vigil_tls_create(&tls, &options), -EINVAL);
    options = (vigil_tls_options)VIGIL_TLS_OPTIONS_INIT;
    options.trust = good.file;
    must_equal(vigil_tls_create(&tls, &options), -EBADMSG);
    must_equal(vigil_tls_create(NULL, &options), -EINVAL);
}

/* ---- peers that misbehave ------------------------------------------------------------------------------------------- */

static void a_peer_without_tls_is_refused(void **state)
{
    (void)state;
    scene_begin(&scene);
    make_server(&scene, &good, NULL);
    int ends[2];
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    must_equal(vigil_stream_open(&scene.server, scene.loop, ends[0], NULL), 0);
    must_equal(vigil_tls_start(scene.server_tls, scene.server, NULL, server_started, &scene), 0);
    must_equal(write(ends[1], "GET / HTTP/1.1\r\n\r\n", 18), 18);
    while (scene.started == 0)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(scene.server_status, -EPROTO);
    must(strstr(vigil_tls_why(scene.server), "http request") != NULL);
    must_equal(vigil_stream_close(scene.server), 0);
    must_equal(close(ends[1]), 0);
    scene_end(&scene);
}

static void a_connection_that_is_cut_is_no_end(void **state)
{
    (void)state;
    scene_begin(&scene);
    make_server(&scene, &good, NULL);
    make_client(&scene, NULL);
    connect_both(&scene, "good.test");
    read_both(&scene);
    must_equal(shutdown(vigil_stream_fd(scene.client), SHUT_WR), 0); /* as somebody between would */
    while (scene.server_end == 1)
        must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
    must_equal(scene.server_end, -ECONNRESET);
    must(strstr(vigil_tls_why(scene.server), "without ending TLS") != NULL);
    close_both(&scene);
    scene_end(&scene);
}

/* The handshake is cut off after each of its first bytes. */
static void a_peer_that_goes_within_the_handshake(void **state)
{
    (void)state;
    static char hello[4096];
    scene_begin(&scene);
    make_server(&scene, &good, NULL);
    make_client(&scene, NULL);
    int ends[2];
    must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    must_equal(vigil_stream_open(&scene.client, scene.loop, ends[0], NULL), 0);
    must_equal(vigil_tls_start(scene.client_tls, scene.client, "good.test", NULL, NULL), 0);
    must(vigil_loop_run(scene.loop, VIGIL_RUN_NOWAIT) >= 0);
    const ssize_t length = recv(ends[1], hello, sizeof hello, 0);
    must(length > 100);
    must_equal(close(ends[1]), 0);
    must_equal(vigil_stream_close(scene.client), 0);
    for (ssize_t cut = 0; cut <= length; cut += cut < 20 || cut > length - 20 ? 1 : 37) {
        must_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        must_equal(vigil_stream_open(&scene.server, scene.loop, ends[0], NULL), 0);
        scene.started = 0;
        must_equal(vigil_tls_start(scene.server_tls, scene.server, NULL, server_started, &scene), 0);
        must_equal(write(ends[1], hello, (size_t)cut), cut);
        must_equal(close(ends[1]), 0);
        while (scene.started == 0)
            must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
        must(scene.server_status < 0);
        must_equal(vigil_stream_close(scene.server), 0);
    }
    scene_end(&scene);
}

/* ---- connecting ----------------------------------------------------------------------------------------------------- */

static void accept_tls(vigil_listener *listener, vigil_stream *stream, void *user)
{
    struct scene *it = user;
    (void)listener;
    it->server = stream;
    must_equal(vigil_tls_start(it->server_tls, stream, NULL, server_started, it), 0);
}

static vigil_value connected(vigil_value *value, void *arg)
{
    struct scene *it = arg;
    it->client = vigil_value_move(value).pointer;
    it->client_status = 0;
    return vigil_value_none();
}

static vigil_value not_connected(vigil_value *reason, void *arg)
{
    struct scene *it = arg;
    it->client_status = reason->status;
    return vigil_value_none();
}

static void connect_and_tls_in_one_step(void **state)
{
    (void)state;
    vigil_address address;
    vigil_listener *listener;
    vigil_promise *promise;
    vigil_listener_options options = VIGIL_LISTENER_OPTIONS_INIT;
    static const char *const hosts[] = {"good.test", "wrong.test", "127.0.0.1"};
    static const int expected[] = {0, -EKEYREJECTED, 0};
    scene_begin(&scene);
    make_server(&scene, &good, NULL);
    make_client(&scene, NULL);
    options.on_stream = accept_tls;
    options.user = &scene;
    must_equal(vigil_address_init(&address, "127.0.0.1:0"), 0);
    must_equal(vigil_listener_open(&listener, scene.loop, &address, &options), 0);
    must_equal(vigil_listener_address(listener, &address), 0);
    for (size_t i = 0; i < count_of(hosts); i++) {
        scene.client_status = 1;
        scene.started = 0;
        must_equal(vigil_promise_tls_connect(scene.client_tls, scene.loop, &address, 1, hosts[i], NULL, NULL, &promise),
                   0);
        must_equal(vigil_promise_then(promise, connected, not_connected, &scene, NULL), 0);
        vigil_promise_unref(promise);
        while (scene.client_status == 1 || scene.started == 0)
            must(vigil_loop_run(scene.loop, VIGIL_RUN_ONCE) >= 0);
        must_equal(scene.client_status, expected[i]);
        if (expected[i] == 0)
            must_equal(vigil_stream_close(scene.client), 0);
        must_equal(vigil_stream_close(scene.server), 0);
    }
    must_equal(vigil_listener_close(listener), 0);
    scene_end(&scene);
}

static int make_certificates(void **state)
{
    (void)state;
    certs_begin();
    cert_make(&authority, "authority", NULL, NULL, -HOUR, HOUR);
    cert_make(&good, "good.test", "DNS:good.test,IP:127.0.0.1", &authority, -HOUR, HOUR);
    cert_make(&other, "other.test", "DNS:other.test,DNS:*.other.test", &authority, -HOUR, HOUR);
    cert_make(&expired, "expired.test", "DNS:expired.test", &authority, -2 * HOUR, -HOUR);
    cert_make(&early, "early.test", "DNS:early.test", &authority, HOUR, 2 * HOUR);
    cert_make(&alone, "alone.test", "DNS:alone.test", NULL, -HOUR, HOUR);
    cert_make(&client_cert, "ada", "email:ada@test", &authority, -HOUR, HOUR);
    return 0;
}

static int remove_certificates(void **state)
{
    struct cert *const all[] = {&authority, &good, &other, &expired, &early, &alone, &client_cert};
    (void)state;
    for (size_t i = 0; i < count_of(all); i++)
        cert_free(all[i]);
    return rmdir(certs_folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_texts_go_both_ways_and_end),
        cmocka_unit_test(a_file_goes_through_tls_in_its_place),
        cmocka_unit_test(a_file_that_is_cut_under_tls_says_so),
        cmocka_unit_test(what_was_agreed_can_be_seen),
        cmocka_unit_test(nothing_in_common_by_alpn_is_refused),
        cmocka_unit_test(the_name_chooses_the_certificate),
        cmocka_unit_test(certificates_that_are_refused),
        cmocka_unit_test(servers_verify_their_clients_on_demand),
        cmocka_unit_test(sessions_are_resumed_also_after_a_reload),
        cmocka_unit_test(new_certificates_are_used_without_a_restart),
        cmocka_unit_test(files_that_are_wrong_are_named),
        cmocka_unit_test(a_peer_without_tls_is_refused),
        cmocka_unit_test(a_connection_that_is_cut_is_no_end),
        cmocka_unit_test(a_peer_that_goes_within_the_handshake),
        cmocka_unit_test(connect_and_tls_in_one_step),
    };
    return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
