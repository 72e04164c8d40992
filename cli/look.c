/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "look.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vigil/pool.h>

#include "command.h"
#include "machine.h"
#include "processes.h"
#include "reader/outside.h"
#include "say.h"

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static int open_failed(const char *verb, const char *what, int error)
{
    switch (-error) {
    case EACCES:
    case EPERM:
        say_error("%s: no right to read %s; it belongs to another user. Look as that user, or as root", verb, what);
        break;
    case EBADMSG:
        say_error("%s: %s is no recorder file of Vigil, or it is damaged beyond reading", verb, what);
        break;
    case EPROTO:
        say_error("%s: %s was written by another version of Vigil; use the `vigil` command of that version", verb,
                  what);
        break;
    case ENOENT:
        say_error("%s: there is no file %s; `vigil ps` lists what can be looked at", verb, what);
        break;
    default:
        say_error("%s: %s could not be read: %s", verb, what, strerror(-error));
    }
    return EXIT_FAILED;
}

/* No file for that pid in our directory: find out why, so that the text can say what to do. */
static int no_recorder(const char *verb, pid_t pid)
{
    char path[64];
    struct stat stat_of;
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    if (stat(path, &stat_of) < 0) {
        say_error("%s: there is no process %d, and none left a record behind; `vigil ps` lists what can be looked at",
                  verb, (int)pid);
    } else if (stat_of.st_uid != geteuid() && geteuid() != 0) {
        const struct passwd *user = getpwuid(stat_of.st_uid);
        char number[16];
        snprintf(number, sizeof number, "%u", stat_of.st_uid);
        say_error(
            "%s: process %d belongs to %s; its record is readable by its owner alone. Look as that user, or as root",
            verb, (int)pid, user != NULL ? user->pw_name : number);
    } else {
        say_error("%s: process %d has no record: it does not use Vigil, its recorder is off, or it runs with another "
                  "VIGIL_DIR or XDG_RUNTIME_DIR than this command",
                  verb, (int)pid);
    }
    return EXIT_FAILED;
}

static int open_operand(struct look *look, const char *verb, const char *operand)
{
    char *end;
    long pid = strtol(operand, &end, 10);
    if (*end == '\0' && isdigit((unsigned char)operand[0])) {
        if (pid <= 0 || pid > INT32_MAX) {
            say_error("%s: %s is no process number", verb, operand);
            return EXIT_FAILED;
        }
        int error = processes_open(&look->reader, (pid_t)pid);
        if (error == -ENOENT)
            return no_recorder(verb, (pid_t)pid);
        char what[64];
        snprintf(what, sizeof what, "the record of process %ld", pid);
        return error < 0 ? open_failed(verb, what, error) : 0;
    }
    int error = vg_reader_open_path(&look->reader, operand);
    return error < 0 ? open_failed(verb, operand, error) : 0;
}

static int open_only_one(struct look *look, const char *verb, bool dead_too)
{
    vg_process *all;
    int count = processes_list(&all);
    if (count < 0) {
        say_error("%s: the records could not be listed: %s", verb, strerror(-count));
        return EXIT_FAILED;
    }
    int alive = 0, dead = 0, chosen = -1;
    for (int i = 0; i < count; i++) {
        alive += all[i].alive;
        dead += !all[i].alive;
    }
    for (int i = 0; i < count; i++)
        if (all[i].alive ? alive == 1 : alive == 0 && dead == 1 && dead_too)
            chosen = i;
    int status = EXIT_FAILED;
    if (chosen >= 0) {
        int error = vg_reader_open_path(&look->reader, all[chosen].path);
        status = error < 0 ? open_failed(verb, all[chosen].path, error) : 0;
    } else if (alive == 0 && (dead == 0 || !dead_too)) {
        say_error("%s: no process with Vigil inside runs here (for this user). `vigil demo` starts one%s", verb,
                  dead > 0 ? "; `vigil ps` lists records of dead ones" : "");
    } else {
        say_error("%s: there are several; say which: `vigil %s PID`", verb, verb);
        processes_print(stderr, all, count);
    }
    free(all);
    return status;
}

bool look_is_absent(const char *operand, pid_t *pid)
{
    *pid = 0;
    if (operand == NULL)
        return false; /* nothing was chosen: look_open says what there is */
    char *end;
    const long number = strtol(operand, &end, 10);
    if (*end != '\0' || number <= 0 || number > INT32_MAX)
        return false;
    vg_reader *reader = NULL;
    const int error = processes_open(&reader, (pid_t)number);
    if (error == 0)
        vg_reader_close(reader);
    if (error != -ENOENT || !machine_may_examine((pid_t)number))
        return false;
    *pid = (pid_t)number;
    return true;
}

int look_open(struct look *look, const char *verb, const char *operand, bool dead_too)
{
    *look = (struct look){0};
    int status = operand != NULL ? open_operand(look, verb, operand) : open_only_one(look, verb, dead_too);
    if (status != 0)
        return status;
    int error = look_again(look);
    if (error < 0) {
        look_close(look);
        return open_failed(verb, operand != NULL ? operand : "the record", error);
    }
    return 0;
}

void look_close(struct look *look)
{
    for (unsigned i = 0; i < look->count; i++)
        vg_snapshot_free(look->kept[i]);
    if (look->reader != NULL)
        vg_reader_close(look->reader);
    *look = (struct look){0};
}

int look_again(struct look *look)
{
    vg_snapshot *fresh;
    int error = vg_reader_snapshot(look->reader, &fresh);
    if (error < 0)
        return error;
    if (look->count == LOOK_KEEP)
        vg_snapshot_free(look->kept[--look->count]);
    /* What is older than the first that is a second old serves nobody any more. */
    while (look->count > 1 && fresh->age_ns - look->kept[look->count - 2]->age_ns >= 1000000000U)
        vg_snapshot_free(look->kept[--look->count]);
    memmove(look->kept + 1, look->kept, look->count * sizeof look->kept[0]);
    look->kept[0] = fresh;
    look->count++;
    look->now = fresh;
    look->then = look->count > 1 ? look->kept[1] : NULL;
    look->past = look->count > 1 ? look->kept[look->count - 1] : NULL;
    /* Nobody inside judges this process: compare with a snapshot that is old enough. */
    if (vg_outside_needed(fresh)) {
        const vg_snapshot *old = NULL;
        for (unsigned i = look->count; i-- > 1 && old == NULL;)
            if (fresh->age_ns - look->kept[i]->age_ns >= VG_OUTSIDE_SPAN_NS)
                old = look->kept[i];
        return vg_outside_judge(look->reader, old, fresh);
    }
    return 0;
}

int look_judge(struct look *look)
{
    if (!vg_outside_needed(look->now) || look->now->stopped)
        return 0;
    poll(NULL, 0, (int)(VG_OUTSIDE_SPAN_NS / 1000000) + 50);
    return look_again(look);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

const char *look_state(const vg_snapshot *snapshot)
{
    if (snapshot->zombie)
        return "ended";
    if (!snapshot->alive)
        return "dead";
    return snapshot->stopped ? "stopped" : "running";
}

const char *look_program(const vg_snapshot *snapshot, char *room, size_t size)
{
    char command[sizeof snapshot->command + 1];
    clean_text(command, sizeof command, snapshot->command, sizeof snapshot->command, false);
    command[strcspn(command, " ")] = '\0';
    const char *slash = strrchr(command, '/');
    snprintf(room, size, "%s", slash != NULL ? slash + 1 : command);
    return room;
}

const char *look_name(struct look *look, uint64_t address, char room[NAME_ROOM])
{
    room[0] = '\0';
    if (address != 0) {
        char raw[NAME_ROOM] = "";
        vg_reader_name(look->reader, address, raw, sizeof raw);
        clean_text(room, NAME_ROOM, raw, sizeof raw, false);
    }
    return room;
}

/* ---- what changed ------------------------------------------------------------------------------------------------ */

const vg_pool_view *pool_in(const vg_snapshot *snapshot, uint64_t serial)
{
    for (size_t i = 0; snapshot != NULL && i < snapshot->pool_count; i++)
        if (snapshot->pools[i].serial == serial)
            return &snapshot->pools[i];
    return NULL;
}

const vg_loop_view *loop_in(const vg_snapshot *snapshot, uint64_t serial)
{
    for (size_t i = 0; snapshot != NULL && i < snapshot->loop_count; i++)
        if (snapshot->loops[i].serial == serial)
            return &snapshot->loops[i];
    return NULL;
}

const vg_worker_view *worker_in(const vg_pool_view *pool, unsigned index)
{
    for (size_t i = 0; pool != NULL && i < pool->worker_count; i++)
        if (pool->workers[i].index == index)
            return &pool->workers[i];
    return NULL;
}

const char *verdict_subject(const vg_snapshot *snapshot, const vg_verdict_view *verdict, char room[NAME_ROOM])
{
    const vg_pool_view *pool = pool_in(snapshot, verdict->object);
    const vg_loop_view *loop = loop_in(snapshot, verdict->object);
    char name[64] = "";
    if (pool != NULL)
        clean_text(name, sizeof name, pool->name, sizeof pool->name, false);
    else if (loop != NULL)
        clean_text(name, sizeof name, loop->name, sizeof loop->name, false);
    if (pool != NULL && verdict->worker != UINT64_MAX)
        snprintf(room, NAME_ROOM, "worker %" PRIu64 " of pool %s", verdict->worker, name);
    else if (pool != NULL || loop != NULL)
        snprintf(room, NAME_ROOM, "%s %s", pool != NULL ? "pool" : "loop", name);
    else
        snprintf(room, NAME_ROOM, "process");
    return room;
}

double seconds_between(const vg_snapshot *before, const vg_snapshot *now)
{
    if (before == NULL || now->age_ns <= before->age_ns)
        return 0;
    return (double)(now->age_ns - before->age_ns) / 1e9;
}

static double grown(uint64_t now, uint64_t before)
{
    return now > before ? (double)(now - before) : 0;
}

struct shares worker_shares(const vg_snapshot *before, const vg_snapshot *now, const vg_worker_view *was,
                            const vg_worker_view *is)
{
    struct shares shares = {.class_ = -1};
    double span = seconds_between(before, now) * 1e9;
    uint64_t most = 0;
    for (int i = 0; i < VG_FILE_CLASSES; i++) {
        uint64_t started = is->started[i] - (was != NULL && was->started[i] <= is->started[i] ? was->started[i] : 0);
        if (started > most) {
            most = started;
            shares.class_ = i;
        }
    }
    /* A task that is longer than the time between two looks has started before: its class is the one that has not
       ended. */
    for (int i = 0; shares.class_ < 0 && is->in_task && i < VG_FILE_CLASSES; i++)
        if (is->started[i] > is->of[i].completed + is->of[i].failed)
            shares.class_ = i;
    if (was == NULL || span <= 0)
        return shares;
    double spent[VG_FILE_STATES];
    for (int i = 0; i < VG_FILE_STATES; i++)
        spent[i] = grown(is->time_ns[i], was->time_ns[i]) / span;
    shares.run = spent[VIGIL_WORKER_RUNNING];
    shares.block = spent[VIGIL_WORKER_BLOCKED];
    shares.park = spent[VIGIL_WORKER_PARKED];
    shares.search = spent[VIGIL_WORKER_LOOKING] + spent[VIGIL_WORKER_STEALING] + spent[VIGIL_WORKER_SPINNING] +
                    spent[VIGIL_WORKER_STARTING];
    /* The parts are read one after the other from a moving worker: what exceeds the whole is noise. */
    double sum = shares.run + shares.block + shares.park + shares.search;
    if (sum > 1) {
        shares.run /= sum;
        shares.block /= sum;
        shares.park /= sum;
        shares.search /= sum;
    }
    return shares;
}

struct crowd pool_crowd(const vg_pool_view *pool)
{
    struct crowd crowd = {0};
    for (size_t i = 0; i < pool->worker_count; i++) {
        const vg_worker_view *w = &pool->workers[i];
        if (w->tid == 0)
            continue;
        crowd.threads++;
        crowd.spares += w->spare;
        crowd.running += w->state == VIGIL_WORKER_RUNNING;
        crowd.parked += w->state == VIGIL_WORKER_PARKED;
        crowd.blocked += w->state == VIGIL_WORKER_BLOCKED;
        crowd.searching +=
            w->state == VIGIL_WORKER_LOOKING || w->state == VIGIL_WORKER_STEALING || w->state == VIGIL_WORKER_SPINNING;
    }
    return crowd;
}

bool has_stall(const vg_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->verdict_count; i++)
        if (!snapshot->verdicts[i].over && snapshot->verdicts[i].severity >= 2)
            return true;
    return false;
}
