/* SPDX-License-Identifier: MIT */
/* vigil-bench: reads the words, walks over benches, cases, repetitions and peers, in this order from the outside in. */
#include "driver.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: vigil-bench [options]\n"
    "\n"
    "Measures Vigil and the peers that are installed, side by side, and says who won.\n"
    "\n"
    "  --list             what can be measured, how, and which peers are here; measures nothing\n"
    "  --only A,B         these benches (names from --list, or a family: pool, loop)\n"
    "  --peers A,B        these peers; vigil is one of them\n"
    "  --workers A,B      these numbers of workers instead of the usual ones\n"
    "  --producers A,B    these numbers of producers instead of the usual ones\n"
    "  --reps N           repetitions of each (default 5; --quick: 3); the table shows medians\n"
    "  --quick            fewer operations and repetitions: a look, not a measurement\n"
    "  --calm             repeat a repetition while others use more than 5 % of the machine (for machines that are "
    "shared)\n"
    "  --recorder         our own rows a second time with the recorder off, in turns with the others; shown as floors\n"
    "  --smoke            one repetition of next to nothing: does each peer work?\n"
    "  --json FILE        write the medians as JSON too; '-' is the standard output (the table then goes to stderr)\n"
    "  --help             this text\n"
    "\n"
    "How it measures: each repetition is a fresh process. The peers take turns within a repetition (a b c, a b c, "
    "...), so\n"
    "that whatever else the machine does meets all of them. Read ratios within a table; numbers from different runs "
    "or\n"
    "machines do not compare. A row marked 'floor' is what the machine itself costs, not a competitor.\n"
    "\n"
    "Examples:\n"
    "  vigil-bench --quick                                   everything, roughly\n"
    "  vigil-bench --only pool-submit --peers vigil,mutex    one bench, two peers\n"
    "  vigil-bench --only pool-wake --reps 9 --json wake.json\n";

bool in_list(const char *list, const char *name)
{
    if (!list)
        return true;
    const size_t length = strlen(name);
    for (const char *word = list; *word;) {
        const size_t span = strcspn(word, ", ");
        if (span == length && memcmp(word, name, length) == 0)
            return true;
        word += span;
        word += strspn(word, ", ");
    }
    return false;
}

static _Noreturn void refuse(const char *what, const char *value)
{
    fprintf(stderr, "vigil-bench: %s '%s'; vigil-bench --help lists what there is\n", what, value);
    exit(2);
}

static unsigned number(const char *text, unsigned most, const char *option)
{
    char *end;
    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    if (errno || end == text || *end || value == 0 || value > most) {
        fprintf(stderr, "vigil-bench: %s takes numbers from 1 to %u, not '%s'\n", option, most, text);
        exit(2);
    }
    return (unsigned)value;
}

static struct number_set number_list(const char *text, const char *option)
{
    struct number_set set = {0};
    char *copy = strdup(text), *rest = copy;
    for (char *word; copy && (word = strsep(&rest, ",")) != NULL;) {
        if (set.count == BENCH_MAX_SET)
            refuse("too many numbers in", text);
        set.values[set.count++] = number(word, 1024, option);
    }
    free(copy);
    return set;
}

static bool bench_wanted(const struct options *options, const struct bench_family *family,
                         const struct bench_def *bench)
{
    return in_list(options->only, bench->name) || in_list(options->only, family->name);
}

/* A misspelt name must not measure nothing in silence. */
static void check_names(const struct options *options)
{
    for (int which = 0; which < 2; which++) {
        const char *list = which ? options->peers : options->only;
        char *copy = list ? strdup(list) : NULL, *rest = copy;
        for (char *word; copy && (word = strsep(&rest, ",")) != NULL;) {
            bool known = false;
            for (const struct bench_family *const *f = bench_families; *f; f++) {
                if (which == 0)
                    known = known || strcmp((*f)->name, word) == 0;
                for (const struct bench_def *b = (*f)->benches; which == 0 && b->name; b++)
                    known = known || strcmp(b->name, word) == 0;
                for (const struct bench_peer *p = (*f)->peers; which == 1 && p->name; p++)
                    known = known || strcmp(p->name, word) == 0;
            }
            if (!known) {
                fprintf(stderr, "vigil-bench: there is no %s '%s'; vigil-bench --list names them\n",
                        which ? "peer" : "bench", word);
                exit(2);
            }
        }
        free(copy);
    }
}

static void list_all(const struct options *options)
{
    for (const struct bench_family *const *f = bench_families; *f; f++) {
        printf("family %s\n\nbenches:\n", (*f)->name);
        for (const struct bench_def *b = (*f)->benches; b->name; b++) {
            printf("  %s: %s\n    %s\n    cases:", b->name, b->what, b->long_);
            for (const struct bench_case *c = b->cases; c->workers || c->producers; c++) {
                printf(" (workers %u, producers %u", c->workers, c->producers);
                if (b->param)
                    printf(", %s %ld", b->param, c->param);
                printf(")");
            }
            printf("\n    n: %ld, quick %ld\n    peers: %s\n\n", b->n, b->n_quick, b->peers);
        }
        printf("peers:\n");
        for (const struct bench_peer *p = (*f)->peers; p->name; p++) {
            const bool here = peer_exists(options, (*f)->name, p);
            printf("  %-10s %s", p->name, p->what);
            if (!here)
                printf("; not built%s%s", p->package[0] ? ", comes with " : "", p->package);
            printf("\n");
        }
        printf("\n");
    }
}

static void say_missing(const struct options *options)
{
    for (const struct bench_family *const *f = bench_families; *f; f++) {
        for (const struct bench_peer *p = (*f)->peers; p->name; p++) {
            bool wanted = false;
            for (const struct bench_def *b = (*f)->benches; b->name; b++)
                wanted = wanted || (bench_wanted(options, *f, b) && in_list(b->peers, p->name));
            if (wanted && in_list(options->peers, p->name) && !peer_exists(options, (*f)->name, p))
                fprintf(stderr, "left out: %s (%s) was not built; %s%s%s\n", p->name, p->what,
                        p->package[0] ? "install " : "", p->package[0] ? p->package : "it needs no package:",
                        p->package[0] ? " and build again" : " build everything, and see what the build says");
        }
    }
}

static void progress(const struct bench_def *bench, const struct bench_case *at, unsigned rep, unsigned reps,
                     const char *peer)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K%s workers %u producers %u: repetition %u of %u, %s", bench->name, at->workers,
                at->producers, rep + 1, reps, peer);
    else if (rep == 0 && peer[0] == '\0')
        fprintf(stderr, "%s workers %u producers %u, %u repetitions\n", bench->name, at->workers, at->producers, reps);
}

enum {
    MAX_OURS = 8 /* of one bench */
};

static void measure(const struct options *options, const struct bench_family *family, const struct bench_def *bench,
                    const struct bench_case *at, FILE *table, FILE *json)
{
    struct result result = {.bench = bench, .at = *at};
    struct bench_peer off[MAX_OURS]; /* our rows with the recorder off */
    char off_names[MAX_OURS][32];
    unsigned offs = 0;
    for (const struct bench_peer *p = family->peers; p->name; p++)
        result.sample_count++;
    result.samples = calloc(result.sample_count + MAX_OURS, sizeof *result.samples);
    if (!result.samples) {
        fprintf(stderr, "vigil-bench: no memory for the samples\n");
        exit(1);
    }
    result.sample_count = 0;
    for (const struct bench_peer *p = family->peers; p->name; p++) {
        if (!in_list(bench->peers, p->name) || !in_list(options->peers, p->name) ||
            !peer_exists(options, family->name, p))
            continue;
        struct sample *sample = &result.samples[result.sample_count++];
        sample->peer = sample->program = p;
        if (!options->recorder || p->role != BENCH_OURS || offs == MAX_OURS)
            continue;
        snprintf(off_names[offs], sizeof off_names[offs], "%s, off", p->name);
        off[offs] = (struct bench_peer){off_names[offs], p->what, p->package, BENCH_FLOOR};
        sample = &result.samples[result.sample_count++];
        sample->peer = &off[offs++];
        sample->program = p;
    }

    progress(bench, at, 0, options->reps, "");
    for (unsigned rep = 0; rep < options->reps; rep++) {
        for (size_t s = 0; s < result.sample_count; s++) {
            struct sample *sample = &result.samples[(s + rep) % result.sample_count]; /* nobody is always after X */
            progress(bench, at, rep, options->reps, sample->peer->name);
            run_once(options, family->name, bench, at, sample);
        }
    }
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
    if (result.sample_count) {
        summarise(&result);
        print_table(table, &result);
        fflush(table);
        if (json)
            json_result(json, &result);
    }
    free(result.samples);
}

/* The catalog's cases with the numbers of the command line put in; each combination once. */
static size_t cases_of(const struct options *options, const struct bench_def *bench, struct bench_case *cases,
                       size_t room)
{
    size_t count = 0;
    for (const struct bench_case *c = bench->cases; c->workers || c->producers; c++) {
        const size_t worker_numbers = c->workers && options->workers.count ? options->workers.count : 1;
        const size_t producer_numbers = c->producers && options->producers.count ? options->producers.count : 1;
        for (size_t w = 0; w < worker_numbers; w++) {
            for (size_t p = 0; p < producer_numbers; p++) {
                struct bench_case one = *c;
                if (c->workers && options->workers.count)
                    one.workers = options->workers.values[w];
                if (c->producers && options->producers.count)
                    one.producers = options->producers.values[p];
                bool again = false;
                for (size_t i = 0; i < count; i++)
                    again = again || (cases[i].workers == one.workers && cases[i].producers == one.producers &&
                                      cases[i].param == one.param);
                if (!again && count < room)
                    cases[count++] = one;
            }
        }
    }
    return count;
}

static void parse_words(int argc, char **argv, struct options *options, bool *list)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            fputs(help, stdout);
            exit(0);
        } else if (strcmp(word, "--list") == 0) {
            *list = true;
            continue;
        } else if (strcmp(word, "--quick") == 0) {
            options->quick = true;
            continue;
        } else if (strcmp(word, "--calm") == 0) {
            options->calm = true;
            continue;
        } else if (strcmp(word, "--recorder") == 0) {
            options->recorder = true;
            continue;
        } else if (strcmp(word, "--smoke") == 0) {
            options->smoke = true;
            continue;
        }
        if (strcmp(word, "--only") != 0 && strcmp(word, "--peers") != 0 && strcmp(word, "--json") != 0 &&
            strcmp(word, "--reps") != 0 && strcmp(word, "--workers") != 0 && strcmp(word, "--producers") != 0)
            refuse("there is no option", word);
        if (!value)
            refuse("a value is missing after", word);
        i++;
        if (strcmp(word, "--only") == 0)
            options->only = value;
        else if (strcmp(word, "--peers") == 0)
            options->peers = value;
        else if (strcmp(word, "--json") == 0)
            options->json = value;
        else if (strcmp(word, "--reps") == 0)
            options->reps = number(value, BENCH_MAX_REPS, word);
        else if (strcmp(word, "--workers") == 0)
            options->workers = number_list(value, word);
        else
            options->producers = number_list(value, word);
    }
}

int main(int argc, char **argv)
{
    struct options options = {0};
    bool list = false;
    parse_words(argc, argv, &options, &list);
    if (options.reps == 0)
        options.reps = options.smoke ? 1 : options.quick ? 3 : 5;
    char self[4000];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) {
        fprintf(stderr, "vigil-bench: cannot find my own place, and the peers lie beside it: %s\n", strerror(errno));
        return 1;
    }
    self[length] = '\0';
    snprintf(options.peer_dir, sizeof options.peer_dir, "%s/peers", dirname(self));
    if (list) {
        list_all(&options);
        return 0;
    }
    check_names(&options);
    say_missing(&options);

    FILE *table = stdout, *json = NULL;
    if (options.json && strcmp(options.json, "-") == 0) {
        table = stderr;
        json = stdout;
    } else if (options.json && !(json = fopen(options.json, "w"))) {
        fprintf(stderr, "vigil-bench: cannot write %s: %s\n", options.json, strerror(errno));
        return 1;
    }
    double load = 0;
    if (getloadavg(&load, 1) == 1 && load > 0.5)
        fprintf(stderr, "note: the machine is busy (load %.1f): read ratios, and repeat on a quiet one\n", load);
    if (json)
        json_begin(json);
    for (const struct bench_family *const *f = bench_families; *f; f++) {
        for (const struct bench_def *bench = (*f)->benches; bench->name; bench++) {
            if (!bench_wanted(&options, *f, bench))
                continue;
            struct bench_case cases[1024];
            const size_t count = cases_of(&options, bench, cases, sizeof cases / sizeof *cases);
            for (size_t c = 0; c < count; c++)
                measure(&options, *f, bench, &cases[c], table, json);
        }
    }
    if (json) {
        json_end(json);
        if (fflush(json) != 0 || (json != stdout && fclose(json) != 0)) {
            fprintf(stderr, "vigil-bench: cannot write %s: %s\n", options.json, strerror(errno));
            return 1;
        }
    }
    return 0;
}
