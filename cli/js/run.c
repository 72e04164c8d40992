/* SPDX-License-Identifier: MIT */
/* vigil run FILE, vigil run -e CODE, vigil run - : JavaScript on Vigil's loop and pool. */
#include "run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vigil/js.h>

#include "watch.h"

static void usage(FILE *to)
{
    (void)fputs(
        "Usage: vigil run [options] FILE [arguments]\n"
        "       vigil run [options] -e CODE [arguments]\n"
        "       vigil run [options] - [arguments]      the program comes from standard input\n"
        "       vigil run [options] --test [FILE, FOLDER or PATTERN...]\n"
        "\n"
        "  -e, --eval CODE      run this text\n"
        "  -p, --print CODE     run this text and print its value\n"
        "  -r, --require FILE   load this first; may come again\n"
        "  --input-type TYPE    what a text of -e or standard input is: module or commonjs\n"
        "  --env-file FILE      set what the file says (NAME=value lines) and the environment does not; may "
        "come again\n"
        "  --test               run files of tests (node:test), each in a process of its own; without words\n"
        "                       those that are named as tests (x.test.js, test-x.js, test/x.js, ...)\n"
        "  --test-reporter NAME tap or spec (default: spec on a terminal)\n"
        "  --test-concurrency N files at a time (default: one less than there are processors)\n"
        "  --watch              start FILE again when a file that it has loaded changes\n"
        "  --unhandled-rejections=MODE   throw (default), strict, warn, none or warn-with-error-code, as in Node\n"
        "  --no-warnings, --trace-warnings, --no-deprecation, --trace-deprecation, --throw-deprecation,\n"
        "  --pending-deprecation, --expose-gc, --title=TEXT, --tls-min-v1.N, --tls-max-v1.N, --tls-cipher-list=LIST\n"
        "                       as in Node\n"
        "  --stall MS           say so when a callback runs for MS milliseconds (default 5000; 0: never)\n"
        "  --end-stalls         and end it; the next callback runs\n"
        "  --memory MB          end the program when its JavaScript heap has grown to MB\n"
        "  --no-module-cache    keep no rewritten ES modules in the user's cache folder, and take none from there\n"
        "  --workers N          threads for blocking work (default: at least 4)\n"
        "\n"
        "Examples\n"
        "  vigil run server.js --port 80           a file, and words for it\n"
        "  vigil run --stall 200 --end-stalls x.js  name and end what does not return\n",
        to);
}

static int wrong(const char *what, const char *word)
{
    (void)fprintf(stderr, "vigil run: %s%s%s; see vigil run --help\n", what, word ? " " : "", word ? word : "");
    return 9;
}

static char *read_input(size_t *length)
{
    size_t room = 65536, used = 0, got;
    char *text = malloc(room);
    while (text && (got = fread(text + used, 1, room - used, stdin)) > 0) {
        used += got;
        if (used == room) {
            char *more = realloc(text, room *= 2);
            if (!more)
                free(text);
            text = more;
        }
    }
    *length = used;
    return text;
}

/* A number of at most `most`; -1: it is none. */
static long number(const char *word, long most)
{
    char *end;
    long value = word && *word ? strtol(word, &end, 10) : -1;
    return value >= 0 && *end == 0 && value <= most ? value : -1;
}

typedef struct request {
    vigil_js_options js;
    long workers;
    const char *code;
    const char *env_files[8];
    unsigned env_count;
    const char *reporter;
    long concurrency;
    bool print, test, watch;
    bool watched;          /* by another process, which wants to know what is loaded: watch.c */
    bool test_child;       /* results go to descriptor 3, as JSON: lib/test_report.js */
    const char *words[32]; /* options that JavaScript carries out: lib/run_options.js */
    unsigned word_count;
    const char *first[16]; /* what is loaded before the program */
    unsigned first_count;
    const char *input_type;
    int rest; /* the first word that is the program's */
} request;

static bool is_one_of(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

/* Options of Node that lib/run_options.js carries out, and what is loaded first. Returns how many words it took;
   0: it is none of them; -1: its value is missing, or there are too many. */
static int parse_shared(char **argv, int i, int argc, request *it)
{
    static const char *const simple[] = {
        "--no-warnings",         "--no-deprecation", "--throw-deprecation", "--trace-warnings", "--trace-deprecation",
        "--pending-deprecation", "--expose-gc",      "--expose_gc",         "--tls-min-v1.0",   "--tls-min-v1.1",
        "--tls-min-v1.2",        "--tls-min-v1.3",   "--tls-max-v1.2",      "--tls-max-v1.3",   NULL};
    const char *word = argv[i], *value = strchr(word, '=');
    int took = 1;
    if (is_one_of(word, simple) || strncmp(word, "--unhandled-rejections=", 23) == 0 ||
        strncmp(word, "--title=", 8) == 0 || strncmp(word, "--tls-cipher-list=", 18) == 0) {
        if (it->word_count == sizeof it->words / sizeof *it->words)
            return -1;
        it->words[it->word_count++] = word;
        return 1;
    }
    if (strcmp(word, "-r") == 0 || strcmp(word, "--require") == 0 || strcmp(word, "--input-type") == 0) {
        value = i + 1 < argc ? argv[i + 1] : NULL;
        took = 2;
    } else if (strncmp(word, "--require=", 10) == 0 || strncmp(word, "--input-type=", 13) == 0) {
        value++;
    } else {
        return 0;
    }
    if (!value || (word[2] != 'i' && it->first_count == sizeof it->first / sizeof *it->first))
        return -1;
    if (strncmp(word, "--input-type", 12) == 0)
        it->input_type = value;
    else
        it->first[it->first_count++] = value;
    return took;
}

/* 0; otherwise the exit status to end with. */
static int parse(int argc, char **argv, request *it)
{
    int i;
    for (i = 1; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        long amount;
        if (strcmp(word, "--") == 0) {
            i++;
            break;
        }
        if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
            usage(stdout);
            return -1;
        }
        if (strcmp(word, "--end-stalls") == 0) {
            it->js.end_stalls = true;
            continue;
        }
        if (strcmp(word, "--test") == 0 || strcmp(word, "--test-child") == 0) {
            *(word[6] ? &it->test_child : &it->test) = true;
            continue;
        }
        if (strcmp(word, "--watch") == 0 || strcmp(word, "--watch-child") == 0) {
            *(word[7] ? &it->watched : &it->watch) = true;
            continue;
        }
        if (strcmp(word, "--no-module-cache") == 0) {
            it->js.module_cache = false;
            continue;
        }
        amount = parse_shared(argv, i, argc, it);
        if (amount < 0)
            return wrong("a value is missing, or there are too many of", word);
        if (amount > 0) {
            i += (int)amount - 1;
            continue;
        }
        if (strncmp(word, "--env-file=", 11) == 0)
            value = word + 11;
        else
            i++;
        if (strncmp(word, "--env-file", 10) == 0 && (word[10] == 0 || word[10] == '=')) {
            if (!value || !*value)
                return wrong("a file must follow", "--env-file");
            if (it->env_count == sizeof it->env_files / sizeof *it->env_files)
                return wrong("there are more than eight", "--env-file");
            it->env_files[it->env_count++] = value;
        } else if (strcmp(word, "-e") == 0 || strcmp(word, "--eval") == 0 || strcmp(word, "-p") == 0 ||
                   strcmp(word, "--print") == 0 || strcmp(word, "-pe") == 0) {
            if (!value)
                return wrong("a text must follow", word);
            it->code = value;
            it->print = word[1] == 'p' || word[2] == 'p';
        } else if (strcmp(word, "--stall") == 0) {
            if ((amount = number(value, 86400000)) < 0)
                return wrong("milliseconds must follow", word);
            it->js.stall_ns = (int64_t)amount * 1000000;
        } else if (strcmp(word, "--memory") == 0) {
            if ((amount = number(value, 1L << 30)) < 1)
                return wrong("megabytes must follow", word);
            it->js.memory_max = (size_t)amount << 20;
        } else if (strcmp(word, "--test-reporter") == 0) {
            if (!value || (strcmp(value, "tap") != 0 && strcmp(value, "spec") != 0))
                return wrong("tap or spec must follow", word);
            it->reporter = value;
        } else if (strcmp(word, "--test-concurrency") == 0) {
            if ((it->concurrency = number(value, 1024)) < 1)
                return wrong("a number of processes must follow", word);
        } else if (strcmp(word, "--workers") == 0) {
            if ((it->workers = number(value, VIGIL_MAX_WORKERS)) < 1)
                return wrong("a number of threads must follow", word);
        } else {
            return wrong("there is no option", word);
        }
    }
    it->rest = i;
    if (it->watch && (it->test || it->code || (i < argc && strcmp(argv[i], "-") == 0)))
        return wrong("a file must follow", "--watch");
    if (it->test && it->code)
        return wrong("a text does not go with", "--test");
    if (!it->code && !it->test && i >= argc)
        return wrong("a file, -e CODE or - is missing", NULL);
    return 0;
}

/* 0; otherwise the exit status to end with, as Node has it. */
static int load_environment(vigil_js *js, const request *it)
{
    static const char text[] = "process.loadEnvFile";
    for (unsigned i = 0; i < it->env_count; i++) {
        vigil_js_value load = NULL, file = vigil_js_text(js, it->env_files[i], strlen(it->env_files[i]));
        if (!file || vigil_js_eval(js, text, sizeof text - 1, "vigil:run", &load) < 0 ||
            vigil_js_call(js, load, NULL, 1, &file, NULL) < 0) {
            vigil_js_error thrown = {.size = sizeof thrown};
            vigil_js_error_get(js, &thrown);
            (void)fprintf(stderr, "vigil run: %s: %s\n", it->env_files[i],
                          thrown.message ? thrown.message : "no memory");
            return 9;
        }
    }
    return 0;
}

static vigil_js_value list_of(vigil_js *js, unsigned count, const char *const *words)
{
    vigil_js_value list[64];
    unsigned used = 0;
    for (; used < count && used < sizeof list / sizeof *list; used++)
        list[used] = vigil_js_text(js, words[used], strlen(words[used]));
    return vigil_js_array(js, used, list);
}

/* 0; otherwise the exit status to end with. */
static int begin_options(vigil_js *js, const request *it, char **argv)
{
    static const char text[] = "process.getBuiltinModule('module')[Symbol.for('vigil.host')].options";
    const char *type = it->input_type ? it->input_type : "";
    vigil_js_value begin = NULL, wrong_words = NULL, args[5];
    if (it->rest == 1)
        return 0;
    args[0] = list_of(js, (unsigned)it->rest - 1, (const char *const *)argv + 1);
    args[1] = list_of(js, it->word_count, it->words);
    args[2] = list_of(js, it->first_count, it->first);
    args[3] = vigil_js_text(js, type, strlen(type));
    args[4] = vigil_js_bool(js, it->print);
    if (vigil_js_eval(js, text, sizeof text - 1, "vigil:run", &begin) < 0 ||
        vigil_js_call(js, begin, NULL, 5, args, &wrong_words) < 0) {
        vigil_js_error thrown = {.size = sizeof thrown};
        vigil_js_error_get(js, &thrown);
        (void)fprintf(stderr, "%s\n", thrown.stack ? thrown.stack : thrown.message ? thrown.message : "no memory");
        return 1;
    }
    if (vigil_js_type_of(js, wrong_words) == VIGIL_JS_STRING) {
        char *words = vigil_js_to_text(js, wrong_words, NULL);
        (void)fprintf(stderr, "vigil run: %s\n", words ? words : "no memory");
        free(words);
        return 9;
    }
    return 0;
}

/* ---- tests ------------------------------------------------------------------------------------------------------ */

/* The options for a file's own process: those that are not about tests. Files of the environment have been read. */
static vigil_js_value child_options(vigil_js *js, char **argv, int end)
{
    vigil_js_value list[64];
    size_t count = 0;
    for (int i = 1; i < end && count < sizeof list / sizeof *list; i++) {
        if (strcmp(argv[i], "--env-file") == 0 || strncmp(argv[i], "--test-", 7) == 0)
            i++;
        else if (strcmp(argv[i], "--test") != 0 && strcmp(argv[i], "--") != 0 &&
                 strncmp(argv[i], "--env-file=", 11) != 0)
            list[count++] = vigil_js_text(js, argv[i], strlen(argv[i]));
    }
    return vigil_js_array(js, count, list);
}

/* False: there is no memory. */
static bool run_tests(vigil_js *js, const request *it, char **argv)
{
    static const char text[] = "process.getBuiltinModule('vigil:test').main";
    vigil_js_value main = NULL, options = vigil_js_object(js);
    (void)vigil_js_set(js, options, "options", child_options(js, argv, it->rest));
    if (it->reporter)
        (void)vigil_js_set(js, options, "reporter", vigil_js_text(js, it->reporter, strlen(it->reporter)));
    if (it->concurrency)
        (void)vigil_js_set(js, options, "concurrency", vigil_js_number(js, (double)it->concurrency));
    return vigil_js_eval(js, text, sizeof text - 1, "vigil:run", &main) == 0 &&
           vigil_js_call(js, main, NULL, 1, &options, NULL) == 0;
}

/* The file's tests tell descriptor 3 what they do; its own children do not get that descriptor. */
static void become_child(vigil_js *js)
{
    static const char text[] = "process.getBuiltinModule('vigil:test').sendTo(3)";
    (void)fcntl(3, F_SETFD, FD_CLOEXEC);
    (void)vigil_js_eval(js, text, sizeof text - 1, "vigil:run", NULL);
}

static void tell_watcher(vigil_js *js)
{
    static const char text[] = "process.getBuiltinModule('module')[Symbol.for('vigil.host')].tell(3)";
    vg_cli_watched();
    (void)vigil_js_eval(js, text, sizeof text - 1, "vigil:run", NULL);
}

int vg_cli_run(int argc, char **argv)
{
    request it = {.js = VIGIL_JS_OPTIONS_INIT};
    vigil_js *js = NULL;
    vigil_pool *pool = NULL;
    char *input = NULL;
    size_t length = 0;
    int status, error;
    it.js.stall_ns = 5000000000;
    it.js.module_cache = true;
    /* A reader that goes away is an error of a write, as in Node, and not the end of the process. */
    (void)signal(SIGPIPE, SIG_IGN);
    status = parse(argc, argv, &it);
    if (status != 0)
        return status < 0 ? 0 : status;
    if (it.watch)
        return vg_cli_watch(argc, argv, it.rest);
    if (!it.code && !it.test && strcmp(argv[it.rest], "-") == 0) {
        input = read_input(&length);
        if (!input)
            return wrong("no memory for the program on standard input", NULL);
    }
    if (it.workers > 0) {
        vigil_pool_options options = VIGIL_POOL_OPTIONS_INIT;
        options.name = "js";
        options.workers = (unsigned)it.workers;
        error = vigil_pool_create(&pool, &options);
        if (error < 0) {
            (void)fprintf(stderr, "vigil run: no pool of %ld workers: %s\n", it.workers, vigil_strerror(error));
            return 1;
        }
        it.js.pool = pool;
    }
    it.js.argc = argc - it.rest;
    it.js.argv = (const char *const *)argv + it.rest;
    error = vigil_js_create(&js, &it.js);
    if (error < 0) {
        (void)fprintf(stderr, "vigil run: the JavaScript host could not be made: %s\n", vigil_strerror(error));
        return 1;
    }
    status = load_environment(js, &it);
    if (status == 0)
        status = begin_options(js, &it, argv);
    if (status != 0) {
        vigil_js_destroy(js);
        vigil_pool_destroy(pool);
        free(input);
        return status;
    }
    if (it.test_child)
        become_child(js);
    if (it.watched)
        tell_watcher(js);
    if (it.test) {
        if (!run_tests(js, &it, argv))
            (void)wrong("no memory for the tests", NULL);
    } else if (it.code) {
        vigil_js_run_text(js, it.code, strlen(it.code), "[eval]");
    } else if (input) {
        vigil_js_run_text(js, input, length, "[stdin]");
    } else {
        vigil_js_run_file(js, argv[it.rest]);
    }
    status = vigil_js_run(js);
    if (status < 0) {
        (void)fprintf(stderr, "vigil run: the loop failed: %s\n", vigil_strerror(status));
        status = 1;
    }
    free(input);
    /* Work that still blocks (a read from a terminal) must not hold up the end of the process. */
    if (vigil_js_busy(js))
        _exit(status);
    vigil_js_destroy(js);
    vigil_pool_destroy(pool);
    return status;
}
