/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "processes.h"

#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/directory.h"
#include "say.h"

static int living_first(const void *a, const void *b)
{
    const vg_process *x = a, *y = b;
    if (x->alive != y->alive)
        return x->alive ? -1 : 1;
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

int processes_list(vg_process **all)
{
    /* They come and go: ask again until the room was enough. */
    size_t room = 64;
    for (;;) {
        vg_process *list = calloc(room, sizeof *list);
        if (list == NULL)
            return -ENOMEM;
        int count = vg_processes(list, room);
        if (count >= 0 && (size_t)count > room) {
            free(list);
            room = (size_t)count + 64;
            continue;
        }
        if (count < 0) {
            free(list);
            return count;
        }
        int kept = 0;
        for (int i = 0; i < count; i++)
            if (list[i].pid != getpid())
                list[kept++] = list[i];
        qsort(list, (size_t)kept, sizeof *list, living_first);
        *all = list;
        return kept;
    }
}

/* Whose record it is, as a name. */
static const char *owner_name(const char *path, char room[17])
{
    struct stat is;
    const struct passwd *user = stat(path, &is) == 0 ? getpwuid(is.st_uid) : NULL;
    if (user != NULL)
        clean_text(room, 17, user->pw_name, strlen(user->pw_name), false);
    else
        snprintf(room, 17, "?");
    return room;
}

void processes_print(FILE *to, const vg_process *all, int count)
{
    const bool users = geteuid() == 0; /* for others they are all their own */
    fprintf(to, "%8s  %-7s %-8s  %s%s\n", "PID", "STATE", "SINCE", users ? "USER      " : "", "COMMAND");
    for (int i = 0; i < count; i++) {
        char since[WORDS], command[257], user[17];
        clean_text(command, sizeof command, all[i].command, sizeof all[i].command, false);
        fprintf(to, "%8d  %-7s %-8s  ", (int)all[i].pid, all[i].alive ? "running" : "dead",
                words_ago(since, all[i].age_ns));
        if (users)
            fprintf(to, "%-9s ", owner_name(all[i].path, user));
        fprintf(to, "%s\n", command);
        if (!all[i].alive) {
            char path[4096];
            clean_text(path, sizeof path, all[i].path, sizeof all[i].path, false);
            fprintf(to, "%28s%s\n", "left ", path);
        }
    }
}

/* The path of a shared mapping that is called as a record is in any directory. */
static bool mapped_record(pid_t pid, char *path, size_t room)
{
    char maps[64], *line = NULL;
    uint64_t inner; /* the number in the process's own PID namespace */
    size_t size = 0;
    bool found = false;
    snprintf(maps, sizeof maps, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(maps, "re");
    while (file != NULL && !found && getline(&line, &size, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        const char *name = strchr(line, '/');
        size_t length = name != NULL ? strlen(name) : 0;
        const char *rights = strchr(line, ' ');
        bool shared = rights != NULL && strncmp(rights, " rw-s", 5) == 0;
        if (shared && name != NULL && length < 3000 && vg_record_name_parse(strrchr(name, '/') + 1, &inner)) {
            snprintf(path, room, "/proc/%d/root%s", (int)pid, name);
            found = true;
        }
    }
    free(line);
    if (file != NULL)
        fclose(file);
    return found;
}

static bool in_list(const vg_process *all, int count, pid_t pid)
{
    for (int i = 0; i < count; i++)
        if (all[i].alive && all[i].pid == pid)
            return true;
    return false;
}

int processes_list_all(vg_process **all)
{
    int count = processes_list(all);
    DIR *directory = count >= 0 && geteuid() == 0 && !vg_record_directory_chosen("") ? opendir("/proc") : NULL;
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        char path[4096];
        vg_reader *reader;
        if (pid <= 0 || pid == getpid() || in_list(*all, count, pid) || !mapped_record(pid, path, sizeof path) ||
            vg_reader_open_path(&reader, path) < 0)
            continue;
        vg_process *more = realloc(*all, (size_t)(count + 1) * sizeof *more);
        if (more != NULL) {
            *all = more;
            vg_process_describe(reader, &more[count]);
            more[count].pid = pid;
            count += more[count].alive;
        }
        vg_reader_close(reader);
    }
    if (directory != NULL)
        closedir(directory);
    if (count > 0)
        qsort(*all, (size_t)count, sizeof **all, living_first);
    return count;
}

int processes_open(vg_reader **reader, pid_t pid)
{
    int error = vg_reader_open_pid(reader, pid);
    char path[4096];
    if (error == -ENOENT && mapped_record(pid, path, sizeof path))
        return vg_reader_open_path(reader, path);
    return error;
}
