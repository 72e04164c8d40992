/* SPDX-License-Identifier: MIT */
/* What lib/process.js, lib/os.js and lib/crypto.js need from the system. */
#include "bind_system.h"

#include <grp.h>
#include <limits.h>
#include <netdb.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <vigil/version.h>

#include "bind.h"
#include "turn.h"

static void put(vigil_js *js, vg_val object, const char *name, vg_val value)
{
    vg_val thrown;
    vg_set(js->engine, object, name, value, &thrown);
}

static void put_number(vigil_js *js, vg_val object, const char *name, double value)
{
    put(js, object, name, vg_number(js->engine, value));
}

/* ---- environment and place -------------------------------------------------------------------------------------- */

static vg_val env_get(vg_call *call)
{
    char *name = vg_arg_text(call, 0, NULL);
    const char *value = name ? getenv(name) : NULL;
    free(name);
    return value ? vg_string(call->engine, value) : NULL;
}

static vg_val env_set(vg_call *call)
{
    char *name = vg_arg_text(call, 0, NULL);
    char *value = vg_arg_is(call, 1, VG_UNDEFINED) ? NULL : vg_arg_text(call, 1, NULL);
    if (name && *name && !strchr(name, '=')) {
        if (value)
            setenv(name, value, 1);
        else
            unsetenv(name);
    }
    free(name);
    free(value);
    return NULL;
}

static vg_val env_keys(vg_call *call)
{
    size_t count = 0, used = 0;
    vg_val *items, array;
    while (environ && environ[count])
        count++;
    items = calloc(count + 1, sizeof *items);
    if (!items)
        return vg_throw(call, "no memory");
    for (size_t i = 0; i < count; i++) {
        const char *end = strchr(environ[i], '=');
        /* On the C heap the collector does not see the strings: they are held until the array has them. */
        if (end && end != environ[i] && (items[used] = vg_text(call->engine, environ[i], (size_t)(end - environ[i]))))
            vg_hold(call->engine, items[used++]);
    }
    array = vg_array(call->engine, used, items);
    for (size_t i = 0; i < used; i++)
        vg_release(call->engine, items[i]);
    free(items);
    return array;
}

static vg_val cwd(vg_call *call)
{
    char path[PATH_MAX];
    return getcwd(path, sizeof path) ? vg_string(call->engine, path) : vg_number(call->engine, -errno);
}

static vg_val change_folder(vg_call *call)
{
    char *path = vg_arg_text(call, 0, NULL);
    int result = path && chdir(path) == 0 ? 0 : path ? -errno : -ENOMEM;
    free(path);
    return vg_number(call->engine, result);
}

static vg_val file_mask(vg_call *call)
{
    double wanted = vg_arg_number(call, 0);
    mode_t before = umask(0);
    umask(wanted >= 0 ? (mode_t)wanted & 0777 : before);
    return vg_number(call->engine, before);
}

/* priority(pid), priority(pid, value): the niceness, or a negative error less 100 so that neither is taken for the other. */
static vg_val priority(vg_call *call)
{
    id_t pid = (id_t)vg_arg_number(call, 0);
    int result;
    if (call->count > 1)
        result = setpriority(PRIO_PROCESS, pid, (int)vg_arg_number(call, 1)) == 0 ? 0 : -100 - errno;
    else {
        errno = 0;
        result = getpriority(PRIO_PROCESS, pid);
        if (result == -1 && errno != 0)
            result = -100 - errno;
    }
    return vg_number(call->engine, result);
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

static vg_val hrtime(vg_call *call)
{
    struct timespec time;
    vg_val items[2];
    clock_gettime(CLOCK_MONOTONIC, &time);
    items[0] = vg_number(call->engine, (double)time.tv_sec);
    items[1] = vg_number(call->engine, (double)time.tv_nsec);
    return vg_array(call->engine, 2, items);
}

static vg_val uptime(vg_call *call)
{
    vigil_js *js = call->host;
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return vg_number(call->engine, (double)time.tv_sec + (double)time.tv_nsec / 1e9 - (double)js->base_ns / 1e9);
}

static vg_val memory_usage(vg_call *call)
{
    vigil_js *js = call->host;
    vg_engine_memory memory = {0};
    vg_val object = vg_object(call->engine);
    unsigned long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file) {
        if (fscanf(file, "%lu %lu", &pages, &resident) != 2)
            resident = 0;
        fclose(file);
    }
    vg_engine_memory_get(call->engine, &memory);
    put_number(js, object, "rss", (double)resident * (double)sysconf(_SC_PAGESIZE));
    put_number(js, object, "heapTotal", (double)memory.heap_capacity);
    put_number(js, object, "heapUsed", (double)memory.heap_size);
    put_number(js, object, "external", (double)memory.extra);
    put_number(js, object, "arrayBuffers", (double)memory.extra);
    return object;
}

static double micros(struct timeval time)
{
    return (double)time.tv_sec * 1e6 + (double)time.tv_usec;
}

static vg_val resource_usage(vg_call *call)
{
    vigil_js *js = call->host;
    vg_val object = vg_object(call->engine);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    put_number(js, object, "userCPUTime", micros(usage.ru_utime));
    put_number(js, object, "systemCPUTime", micros(usage.ru_stime));
    put_number(js, object, "maxRSS", (double)usage.ru_maxrss);
    put_number(js, object, "sharedMemorySize", 0);
    put_number(js, object, "unsharedDataSize", 0);
    put_number(js, object, "unsharedStackSize", 0);
    put_number(js, object, "minorPageFault", (double)usage.ru_minflt);
    put_number(js, object, "majorPageFault", (double)usage.ru_majflt);
    put_number(js, object, "swappedOut", 0);
    put_number(js, object, "fsRead", (double)usage.ru_inblock);
    put_number(js, object, "fsWrite", (double)usage.ru_oublock);
    put_number(js, object, "ipcSent", 0);
    put_number(js, object, "ipcReceived", 0);
    put_number(js, object, "signalsCount", 0);
    put_number(js, object, "voluntaryContextSwitches", (double)usage.ru_nvcsw);
    put_number(js, object, "involuntaryContextSwitches", (double)usage.ru_nivcsw);
    return object;
}

static vg_val cpu_usage(vg_call *call)
{
    vigil_js *js = call->host;
    vg_val object = vg_object(call->engine);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    put_number(js, object, "user", micros(usage.ru_utime));
    put_number(js, object, "system", micros(usage.ru_stime));
    return object;
}

static vg_val parent_pid(vg_call *call)
{
    return vg_number(call->engine, getppid());
}
/* setId(which, id): 0 uid, 1 euid, 2 gid, 3 egid. 0 or a negative error. */
static vg_val set_id(vg_call *call)
{
    int which = (int)vg_arg_number(call, 0), result = -1;
    id_t id = (id_t)vg_arg_number(call, 1);
    errno = EINVAL;
    if (which == 0)
        result = setuid(id);
    else if (which == 1)
        result = seteuid(id);
    else if (which == 2)
        result = setgid(id);
    else if (which == 3)
        result = setegid(id);
    return vg_number(call->engine, result == 0 ? 0 : -errno);
}

/* idOf(name, ofGroup): the number of a user or group, or a negative error. */
static vg_val id_of(vg_call *call)
{
    char *name = vg_arg_text(call, 0, NULL);
    const struct passwd *user = name && vg_arg_number(call, 1) == 0 ? getpwnam(name) : NULL;
    const struct group *group = name && vg_arg_number(call, 1) != 0 ? getgrnam(name) : NULL;
    double id = user ? (double)user->pw_uid : group ? (double)group->gr_gid : -ENOENT;
    free(name);
    return vg_number(call->engine, id);
}

/* getgroups(): the numbers of the supplementary groups, or a negative error. */
static vg_val get_groups(vg_call *call)
{
    gid_t groups[NGROUPS_MAX];
    vg_val items[256];
    int count = getgroups(NGROUPS_MAX, groups);
    if (count < 0)
        return vg_number(call->engine, -errno);
    if (count > 256)
        count = 256;
    for (int i = 0; i < count; i++)
        items[i] = vg_number(call->engine, groups[i]);
    return vg_array(call->engine, (size_t)count, items);
}

/* setgroups(id...), initgroups(name, gid): 0 or a negative error. */
static vg_val set_groups(vg_call *call)
{
    gid_t groups[256];
    size_t count = 0;
    for (; count < call->count && count < sizeof groups / sizeof *groups; count++)
        groups[count] = (gid_t)vg_arg_number(call, count);
    return vg_number(call->engine, setgroups(count, groups) == 0 ? 0 : -errno);
}
static vg_val init_groups(vg_call *call)
{
    char *name = vg_arg_text(call, 0, NULL);
    int result = name ? initgroups(name, (gid_t)vg_arg_number(call, 1)) == 0 ? 0 : -errno : -ENOMEM;
    free(name);
    return vg_number(call->engine, result);
}

static vg_val get_uid(vg_call *call)
{
    return vg_number(call->engine, getuid());
}
static vg_val get_euid(vg_call *call)
{
    return vg_number(call->engine, geteuid());
}
static vg_val get_gid(vg_call *call)
{
    return vg_number(call->engine, getgid());
}
static vg_val get_egid(vg_call *call)
{
    return vg_number(call->engine, getegid());
}

static vg_val random_bytes(vg_call *call)
{
    unsigned char *bytes;
    size_t length, at = 0;
    if (!vg_to_bytes(call->engine, vg_arg(call, 0), &bytes, &length))
        return vg_number(call->engine, -EINVAL);
    while (at < length) {
        ssize_t got = getrandom(bytes + at, length - at, 0);
        if (got < 0 && errno != EINTR)
            return vg_number(call->engine, -errno);
        if (got > 0)
            at += (size_t)got;
    }
    return vg_number(call->engine, 0);
}

static vg_val keepers(vg_call *call)
{
    static const char *const names[] = {"",        "Work",    "Post",  "Microtask", "Immediate",
                                        "Closing", "Timeout", "Watch", "Child"};
    vigil_js *js = call->host;
    vigil_keeper list[64];
    vg_val items[64];
    int count = vigil_loop_keepers(js->loop, list, 64);
    if (count < 0)
        count = 0;
    if (count > 64)
        count = 64;
    for (int i = 0; i < count; i++)
        items[i] = vg_string(call->engine, list[i].kind <= VIGIL_KEEPER_CHILD ? names[list[i].kind] : "");
    return vg_array(call->engine, (size_t)count, items);
}

/* os: everything that changes, in one object. */
static vg_val os_info(vg_call *call)
{
    vigil_js *js = call->host;
    vg_val object = vg_object(call->engine);
    struct utsname name;
    struct sysinfo info;
    char host[256] = "";
    struct passwd entry, *user = NULL;
    char room[4096];
    uname(&name);
    sysinfo(&info);
    gethostname(host, sizeof host - 1);
    getpwuid_r(getuid(), &entry, room, sizeof room, &user);
    put(js, object, "hostname", vg_string(js->engine, host));
    put(js, object, "release", vg_string(js->engine, name.release));
    put(js, object, "version", vg_string(js->engine, name.version));
    put(js, object, "machine", vg_string(js->engine, name.machine));
    put_number(js, object, "total", (double)info.totalram * info.mem_unit);
    put_number(js, object, "free", (double)info.freeram * info.mem_unit);
    put_number(js, object, "uptime", (double)info.uptime);
    for (int i = 0; i < 3; i++) {
        static const char *const loads[] = {"load1", "load5", "load15"};
        put_number(js, object, loads[i], (double)info.loads[i] / 65536);
    }
    put_number(js, object, "cpus", (double)sysconf(_SC_NPROCESSORS_ONLN));
    put_number(js, object, "parallelism", vigil_cpu_count());
    put(js, object, "user", user ? vg_string(js->engine, user->pw_name) : vg_null(js->engine));
    put(js, object, "home", user ? vg_string(js->engine, user->pw_dir) : vg_null(js->engine));
    put(js, object, "shell", user ? vg_string(js->engine, user->pw_shell) : vg_null(js->engine));
    return object;
}

/* ---- signals ---------------------------------------------------------------------------------------------------- */

static void on_signal(vigil_loop *loop, vigil_signal handle, const vigil_signal_info *info, void *arg)
{
    vigil_js *js = arg;
    (void)loop;
    (void)handle;
    vg_js_dispatch(js, VG_DISPATCH_SIGNAL, vg_number(js->engine, info->signo), NULL, NULL);
}

/* The engine's own threads do not block the signal, so the kernel may choose one of them. From there it is sent on to the thread
   whose loop waits for it. */
static _Atomic pid_t signal_owner[65];

static void forward(int signo)
{
    int before = errno;
    /* relaxed: a number, written before the handler was installed. */
    pid_t owner = atomic_load_explicit(&signal_owner[signo], memory_order_relaxed);
    if (owner && owner != (pid_t)syscall(SYS_gettid))
        syscall(SYS_tgkill, getpid(), owner, signo);
    errno = before;
}

void vg_js_forward_signal(int signo, bool on)
{
    struct sigaction now, wanted = {.sa_flags = SA_RESTART};
    void (*expected)(int) = on ? SIG_DFL : forward;
    if (signo < 1 || signo > 64 || sigaction(signo, NULL, &now) < 0 || (now.sa_flags & SA_SIGINFO) ||
        now.sa_handler != expected)
        return;
    /* relaxed: see forward. */
    atomic_store_explicit(&signal_owner[signo], on ? (pid_t)syscall(SYS_gettid) : 0, memory_order_relaxed);
    wanted.sa_handler = on ? forward : SIG_DFL;
    sigemptyset(&wanted.sa_mask);
    sigaction(signo, &wanted, NULL);
}

static vg_val signal_watch(vg_call *call)
{
    vigil_js *js = call->host;
    int signo = (int)vg_arg_number(call, 0), result;
    vg_signal_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return vg_number(call->engine, -ENOMEM);
    watch->signo = signo;
    result = vigil_signal_add(js->loop, signo, on_signal, js, &watch->handle);
    if (result < 0) {
        free(watch);
    } else {
        watch->next = js->signals;
        js->signals = watch;
        vg_js_forward_signal(signo, true);
    }
    return vg_number(call->engine, result);
}

static vg_val signal_unwatch(vg_call *call)
{
    vigil_js *js = call->host;
    int signo = (int)vg_arg_number(call, 0);
    for (vg_signal_watch **at = &js->signals; *at; at = &(*at)->next) {
        vg_signal_watch *watch = *at;
        if (watch->signo != signo)
            continue;
        *at = watch->next;
        vg_js_forward_signal(watch->signo, false);
        vigil_signal_remove(js->loop, watch->handle);
        free(watch);
        break;
    }
    return NULL;
}

static vg_val send_signal(vg_call *call)
{
    int result = kill((pid_t)vg_arg_number(call, 0), (int)vg_arg_number(call, 1));
    return vg_number(call->engine, result < 0 ? -errno : 0);
}

/* ---- errors ----------------------------------------------------------------------------------------------------- */

/* [name, text]: the texts of common errors in the words that programs for Node compare with. */
static vg_val error_name(vg_call *call)
{
    static const struct {
        int number;
        const char *text;
    } known[] = {
        {ENOENT, "no such file or directory"},
        {EEXIST, "file already exists"},
        {EACCES, "permission denied"},
        {EPERM, "operation not permitted"},
        {ENOTDIR, "not a directory"},
        {EISDIR, "illegal operation on a directory"},
        {ENOTEMPTY, "directory not empty"},
        {EBADF, "bad file descriptor"},
        {EINVAL, "invalid argument"},
        {EMFILE, "too many open files"},
        {ENFILE, "file table overflow"},
        {ENOSPC, "no space left on device"},
        {EROFS, "read-only file system"},
        {ELOOP, "too many symbolic links encountered"},
        {ENAMETOOLONG, "name too long"},
        {EXDEV, "cross-device link not permitted"},
        {EADDRINUSE, "address already in use"},
        {EADDRNOTAVAIL, "address not available"},
        {EPIPE, "broken pipe"},
        {ECANCELED, "operation canceled"},
        {ENOMEM, "not enough memory"},
        {ESRCH, "no such process"},
        {EAGAIN, "resource temporarily unavailable"},
        {EBUSY, "resource busy or locked"},
        {EFBIG, "file too large"},
        {ENOSYS, "function not implemented"},
        {ETIMEDOUT, "connection timed out"},
        {ECONNREFUSED, "connection refused"},
        {ECONNRESET, "connection reset by peer"},
    };
    int number = (int)vg_arg_number(call, 0);
    const char *name = strerrorname_np(number);
    const char *text = NULL;
    vg_val items[2];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].number == number)
            text = known[i].text;
    items[0] = vg_string(call->engine, name ? name : "UNKNOWN");
    items[1] = vg_string(call->engine, text ? text : vigil_strerror(-number));
    return vg_array(call->engine, 2, items);
}

static const vg_binding_entry entries[] = {
    {"envGet", env_get},
    {"envSet", env_set},
    {"envKeys", env_keys},
    {"cwd", cwd},
    {"chdir", change_folder},
    {"umask", file_mask},
    {"priority", priority},
    {"hrtime", hrtime},
    {"uptime", uptime},
    {"memoryUsage", memory_usage},
    {"resourceUsage", resource_usage},
    {"cpuUsage", cpu_usage},
    {"ppid", parent_pid},
    {"setId", set_id},
    {"idOf", id_of},
    {"getgroups", get_groups},
    {"setgroups", set_groups},
    {"initgroups", init_groups},
    {"getuid", get_uid},
    {"geteuid", get_euid},
    {"getgid", get_gid},
    {"getegid", get_egid},
    {"randomBytes", random_bytes},
    {"keepers", keepers},
    {"osInfo", os_info},
    {"signalWatch", signal_watch},
    {"signalUnwatch", signal_unwatch},
    {"kill", send_signal},
    {"errorName", error_name},
};

static vg_val signal_table(vigil_js *js)
{
    vg_val table = vg_object(js->engine);
    char name[32];
    for (int i = 1; i < 32; i++) {
        const char *abbreviation = sigabbrev_np(i);
        if (!abbreviation)
            continue;
        snprintf(name, sizeof name, "SIG%s", abbreviation);
        put_number(js, table, name, i);
    }
    put_number(js, table, "SIGIOT", SIGABRT);
    return table;
}

bool vg_js_bind_system(vigil_js *js)
{
    vg_engine *engine = js->engine;
    vg_val table, argv[256];
    size_t count = 0;
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    struct utsname name;
    if (!vg_js_bind(js, js->binding, entries, sizeof entries / sizeof *entries))
        return false;
    path[length > 0 ? length : 0] = 0;
    uname(&name);
    table = vg_object(engine);
    put(js, table, "arch",
        vg_string(engine, strcmp(name.machine, "x86_64") == 0    ? "x64"
                          : strcmp(name.machine, "aarch64") == 0 ? "arm64"
                                                                 : name.machine));
    put_number(js, table, "pid", getpid());
    put(js, js->binding, "system", table);
    put(js, js->binding, "execPath", vg_string(engine, path));
    argv[count++] = vg_string(engine, js->options.program ? js->options.program : path);
    for (int i = 0; i < js->options.argc && count < 256; i++)
        argv[count++] = vg_string(engine, js->options.argv[i]);
    put(js, js->binding, "argv", vg_array(engine, count, argv));
    table = vg_object(engine);
    /* The level of Node whose behaviour and modules this host follows. */
    put(js, table, "node", vg_string(engine, "20.0.0"));
    put(js, table, "vigil", vg_string(engine, vigil_version_string()));
    put(js, js->binding, "versions", table);
    put(js, js->binding, "signals", signal_table(js));
    return true;
}
