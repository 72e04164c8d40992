/* SPDX-License-Identifier: MIT */
/* The program behind `vigil serve`, which gives it the words once it has read them itself (program.h says why). */
#define _GNU_SOURCE
#include "serve.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "quiet.h"
#include "say.h"
#include "server.h"

static void told_to_end(vigil_loop *loop, vigil_signal signal, const vigil_signal_info *info, void *arg)
{
    (void)signal, (void)info, (void)arg;
    vigil_loop_pause(loop);
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0 || strcmp(address, "localhost") == 0;
}

static bool new_token(char room[33])
{
    unsigned char random[16];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return false;
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(room + 2 * i, 3, "%02x", random[i]);
    return true;
}

static int serve_look(struct look *look, const struct server_options *options)
{
    vigil_loop *loop = NULL;
    struct server *server = NULL;
    vigil_loop_options loop_options = VIGIL_LOOP_OPTIONS_INIT;
    loop_options.name = "serve";
    be_no_subject();
    int status, error = vigil_loop_create(&loop, &loop_options);
    if (error == 0)
        error = vigil_signal_add(loop, SIGINT, told_to_end, NULL, NULL);
    if (error == 0)
        error = vigil_signal_add(loop, SIGTERM, told_to_end, NULL, NULL);
    if (error < 0) {
        say_error("serve: the loop does not start: %s", vigil_strerror(error));
        status = EXIT_FAILED;
    } else {
        struct server_options chosen = *options;
        status = server_create(&server, loop, look, &chosen, serve_request.any_port);
        if (status == -EADDRINUSE) {
            chosen.port = 0;
            status = server_create(&server, loop, look, &chosen, false);
        }
    }
    if (status == 0) {
        if (puts(server_url(server)) < 0 || fflush(stdout) != 0) {
            say_error("serve: the address could not be written: %m");
            status = EXIT_FAILED;
        } else if ((error = vigil_loop_run(loop, VIGIL_RUN)) < 0) {
            say_error("serve: %s", vigil_strerror(error));
            status = EXIT_FAILED;
        }
        server_destroy(server);
    }
    vigil_loop_destroy(loop);
    return status;
}

static int serve(int count, char **operands)
{
    char made[33];
    const char *token = serve_request.token;
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    if (token != NULL && (strlen(token) < 8 || strlen(token) > 128 || strspn(token, good) != strlen(token))) {
        say_error("serve: a token has 8 to 128 letters, digits or any of - . _ ~");
        return EXIT_USAGE;
    }
    if (serve_request.no_token && (token != NULL || !is_loopback(serve_request.host))) {
        say_error("serve: --no-token is for this machine alone: not with --token-is, nor with --listen to others");
        return EXIT_USAGE;
    }
    if (token == NULL && !serve_request.no_token) {
        if (!new_token(made)) {
            say_error("serve: the system has no random numbers: %s; choose a token with --token-is", strerror(errno));
            return EXIT_FAILED;
        }
        token = made;
    }
    struct look look;
    struct server_options options = {serve_request.host, (unsigned)serve_request.port, token, 0, NULL};
#ifdef VIGIL_HAVE_DOCTOR
    if (look_is_absent(count > 0 ? operands[0] : NULL, &options.patient))
        return serve_look(NULL, &options);
#endif
    int status = look_open(&look, "serve", count > 0 ? operands[0] : NULL, true);
    if (status != 0)
        return status;
    options.queues = queues_open(serve_request.jobs, look.now->alive ? vg_reader_local_pid(look.reader) : 0);
    status = serve_look(&look, &options);
    queues_close(options.queues);
    look_close(&look);
    return status;
}

int main(int argc, char **argv)
{
    struct command here = command_serve;
    here.program = NULL;
    here.run = serve;
    say_begin();
    return command_run(&here, argc - 1, argv + 1);
}
