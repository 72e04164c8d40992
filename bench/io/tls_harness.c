/* SPDX-License-Identifier: MIT */
#include "tls_harness.h"

#include "../peer/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/bench-tls-XXXXXX";
static pid_t server;

static const char *in_folder(const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void tidy(void)
{
    static const char *const names[] = {"cert.pem", "key.pem", "bulk", "nginx.conf", "nginx.pid", "error.log"};
    if (server > 0) {
        kill(server, SIGKILL);
        while (waitpid(server, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)unlink(in_folder(names[i]));
    (void)rmdir(folder);
}

static void make_certificate(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    bench_must(key != NULL && cert != NULL && X509_set_version(cert, 2) == 1 &&
                   ASN1_INTEGER_set(X509_get_serialNumber(cert), 1) == 1 &&
                   X509_gmtime_adj(X509_getm_notBefore(cert), -3600) != NULL &&
                   X509_gmtime_adj(X509_getm_notAfter(cert), 86400) != NULL && X509_set_pubkey(cert, key) == 1 &&
                   X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                                              (const unsigned char *)"bench", -1, -1, 0) == 1 &&
                   X509_set_issuer_name(cert, X509_get_subject_name(cert)) == 1 &&
                   X509_sign(cert, key, EVP_sha256()) != 0,
               "a certificate");
    FILE *out = fopen(in_folder("cert.pem"), "w");
    bench_must(out != NULL && PEM_write_X509(out, cert) == 1 && fclose(out) == 0, "a certificate's file");
    out = fopen(in_folder("key.pem"), "w");
    bench_must(out != NULL && PEM_write_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL) == 1 && fclose(out) == 0,
               "a key's file");
    X509_free(cert);
    EVP_PKEY_free(key);
}

static void make_bulk(void)
{
    static char bytes[1 << 16];
    memset(bytes, 'x', sizeof bytes);
    FILE *out = fopen(in_folder("bulk"), "w");
    bench_must(out != NULL, "a file");
    for (unsigned i = 0; i < TLS_BULK / sizeof bytes; i++)
        bench_must(fwrite(bytes, sizeof bytes, 1, out) == 1, "a file");
    bench_must(fclose(out) == 0, "a file");
}

static struct sockaddr_in local(int port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

/* A port that is free now: a peer of another language is told where to listen. */
static int free_port(void)
{
    struct sockaddr_in address = local(0);
    socklen_t length = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bench_must(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
                   getsockname(fd, (struct sockaddr *)&address, &length) == 0,
               "a port");
    close(fd);
    return ntohs(address.sin_port);
}

static int try_connect(int port)
{
    const struct sockaddr_in address = local(port);
    const struct linger reset = {.l_onoff = 1, .l_linger = 0}; /* no port has to wait after the close */
    const int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bench_must(fd >= 0, "a socket");
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    return fd;
}

static int start_server(void)
{
    const int port = free_port();
    server = fork();
    bench_must(server >= 0, "a process");
    if (server == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* when bench_must ends the harness */
        bench_pin(1);
        tls_serve(folder, port);
        _exit(1);
    }
    bench_pin(0);
    for (int i = 0; i < 2000; i++) {
        const int fd = try_connect(port);
        if (fd >= 0) {
            close(fd);
            return port;
        }
        bench_must(waitpid(server, NULL, WNOHANG) == 0, "a server that starts");
        bench_sleep(5000000);
    }
    bench_trouble("the server did not start");
}

static double cpu_s(void)
{
    struct timespec time;
    clockid_t clock;
    bench_must(clock_getcpuclockid(server, &clock) == 0 && clock_gettime(clock, &time) == 0,
               "the CPU time of a process");
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* ---- the client --------------------------------------------------------------------------------------------------- */

static SSL_SESSION *session; /* the newest ticket */

static int keep_session(SSL *ssl, SSL_SESSION *it)
{
    (void)ssl;
    SSL_SESSION_free(session);
    session = it;
    return 1;
}

static SSL_CTX *make_context(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    bench_must(context != NULL && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
                   SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") == 1 &&
                   SSL_CTX_set1_groups_list(context, "X25519") == 1,
               "a context");
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    SSL_CTX_sess_set_new_cb(context, keep_session);
    return context;
}

/* Connect, ask, read `bytes` bytes of the answer at least. */
static void visit(SSL_CTX *context, int port, bool resume, const char *request, size_t bytes)
{
    static char text[1 << 16];
    const int fd = try_connect(port);
    SSL *ssl = SSL_new(context);
    bench_must(fd >= 0 && ssl != NULL && SSL_set_fd(ssl, fd) == 1, "a connection");
    if (resume && session != NULL)
        bench_must(SSL_set_session(ssl, session) == 1, "a session");
    bench_must(SSL_connect(ssl) == 1, "a handshake");
    bench_must(!resume || session == NULL || SSL_session_reused(ssl) == 1, "a resumption");
    bench_must(SSL_write(ssl, request, (int)strlen(request)) == (int)strlen(request), "a request");
    for (size_t got = 0; got < bytes;) {
        const int more = SSL_read(ssl, text, sizeof text);
        bench_must(more > 0, "an answer");
        got += (size_t)more;
    }
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN); /* else its session may not be resumed */
    SSL_free(ssl);
    close(fd);
}

static void measure_handshakes(int port, bool resume, long count)
{
    SSL_CTX *context = make_context();
    double cpu = 0;
    for (long i = -count / 4 - 1; i < count; i++) {
        if (i == 0)
            cpu = cpu_s();
        visit(context, port, resume, "GET / HTTP/1.1\r\nHost: bench\r\n\r\n", sizeof TLS_HELLO - 1);
    }
    bench_print("cpu_us", (cpu_s() - cpu) * 1e6 / (double)count);
    SSL_CTX_free(context);
}

static void measure_bulk(int port, long count)
{
    SSL_CTX *context = make_context();
    double cpu = 0;
    for (long i = -1; i < count; i++) {
        if (i == 0)
            cpu = cpu_s();
        visit(context, port, false, "GET /bulk HTTP/1.1\r\nHost: bench\r\n\r\n", TLS_BULK);
    }
    bench_print("cpu_us", (cpu_s() - cpu) * 1e6 / ((double)count * TLS_BULK / (1 << 20)));
    SSL_CTX_free(context);
}

/* param 0: full handshakes, 1: resumed ones, 2: MiBs. */
int main(int argc, char **argv)
{
    const struct bench_args args = bench_parse(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    bench_must(mkdtemp(folder) != NULL, "a folder");
    bench_must(atexit(tidy) == 0, "atexit");
    make_certificate();
    if (args.param == 2)
        make_bulk();
    const int port = start_server();
    if (args.param == 2)
        measure_bulk(port, args.n / 100 + 1);
    else
        measure_handshakes(port, args.param == 1, args.n);
    SSL_SESSION_free(session);
    return 0;
}
