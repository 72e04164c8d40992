/* SPDX-License-Identifier: MIT */
/*
 * cron [seconds command]...: runs each command every so many seconds, never twice at once, with a limit, and prints its
 * output with its number. Ctrl-C ends what runs, with everything it has started. Without arguments it runs two commands
 * for a moment and ends.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vigil/vigil.h>

#define SECOND INT64_C(1000000000)

struct entry {
    const char *command;
    unsigned number;
    vigil_process *process; /* NULL: it does not run */
    unsigned runs, left;    /* left 0: for ever */
    vigil_timer timer;
};

static struct entry entries[32];
static unsigned entry_count;

static void on_output(vigil_stream *stream, const void *data, int64_t length, void *arg)
{
    const struct entry *entry = arg;
    if (length > 0)
        printf("[%u] %.*s", entry->number, (int)length, (const char *)data);
    else
        (void)vigil_stream_close(stream);
}

static void on_exit_of(vigil_process *process, const vigil_process_end *end, void *user)
{
    struct entry *entry = user;
    if (end->code != CLD_EXITED || end->status != 0)
        printf("[%u] ended with %s %d%s\n", entry->number, end->code == CLD_EXITED ? "status" : "signal", end->status,
               end->timed_out ? ": its time was up" : "");
    entry->process = NULL;
    (void)vigil_process_close(process);
}

static void on_time(vigil_loop *loop, vigil_timer timer, void *arg)
{
    struct entry *entry = arg;
    if (entry->process != NULL) {
        printf("[%u] still runs\n", entry->number);
        return;
    }
    const char *words[] = {"sh", "-c", entry->command, NULL};
    vigil_process_options options = VIGIL_PROCESS_OPTIONS_INIT;
    options.argv = words;
    options.stdio[1].kind = VIGIL_STDIO_STREAM;
    options.stdio[2].kind = VIGIL_STDIO_INHERIT;
    options.group = true; /* what it starts ends with it */
    options.timeout_ns = 60 * SECOND;
    options.on_exit = on_exit_of;
    options.user = entry;
    if (vigil_process_open(&entry->process, loop, &options) != 0)
        fprintf(stderr, "[%u] %s\n", entry->number, vigil_why());
    else
        (void)vigil_stream_on_data(vigil_process_stream(entry->process, 1), on_output, entry);
    if (++entry->runs == entry->left)
        (void)vigil_timer_cancel(loop, timer);
}

static void on_interrupt(vigil_loop *loop, vigil_signal signal, const vigil_signal_info *info, void *arg)
{
    (void)info;
    (void)arg;
    (void)vigil_signal_remove(loop, signal); /* a second one ends us at once */
    for (unsigned i = 0; i < entry_count; i++) {
        (void)vigil_timer_cancel(loop, entries[i].timer);
        if (entries[i].process != NULL)
            (void)vigil_process_stop(entries[i].process, 5 * SECOND);
    }
}

static int add(vigil_loop *loop, double seconds, const char *command, unsigned runs)
{
    struct entry *entry = &entries[entry_count];
    *entry = (struct entry){.command = command, .number = entry_count++, .left = runs};
    vigil_timer_options options = VIGIL_TIMER_OPTIONS_INIT;
    options.delay_ns = (int64_t)(seconds * (double)SECOND);
    options.interval_ns = options.delay_ns;
    return vigil_timer_start_with(loop, &options, on_time, entry, &entry->timer);
}

int main(int argc, char **argv)
{
    vigil_loop *loop;
    int rc = vigil_loop_create(&loop, NULL);
    if (rc == 0)
        rc = vigil_signal_add(loop, SIGINT, on_interrupt, NULL, NULL);
    if (rc == 0 && argc < 3) {
        rc = add(loop, 0.02, "echo tick", 3);
        if (rc == 0)
            rc = add(loop, 0.03, "echo tock; exit 1", 2);
    }
    for (int i = 1; rc == 0 && i + 1 < argc && entry_count < 32; i += 2)
        rc = add(loop, atof(argv[i]), argv[i + 1], 0);
    if (rc != 0) {
        fprintf(stderr, "cron: %s\n", vigil_why());
        return 1;
    }
    (void)vigil_loop_run(loop, VIGIL_RUN);
    return vigil_loop_destroy(loop) == 0 ? 0 : 1;
}
