/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "demo_sick.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "say.h"

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t together;
static atomic_bool finished;
static int letters;

static void *transfer_money(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&accounts);
    pthread_barrier_wait(&together);
    pthread_mutex_lock(&journal); /* the other one has it */
    return NULL;
}

static void *print_statement(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&journal);
    pthread_barrier_wait(&together);
    pthread_mutex_lock(&accounts); /* the other order */
    return NULL;
}

static void get_abba(void)
{
    pthread_t threads[2];
    pthread_barrier_init(&together, NULL, 2);
    pthread_create(&threads[0], NULL, transfer_money, NULL);
    pthread_create(&threads[1], NULL, print_statement, NULL);
    pthread_join(threads[0], NULL);
}

static void note_balance(void)
{
    pthread_mutex_lock(&accounts);
}

static void get_self(void)
{
    pthread_mutex_lock(&accounts);
    note_balance(); /* locks again what is held */
}

static void *lock_and_return(void *arg)
{
    pthread_mutex_lock(&accounts);
    return arg; /* without unlocking */
}

static void get_orphan(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, lock_and_return, NULL);
    pthread_join(thread, NULL);
    pthread_mutex_lock(&accounts);
}

static void *read_letter(void *arg)
{
    pthread_mutex_lock(&journal);
    while (letters == 0)
        pthread_cond_wait(&arrived, &journal);
    pthread_mutex_unlock(&journal);
    return arg;
}

static void get_lost(void)
{
    pthread_t reader;
    pthread_cond_signal(&arrived); /* nobody waits yet, and the letter is forgotten */
    pthread_create(&reader, NULL, read_letter, NULL);
    pthread_join(reader, NULL);
}

static void *await_flag(void *arg)
{
    while (!atomic_load_explicit(&finished, memory_order_relaxed))
        continue;
    return arg;
}

static void get_spin(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, await_flag, NULL);
    pthread_join(thread, NULL);
}

static void get_pipes(void)
{
    int ends[2];
    if (pipe(ends) != 0)
        return;
    const pid_t child = fork();
    if (child == 0) {
        static char much[1 << 20];
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        if (write(ends[1], much, sizeof much) < 0) /* more than a pipe holds */
            _exit(1);
        _exit(0);
    }
    close(ends[1]);
    waitpid(child, NULL, 0); /* and only then it would read */
}

static const struct illness {
    const char *name, *text;
    void (*get)(void);
} illnesses[] = {
    {"abba", "two threads lock two mutexes in two orders", get_abba},
    {"self", "a thread locks a mutex that it holds", get_self},
    {"orphan", "a thread ends with a mutex locked", get_orphan},
    {"lost", "a condition variable is signalled before anybody waits", get_lost},
    {"spin", "a thread looks at a flag that nobody sets", get_spin},
    {"pipes", "a parent waits for a child that waits for its parent to read", get_pipes},
    {NULL, NULL, NULL},
};

void demo_sick_list(FILE *to)
{
    for (const struct illness *one = illnesses; one->name != NULL; one++)
        fprintf(to, "  %-14s %s\n", one->name, one->text);
}

int demo_sick(const char *name)
{
    const struct illness *one = illnesses;
    while (one->name != NULL && strcmp(one->name, name) != 0)
        one++;
    if (strcmp(name, "list") == 0) {
        demo_sick_list(stdout);
        return EXIT_FINE;
    }
    if (one->name == NULL) {
        say_error("demo: there is no illness '%s'; there are:", name);
        demo_sick_list(stderr);
        return EXIT_USAGE;
    }
    if (command_doctor.left_out != NULL) {
        say_error("demo: --sick needs `vigil doctor`: %s", command_doctor.left_out);
        return EXIT_FAILED;
    }
    fflush(stdout);
    const pid_t parent = getpid(), patient = fork();
    if (patient < 0) {
        say_error("demo: the patient does not start: %s", strerror(errno));
        return EXIT_FAILED;
    }
    if (patient == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            one->get();
        _exit(0);
    }
    printf("Process %d: %s. It does not use Vigil and prints nothing.\n\n", (int)patient, one->text);
    char pid[16], *words[] = {pid};
    snprintf(pid, sizeof pid, "%d", (int)patient);
    (void)poll(NULL, 0, 200); /* to show a hang, it has to hang */
    const int status = command_run(&command_doctor, 1, words);
    kill(patient, SIGKILL);
    waitpid(patient, NULL, 0);
    return status == EXIT_STALLED ? EXIT_FINE : EXIT_FAILED;
}
