/* SPDX-License-Identifier: MIT */
/*
 * vigil repl: reads lines for vigil:repl (js/lib/repl.js), which does the rest.
 *
 * On a terminal the lines come from libedit, a character at a time, when the loop says that there is one: so timers and
 * everything else go on while somebody types. While a piece is evaluated or awaited nothing is read. Where there is no
 * terminal (or no libedit) whole lines are read as they come.
 *
 * Control-C is a signal: its handler makes a note and writes to a pipe that the loop watches. JavaScript that does not
 * return is ended by the host, which asks `stalled` every now and then.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>
#include <vigil/js.h>
#include <vigil/version.h>

#ifdef VG_HAVE_EDIT
#include <editline/readline.h>
#endif

#define HISTORY_LINES 1000

static struct {
    vigil_js *js;
    vigil_js_value line, eof, interrupt, complete; /* held */
    vigil_watch input, signals;
    bool terminal, editing, typed; /* typed: there is something on the line */
    struct termios found;          /* how the terminal was, and will be */
    char *history;
    char *text; /* of a line that has not ended, without a terminal */
    size_t length, room;
} the;

static volatile sig_atomic_t interrupted;
static int signal_pipe[2] = {-1, -1};

static void on_signal(int signo)
{
    int saved = errno;
    interrupted = signo == SIGINT;
    (void)!write(signal_pipe[1], "", 1);
    errno = saved;
}

static bool stalled(void *user, const vigil_js_stall *stall)
{
    (void)user;
    (void)stall;
    return interrupted;
}

static void call(vigil_js_value function, const char *text, size_t length)
{
    vigil_js_value arg = text ? vigil_js_text(the.js, text, length) : NULL;
    vigil_js_call(the.js, function, NULL, arg ? 1 : 0, &arg, NULL);
}

/* ---- history ---------------------------------------------------------------------------------------------------- */

#ifdef VG_HAVE_EDIT
/* Make the folders on the way to the file; what cannot be made shows when the file is written. */
static void make_folders(const char *file)
{
    char *copy = strdup(file);
    for (char *slash = copy ? strchr(copy + 1, '/') : NULL; slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        (void)mkdir(copy, 0700);
        *slash = '/';
    }
    free(copy);
}

/* $VIGIL_REPL_HISTORY (empty: none), else in the XDG state directory. NULL: none. */
static char *history_file(void)
{
    const char *chosen = getenv("VIGIL_REPL_HISTORY"), *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char *path = NULL;
    if (chosen)
        return *chosen ? strdup(chosen) : NULL;
    if (!home) {
        const struct passwd *user = getpwuid(getuid());
        home = user ? user->pw_dir : NULL;
    }
    if (state && *state == '/')
        return asprintf(&path, "%s/vigil/repl_history", state) < 0 ? NULL : path;
    return !home || asprintf(&path, "%s/.local/state/vigil/repl_history", home) < 0 ? NULL : path;
}

static void save_history(void)
{
    mode_t mask;
    if (!the.history)
        return;
    mask = umask(077); /* what somebody typed is nobody else's business */
    make_folders(the.history);
    if (write_history(the.history) != 0)
        (void)fprintf(stderr, "vigil repl: the history cannot be written to %s: %s\n", the.history, strerror(errno));
    umask(mask);
}

/* ---- completion ------------------------------------------------------------------------------------------------- */

static char **candidates;
static size_t candidate_count, candidate_at;

static char *next_candidate(const char *text, int state)
{
    (void)text;
    if (state == 0)
        candidate_at = 0;
    return candidate_at < candidate_count ? strdup(candidates[candidate_at++]) : NULL;
}

/* The program knows how much of the line a candidate replaces, the editor what it takes for a word: the difference is
   cut off or put in front. */
static char *fitted(const char *match, const char *text, size_t replaced)
{
    size_t word = strlen(text);
    char *result = NULL;
    if (replaced >= word)
        return strlen(match) >= replaced - word ? strdup(match + (replaced - word)) : NULL;
    return asprintf(&result, "%.*s%s", (int)(word - replaced), text, match) < 0 ? NULL : result;
}

static char **complete(const char *text, int start, int end)
{
    vigil_js_value arg, answer, matches;
    char **result = NULL;
    size_t count, replaced;
    (void)start;
    rl_attempted_completion_over = 1; /* no file names */
    arg = vigil_js_text(the.js, rl_line_buffer, (size_t)end);
    if (!arg || vigil_js_call(the.js, the.complete, NULL, 1, &arg, &answer) < 0)
        return NULL;
    matches = vigil_js_get(the.js, answer, "matches");
    count = (size_t)vigil_js_to_number(the.js, vigil_js_get(the.js, matches, "length"));
    replaced = (size_t)vigil_js_to_number(the.js, vigil_js_get(the.js, answer, "length"));
    candidates = calloc(count + 1, sizeof *candidates);
    candidate_count = 0;
    for (size_t i = 0; candidates && i < count; i++) {
        char *match = vigil_js_to_text(the.js, vigil_js_get_index(the.js, matches, (unsigned)i), NULL);
        char *fit = match ? fitted(match, text, replaced) : NULL;
        if (fit)
            candidates[candidate_count++] = fit;
        free(match);
    }
    char **const made = candidates;
    const size_t many = candidate_count;
    if (made && many)
        result = rl_completion_matches(text, next_candidate);
    for (size_t i = 0; made && i < many; i++)
        free(made[i]);
    free(made);
    candidates = NULL;
    return result;
}

/* ---- lines from a terminal -------------------------------------------------------------------------------------- */

/* The terminal is watched only while a line is wanted: what is typed ahead stays where it is, as it was typed, and is
   shown when the editor gets to it. Control-C is a signal all the time. */
static void stop_editing(void)
{
    struct termios between = the.found;
    if (!the.editing)
        return;
    rl_callback_handler_remove();
    between.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    between.c_cc[VMIN] = 1;
    between.c_cc[VTIME] = 0;
    (void)tcsetattr(0, TCSADRAIN, &between);
    vigil_watch_remove(vigil_js_loop(the.js), the.input);
    the.editing = false;
}

static void edited(char *text)
{
    stop_editing();
    if (!text) {
        (void)fputs("\b\b  \b\b", stdout); /* the editor has written "^D" */
        (void)fflush(stdout);
        call(the.eof, NULL, 0);
        return;
    }
    if (*text)
        add_history(text);
    call(the.line, text, strlen(text));
    free(text);
}

static void on_input(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg);

static void start_editing(const char *prompt)
{
    stop_editing();
    the.editing = true;
    rl_callback_handler_install(prompt, edited);
    if (vigil_watch_add(vigil_js_loop(the.js), 0, VIGIL_FD_READ, 0, on_input, NULL, NULL, &the.input) < 0)
        the.editing = false;
}

/* Ended from outside: the terminal becomes what it was, then the signal does what it does. */
static void on_end(int signo)
{
    (void)tcsetattr(0, TCSANOW, &the.found);
    (void)raise(signo);
}

static void begin_editor(void)
{
    static const int ends[] = {SIGHUP, SIGQUIT, SIGTERM};
    struct sigaction was, action = {.sa_handler = on_end, .sa_flags = (int)SA_RESETHAND};
    static char breaks[] = " \t\n\"\\'`><=;|&{(+-*/%!~^,:?[";
    rl_readline_name = (char *)(uintptr_t) "vigil";
    rl_catch_signals = 0;
    rl_attempted_completion_function = complete;
    rl_completer_word_break_characters = breaks;
    rl_basic_word_break_characters = breaks;
    rl_completion_append_character = 0;
    (void)tcgetattr(0, &the.found);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (sigaction(ends[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
            (void)sigaction(ends[i], &action, NULL);
    using_history();
    /* When a line ends the editor itself leaves its mode, before `edited` is called. A terminal that collects lines at
       that moment would take a Control-D for the end of one, and lose it. The editor learns the terminal's keys when
       it enters its mode from one with lines: once, before there are none. */
    rl_prep_terminal(1);
    rl_deprep_terminal();
    (void)rl_parse_and_bind("setty -x -icanon -echo");
    stifle_history(HISTORY_LINES);
    the.history = history_file();
    if (the.history)
        (void)read_history(the.history);
}
#endif

/* ---- lines from elsewhere --------------------------------------------------------------------------------------- */

static void take_lines(void)
{
    char *begin = the.text, *end = the.text + the.length, *newline;
    while ((newline = memchr(begin, '\n', (size_t)(end - begin)))) {
        size_t length = (size_t)(newline - begin);
        call(the.line, begin, length > 0 && newline[-1] == '\r' ? length - 1 : length);
        begin = newline + 1;
    }
    the.length = (size_t)(end - begin);
    memmove(the.text, begin, the.length);
}

/* False: there is no more. */
static bool read_some(void)
{
    ssize_t got;
    if (the.room - the.length < 4096) {
        char *more = realloc(the.text, the.room = the.room * 2 + 65536);
        if (!more)
            return false;
        the.text = more;
    }
    got = read(0, the.text + the.length, the.room - the.length);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    the.length += (size_t)got;
    take_lines();
    if (got > 0)
        return true;
    if (the.length > 0)
        call(the.line, the.text, the.length);
    call(the.eof, NULL, 0);
    return false;
}

static void on_input(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    (void)fd;
    (void)events;
    (void)arg;
#ifdef VG_HAVE_EDIT
    if (the.terminal) {
        struct pollfd look = {.fd = 0, .events = POLLIN};
        /* The editor says nothing of a terminal that has gone. */
        if (poll(&look, 1, 0) == 1 && (look.revents & (POLLHUP | POLLERR | POLLNVAL))) {
            stop_editing();
            call(the.eof, NULL, 0);
            return;
        }
        if (the.editing)
            rl_callback_read_char();
        the.typed = the.editing && rl_end > 0;
        return;
    }
#endif
    if (!read_some())
        vigil_watch_remove(loop, watch);
}

/* ---- what JavaScript calls, and signals ------------------------------------------------------------------------- */

/* The next line is wanted. */
static vigil_js_value prompt(vigil_js_frame *frame)
{
    char *text = frame->count ? vigil_js_to_text(the.js, frame->args[0], NULL) : NULL;
    interrupted = 0;
#ifdef VG_HAVE_EDIT
    if (the.terminal)
        start_editing(text ? text : "");
#else
    if (the.terminal && text) {
        (void)fputs(text, stdout);
        (void)fflush(stdout);
    }
#endif
    free(text);
    return NULL;
}

static void on_interrupt(vigil_loop *loop, vigil_watch watch, int fd, unsigned events, void *arg)
{
    const char *typed = the.typed ? "x" : "";
    char bytes[64];
    (void)loop;
    (void)watch;
    (void)events;
    (void)arg;
    (void)!read(fd, bytes, sizeof bytes);
    interrupted = 0;
#ifdef VG_HAVE_EDIT
    stop_editing();
#endif
    the.typed = false;
    call(the.interrupt, typed, strlen(typed));
}

static bool start(void)
{
    static const char text[] = "require('vigil:repl').start";
    static const char *const names[] = {"line", "eof", "interrupt", "complete"};
    vigil_js_value *const places[] = {&the.line, &the.eof, &the.interrupt, &the.complete};
    vigil_js_value function = NULL, io = vigil_js_object(the.js), repl = NULL;
    /* A program without a text, so that `require` is there. */
    if (vigil_js_run_text(the.js, "", 0, "[repl]") < 0 ||
        vigil_js_eval(the.js, text, sizeof text - 1, "vigil:repl", &function) < 0)
        return false;
    vigil_js_set(the.js, io, "terminal", vigil_js_bool(the.js, the.terminal));
    vigil_js_set(the.js, io, "prompt", vigil_js_function(the.js, "prompt", prompt, NULL));
    if (vigil_js_call(the.js, function, NULL, 1, &io, &repl) < 0)
        return false;
    for (size_t i = 0; i < 4; i++) {
        *places[i] = vigil_js_get(the.js, repl, names[i]);
        vigil_js_ref(the.js, *places[i]);
    }
    return true;
}

static int usage(FILE *to, int status)
{
    (void)fputs("usage: vigil repl\n"
                "\n"
                "Reads JavaScript, evaluates it on Vigil's loop, and prints what it is. .help lists the commands.\n",
                to);
    return status;
}

int main(int argc, char **argv)
{
    vigil_js_options options = VIGIL_JS_OPTIONS_INIT;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    int status, error;
    if (argc > 1)
        return strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ? usage(stdout, 0) : usage(stderr, 9);
    the.terminal = isatty(0) == 1 && isatty(1) == 1;
    options.stall_ns = 100000000;
    options.on_stall = stalled;
    error = vigil_js_create(&the.js, &options);
    if (error == 0 && pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
        error = -errno;
    if (error == 0)
        error = vigil_watch_add(vigil_js_loop(the.js), signal_pipe[0], VIGIL_FD_READ, VIGIL_WATCH_UNREF, on_interrupt,
                                NULL, NULL, &the.signals);
    if (error < 0) {
        (void)fprintf(stderr, "vigil repl: the JavaScript host could not be made: %s\n", vigil_strerror(error));
        return 1;
    }
    if (the.terminal) {
        (void)sigaction(SIGINT, &action, NULL);
        printf("Welcome to Vigil v%s.\nType \".help\" for more information.\n", vigil_version_string());
        (void)fflush(stdout);
#ifdef VG_HAVE_EDIT
        begin_editor();
#endif
    }
    if (!start()) {
        vigil_js_error thrown = {.size = sizeof thrown};
        vigil_js_error_get(the.js, &thrown);
        (void)fprintf(stderr, "vigil repl: %s\n", thrown.message ? thrown.message : "vigil:repl does not start");
        return 1;
    }
#ifdef VG_HAVE_EDIT
    if (the.terminal)
        vigil_loop_ref(vigil_js_loop(the.js)); /* an await that nothing will ever settle is no reason to go */
    else
#endif
        /* A regular file cannot be watched, and need not be. */
        if (vigil_watch_add(vigil_js_loop(the.js), 0, VIGIL_FD_READ, 0, on_input, NULL, NULL, &the.input) < 0)
            while (read_some())
                ;
    status = vigil_js_run(the.js);
#ifdef VG_HAVE_EDIT
    if (the.terminal) {
        stop_editing();
        (void)tcsetattr(0, TCSADRAIN, &the.found);
        save_history();
    }
#endif
    if (status < 0) {
        (void)fprintf(stderr, "vigil repl: the loop failed: %s\n", vigil_strerror(status));
        status = 1;
    }
    (void)fflush(stdout);
    _exit(status); /* the process ends here, whatever still runs on the pool */
}
