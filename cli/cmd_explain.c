/* SPDX-License-Identifier: MIT */
/* The pages of docs/verdicts in a terminal: enough of Markdown for them, and no more. */
#include <stdio.h>
#include <string.h>

#include "asset.h"
#include "command.h"
#include "say.h"

/* "hog" of "/verdicts/hog". */
static const char *name_of(const struct asset *page)
{
    return strrchr(page->path, '/') + 1;
}

static const struct asset *page_find(const char *name)
{
    for (const struct asset *page = pages; page->path != NULL; page++)
        if (strcmp(name_of(page), name) == 0)
            return page;
    return NULL;
}

/* A line of running text, appended: marks of emphasis and code go, of a link its text stays. */
static void append_line(char *to, size_t room, const char *line, size_t length)
{
    size_t at = strlen(to);
    if (at > 0 && at + 1 < room)
        to[at++] = ' ';
    for (size_t i = 0; i < length && at + 1 < room; i++) {
        const char *target =
            line[i] == ']' && i + 1 < length && line[i + 1] == '(' ? memchr(line + i, ')', length - i) : NULL;
        if (target != NULL)
            i = (size_t)(target - line);
        else if (line[i] != '*' && line[i] != '`' && line[i] != '[')
            to[at++] = line[i];
    }
    to[at] = '\0';
}

static void end_paragraph(char *text)
{
    unsigned width = say_width();
    if (text[0] != '\0')
        say_wrapped(text, 0, width < 100 ? width : 100);
    text[0] = '\0';
}

static void print_page(const struct asset *page)
{
    char text[4096] = "";
    bool code = false;
    const char *at = (const char *)page->bytes, *end = at + page->size;
    while (at < end) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((next != NULL ? next : end) - at);
        bool fence = length >= 3 && strncmp(at, "```", 3) == 0;
        if (fence || length == 0 || at[0] == '#' || strncmp(at, "- ", 2) == 0)
            end_paragraph(text);
        if (fence)
            code = !code;
        else if (code)
            printf("    %.*s\n", (int)length, at);
        else if (length > 0 && at[0] == '#') {
            size_t marks = strspn(at, "# ");
            printf("%s%.*s%s\n", style(BOLD), (int)(length - marks), at + marks, style(PLAIN));
        } else if (length == 0)
            printf("\n");
        else
            append_line(text, sizeof text, at, length);
        at += length + 1;
    }
    end_paragraph(text);
}

static int explain(int count, char **operands)
{
    if (count == 0) {
        puts("Verdicts of the watchdog, as a report names them:\n");
        for (const struct asset *page = pages; page->path != NULL; page++) {
            const char *title = (const char *)page->bytes + 2; /* "# " */
            printf("  %s%-14s%s %.*s\n", style(BOLD), name_of(page), style(PLAIN), (int)strcspn(title, "\n"), title);
        }
        puts("\n`vigil explain hog` says what that one looks like, why it happens and what to do.");
        return EXIT_FINE;
    }
    const struct asset *page = page_find(operands[0]);
    if (page != NULL) {
        print_page(page);
        return EXIT_FINE;
    }
    const char *names[32] = {NULL};
    size_t known = 0;
    for (const struct asset *each = pages; each->path != NULL && known < 31; each++)
        names[known++] = name_of(each);
    const char *near = nearest_name(operands[0], names);
    if (near != NULL)
        say_error("explain: there is no verdict '%s'; did you mean %s?", operands[0], near);
    else
        say_error("explain: there is no verdict '%s'; `vigil explain` lists them", operands[0]);
    return EXIT_USAGE;
}

const struct command command_explain = {
    .name = "explain",
    .operands = "[VERDICT]",
    .summary = "what a verdict means, why it happens and what to do about it",
    .text =
        "Prints the page of one class of verdict, with a real one as example. Without a word it lists the classes.\n"
        "`vigil report` names the page below each verdict.",
    .examples = "  vigil explain\n"
                "  vigil explain lost-wakeup\n"
                "  vigil explain wait-cycle | less",
    .most_operands = 1,
    .run = explain,
};
