/* SPDX-License-Identifier: MIT */
#include "command.h"

#ifdef VIGIL_HAVE_DOCTOR

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "doctor.h"
#include "say.h"

static bool watch, every, json, dot, no_stop;
static long pause_s = 5;

static int explain_failure(int error, const char *operand)
{
    if (error == -ESRCH)
        say_error("doctor: process %s does not exist, or ended while it was looked at", operand);
    else if (error == -ENOEXEC || error == -EINVAL)
        say_error("doctor: %s is no core file of an x86-64 program", operand);
    else
        say_error("doctor: %s: %s", operand, strerror(-error));
    return EXIT_FAILED;
}

static int examine(vg_exam **exam, const char *operand, pid_t pid, bool names)
{
    const vg_exam_options options = {.no_stop = no_stop, .no_stacks = !names};
    return pid != 0 ? vg_exam_process_run(exam, pid, &options) : vg_exam_core_run(exam, operand, &options);
}

static int status_of(const vg_exam *exam)
{
    if (exam->finding_count > 0)
        return EXIT_STALLED;
    return exam->processes[0].refusal[0] != '\0' ? EXIT_FAILED : EXIT_FINE;
}

static void print_json(const vg_exam *exam)
{
    json_object *o = doctor_json(exam);
    if (o != NULL)
        printf("%s\n", json_object_to_json_string_ext(o, watch ? JSON_C_TO_STRING_PLAIN : JSON_C_TO_STRING_PRETTY));
    json_object_put(o);
}

static int look_once(const char *operand, pid_t pid)
{
    vg_exam *exam;
    const int error = examine(&exam, operand, pid, true);
    int status;
    if (error != 0) {
        status = explain_failure(error, operand);
    } else {
        if (json)
            print_json(exam);
        else if (dot)
            doctor_dot(exam);
        else
            doctor_text(exam, every);
        status = status_of(exam);
    }
    vg_exam_free(exam);
    return status;
}

/* Which findings there are, as bits: news is what was not there before. */
static unsigned kinds_of(const vg_exam *exam)
{
    unsigned kinds = 0;
    for (unsigned i = 0; i < exam->finding_count; i++)
        kinds |= 1U << exam->findings[i].kind;
    return kinds;
}

static void wait_seconds(long seconds)
{
    const struct timespec time = {.tv_sec = seconds};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

/* Look again and again; speak when something turns bad or good. Ends with the process. */
static int keep_looking(const char *operand, pid_t pid)
{
    unsigned before = 0;
    int status = EXIT_FINE;
    for (bool first = true;; first = false) {
        vg_exam *exam;
        const int error = examine(&exam, operand, pid, true);
        if (error != 0) {
            vg_exam_free(exam);
            if (first)
                return explain_failure(error, operand);
            printf("Process %s has ended.\n", operand);
            return status;
        }
        const unsigned now = kinds_of(exam);
        if ((now & ~before) != 0) {
            status = EXIT_STALLED;
            if (json)
                print_json(exam);
            else
                doctor_text(exam, every);
        } else if (now == 0 && before != 0) {
            status = EXIT_FINE;
            printf("It goes on: nothing is wrong any more.\n");
        } else if (first && !json) {
            printf("Nothing is wrong with process %s yet; looking every %ld s.\n", operand, pause_s);
        }
        fflush(stdout);
        before = now;
        vg_exam_free(exam);
        wait_seconds(pause_s);
    }
}

/* One process of the machine, in a child of our own: what is found is one line each. The exit status says whether
   something was. */
static int look_briefly(pid_t pid)
{
    vg_exam *exam;
    char operand[16];
    snprintf(operand, sizeof operand, "%d", (int)pid);
    const int error = examine(&exam, operand, pid, true);
    int status = EXIT_FINE;
    if (error == 0 && exam->finding_count > 0) {
        status = EXIT_STALLED;
        if (json)
            print_json(exam);
        else
            for (unsigned i = 0; i < exam->finding_count; i++)
                printf("%7d %-15s %-13s %s\n", (int)pid, exam->processes[0].name,
                       vg_diagnosis_name(exam->findings[i].kind), exam->findings[i].title);
    }
    vg_exam_free(exam);
    fflush(stdout);
    return status;
}

/* Every process that may be looked into, some at a time: most of an examination is waiting. */
static int look_at_machine(void)
{
    enum {
        AT_ONCE = 8
    };
    DIR *directory = opendir("/proc");
    if (directory == NULL)
        return explain_failure(-errno, "/proc");
    unsigned running = 0, looked = 0;
    int status = EXIT_FINE, ended;
    if (!json)
        printf("%s    PID NAME            VERDICT%s\n", style(BOLD), style(PLAIN));
    fflush(stdout);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
        char link[8];
        if (pid <= 0 || pid == getpid() || readlink(path, link, sizeof link) <= 0)
            continue; /* no process, a thread of the kernel, or another user's */
        if (running == AT_ONCE && wait(&ended) > 0) {
            running--;
            if (WIFEXITED(ended) && WEXITSTATUS(ended) == EXIT_STALLED)
                status = EXIT_STALLED;
        }
        looked++;
        const pid_t child = fork();
        if (child == 0)
            _exit(look_briefly(pid));
        running += child > 0;
    }
    closedir(directory);
    while (wait(&ended) > 0)
        if (WIFEXITED(ended) && WEXITSTATUS(ended) == EXIT_STALLED)
            status = EXIT_STALLED;
    if (!json)
        printf("%u processes were looked at%s.\n", looked,
               status == EXIT_FINE ? "; nothing is wrong that can be seen" : "");
    return status;
}

static int doctor(int count, char **operands)
{
    if (count == 0) {
        if (every)
            return look_at_machine();
        say_error("doctor: which process? Give its number, its name or a core file, or --all");
        return EXIT_USAGE;
    }
    pid_t pid;
    const int error = doctor_find(operands[0], &pid);
    if (error != 0)
        return error;
    if (watch && pid == 0) {
        say_error("doctor: a core file does not change; leave --watch out");
        return EXIT_USAGE;
    }
    return watch ? keep_looking(operands[0], pid) : look_once(operands[0], pid);
}

static const struct option_spec options[] = {
    {'a', "all", OPTION_FLAG, NULL, &every, 0, 0,
     "every thread with its whole stack; without an operand: every process\nof the machine, one line for each verdict"},
    {'w', "watch", OPTION_FLAG, NULL, &watch, 0, 0, "keep looking, and report when something goes wrong"},
    {'i', "interval", OPTION_NUMBER, "SECONDS", &pause_s, 1, 3600, "with --watch: pause between two examinations (5)"},
    {'j', "json", OPTION_FLAG, NULL, &json, 0, 0, "everything that was found, as JSON"},
    {'d', "dot", OPTION_FLAG, NULL, &dot, 0, 0, "the wait-for graph, for Graphviz"},
    {'n', "no-stop", OPTION_FLAG, NULL, &no_stop, 0, 0,
     "stop no thread, not even a running one: spins are not found then"},
    {0, NULL, 0, NULL, NULL, 0, 0, NULL},
};

#define LEFT_OUT NULL
#define RUN      doctor
#define OPTIONS  options
#else
#define LEFT_OUT "it was built without libdw (Debian: libdw-dev), or for another processor than x86-64"
#define RUN      NULL
#define OPTIONS  NULL
#endif

const struct command command_doctor = {
    .name = "doctor",
    .operands = "[PID|NAME|CORE]",
    .summary = "say why any process hangs: who waits for whom, and where",
    .text = "Examines a process that hangs, in any language and without preparation, for about a second: what each "
            "thread\n"
            "waits for, who holds it, and in which line. It names deadlocks (also between processes), locks whose "
            "owner has\n"
            "ended, lost wakeups, locks held over a wait, convoys, spinning threads, starvation, and limits that are "
            "used up.\n"
            "Each verdict says whether it is certain or probable. A core file can be examined as well.\n\n"
            "Threads that sleep are not stopped, so no system call is disturbed. Threads that run are stopped for less "
            "than a\n"
            "millisecond, a few times. Another user's processes need root.",
    .examples = "  vigil doctor 4711            why does it hang?\n"
                "  vigil doctor --watch game    report when it hangs\n"
                "  vigil doctor --all           is there a hung process on this machine?\n"
                "  vigil doctor --dot 4711 | dot -Tsvg > waits.svg\n"
                "  vigil doctor core.4711       after it was aborted",
    .left_out = LEFT_OUT,
    .most_operands = 1,
    .options = OPTIONS,
    .run = RUN,
};
