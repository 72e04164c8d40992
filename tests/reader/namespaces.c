/* SPDX-License-Identifier: MIT */
/* W8: processes of other PID namespaces, directories that others have made, records that others have forged. Needs the right
   to make namespaces; without it these tests are left out. */
#include "watch_test.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>

static void may_make_namespaces(void)
{
    if (TEST_TSAN) /* it cannot start threads in the child of a process that has some */
        skip();
    pid_t child = fork();
    must(child >= 0);
    if (child == 0)
        _exit(unshare(CLONE_NEWPID | CLONE_NEWNS) == 0 ? 0 : 1);
    if (child_status(child) != 0)
        skip();
}

/* A process with a pool, number 1 in a PID namespace of its own. */
typedef struct resident {
    pid_t keeper; /* its parent, in our namespace */
    pid_t pid;    /* its number here */
    int end;      /* a byte written here ends the resident */
} resident;

static void reside(int ready, int end, bool cleanly)
{
    char byte = 'r';
    vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
    options.workers = 1;
    vigil_pool *pool = NULL;
    if (vigil_pool_create(&pool, &options) != 0 || vigil_record_path(NULL, 0) <= 0 || write(ready, &byte, 1) != 1)
        _exit(1);
    if (end >= 0)
        (void)!read(end, &byte, 1);
    _exit(cleanly && vigil_pool_destroy(pool) != 0 ? 2 : 0);
}

static resident resident_start(bool stays, bool cleanly)
{
    int ready[2];
    int number[2];
    int end[2];
    resident it = {.end = -1};
    must_equal(pipe2(ready, O_CLOEXEC), 0);
    must_equal(pipe2(number, O_CLOEXEC), 0);
    must_equal(pipe2(end, O_CLOEXEC), 0);
    it.keeper = fork();
    must(it.keeper >= 0);
    if (it.keeper == 0) {
        (void)close(end[1]);
        if (unshare(CLONE_NEWPID) != 0)
            _exit(3);
        pid_t inner = fork();
        if (inner == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            reside(ready[1], stays ? end[0] : -1, cleanly);
        }
        int status = 0;
        if (inner < 0 || write(number[1], &inner, sizeof inner) != sizeof inner || waitpid(inner, &status, 0) != inner)
            _exit(4);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 5);
    }
    (void)close(ready[1]);
    (void)close(number[1]);
    (void)close(end[0]);
    char byte;
    must_equal(read(ready[0], &byte, 1), 1);
    must_equal(read(number[0], &it.pid, sizeof it.pid), sizeof it.pid);
    (void)close(ready[0]);
    (void)close(number[0]);
    if (stays)
        it.end = end[1];
    else
        (void)close(end[1]);
    return it;
}

static void resident_end(resident *it)
{
    if (it->end >= 0) {
        must_equal(write(it->end, "e", 1), 1); /* closing is not enough: those that came later have a copy */
        (void)close(it->end);
    }
    must_equal(child_status(it->keeper), 0);
}

static unsigned alive_count(void)
{
    static vg_process seen[256];
    int count = vg_processes(seen, count_of(seen));
    must(count >= 0);
    unsigned alive = 0;
    for (int i = 0; i < count && i < (int)count_of(seen); i++)
        alive += seen[i].alive;
    return alive;
}

static void a_process_of_another_pid_namespace_lives_and_has_its_number_here(void **state)
{
    (void)state;
    may_make_namespaces();
    resident it = resident_start(true, true);
    vg_process seen[2];
    must_equal(vg_processes(seen, count_of(seen)), 1);
    must_equal(seen[0].alive, true);
    must_equal(seen[0].elsewhere, false);
    must_equal(seen[0].pid, it.pid);
    vg_reader *reader = NULL;
    must_equal(vg_reader_open_pid(&reader, it.pid), 0);
    vg_snapshot *snapshot = NULL;
    must_equal(vg_reader_snapshot(reader, &snapshot), 0);
    must_equal(snapshot->alive, true);
    must_equal(snapshot->pool_count, 1);
    vg_snapshot_free(snapshot);
    vg_reader_close(reader);
    resident_end(&it);
    must_equal(vg_processes(seen, count_of(seen)), 0);
}

static void two_processes_with_one_number_have_two_records(void **state)
{
    (void)state;
    may_make_namespaces();
    resident first = resident_start(true, true);
    resident second = resident_start(true, true); /* both are number 1 */
    must_equal(files_in_directory(), 2);
    must_equal(alive_count(), 2);
    resident_end(&first);
    must_equal(alive_count(), 1);
    vg_process seen[2];
    must_equal(vg_processes(seen, count_of(seen)), 1);
    must_equal(seen[0].pid, second.pid);
    resident_end(&second);
}

static void the_killed_are_dead_and_the_living_are_not_tidied_away(void **state)
{
    (void)state;
    may_make_namespaces();
    enum {
        RESIDENTS = 20
    };
    resident stay[RESIDENTS];
    for (int i = 0; i < RESIDENTS; i++)
        stay[i] = resident_start(true, true);
    const uint64_t rounds = scaled(1000, 40);
    for (uint64_t i = 0; i < rounds; i++) { /* each start tidies what the ones before have left */
        resident it = resident_start(false, i % 3 == 0);
        resident_end(&it);
        if (i % 50 == 49)
            must_equal(alive_count(), RESIDENTS);
    }
    must_equal(alive_count(), RESIDENTS);
    must(files_in_directory() <= RESIDENTS + 16 + 1); /* of the dead the newest are kept */
    for (int i = 0; i < RESIDENTS; i++)
        resident_end(&stay[i]);
    must_equal(alive_count(), 0);
}

/* In a mount and PID namespace whose /proc shows nothing of ours. */
static void look_from_inside(void *arg)
{
    (void)arg;
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0)
        _exit(10);
    pid_t inner = fork();
    if (inner == 0) {
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("proc", "/proc", "proc", 0, NULL) != 0)
            _exit(0); /* not allowed here */
        vg_process seen[2];
        if (vg_processes(seen, count_of(seen)) != 1 || !seen[0].alive || !seen[0].elsewhere)
            _exit(11);
        vigil_pool *pool = NULL;
        if (vigil_pool_create(&pool, NULL) != 0 || vg_processes(seen, count_of(seen)) != 2 || !seen[0].alive ||
            !seen[1].alive)
            _exit(12);
        _exit(vigil_pool_destroy(pool) == 0 ? 0 : 13);
    }
    int status = 0;
    if (inner < 0 || waitpid(inner, &status, 0) != inner || !WIFEXITED(status))
        _exit(14);
    _exit(WEXITSTATUS(status));
}

static void from_inside_a_process_outside_lives_elsewhere(void **state)
{
    (void)state;
    may_make_namespaces();
    resident it = resident_start(true, true);
    must_equal(in_child(look_from_inside, NULL), 0);
    must_equal(alive_count(), 1);
    resident_end(&it);
}

/* ---- what others have made --------------------------------------------------------------------------------------- */

static char said[1024];
static unsigned times_said;

static void keep_log(void *user, const char *text)
{
    (void)user;
    times_said++;
    (void)snprintf(said, sizeof said, "%s", text);
}

static int copy_file(const char *from, const char *to)
{
    static char bytes[1 << 20];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ssize_t got = 0;
    while (in >= 0 && out >= 0 && (got = read(in, bytes, sizeof bytes)) > 0)
        if (write(out, bytes, (size_t)got) != got)
            return -1;
    (void)close(in);
    return out < 0 || got < 0 ? -1 : close(out);
}

struct squat {
    bool hooked;
    uid_t owner;
    mode_t mode;
};

/* In a mount namespace of its own, where /dev/shm and /tmp are empty, and both of our names are taken. */
static void work_beside_squatters(void *arg)
{
    const struct squat *squat = arg;
    const bool hooked = squat->hooked;
    char usual[64];
    char path[512];
    struct stat info;
    (void)snprintf(usual, sizeof usual, "/dev/shm/vigil-%lu", (unsigned long)geteuid());
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/dev/shm", "tmpfs", 0, NULL) != 0 || mount("none", "/tmp", "tmpfs", 0, NULL) != 0)
        _exit(77);
    (void)unsetenv("VIGIL_DIR");
    (void)unsetenv("XDG_RUNTIME_DIR");
    (void)unsetenv("VIGIL_LOG");
    if (mkdir(usual, 0777) != 0 || chmod(usual, squat->mode) != 0 || chown(usual, squat->owner, squat->owner) != 0)
        _exit(20);
    int err = open("/tmp/stderr", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const int kept = dup(STDERR_FILENO);
    (void)dup2(err, STDERR_FILENO);
    vigil_record_options options = VIGIL_RECORD_OPTIONS_INIT;
    options.log = hooked ? keep_log : NULL;
    if (vigil_record_configure(&options) != 0)
        _exit(21);
    vigil_pool *pool = NULL;
    vigil_pool *another = NULL;
    if (vigil_pool_create(&pool, NULL) != 0 || vigil_pool_create(&another, NULL) != 0)
        _exit(22);
    (void)dup2(kept, STDERR_FILENO);
    const ssize_t length = pread(err, said, hooked ? 0 : sizeof said - 1, 0);
    const char *line_end = strchr(said, '\n');
    if (hooked ? times_said != 1 : length <= 0 || line_end == NULL || line_end[1] != '\0')
        _exit(23); /* one line, once */
    if (strstr(said, usual) == NULL || strstr(said, "instead") == NULL)
        _exit(24);
    if (vigil_record_path(path, sizeof path) <= 0 || strncmp(path, usual, strlen(usual) + 1) == 0 ||
        stat(path, &info) != 0 || info.st_uid != geteuid())
        _exit(25);
    vg_process seen[4];
    if (vg_processes(seen, count_of(seen)) != 1 || !seen[0].alive || strcmp(seen[0].path, path) != 0)
        _exit(26);
    /* Copies: in the squatter's directory, beside the record under another number, and as another user's file. */
    char forged[600];
    const char *name = strrchr(path, '/') + 1;
    (void)snprintf(forged, sizeof forged, "%s/%s", usual, name);
    if (copy_file(path, forged) != 0)
        _exit(27);
    (void)snprintf(forged, sizeof forged, "%.*s4242-0123456789abcdef", (int)(name - path), path);
    if (copy_file(path, forged) != 0)
        _exit(28);
    (void)snprintf(forged, sizeof forged, "%.*s%ld-0123456789abcdef", (int)(name - path), path, (long)getpid());
    if (copy_file(path, forged) != 0 || chown(forged, 12345, 12345) != 0)
        _exit(29);
    if (vg_processes(seen, count_of(seen)) != 1)
        _exit(30);
    if (vigil_pool_destroy(pool) != 0 || vigil_pool_destroy(another) != 0)
        _exit(31);
    _exit(0);
}

static void a_directory_of_another_user_is_gone_round_with_one_line_and_forgeries_are_not_listed(void **state)
{
    (void)state;
    may_make_namespaces();
    if (geteuid() != 0)
        skip();
    /* Another user's, ours that everybody may write to, and both. */
    static struct squat squats[] = {{true, 12345, 0777}, {false, 12345, 0700}, {false, 0, 0777}, {false, 0, 0770}};
    for (size_t i = 0; i < count_of(squats); i++) {
        int status = in_child(work_beside_squatters, &squats[i]);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
            skip();
        must_equal(status, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        watch_test(a_process_of_another_pid_namespace_lives_and_has_its_number_here),
        watch_test(two_processes_with_one_number_have_two_records),
        watch_test(the_killed_are_dead_and_the_living_are_not_tidied_away),
        watch_test(from_inside_a_process_outside_lives_elsewhere),
        watch_test(a_directory_of_another_user_is_gone_round_with_one_line_and_forgeries_are_not_listed),
    };
    return run_all(tests);
}
