/* SPDX-License-Identifier: MIT */
/*
 * words.c - names for the numbers in a recorder file.
 */
#include "words.h"

#include "record/format.h"

#include <vigil/loop.h>
#include <vigil/pool.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *word(const char *const *words, size_t count, unsigned number)
{
    return number < count && words[number] != NULL ? words[number] : "?";
}

const char *vg_worker_state_name(unsigned state)
{
    static const char *const words[] = {
        [VIGIL_WORKER_UNUSED] = "unused",   [VIGIL_WORKER_STARTING] = "starting", [VIGIL_WORKER_RUNNING] = "running",
        [VIGIL_WORKER_LOOKING] = "looking", [VIGIL_WORKER_STEALING] = "stealing", [VIGIL_WORKER_SPINNING] = "spinning",
        [VIGIL_WORKER_PARKED] = "parked",   [VIGIL_WORKER_BLOCKED] = "blocked",   [VIGIL_WORKER_STOPPING] = "stopping",
        [VIGIL_WORKER_STOPPED] = "stopped",
    };
    return word(words, COUNT(words), state);
}

const char *vg_loop_state_name(unsigned state)
{
    static const char *const words[] = {
        [VIGIL_LOOP_AWAKE] = "awake",           [VIGIL_LOOP_RUNNING] = "running",
        [VIGIL_LOOP_SLEEPING] = "sleeping",     [VIGIL_LOOP_TERMINATING] = "terminating",
        [VIGIL_LOOP_TERMINATED] = "terminated",
    };
    return word(words, COUNT(words), state);
}

const char *vg_loop_phase_name(unsigned phase)
{
    static const char *const words[] = {
        [VIGIL_PHASE_NONE] = "none",     [VIGIL_PHASE_INTERNAL] = "internal",     [VIGIL_PHASE_POSTS] = "posts",
        [VIGIL_PHASE_TIMERS] = "timers", [VIGIL_PHASE_PREPARE] = "prepare",       [VIGIL_PHASE_IO] = "io",
        [VIGIL_PHASE_CHECK] = "check",   [VIGIL_PHASE_IMMEDIATES] = "immediates", [VIGIL_PHASE_CLOSE] = "close",
    };
    return word(words, COUNT(words), phase);
}

const char *vg_class_name(unsigned class_)
{
    static const char *const words[] = {"critical", "high", "normal", "low", "idle"};
    return word(words, COUNT(words), class_);
}

const char *vg_wait_name(unsigned kind)
{
    static const char *const words[VG_WAIT_KINDS] = {
        [VG_WAIT_NONE] = "nothing",  [VG_WAIT_WORK] = "work",       [VG_WAIT_DECLARED] = "declared",
        [VG_WAIT_GROUP] = "group",   [VG_WAIT_JOB] = "job",         [VG_WAIT_IDLE] = "idle pool",
        [VG_WAIT_ROOM] = "room",     [VG_WAIT_EVENTS] = "events",   [VG_WAIT_LOCK] = "lock",
        [VG_WAIT_SIGNAL] = "signal", [VG_WAIT_CHANNEL] = "channel", [VG_WAIT_PROMISE] = "promise",
    };
    return word(words, COUNT(words), kind);
}

const char *vg_event_name(unsigned kind)
{
    static const char *const words[VG_EVENT_KINDS] = {
        [VG_EVENT_NONE] = "none",     [VG_EVENT_SUBMIT] = "submit", [VG_EVENT_RUN] = "run",
        [VG_EVENT_CANCEL] = "cancel", [VG_EVENT_PARK] = "park",     [VG_EVENT_WAKE] = "wake",
        [VG_EVENT_STEAL] = "steal",   [VG_EVENT_WAIT] = "wait",     [VG_EVENT_POST] = "post",
        [VG_EVENT_CALL] = "call",     [VG_EVENT_SLEEP] = "sleep",   [VG_EVENT_MARK] = "mark",
        [VG_EVENT_LABEL] = "label",   [VG_EVENT_SETTLE] = "settle", [VG_EVENT_PROMISIFY] = "promisify",
        [VG_EVENT_RUNS] = "runs",     [VG_EVENT_CALLS] = "calls",   [VG_EVENT_IO] = "stream",
    };
    return word(words, COUNT(words), kind);
}

const char *vg_io_kind_name(unsigned kind)
{
    static const char *const words[VG_IO_KINDS] = {
        [VG_IO_NONE] = "none",
        [VG_IO_TCP] = "tcp",
        [VG_IO_UNIX] = "unix",
        [VG_IO_PIPE] = "pipe",
        [VG_IO_TERMINAL] = "terminal",
        [VG_IO_OTHER] = "stream",
        [VG_IO_LISTENER] = "listener",
        [VG_IO_CONNECT] = "connect",
        [VG_IO_DATAGRAMS] = "datagrams",
        [VG_IO_CHILD] = "child",
        [VG_IO_DESCRIPTOR] = "descriptor",
        [VG_IO_QUERY] = "query",
    };
    return word(words, COUNT(words), kind);
}

const char *vg_io_wait_name(unsigned wait)
{
    static const char *const words[VG_IO_WAITS] = {
        [VG_IO_WAITS_NOT] = "nothing",   [VG_IO_WAITS_START] = "start",   [VG_IO_WAITS_CONNECT] = "connect",
        [VG_IO_WAITS_ACCEPT] = "accept", [VG_IO_WAITS_ROOM] = "room",     [VG_IO_WAITS_EXIT] = "exit",
        [VG_IO_WAITS_READY] = "ready",   [VG_IO_WAITS_ANSWER] = "answer",
    };
    return word(words, COUNT(words), wait);
}
