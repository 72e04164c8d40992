/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "queues.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "program.h"
#include "say.h"

enum {
    REST_MS = 1000,  /* between two looks that nobody waits for, */
    REST_TIMES = 10, /* and so many times as long as the last one took: a large queue is counted seldom */
    MOST_QUEUES = 8,
    MOST_ANSWER = 64 << 20,
};

struct feed {
    char *where;
    pid_t pid;
    int socket; /* -1: it has ended */
    bool asked;
    int64_t asked_ms, rest_until_ms;
    char *text; /* of the answer that is coming */
    size_t length;
    struct json_object *newest;
};

struct queues {
    unsigned count;
    struct feed of[MOST_QUEUES];
};

void queue_name(const char *where, char *room, size_t size)
{
    char out[1024];
    size_t length = 0;
    while (*where != '\0' && length + 2 < sizeof out) { /* word by word: a fleet is several */
        size_t word = strcspn(where, " ");
        const char *scheme = memmem(where, word, "://", 3);
        if (scheme == NULL) {
            length += (size_t)snprintf(out + length, sizeof out - length, "%.*s", (int)word, where);
        } else {
            const char *from = scheme + 3, *end = where + word;
            const char *query = memchr(from, '?', (size_t)(end - from));
            end = query != NULL ? query : end;
            const char *at = memrchr(from, '@', (size_t)(end - from)), *user_end = from;
            while (at != NULL && user_end < at && *user_end != ':')
                user_end++;
            length += (size_t)snprintf(out + length, sizeof out - length, "%.*s%.*s", (int)(user_end - where), where,
                                       (int)(end - (at != NULL ? at : from)), at != NULL ? at : from);
        }
        if (length >= sizeof out)
            length = sizeof out - 1;
        where += word;
        if (*where == ' ')
            out[length++] = *where++;
    }
    clean_text(room, size, out, length, false);
}

/* ---- which queues ------------------------------------------------------------------------------------------------ */

static void add_feed(struct queues *queues, const char *where)
{
    for (unsigned i = 0; i < queues->count; i++)
        if (strcmp(queues->of[i].where, where) == 0)
            return;
    char *copy = queues->count < MOST_QUEUES ? strdup(where) : NULL;
    if (copy != NULL)
        queues->of[queues->count++] = (struct feed){.where = copy, .socket = -1};
}

/* A queue in a file has a file beside it that is mapped. */
static void find_files(struct queues *queues, pid_t pid)
{
    static const char end[] = "-vigil";
    char path[64], *line = NULL;
    size_t room = 0;
    ssize_t length;
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    while (maps != NULL && (length = getline(&line, &room, maps)) > 0) {
        char *name = strchr(line, '/');
        if (line[length - 1] == '\n')
            line[--length] = '\0';
        size_t size = name != NULL ? strlen(name) : 0;
        if (size < sizeof end || strcmp(name + size - (sizeof end - 1), end) != 0)
            continue;
        name[size - (sizeof end - 1)] = '\0';
        if (access(name, R_OK | W_OK) == 0)
            add_feed(queues, name);
    }
    free(line);
    if (maps != NULL)
        (void)fclose(maps);
}

static void find_variable(struct queues *queues, pid_t pid)
{
    static const char variable[] = "VIGIL_JOBS=";
    char path[64], *text = NULL;
    size_t room = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    FILE *environment = fopen(path, "re");
    while (environment != NULL && getdelim(&text, &room, '\0', environment) > 0) {
        const char *value = text + sizeof variable - 1;
        /* A file is among the mapped ones if it is open. */
        if (strncmp(text, variable, sizeof variable - 1) == 0 && strstr(value, "://") != NULL)
            add_feed(queues, value);
    }
    free(text);
    if (environment != NULL)
        (void)fclose(environment);
}

/* ---- the program that looks -------------------------------------------------------------------------------------- */

static void start(struct feed *feed, bool loud)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    feed->pid = fork();
    if (feed->pid == 0) {
        int silence = loud ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);
        char action[] = "watch", *words[] = {action};
        (void)dup2(ends[1], STDIN_FILENO);
        (void)dup2(ends[1], STDOUT_FILENO);
        if (silence >= 0)
            (void)dup2(silence, STDERR_FILENO);
        (void)setenv("VIGIL_JOBS", feed->where, 1); /* words would show a password to everybody */
        _exit(program_become("jobs", "vigil-jobs", "its program vigil-jobs is missing", 1, words));
    }
    (void)close(ends[1]);
    if (feed->pid > 0)
        feed->socket = ends[0];
    else
        (void)close(ends[0]);
}

struct queues *queues_open(const char *where, pid_t pid)
{
    struct queues *it = calloc(1, sizeof *it);
    if (it == NULL)
        return NULL;
#ifdef VIGIL_HAVE_JOBS
    if (where != NULL) {
        add_feed(it, where);
    } else if (pid > 0) {
        find_files(it, pid);
        find_variable(it, pid);
    }
#else
    (void)find_files, (void)find_variable, (void)add_feed, (void)pid;
    if (where != NULL)
        say_error("--jobs: this build has no queues: it was built without SQLite");
#endif
    for (unsigned i = 0; i < it->count; i++)
        start(&it->of[i], where != NULL);
    if (it->count > 0)
        return it;
    free(it);
    return NULL;
}

void queues_close(struct queues *queues)
{
    if (queues == NULL)
        return;
    for (unsigned i = 0; i < queues->count; i++) {
        struct feed *feed = &queues->of[i];
        if (feed->socket >= 0)
            (void)close(feed->socket); /* its end */
        while (feed->pid > 0 && waitpid(feed->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        (void)json_object_put(feed->newest);
        free(feed->text);
        free(feed->where);
    }
    free(queues);
}

static void hang_up(struct feed *feed)
{
    (void)close(feed->socket);
    feed->socket = -1;
    feed->asked = false;
    (void)json_object_put(feed->newest);
    feed->newest = NULL;
}

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void take_answer(struct feed *feed)
{
    char room[65536];
    ssize_t got = recv(feed->socket, room, sizeof room, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    char *text = got > 0 && feed->length < MOST_ANSWER ? realloc(feed->text, feed->length + (size_t)got + 1) : NULL;
    if (text == NULL) {
        hang_up(feed);
        return;
    }
    memcpy(text + feed->length, room, (size_t)got);
    feed->text = text;
    feed->length += (size_t)got;
    text[feed->length] = '\0';
    if (room[got - 1] != '\n') /* one answer for one question: nothing follows the line */
        return;
    struct json_object *answer = json_tokener_parse(text);
    if (answer != NULL) {
        (void)json_object_put(feed->newest);
        feed->newest = answer;
    }
    feed->length = 0;
    feed->asked = false;
    int64_t now = now_ms(), rest = (now - feed->asked_ms) * REST_TIMES;
    feed->rest_until_ms = now + (rest > REST_MS ? rest : REST_MS);
}

struct json_object *queues_json(struct queues *queues, int wait_ms)
{
    if (queues == NULL)
        return NULL;
    for (unsigned i = 0; i < queues->count; i++) {
        struct feed *feed = &queues->of[i];
        if (feed->socket < 0 || feed->asked || (wait_ms == 0 && now_ms() < feed->rest_until_ms))
            continue;
        feed->asked_ms = now_ms();
        feed->asked = send(feed->socket, "\n", 1, MSG_NOSIGNAL) == 1;
        if (!feed->asked)
            hang_up(feed);
    }
    int64_t until = now_ms() + wait_ms;
    for (;;) {
        struct pollfd polled[MOST_QUEUES];
        struct feed *asked[MOST_QUEUES];
        nfds_t count = 0;
        for (unsigned i = 0; i < queues->count; i++)
            if (queues->of[i].asked) {
                asked[count] = &queues->of[i];
                polled[count++] = (struct pollfd){.fd = queues->of[i].socket, .events = POLLIN};
            }
        int64_t left = wait_ms < 0 ? -1 : until - now_ms();
        int ready = count > 0 ? poll(polled, count, wait_ms >= 0 && left < 0 ? 0 : (int)left) : 0;
        if (ready == 0 || (ready < 0 && errno != EINTR))
            break;
        for (nfds_t i = 0; i < count && ready > 0; i++)
            if (polled[i].revents != 0)
                take_answer(asked[i]);
    }
    struct json_object *all = json_object_new_array();
    for (unsigned i = 0; i < queues->count; i++) {
        struct feed *feed = &queues->of[i];
        if (feed->newest != NULL) {
            (void)json_object_array_add(all, json_object_get(feed->newest));
        } else if (feed->socket < 0) {
            char name[256];
            struct json_object *broken = json_object_new_object();
            queue_name(feed->where, name, sizeof name);
            (void)json_object_object_add(broken, "queue", json_object_new_string(name));
            (void)json_object_object_add(broken, "error", json_object_new_string("it cannot be looked at"));
            (void)json_object_array_add(all, broken);
        }
    }
    return all;
}

bool queues_failed(struct json_object *all)
{
    for (size_t i = 0; all != NULL && i < json_object_array_length(all); i++)
        if (json_object_object_get_ex(json_object_array_get_idx(all, i), "error", NULL))
            return true;
    return false;
}
