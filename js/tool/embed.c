/* SPDX-License-Identifier: MIT */
/*
 * Runs at build time: embed OUTPUT NAMES (NAME FILE)... writes a C file with the contents of the files, found by name at run time.
 *
 * The library's own files are changed on the way, line by line, so that positions in stacks stay:
 *   - they are programs that see three names and what else they use of lib/safe.js. A function around them would be read twice:
 *     once to find its end, once when it is called
 *   - calls of the methods that NAMES lists go through symbols, calls of Object.keys and its like through copies; lib/safe.js says why
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct text {
    char *data;
    size_t length, room;
} text;

static void add(text *to, const char *bytes, size_t length)
{
    if (to->length + length + 1 > to->room) {
        to->room = (to->length + length + 1) * 2;
        to->data = realloc(to->data, to->room);
        if (!to->data)
            abort();
    }
    memcpy(to->data + to->length, bytes, length);
    to->length += length;
    to->data[to->length] = 0;
}

static void add_string(text *to, const char *string)
{
    add(to, string, strlen(string));
}

static int fail(const char *what, const char *name)
{
    (void)fprintf(stderr, "embed: cannot %s%s\n", what, name);
    return 1;
}

static bool read_file(const char *path, text *to)
{
    FILE *in = fopen(path, "rb");
    char piece[4096];
    size_t got;
    if (!in)
        return false;
    *to = (text){0};
    add(to, "", 0);
    while ((got = fread(piece, 1, sizeof piece, in)) > 0)
        add(to, piece, got);
    (void)fclose(in);
    return true;
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

static char *names[512];
static bool used[512], anywhere[512];
static unsigned name_count, static_first;
static char *statics[] = {"Object", "Reflect", "Math", "JSON",        "Number", "Array",
                          "Symbol", "Promise", "Date", "ArrayBuffer", "String"};

static bool read_names(const char *path)
{
    text list;
    if (!read_file(path, &list))
        return false;
    for (char *line = strtok(list.data, "\n"); line; line = strtok(NULL, "\n")) {
        if (*line == '#')
            continue;
        for (char *end = line; *end;) {
            char *start = end;
            end += strcspn(end, " ");
            if (*end)
                *end++ = 0;
            if (*start && name_count < 480)
                names[name_count++] = start;
        }
    }
    static_first = name_count;
    for (size_t i = 0; i < sizeof statics / sizeof *statics; i++)
        names[name_count++] = statics[i];
    return true;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* The number of the name at `at`, or -1. */
static int name_at(const char *at, unsigned from, unsigned to)
{
    size_t length = 0;
    while (in_word(at[length]))
        length++;
    for (unsigned i = from; i < to; i++)
        if (strncmp(names[i], at, length) == 0 && names[i][length] == 0)
            return (int)i;
    return -1;
}

/* Whether the word that ends before `at` is this one. */
static bool behind(const char *begin, const char *at, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(at - begin) >= length && memcmp(at - length, word, length) == 0 &&
           ((size_t)(at - begin) == length || !in_word(at[-(long)length - 1]));
}

/* x.push( -> x[$push](, x?.push( -> x?.[$push](, Object.keys( -> $Object.keys( */
static void rewrite(const char *from, text *to)
{
    const char *begin = from;
    memset(used, 0, sizeof used);
    while (*from) {
        if (*from == '/' && from[1] == '/' && (from == begin || from[-1] == '\n' || from[-1] == ' ')) {
            size_t length = strcspn(from, "\n");
            add(to, from, length);
            from += length;
            continue;
        }
        if (isupper((unsigned char)*from) && (from == begin || (!in_word(from[-1]) && from[-1] != '.'))) {
            int found = name_at(from, static_first, name_count);
            const char *dot = found >= 0 ? from + strlen(names[found]) : NULL;
            size_t member = 0;
            while (dot && *dot == '.' && in_word(dot[1 + member]))
                member++;
            if (member > 0 && dot[1 + member] == '(' && islower((unsigned char)dot[1])) {
                used[found] = true;
                add_string(to, "$");
                add(to, from, (size_t)(dot - from) + 1 + member);
                from = dot + 1 + member;
                continue;
            }
        }
        if (*from == '.' && from != begin && from[-1] != '.' && !behind(begin, from, "super")) {
            int found = name_at(from + 1, 0, static_first);
            size_t length = found >= 0 ? strlen(names[found]) : 0;
            if (found >= 0 && from[1 + length] == '(') {
                used[found] = true;
                add_string(to, from[-1] == '?' ? ".[$" : "[$");
                add(to, from + 1, length);
                add_string(to, "]");
                from += 1 + length;
                continue;
            }
            if (found >= 0 && strncmp(from + 1 + length, "?.(", 3) == 0) {
                used[found] = true;
                add_string(to, "[$");
                add(to, from + 1, length);
                add_string(to, "]");
                from += 1 + length;
                continue;
            }
        }
        add(to, from++, 1);
    }
}

static void add_used(text *to, const char *before, const char *after)
{
    bool any = false;
    for (unsigned i = 0; i < name_count; i++) {
        if (!used[i])
            continue;
        anywhere[i] = true;
        add_string(to, any ? ",$" : before);
        if (!any)
            add_string(to, "$");
        add_string(to, names[i]);
        any = true;
    }
    if (any)
        add_string(to, after);
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

static void convert(const char *name, const text *from, text *to)
{
    text body = {0};
    add(to, "", 0);
    add(&body, "", 0);
    const bool inspect = strncmp(name, "npm/node-inspect-extracted/", 27) == 0;
    if (strcmp(name, "safe.js") == 0 || (strncmp(name, "npm/", 4) == 0 && !inspect)) {
        add(to, from->data, from->length);
    } else if (strcmp(name, "boot.js") == 0) {
        static const char mark[] = "'use strict';";
        const char *at = strstr(from->data, mark);
        rewrite(from->data, &body);
        at = strstr(body.data, mark);
        add(to, body.data, (size_t)(at - body.data) + sizeof mark - 1);
        add_used(to, "const {", "}=binding.safe;");
        add_string(to, at + sizeof mark - 1);
    } else if (inspect) {
        rewrite(from->data, &body);
        add_used(to, "const {", "}=$safe;");
        add(to, body.data, body.length);
    } else {
        add_string(to, "'use strict';{const {module,binding,load}=this;");
        rewrite(from->data, &body);
        add_used(to, "const {", "}=binding.safe;");
        add(to, body.data, body.length);
        add_string(to, "\n}");
    }
    free(body.data);
}

/* As texts, which compilers read many times faster than lists of numbers. */
static void put(FILE *out, const text *bytes)
{
    for (size_t i = 0; i < bytes->length; i++) {
        unsigned char byte = (unsigned char)bytes->data[i];
        if (i % 100 == 0)
            (void)fputs(i ? "\"\n\"" : "\"", out);
        if (byte < ' ' || byte > '~' || byte == '"' || byte == '\\' || byte == '?')
            (void)fprintf(out, "\\%03o", byte);
        else
            (void)fputc(byte, out);
    }
    (void)fputs(bytes->length ? "\"" : "\"\"", out);
}

/* FNV-1a over what rewrites modules: the cache of rewritten modules asks for its version. */
static unsigned long long rewriter = 14695981039346656037ULL;

static void count_in(const char *name, const text *bytes)
{
    if (strcmp(name, "esm_transform.js") != 0 && strncmp(name, "npm/acorn/", 10) != 0 &&
        strncmp(name, "npm/amaro/", 10) != 0)
        return;
    for (size_t i = 0; i < bytes->length; i++)
        rewriter = (rewriter ^ (unsigned char)bytes->data[i]) * 1099511628211ULL;
}

int main(int argc, char **argv)
{
    FILE *out = argc > 2 ? fopen(argv[1], "w") : NULL;
    size_t *lengths = calloc((size_t)argc, sizeof *lengths);
    bool any = false;
    if (!out || !lengths)
        return fail("write ", argc > 1 ? argv[1] : "nothing: no file was named");
    if (!read_names(argv[2]))
        return fail("read ", argv[2]);
    (void)fputs("/* Made by embed.c. */\n#include \"library.h\"\n", out);
    for (int i = 3; i + 1 < argc; i += 2) {
        text from, to = {0};
        if (!read_file(argv[i + 1], &from))
            return fail("read ", argv[i + 1]);
        convert(argv[i], &from, &to);
        count_in(argv[i], &to);
        (void)fprintf(out, "static const unsigned char file_%d[] =\n", i / 2);
        put(out, &to);
        (void)fputs(";\n", out);
        lengths[i] = to.length;
        free(from.data);
        free(to.data);
    }
    (void)fputs("const vg_embedded vg_js_library[] = {\n", out);
    for (int i = 3; i + 1 < argc; i += 2)
        (void)fprintf(out, "    {\"%s\", file_%d, %zu},\n", argv[i], i / 2, lengths[i]);
    (void)fputs("};\nconst size_t vg_js_library_count = sizeof vg_js_library / sizeof *vg_js_library;\n", out);
    (void)fputs("const char vg_js_safe_names[] = \"", out);
    for (unsigned i = 0; i < static_first; i++) {
        if (!anywhere[i])
            continue;
        (void)fprintf(out, any ? " %s" : "%s", names[i]);
        any = true;
    }
    (void)fprintf(out, "\";\nconst char vg_js_rewriter[] = \"%016llx\";\n", rewriter);
    free(lengths);
    return fclose(out) == 0 ? 0 : fail("write ", argv[1]);
}
