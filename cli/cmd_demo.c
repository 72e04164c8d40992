/* SPDX-License-Identifier: MIT */
/*
 * The demo is three processes: the game, which is what one looks at; the page's server, if this build has one; and this
 * one, which shows the terminal's view. So what is shown is what any other process would see, and a game that is wedged
 * on purpose cannot take its viewers along.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "demo_sick.h"
#include "faults.h"
#include "game.h"
#include "kinds.h"
#include "program.h"
#include "say.h"
#include "top.h"

static const char *inject, *sick;
static bool recover, no_page, plain;
static long seconds;

struct demo {
    const struct fault *fault;
    pid_t game, page;
    int talk; /* to the game */
    char url[256];
    struct look look;
    bool over;
    bool brief;         /* nobody said how long: end when everything has been shown */
    int64_t stopped_at; /* ms; 0: it is not */
    uint64_t told;      /* the newest verdict that was printed */
    uint64_t told_over;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the other processes ----------------------------------------------------------------------------------------- */

static pid_t start_game(struct demo *demo)
{
    int talk[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, talk) < 0)
        return -1;
    fflush(stdout);
    pid_t parent = getpid(), game = fork();
    if (game == 0) {
        close(talk[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        struct game_options options = {(unsigned)seconds, demo->fault, recover, talk[1]};
        int status = game_play(&options);
        fflush(NULL);
        _exit(status);
    }
    close(talk[1]);
    demo->talk = talk[0];
    return game;
}

/* `vigil serve` says where its page is; without that there is none. */
static void start_page(struct demo *demo)
{
    int ends[2];
    if (command_serve.left_out != NULL || pipe2(ends, O_CLOEXEC) < 0)
        return;
    pid_t parent = getpid(), page = fork();
    if (page == 0) {
        char pid[16], any_port[] = "--any-port", *words[] = {any_port, pid};
        snprintf(pid, sizeof pid, "%d", (int)demo->game);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || dup2(ends[1], STDOUT_FILENO) < 0)
            _exit(1);
        _exit(command_run(&command_serve, 2, words));
    }
    close(ends[1]);
    FILE *url_from = fdopen(ends[0], "r");
    if (page > 0 && url_from != NULL && fgets(demo->url, sizeof demo->url, url_from) != NULL) {
        demo->url[strcspn(demo->url, "\n")] = '\0';
        demo->page = page;
    }
    if (url_from != NULL)
        fclose(url_from);
}

/* Wait up to `ms` for a sign from the game: 'r', 'e', or 0: it has died. -1: nothing came. */
static int sign_from_game(struct demo *demo, int ms)
{
    struct pollfd fd = {demo->talk, POLLIN, 0};
    char sign;
    if (poll(&fd, 1, ms) <= 0)
        return -1;
    return recv(demo->talk, &sign, 1, 0) == 1 ? sign : 0;
}

/* Asked at each look. A game that was stopped on purpose goes on after three seconds. */
static bool is_over(void *arg)
{
    struct demo *demo = arg;
    siginfo_t info = {0};
    bool ours = demo->fault != NULL && demo->fault->stops; /* else somebody else has stopped it, and knows why */
    if (ours && demo->stopped_at == 0 && waitid(P_PID, (id_t)demo->game, &info, WSTOPPED | WNOHANG) == 0 &&
        info.si_pid != 0)
        demo->stopped_at = now_ms();
    if (demo->stopped_at != 0 && now_ms() - demo->stopped_at >= 3000) {
        kill(demo->game, SIGCONT);
        demo->stopped_at = 0;
    }
    if (!demo->over && sign_from_game(demo, 0) >= 0)
        demo->over = true;
    return demo->over;
}

/* ---- what is waited for ------------------------------------------------------------------------------------------ */

/* The verdict that the fault must lead to, or NULL. */
static const vg_verdict_view *expected_verdict(const struct demo *demo)
{
    const vg_snapshot *now = demo->look.now;
    for (size_t i = now->verdict_count; i-- > 0;)
        if (now->verdicts[i].kind == (unsigned)demo->fault->expect && now->verdicts[i].number != 0) /* 0: our own */
            return &now->verdicts[i];
    return NULL;
}

/* How often the watchdog has acted on a verdict. */
static unsigned acts_on(const vg_snapshot *now, const vg_verdict_view *verdict)
{
    unsigned acts = 0;
    for (size_t i = 0; i < now->act_count; i++)
        acts += now->acts[i].verdict == verdict->number && now->acts[i].result == 0;
    return acts;
}

/* The fault has led to what it should: it was found, and healed if it can be. */
static bool is_shown(const struct demo *demo)
{
    const vg_verdict_view *v = demo->fault != NULL ? expected_verdict(demo) : NULL;
    if (v == NULL)
        return false;
    return !(recover && demo->fault->healable) || (v->over && acts_on(demo->look.now, v) > 0);
}

/* ---- the plain view ---------------------------------------------------------------------------------------------- */

static void print_heading(void)
{
    printf("For each class: how many tasks wait now, and the p99 of the waits that ended in the last second.\n\n"
           "%s  sec tasks/s  run park block",
           style(BOLD));
    for (unsigned i = 0; i < VG_FILE_CLASSES; i++)
        printf(" %12s", class_name(i));
    printf("%s\n", style(PLAIN));
}

static void print_line(struct demo *demo)
{
    const vg_snapshot *now = demo->look.now;
    if (now->pool_count == 0)
        return;
    const vg_pool_view *pool = &now->pools[0], *past = pool_in(demo->look.past, pool->serial);
    double span = seconds_between(demo->look.past, now);
    struct crowd crowd = pool_crowd(pool);
    printf("%5.1f %7.0f %4u %4u %5u", (double)now->age_ns / 1e9,
           past != NULL && span > 0 ? (double)(pool->total.completed - past->total.completed) / span : 0.0,
           crowd.running, crowd.parked, crowd.blocked);
    vg_hist_view *since = malloc(sizeof *since);
    for (unsigned i = 0; i < VG_FILE_CLASSES && since != NULL; i++) {
        char count[WORDS], wait[WORDS];
        memset(since, 0, sizeof *since);
        if (past != NULL)
            vg_hist_since(since, &pool->wait[i], &past->wait[i]);
        printf(" %s%5s %6s%s", style(class_style(i)), words_count(count, pool->of[i].queued),
               words_ns(wait, vg_hist_quantile(since, 0.99)), style(PLAIN));
    }
    free(since);
    printf("\n");
}

/* What the watchdog has said or taken back since the last line. */
static void print_news(struct demo *demo)
{
    const vg_snapshot *now = demo->look.now;
    for (size_t i = now->verdict_count; i-- > 0;) {
        const vg_verdict_view *v = &now->verdicts[i];
        char text[sizeof v->reason + 1];
        if (v->number > demo->told) {
            demo->told = v->number;
            clean_text(text, sizeof text, v->reason, sizeof v->reason, false);
            printf("      %s%s %s:%s %s\n", style(severity_style(v->severity)), severity_name(v->severity),
                   stall_name(v->kind), style(PLAIN), text);
            for (size_t a = 0; a < now->act_count; a++)
                if (now->acts[a].verdict == v->number) {
                    char act[sizeof now->acts[a].text + 1];
                    clean_text(act, sizeof act, now->acts[a].text, sizeof now->acts[a].text, false);
                    printf("      %sdone about it:%s %s\n", style(BOLD), style(PLAIN), act);
                }
        }
        if (v->over && v->number > demo->told_over) {
            demo->told_over = v->number;
            printf("      %s%s is over%s\n", style(GREEN), stall_name(v->kind), style(PLAIN));
        }
    }
}

static void watch_plainly(struct demo *demo)
{
    int64_t next = now_ms();
    unsigned enough = 0;
    print_heading();
    fflush(stdout);
    for (unsigned looks = 1;; looks++) {
        next += 250;
        int64_t left;
        while ((left = next - now_ms()) > 0 && !demo->over)
            if (sign_from_game(demo, (int)left) >= 0)
                demo->over = true;
        if (is_over(demo) || look_again(&demo->look) < 0)
            break;
        if (looks % 4 == 0)
            print_line(demo);
        print_news(demo);
        fflush(stdout);
        /* A second to look at it is enough where nobody looks. */
        enough += demo->brief && is_shown(demo);
        if (enough > 4)
            break;
    }
    look_again(&demo->look);
    print_news(demo);
}

/* ---- how it went ------------------------------------------------------------------------------------------------- */

/* Whether what was to be shown was shown; says so. */
static bool show_finding(const struct demo *demo)
{
    const vg_snapshot *now = demo->look.now;
    const vg_verdict_view *v = expected_verdict(demo);
    if (v == NULL) {
        printf("\n%sThe watchdog did not find the %s.%s\n", style(RED), stall_name((unsigned)demo->fault->expect),
               style(PLAIN));
        return false;
    }
    double at = ((double)now->age_ns - (double)v->first_age_ns) / 1e9;
    printf("\n%sFound:%s %s. It began %.1f s after the start (the fault was due after %.0f s).\n", style(GREEN),
           style(PLAIN), stall_name(v->kind), at, (double)FAULT_DELAY_NS / 1e9);
    bool shown = is_shown(demo);
    if (recover && demo->fault->healable)
        printf(shown ? "%sHealed%s by the watchdog.\n" : "%sNot healed%s.\n", style(shown ? GREEN : RED), style(PLAIN));
    return shown;
}

static int end_game(struct demo *demo)
{
    int status;
    kill(demo->game, SIGCONT);
    if (!demo->over) {
        kill(demo->game, SIGTERM);
        /* A loop that is blocked on purpose comes back after three seconds. */
        if (sign_from_game(demo, 10000) < 0)
            kill(demo->game, SIGKILL);
    }
    bool shown = demo->fault == NULL || show_finding(demo);
    fflush(stdout);
    send(demo->talk, "g", 1, MSG_NOSIGNAL);
    while (waitpid(demo->game, &status, 0) < 0 && errno == EINTR)
        ;
    if (demo->page > 0) {
        kill(demo->page, SIGTERM);
        while (waitpid(demo->page, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (WIFSIGNALED(status)) {
        say_error("demo: the game was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
        return EXIT_FAILED;
    }
    return shown && WEXITSTATUS(status) == 0 ? EXIT_FINE : EXIT_FAILED;
}

#ifdef VIGIL_HAVE_NCURSES
static bool has_screen(void)
{
    return !plain && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
}

static void watch_on_screen(struct demo *demo)
{
    char note[512];
    snprintf(note, sizeof note, "a game server to look at%s%s%s%s%s; q ends it",
             demo->url[0] != '\0' ? ", also at " : "", demo->url, demo->fault != NULL ? "; in two seconds " : "",
             demo->fault != NULL ? demo->fault->text : "", recover ? " (recovery is on)" : "");
    struct top_options options = {.interval_ms = 250, .note = note, .end_with_it = true, .over = is_over, .user = demo};
    top_screen(&demo->look, &options);
    look_again(&demo->look);
}
#else
static bool has_screen(void)
{
    return false;
}

static void watch_on_screen(struct demo *demo)
{
    (void)demo;
}
#endif

static void watch_in_lines(struct demo *demo)
{
    printf("A game server on %d workers, process %d, for %ld s. Look at it with `vigil report %d`", GAME_WORKERS,
           (int)demo->game, seconds, (int)demo->game);
    if (demo->url[0] != '\0')
        printf(", or at %s", demo->url);
    printf(".\n");
    if (demo->fault != NULL)
        printf("After %.0f s: %s%s.\n", (double)FAULT_DELAY_NS / 1e9, demo->fault->text,
               recover ? "; the watchdog may act" : "");
    watch_plainly(demo);
}

static void list_faults(FILE *to)
{
    for (const struct fault *fault = faults; fault->name != NULL; fault++)
        fprintf(to, "  %-14s %s\n", fault->name, fault->text);
}

/* The same words to the program that is linked with the library variant that can be broken on purpose. */
static int become_breakable(void)
{
    char demo[] = "demo", injected[256], limit[64], healing[] = "--recover", lines[] = "--plain",
         hidden[] = "--no-page";
    char *words[6] = {demo, injected};
    int count = 2;
    snprintf(injected, sizeof injected, "--inject=%s", inject);
    if (seconds != 0) {
        snprintf(limit, sizeof limit, "--seconds=%ld", seconds);
        words[count++] = limit;
    }
    if (recover)
        words[count++] = healing;
    if (plain)
        words[count++] = lines;
    if (no_page)
        words[count++] = hidden;
    return program_become("demo", "vigil-demo",
                          "this fault needs a library that can be broken on purpose, which is never installed; in the "
                          "source tree `make demo ARGS=\"--inject FAULT\"` shows it",
                          count, words);
}

static int demo_run(int count, char **operands)
{
    (void)count, (void)operands;
    if (sick != NULL)
        return demo_sick(sick);
    struct demo demo = {.fault = inject != NULL ? fault_find(inject) : NULL};
    if (inject != NULL && strcmp(inject, "list") == 0) {
        list_faults(stdout);
        return EXIT_FINE;
    }
    if (inject != NULL && demo.fault == NULL) {
        say_error("demo: there is no fault '%s'; there are:", inject);
        list_faults(stderr);
        return EXIT_USAGE;
    }
    if (recover && demo.fault == NULL) {
        say_error("demo: --recover needs something to recover from: --inject FAULT");
        return EXIT_USAGE;
    }
    if (demo.fault != NULL && demo.fault->inject == NULL)
        return become_breakable();
    bool screen = has_screen();
    demo.brief = seconds == 0;
    if (seconds == 0 && !screen)
        seconds = demo.fault != NULL ? 20 : 10;
    demo.game = start_game(&demo);
    if (demo.game < 0) {
        say_error("demo: the game's process does not start: %s", strerror(errno));
        return EXIT_FAILED;
    }
    /* ctrl-c reaches the game as well, which ends, and we with it. */
    signal(SIGINT, SIG_IGN);
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)demo.game);
    if (sign_from_game(&demo, -1) != 'r' || look_open(&demo.look, "demo", pid, true) != 0) {
        kill(demo.game, SIGKILL);
        waitpid(demo.game, NULL, 0);
        return EXIT_FAILED;
    }
    if (!no_page)
        start_page(&demo);
    if (screen)
        watch_on_screen(&demo);
    else
        watch_in_lines(&demo);
    int status = end_game(&demo);
    look_close(&demo.look);
    close(demo.talk);
    return status;
}

static const struct option_spec options[] = {
    {'s', "seconds", OPTION_NUMBER, "N", &seconds, 1, 86400,
     "end after this time (default: on a terminal with q, else after 10 s)"},
    {'i', "inject", OPTION_TEXT, "FAULT", &inject, 0, 0,
     "break something after two seconds; `--inject list` lists the faults"},
    {0, "sick", OPTION_TEXT, "ILLNESS", &sick, 0, 0,
     "instead: a small program without Vigil that hangs, and what `vigil doctor`\nsays of it; `--sick list` lists the "
     "illnesses"},
    {'r', "recover", OPTION_FLAG, NULL, &recover, 0, 0, "let the watchdog act on what it finds"},
    {'p', "plain", OPTION_FLAG, NULL, &plain, 0, 0, "lines of text, also on a terminal"},
    {0, "no-page", OPTION_FLAG, NULL, &no_page, 0, 0, "do not serve the page"},
    {0},
};

const struct command command_demo = {
    .name = "demo",
    .operands = "",
    .summary = "a small game server to look at; can be broken on purpose",
    .text = "Runs a game server in miniature: a thousand bots in five classes on 33 workers, twenty turns a second, a "
            "raid every\n"
            "two seconds, savers that block, battles that fork and join, and a loop with timers and a socket. On a "
            "terminal\n"
            "it shows `vigil top` of it, elsewhere a line a second; the page is served all the time. At the end it "
            "compares what\n"
            "was handed over with what ran.\n\n"
            "With --inject something breaks, and the watchdog says what: that is the exit status (0: the right verdict "
            "came;\n"
            "with --recover, and, where the watchdog can act, it was healed). Without a terminal and\n"
            "--seconds it ends a second after that.",
    .examples = "  vigil demo\n"
                "  vigil demo --inject lost-wakeup --recover\n"
                "  vigil demo --inject hog --seconds 6 | cat\n"
                "  vigil demo --sick abba",
    .options = options,
    .run = demo_run,
};
