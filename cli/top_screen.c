/* SPDX-License-Identifier: MIT */
/*
 * The live view. One look per interval, one screen per look; ncurses sends only what differs. The screen is built from
 * the top: head, warnings, then the chosen pool with its classes, then loops, and the rest belongs to the workers'
 * lanes, in as many columns as are needed and fit; what does not fit can be scrolled to.
 */
#define _GNU_SOURCE
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <vigil/loop.h>
#include <vigil/pool.h>

#include "command.h"
#include "kinds.h"
#include "lanes.h"
#include "say.h"
#include "streams.h"
#include "top.h"
#include "top_pen.h"
#include "top_views.h"
#include "view_text.h"

struct screen {
    struct look *look;
    const struct top_options *options;
    struct lanes lanes;
    struct top_views views;
    unsigned pool;   /* which one is shown */
    unsigned scroll; /* first row of lanes */
    bool paused, help, utf8;
    int row;
    int lane_rows; /* that are shown */
    unsigned lane_rows_needed;
};

static double rate(uint64_t now, uint64_t before, double seconds)
{
    return seconds > 0 && now > before ? (double)(now - before) / seconds : 0;
}

/* ---- the parts --------------------------------------------------------------------------------------------------- */

static void draw_head(struct screen *s)
{
    const vg_snapshot *now = s->look->now;
    static const char *const keys[] = {"q quit  t threads  f functions  s streams  j jobs  ? help", "q quit  ? help"};
    char program[64], up[WORDS], version[33];
    const char *state = look_state(now);
    clean_text(version, sizeof version, now->library, sizeof now->library, false);
    top_pen(A_BOLD);
    top_go_to(0, 0);
    top_put("%s %d", look_program(now, program, sizeof program), (int)now->pid);
    top_pen(top_ink(strcmp(state, "running") == 0 ? COLOUR_GOOD : COLOUR_BAD) | A_BOLD);
    top_put("  %s", state);
    top_pen(A_NORMAL);
    top_put("  up %s  vigil %s", words_ago(up, now->age_ns), version);
    if (s->paused)
        top_put("  PAUSED");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) { /* as many as there is room for */
        if (getcury(stdscr) != 0 || (int)strlen(keys[i]) + getcurx(stdscr) + 2 >= COLS)
            continue;
        mvaddstr(0, COLS - (int)strlen(keys[i]) - 1, keys[i]);
        break;
    }
    s->row = 1;
}

static void draw_warnings(struct screen *s)
{
    const vg_snapshot *now = s->look->now;
    unsigned shown = 0, more = 0;
    for (size_t i = 0; i < now->verdict_count; i++) {
        const vg_verdict_view *v = &now->verdicts[i];
        char reason[sizeof v->reason + 1], advice[sizeof v->advice + 1];
        if (v->over)
            continue;
        if (shown == 3 || s->row + 2 >= LINES) {
            more++;
            continue;
        }
        shown++;
        clean_text(reason, sizeof reason, v->reason, sizeof v->reason, false);
        clean_text(advice, sizeof advice, v->advice, sizeof v->advice, false);
        top_pen(top_ink(v->severity >= 2 ? COLOUR_BAD : COLOUR_WARN) | A_BOLD);
        top_go_to(s->row, 0);
        top_put("%s %s ", severity_name(v->severity), stall_name(v->kind));
        top_pen(A_NORMAL);
        top_put("%s", reason);
        s->row++;
        if (advice[0] != '\0')
            mvaddnstr(s->row++, 2, advice, COLS - 2);
    }
    if (more == 0 && shown > 0)
        return;
    top_go_to(s->row++, 0);
    if (more > 0)
        top_put("and %u more: vigil report %d", more, (int)now->pid);
    else if (now->watch_age_ns == UINT64_MAX)
        top_put("no watchdog in that process: nothing is judged");
    else if (now->verdict_count > 0)
        top_put("no warnings now; %zu before: vigil report %d", now->verdict_count, (int)now->pid);
    else
        top_put("no warnings");
}

static void draw_classes(struct screen *s, const vg_pool_view *pool)
{
    struct look *look = s->look;
    const vg_pool_view *past = pool_in(look->past, pool->serial);
    double seconds = past != NULL ? seconds_between(look->past, look->now) : 0;
    struct crowd crowd = pool_crowd(pool);
    char name[17], n[8][WORDS];
    clean_text(name, sizeof name, pool->name, sizeof pool->name, false);
    top_go_to(++s->row, 0);
    top_pen(A_BOLD);
    top_put("pool %s", name);
    top_pen(A_NORMAL);
    if (look->now->pool_count > 1)
        top_put(" (%u of %zu, tab: next)", s->pool + 1, look->now->pool_count);
    uint64_t tried = past != NULL ? pool->steals_tried - past->steals_tried : 0,
             won = past != NULL ? pool->steals_won - past->steals_won : 0;
    words_rate(n[0], past != NULL ? rate(pool->total.completed, past->total.completed, seconds) : 0);
    top_put(COLS < WIDE ? " %s tasks/s  %u threads: %u run %u search %u park %u block"
                        : "  %s tasks/s  %u threads  %u running  %u searching  %u parked  %u blocked",
            n[0], crowd.threads, crowd.running, crowd.searching, crowd.parked, crowd.blocked);
    if (COLS >= WIDE)
        top_put("  %s wakes/s  steals %.0f %%",
                words_rate(n[1], past != NULL ? rate(pool->wakes_sent, past->wakes_sent, seconds) : 0),
                tried > 0 ? 100.0 * (double)won / (double)tried : 0.0);
    s->row++;
    top_pen(A_UNDERLINE);
    top_go_to(s->row++, 0);
    top_put("%-9s %7s %7s %8s %7s %7s %7s %7s %7s", "class", "queued", "running", "done/s", "wait50", "wait99", "run50",
            "run99", "oldest");
    top_pen(A_NORMAL);
    vg_hist_view *since = malloc(2 * sizeof *since);
    for (unsigned i = 0; i < VG_FILE_CLASSES && since != NULL && s->row < LINES; i++) {
        const vg_class_view *c = &pool->of[i];
        memset(since, 0, 2 * sizeof *since);
        if (past != NULL) {
            vg_hist_since(&since[0], &pool->wait[i], &past->wait[i]);
            vg_hist_since(&since[1], &pool->run[i], &past->run[i]);
        }
        top_pen(top_ink(COLOUR_CLASS + (int)i));
        top_go_to(s->row, 0);
        top_put("%-9s", class_name(i));
        top_pen(A_NORMAL);
        top_put(" %7s %7s %8s %7s %7s %7s %7s %7s", words_count(n[0], c->queued), words_count(n[1], c->running),
                words_rate(n[2], past != NULL ? rate(c->completed, past->of[i].completed, seconds) : 0),
                words_ns(n[3], vg_hist_quantile(&since[0], 0.5)), words_ns(n[4], vg_hist_quantile(&since[0], 0.99)),
                words_ns(n[5], vg_hist_quantile(&since[1], 0.5)), words_ns(n[6], vg_hist_quantile(&since[1], 0.99)),
                words_ns(n[7], c->oldest_age_ns));
        s->row++;
    }
    free(since);
}

static void draw_loops(struct screen *s)
{
    struct look *look = s->look;
    for (size_t i = 0; i < look->now->loop_count && s->row + 3 < LINES; i++) {
        const vg_loop_view *loop = &look->now->loops[i], *past = loop_in(look->past, loop->serial);
        double seconds = past != NULL ? seconds_between(look->past, look->now) : 0;
        char name[33], words[256], n[3][WORDS];
        clean_text(name, sizeof name, loop->name, sizeof loop->name, false);
        loop_words(look, loop, words, sizeof words);
        if (i == 0)
            s->row++;
        top_pen(A_BOLD);
        top_go_to(s->row, 0);
        top_put("loop %s", name);
        top_pen(A_NORMAL);
        top_put("  %s", words);
        if (++s->row >= LINES)
            return;
        top_go_to(s->row, 2);
        top_put("%s turns/s  busy %.1f %%  %s posts queued  %s timers ",
                words_rate(n[0], past != NULL ? rate(loop->turns, past->turns, seconds) : 0),
                past != NULL ? rate(loop->work_ns, past->work_ns, seconds) / 1e7 : 0.0,
                words_count(n[1], loop->posts_queued), words_count(n[2], loop->timers_active));
        for (unsigned phase = VIGIL_PHASE_INTERNAL; phase < VIGIL_PHASES && past != NULL; phase++) {
            double share = rate(loop->phase_ns[phase], past->phase_ns[phase], seconds) / 1e7;
            if (share >= 0.05 && getcurx(stdscr) + 20 < COLS)
                top_put(" %s %.1f %%", vg_loop_phase_name(phase), share);
        }
        s->row++;
        streams_total(loop, words, sizeof words);
        if (words[0] != '\0' && s->row + 3 < LINES) {
            top_go_to(s->row++, 2);
            top_put("%s (key s)", words);
        }
    }
}

static void draw_cell(const struct screen *s, const struct lane_cell *cell)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char signs[] = " .:-=+*#@";
    if (cell == NULL) {
        addch(' ');
        return;
    }
    /* Height: what was not idle. Colour: what most of that was. A letter for what colour alone would not tell. */
    unsigned share = cell->run + cell->block;
    attr_t colour = top_ink(cell->class_ >= 0 ? COLOUR_CLASS + cell->class_ : COLOUR_CLASS + 2);
    if (cell->block > 50 || (cell->search > share && cell->search >= 10)) {
        top_pen(top_ink(cell->block > 50 ? COLOUR_BLOCK : COLOUR_SEARCH));
        addch(cell->block > 50 ? 'b' : '~');
        top_pen(A_NORMAL);
        return;
    }
    if (cell->block > cell->run)
        colour = top_ink(COLOUR_BLOCK);
    unsigned level = share == 0 ? 0 : 1 + (share * 7 + 99) / 100;
    if (level > 8)
        level = 8;
    top_pen(colour);
    if (s->utf8)
        addstr(blocks[level]);
    else
        addch((chtype)signs[level]);
    top_pen(A_NORMAL);
}

static void draw_lanes(struct screen *s, const vg_pool_view *pool)
{
    int bottom = LINES - (s->options->note != NULL ? 1 : 0);
    int room = bottom - s->row - 1;
    size_t workers = 0;
    for (size_t i = 0; i < pool->worker_count; i++)
        workers += pool->workers[i].tid != 0;
    if (room < 1 || workers == 0)
        return;
    /* As many columns as it takes to show all, each at least 38 wide. */
    int columns = (int)((workers + (size_t)room - 1) / (size_t)room);
    int most = COLS / 38 > 0 ? COLS / 38 : 1;
    columns = columns > most ? most : columns;
    int width = COLS / columns, text = width >= 60 ? 26 : 15;
    unsigned rows = (unsigned)(workers + (size_t)columns - 1) / (unsigned)columns;
    s->lane_rows_needed = rows;
    s->lane_rows = room;
    if (s->scroll + (unsigned)room > rows)
        s->scroll = rows > (unsigned)room ? rows - (unsigned)room : 0;
    top_pen(A_UNDERLINE);
    top_go_to(s->row, 0);
    top_put("workers");
    top_pen(A_NORMAL);
    top_put(COLS < WIDE ? "  a cell is %u ms, its height the time not idle; b blocked"
                        : "  a cell is %u ms; height: time not idle; colour: class; b blocked; ~ looks for work",
            s->options->interval_ms);
    if (rows > (unsigned)room)
        top_put("  (rows %u-%u of %u, arrows scroll)", s->scroll + 1, s->scroll + (unsigned)room, rows);
    size_t at = 0;
    for (size_t i = 0; i < pool->worker_count; i++) {
        const vg_worker_view *w = &pool->workers[i];
        if (w->tid == 0)
            continue;
        unsigned place = (unsigned)(at % rows), column = (unsigned)(at / rows);
        at++;
        if (place < s->scroll || place >= s->scroll + (unsigned)room)
            continue;
        int y = s->row + 1 + (int)(place - s->scroll), x = (int)column * width;
        int cells = width - 4 - text - 2;
        top_go_to(y, x);
        top_put(w->spare ? "s%-2u" : "%3u", w->spare ? w->index - VIGIL_MAX_WORKERS : w->index);
        addch(' ');
        for (int c = cells - 1; c >= 0; c--)
            draw_cell(s, lanes_cell(&s->lanes, w->index, (unsigned)c));
        char words[NAME_ROOM + 64], name[NAME_ROOM], since[WORDS];
        bool long_task = w->in_task && w->task_age_ns > 1000000000;
        if (w->in_task)
            snprintf(words, sizeof words, "%s%s%s %s", look_name(s->look, w->task_function, name),
                     w->label[0] != '\0' ? " " : "", w->label, words_ns(since, w->task_age_ns));
        else
            snprintf(words, sizeof words, "%s", vg_worker_state_name(w->state));
        top_pen(long_task ? top_ink(COLOUR_BAD) | A_BOLD : w->in_task ? A_NORMAL : A_DIM);
        mvaddnstr(y, x + 4 + cells + 1, words, text);
        top_pen(A_NORMAL);
    }
}

static void draw_help(void)
{
    static const char *const lines[] = {
        "q        quit",
        "p space  pause and go on",
        "tab      next pool",
        "t f s    threads: CPU, and what each waits for; functions that take the time; streams; again: back",
        "j        queues of jobs: kinds, hosts, runs, dead letters, schedules; again: back",
        "arrows   scroll the lanes (page up and down too)",
        "?        this help",
        "",
        "queued   accepted and not started        done/s   tasks that ended, in the last second",
        "wait     from submit to start            run      from start to end",
        "50, 99   median, and what one in a hundred exceeds, of the last second",
        "oldest   how long the oldest queued task has waited",
        "",
        "vigil report PID says what is wrong, with evidence and advice.",
    };
    for (int i = 0; i < (int)(sizeof lines / sizeof lines[0]) && i + 2 < LINES; i++)
        mvaddnstr(2 + i, 2, lines[i], COLS - 2);
}

static void draw(struct screen *s)
{
    const vg_snapshot *now = s->look->now;
    erase();
    draw_head(s);
    if (s->help) {
        draw_help();
    } else {
        draw_warnings(s);
    }
    if (!s->help && s->views.view != TOP_LANES) {
        top_views_draw(&s->views, now, s->row, LINES - (s->options->note != NULL ? 1 : 0), &s->scroll, &s->lane_rows);
    } else if (!s->help) {
        if (s->pool >= now->pool_count)
            s->pool = 0;
        if (now->pool_count > 0)
            draw_classes(s, &now->pools[s->pool]);
        draw_loops(s);
        s->row = top_views_summaries(&s->views, s->row);
        if (now->pool_count > 0 && s->row + 2 < LINES) {
            s->row++;
            draw_lanes(s, &now->pools[s->pool]);
        }
        if (now->pool_count + now->loop_count == 0)
            mvaddstr(s->row + 1, 0, "no pool and no loop");
    }
    if (s->options->note != NULL)
        mvaddnstr(LINES - 1, 0, s->options->note, COLS - 1);
    refresh();
}

/* ---- keys and time ----------------------------------------------------------------------------------------------- */

/* true: end. */
static bool key(struct screen *s, int pressed)
{
    unsigned page = s->lane_rows > 1 ? (unsigned)s->lane_rows : 1;
    switch (pressed) {
    case 'q':
    case 'Q':
    case 3: /* ctrl-c */
        return true;
    case 'p':
    case ' ':
        s->paused = !s->paused;
        break;
    case '?':
    case 'h':
        s->help = !s->help;
        break;
    case '\t':
        s->pool++;
        break;
    case 't':
    case 'f':
    case 's':
    case 'j': {
        const enum top_view asked = pressed == 't'   ? TOP_THREADS
                                    : pressed == 'f' ? TOP_FUNCTIONS
                                    : pressed == 's' ? TOP_STREAMS
                                                     : TOP_QUEUES;
        s->views.view = s->views.view == asked ? TOP_LANES : asked;
        s->scroll = 0;
        s->help = false;
        top_views_look(&s->views, s->look);
        break;
    }
    case KEY_DOWN:
        s->scroll++;
        break;
    case KEY_UP:
        s->scroll -= s->scroll > 0;
        break;
    case KEY_NPAGE:
        s->scroll += page;
        break;
    case KEY_PPAGE:
        s->scroll -= s->scroll > page ? page : s->scroll;
        break;
    default:
        break;
    }
    return false;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int top_screen(struct look *look, const struct top_options *options)
{
    struct screen s = {.look = look, .options = options, .views = {.view = options->view, .queues = options->queues}};
    setlocale(LC_CTYPE, "");
    s.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    SCREEN *terminal = newterm(NULL, stdout, stdin);
    if (terminal == NULL) {
        const char *term = getenv("TERM");
        say_error("top: the terminal type '%s' is unknown here; set TERM, or pipe the output for plain text",
                  term != NULL ? term : "");
        return EXIT_FAILED;
    }
    top_colours_begin();
    raw(); /* ctrl-c is a key here, so that the terminal is always given back */
    noecho();
    keypad(stdscr, TRUE);
    curs_set(0);
    int status = EXIT_FINE, error = 0;
    int64_t next = now_ms();
    unsigned looks = 0;
    for (;;) {
        int64_t left = next - now_ms();
        timeout(left > 0 ? (int)left : 0);
        int pressed = getch();
        if (pressed != ERR) {
            if (key(&s, pressed))
                break;
            draw(&s);
            continue;
        }
        if (now_ms() < next)
            continue;
        next = now_ms() + options->interval_ms;
        if (options->over != NULL && options->over(options->user))
            break;
        if (!s.paused && look->now->alive) {
            error = look_again(look);
            if (error < 0)
                break;
            if (look->now->pool_count > 0)
                lanes_add(&s.lanes, look, &look->now->pools[s.pool < look->now->pool_count ? s.pool : 0]);
            top_views_look(&s.views, look);
            looks++;
        }
        draw(&s);
        if ((options->looks > 0 && looks >= options->looks) || (options->end_with_it && !look->now->alive))
            break;
    }
    endwin();
    delscreen(terminal);
    lanes_free(&s.lanes);
    top_views_free(&s.views);
    if (error < 0) {
        say_error("top: the record cannot be read any more: %s", strerror(-error));
        status = EXIT_FAILED;
    }
    return status;
}
