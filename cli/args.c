/* SPDX-License-Identifier: MIT */
/* Reading a verb's words by its table of options, and its help made from the same table. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "program.h"
#include "say.h"

/* How many letters have to be changed, added, removed or swapped with their neighbour to make `b` of `a`. */
static size_t distance(const char *a, const char *b)
{
    enum {
        MOST = 32
    };
    size_t before[MOST + 1], last[MOST + 1], now[MOST + 1];
    size_t width = strlen(b);
    if (width > MOST)
        return MOST;
    for (size_t j = 0; j <= width; j++)
        last[j] = before[j] = j;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        now[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        memcpy(before, last, sizeof before);
        memcpy(last, now, sizeof last);
    }
    return last[width];
}

const char *nearest_name(const char *word, const char *const *names)
{
    const char *best = NULL;
    size_t least = strlen(word) / 3 + 2;
    for (; *names != NULL; names++) {
        size_t d = distance(word, *names);
        if (strncmp(word, *names, strlen(word)) == 0 && strlen(word) > 1)
            d = 1;
        if (d < least) {
            least = d;
            best = *names;
        }
    }
    return best;
}

static int unknown_option(const struct command *command, const char *word)
{
    const char *names[32] = {NULL};
    size_t count = 0;
    for (const struct option_spec *o = command->options; o != NULL && o->name != NULL && count < 31; o++)
        names[count++] = o->name;
    const char *near = strncmp(word, "--", 2) == 0 ? nearest_name(word + 2, names) : NULL;
    if (near != NULL)
        say_error("%s has no option %s; did you mean --%s?", command->name, word, near);
    else
        say_error("%s has no option %s; `vigil help %s` lists those that it has", command->name, word, command->name);
    return EXIT_USAGE;
}

static int take_value(const struct command *command, const struct option_spec *option, const char *value)
{
    if (option->kind == OPTION_TEXT) {
        *(const char **)option->target = value;
        return 0;
    }
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (end == value || *end != '\0' || errno != 0 || number < option->least || number > option->most) {
        say_error("%s: --%s takes a number from %ld to %ld, not '%s'", command->name, option->name, option->least,
                  option->most, value);
        return EXIT_USAGE;
    }
    *(long *)option->target = number;
    return 0;
}

/* The option that a word like --name, --name=value or -n stands for; *value is what is glued to it, or NULL. */
static const struct option_spec *option_of(const struct command *command, char *word, const char **value)
{
    *value = NULL;
    for (const struct option_spec *o = command->options; o != NULL && o->name != NULL; o++) {
        size_t length = strlen(o->name);
        if (word[1] == '-' && strncmp(word + 2, o->name, length) == 0) {
            if (word[2 + length] == '=')
                *value = word + 3 + length;
            if (*value != NULL || word[2 + length] == '\0')
                return o;
        } else if (word[1] != '-' && o->letter != 0 && word[1] == o->letter) {
            if (word[2] != '\0')
                *value = word + 2;
            return o;
        }
    }
    return NULL;
}

int command_run(const struct command *command, int count, char **words)
{
    char *operands[MOST_OPERANDS + 1] = {NULL};
    int found = 0;
    bool only_operands = false;
    if (command->raw != NULL)
        return command->raw(count, words);
    for (int i = 0; i < count; i++) {
        char *word = words[i];
        if (only_operands || word[0] != '-' || word[1] == '\0') {
            if (found == command->most_operands || found == MOST_OPERANDS) {
                say_error("%s: '%s' is one word too many; usage: vigil %s%s%s", command->name, word, command->name,
                          command->operands[0] != '\0' ? " " : "", command->operands);
                return EXIT_USAGE;
            }
            operands[found++] = word;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            only_operands = true;
            continue;
        }
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            command_help(command);
            return EXIT_FINE;
        }
        const char *value;
        const struct option_spec *option = option_of(command, word, &value);
        if (option == NULL)
            return unknown_option(command, word);
        if (option->kind == OPTION_FLAG) {
            if (value != NULL) {
                say_error("%s: --%s takes no value", command->name, option->name);
                return EXIT_USAGE;
            }
            *(bool *)option->target = true;
            continue;
        }
        if (value == NULL && i + 1 < count)
            value = words[++i];
        if (value == NULL) {
            say_error("%s: --%s needs a value: --%s %s", command->name, option->name, option->name, option->value);
            return EXIT_USAGE;
        }
        int status = take_value(command, option, value);
        if (status != 0)
            return status;
    }
    if (command->left_out != NULL) {
        say_error("this build has no `%s`: %s", command->name, command->left_out);
        return EXIT_FAILED;
    }
    if (command->program != NULL) {
        char missing[128];
        snprintf(missing, sizeof missing, "%s is missing; it belongs beside vigil or in ../libexec/vigil",
                 command->program);
        return program_become(command->name, command->program, missing, count, words);
    }
    return command->run(found, operands);
}

void command_help(const struct command *command)
{
    bool options = command->options != NULL && command->options->name != NULL;
    printf("%sUsage:%s vigil %s%s%s%s\n\n%s\n", style(BOLD), style(PLAIN), command->name, options ? " [OPTION]..." : "",
           command->operands[0] != '\0' ? " " : "", command->operands, command->text);
    if (options)
        printf("\n%sOptions%s\n", style(BOLD), style(PLAIN));
    for (const struct option_spec *o = command->options; o != NULL && o->name != NULL; o++) {
        char left[64];
        snprintf(left, sizeof left, "%c%c%s --%s%s%s", o->letter != 0 ? '-' : ' ', o->letter != 0 ? o->letter : ' ',
                 o->letter != 0 ? "," : " ", o->name, o->value != NULL ? " " : "", o->value != NULL ? o->value : "");
        printf("  %-24s ", left);
        for (const char *line = o->help; *line != '\0';) {
            size_t length = strcspn(line, "\n");
            printf("%.*s\n", (int)length, line);
            line += length + (line[length] == '\n');
            if (*line != '\0')
                printf("%27s", "");
        }
    }
    if (command->examples != NULL)
        printf("\n%sExamples%s\n%s\n", style(BOLD), style(PLAIN), command->examples);
    if (command->left_out != NULL)
        printf("\nThis build has no `%s`: %s\n", command->name, command->left_out);
}
