/* SPDX-License-Identifier: MIT */
/* server.h - a PostgreSQL server of the test's own: in a temporary folder, on a Unix socket, as an unprivileged user. */
#ifndef TESTS_JOBS_SERVER_H
#define TESTS_JOBS_SERVER_H

#include "support.h"

#include <fcntl.h>
#include <glob.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct server {
    char folder[64], programs[128], user[64];
    pid_t keeper; /* stops the server and removes its folder when the test has ended, however it ended */
    int alive;    /* the keeper sees the other end close */
};

static int server_command(const struct server *server, const char *format, ...)
{
    char words[1024], command[1400];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(words, sizeof words, format, list);
    va_end(list);
    (void)snprintf(command, sizeof command, "cd / && %s %s/%s >> %s/log 2>&1", server->user, server->programs, words,
                   server->folder);
    return system(command);
}

/* fsync is off: the tests kill processes, not the machine. */
static int server_start(const struct server *server)
{
    return server_command(server,
                          "pg_ctl -D %s/data -w -t 600 -l %s/server.log -o '-k %s -c listen_addresses= -c fsync=off "
                          "-c max_connections=200 -c shared_buffers=16MB' start",
                          server->folder, server->folder, server->folder);
}

static int server_stop(const struct server *server, const char *mode)
{
    return server_command(server, "pg_ctl -D %s/data -w -t 600 -m %s stop", server->folder, mode);
}

/* false: there is no server here. */
static bool server_make(struct server *server)
{
    glob_t found;
    memset(server, 0, sizeof *server);
    if (glob("/usr/lib/postgresql/*/bin/initdb", 0, NULL, &found) != 0)
        return false;
    (void)snprintf(server->programs, sizeof server->programs, "%.*s",
                   (int)(strlen(found.gl_pathv[found.gl_pathc - 1]) - 7), found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
    (void)snprintf(server->folder, sizeof server->folder, "/tmp/vigil-pg-XXXXXX");
    must(mkdtemp(server->folder) != NULL);
    if (geteuid() == 0) { /* the server refuses to run as root */
        const struct passwd *user = getpwnam("postgres");
        if (user == NULL)
            user = getpwnam("nobody");
        must(user != NULL);
        must_equal(chown(server->folder, user->pw_uid, user->pw_gid), 0);
        (void)snprintf(server->user, sizeof server->user, "runuser -u %s --", user->pw_name);
    }
    must_equal(chmod(server->folder, 0755), 0);
    must_equal(server_command(server, "initdb -D %s/data -A trust -N -U vigil --no-locale -E UTF8", server->folder), 0);
    int ends[2];
    must_equal(pipe2(ends, O_CLOEXEC), 0);
    server->keeper = fork();
    if (server->keeper == 0) {
        char byte, command[128];
        (void)close(ends[1]);
        (void)setpgid(0, 0);
        while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {
        }
        (void)server_stop(server, "immediate");
        (void)snprintf(command, sizeof command, "rm -rf %.63s", server->folder);
        _exit(system(command) == 0 ? 0 : 1);
    }
    (void)close(ends[0]);
    server->alive = ends[1];
    must_equal(server_start(server), 0);
    return true;
}

static void server_remove(const struct server *server)
{
    int status = 0;
    (void)close(server->alive);
    must_equal(waitpid(server->keeper, &status, 0), server->keeper);
    must_equal(status, 0);
}

static void server_where(const struct server *server, const char *database, char *where, size_t room)
{
    (void)snprintf(where, room, "postgresql://vigil@/%s?host=%.63s", database, server->folder);
}

#endif
