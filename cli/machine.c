/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "machine.h"

#include <dirent.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "processes.h"
#include "reader/process.h"
#include "say.h"

/* The beginning of a file of /proc, as clean text; zeros between words become spaces. */
static void read_words(char *room, size_t size, pid_t pid, const char *file)
{
    char path[64], raw[257];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    FILE *from = fopen(path, "re");
    size_t got = from != NULL ? fread(raw, 1, sizeof raw - 1, from) : 0;
    if (from != NULL)
        fclose(from);
    while (got > 0 && (raw[got - 1] == '\0' || raw[got - 1] == '\n'))
        got--;
    for (size_t i = 0; i < got; i++)
        if (raw[i] == '\0')
            raw[i] = ' ';
    raw[got] = '\0';
    clean_text(room, size, raw, got, false);
}

/* A process that cannot be dumped belongs to root here; it may not be looked into either. */
static bool owner_of(pid_t pid, uid_t *user, nlink_t *threads)
{
    char path[64];
    struct stat is;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    if (stat(path, &is) != 0)
        return false;
    *user = is.st_uid;
    *threads = is.st_nlink > 2 ? is.st_nlink - 2 : 1;
    return true;
}

bool machine_may_examine(pid_t pid)
{
    uid_t user;
    nlink_t threads;
    char path[64], link[8];
    if (pid <= 0 || pid == getpid() || !owner_of(pid, &user, &threads) || (user != geteuid() && geteuid() != 0))
        return false;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return readlink(path, link, sizeof link) > 0; /* a thread of the kernel has none */
}

static bool has_record(const vg_process *all, int count, pid_t pid)
{
    for (int i = 0; i < count; i++)
        if (all[i].alive && !all[i].elsewhere && all[i].pid == pid)
            return true;
    return false;
}

static json_object *process_json(pid_t pid, bool vigil)
{
    char text[260];
    uid_t user = 0;
    nlink_t threads = 1;
    json_object *o = json_object_new_object();
    (void)owner_of(pid, &user, &threads);
    json_object_object_add(o, "pid", json_object_new_int(pid));
    read_words(text, sizeof text, pid, "comm");
    json_object_object_add(o, "name", json_object_new_string(text));
    text[0] = '\0';
    if (vg_process_command_arrives(pid, sizeof text)) /* the kernel reads it from the memory of the process */
        read_words(text, sizeof text, pid, "cmdline");
    json_object_object_add(o, "command", json_object_new_string(text));
    const struct passwd *who = getpwuid(user);
    if (who != NULL)
        clean_text(text, sizeof text, who->pw_name, strlen(who->pw_name), false);
    else
        snprintf(text, sizeof text, "%u", (unsigned)user);
    json_object_object_add(o, "user", json_object_new_string(text));
    json_object_object_add(o, "threads", json_object_new_int((int)threads));
    json_object_object_add(o, "vigil", json_object_new_boolean(vigil));
    return o;
}

json_object *machine_json(pid_t chosen, bool vigil)
{
    vg_process *all = NULL;
    const int count = processes_list_all(&all);
    json_object *o = json_object_new_object(), *list = json_object_new_array();
    json_object_object_add(o, "chosen", json_object_new_int(chosen));
    json_object_object_add(o, "vigil", json_object_new_boolean(vigil));
    DIR *directory = opendir("/proc");
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (machine_may_examine(pid))
            json_object_array_add(list, process_json(pid, has_record(all, count, pid)));
    }
    if (directory != NULL)
        closedir(directory);
    json_object_object_add(o, "processes", list);
    free(all);
    return o;
}
