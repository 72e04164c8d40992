/* SPDX-License-Identifier: MIT */
/* W10: gdb/libvigil-gdb.py on a live process and on a core, as a person would use it. Left out where there is no gdb. */
#include "support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vigil/loop.h>

static int stands_still(void *arg)
{
    gate_pass(arg);
    return 0;
}

static int nothing(void *arg)
{
    (void)arg;
    return 0;
}

/* Two workers inside tasks, five tasks queued, one by mail, a loop; and then nothing more. */
static void be_looked_at(int ready)
{
    static struct gate gate;
    vigil_task mail;
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.name = "looked-at";
    vigil_pool *pool = NULL;
    vigil_loop *loop = NULL;
    must_equal(vigil_pool_create(&pool, &options), 0);
    must_equal(vigil_loop_create(&loop, NULL), 0);
    for (int i = 0; i < 2; i++)
        must_equal(vigil_pool_call(pool, stands_still, NULL, &gate, VIGIL_NORMAL), 0);
    gate_wait_entered(&gate, 2);
    for (int i = 0; i < 5; i++)
        must_equal(vigil_pool_call(pool, nothing, NULL, NULL, VIGIL_LOW), 0);
    vigil_task_init(&mail, (vigil_task_fn)(void (*)(void))nothing, NULL);
    must_equal(vigil_pool_submit_to(pool, 1, &mail, VIGIL_HIGH), 0);
    must_equal(write(ready, "x", 1), 1);
    for (;;)
        (void)pause();
}

static void run_gdb(const char *arguments, char *text, size_t room)
{
    char script[1024];
    char command[4096];
    (void)snprintf(script, sizeof script, "%s", TEST_FILE);
    char *slash = strrchr(script, '/');
    must(slash != NULL);
    *slash = 0;
    (void)snprintf(command, sizeof command,
                   "gdb -nx -q -batch -ex 'set debuginfod enabled off' %s -ex 'source %s/../../gdb/libvigil-gdb.py' "
                   "-ex 'vigil workers' -ex "
                   "'vigil queues' -ex 'vigil loops' 2>&1",
                   arguments, script);
    FILE *pipe = popen(command, "r"); // NOLINT(cert-env33-c)
    must(pipe != NULL);
    const size_t got = fread(text, 1, room - 1, pipe);
    text[got] = 0;
    (void)pclose(pipe);
}

static void must_show(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        (void)fprintf(stderr, "\"%s\" is not in:\n%s\n", part, text);
        support_fail("the words are there", __FILE__, __LINE__);
    }
}

static void must_show_all(const char *text)
{
    must_show(text, "pool \"looked-at\"");
    must_show(text, "running");
    must_show(text, "stands_still");
    must_show(text, "LOW       yes    5");
    must_show(text, "mail for worker 1: 1");
    must_show(text, "searching 0, parked 0");
    must_show(text, "loop \"loop\"");
}

static void the_commands_work_on_a_live_process_and_on_its_core(void **state)
{
    (void)state;
    if (TEST_SANITIZED || access("/usr/bin/gdb", X_OK) != 0)
        skip();
    int ready[2];
    must_equal(pipe(ready), 0);
    const pid_t child = fork();
    must(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails must not leave it behind */
        be_looked_at(ready[1]);
    }
    char byte;
    must_equal(read(ready[0], &byte, 1), 1);

    static char text[65536];
    char folder[] = "/tmp/vigil-gdb-XXXXXX";
    char arguments[512];
    must(mkdtemp(folder) != NULL);
    (void)snprintf(arguments, sizeof arguments, "-p %d -ex 'generate-core-file %s/core'", (int)child, folder);
    run_gdb(arguments, text, sizeof text);
    must_show_all(text);

    char core[64];
    (void)snprintf(core, sizeof core, "%s/core", folder);
    struct stat info;
    if (stat(core, &info) == 0) {
        char program[512];
        const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
        must(length > 0);
        program[length] = 0;
        char *more = malloc(2048);
        must(more != NULL);
        (void)snprintf(more, 2048, "%s %s", program, core);
        run_gdb(more, text, sizeof text); /* the process lives: its record can still be read */
        must_show_all(text);
        must_equal(kill(child, SIGKILL), 0);
        must_equal(waitpid(child, NULL, 0), child);
        run_gdb(more, text, sizeof text); /* killed: it has left its record behind */
        must_show_all(text);
        free(more);
        must_equal(unlink(core), 0);
    } else {
        must_equal(kill(child, SIGKILL), 0);
        must_equal(waitpid(child, NULL, 0), child);
    }
    must_equal(rmdir(folder), 0);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {test(the_commands_work_on_a_live_process_and_on_its_core)};
    return run_all(tests);
}
