/* SPDX-License-Identifier: MIT */
#include "cron.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "why.h"

enum {
    DAY = 86400,
    LONGEST_DAYS = 3700, /* February 29 is at most eight years away */
};

static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                     "jul", "aug", "sep", "oct", "nov", "dec"};
static const char *const weekdays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

struct field {
    const char *name;
    int least, most;
    const char *const *words;
    int word_count, first_word;
};

static const struct field fields[] = {
    {"minute", 0, 59, NULL, 0, 0},
    {"hour", 0, 23, NULL, 0, 0},
    {"day of the month", 1, 31, NULL, 0, 0},
    {"month", 1, 12, months, 12, 1},
    {"day of the week", 0, 7, weekdays, 7, 0},
};

/* A number or a name. Negative: neither. */
static int read_value(const struct field *field, const char **text)
{
    for (int i = 0; i < field->word_count; i++)
        if (strncasecmp(*text, field->words[i], 3) == 0) {
            *text += 3;
            return field->first_word + i;
        }
    char *end;
    if (**text < '0' || **text > '9')
        return -1;
    long value = strtol(*text, &end, 10);
    *text = end;
    return value >= field->least && value <= field->most ? (int)value : -1;
}

/* One element of a list: *, a, a-b, each with /step. */
static bool read_element(const struct field *field, const char **text, uint64_t *bits)
{
    int from = field->least, to = field->most, step = 1;
    bool one = false;
    if (**text == '*') {
        (*text)++;
    } else {
        from = to = read_value(field, text);
        one = true;
        if (from >= 0 && **text == '-') {
            (*text)++;
            to = read_value(field, text);
            one = false;
        }
    }
    if (from < 0 || to < from)
        return false;
    if (**text == '/') {
        char *end;
        (*text)++;
        if (**text < '0' || **text > '9') /* strtol takes a sign, and spaces before it */
            return false;
        long given = strtol(*text, &end, 10);
        if (given < 1 || given > 59)
            return false;
        step = (int)given;
        *text = end;
        if (one)
            to = field->most;
    }
    for (int value = from; value <= to; value += step)
        *bits |= UINT64_C(1) << value;
    return true;
}

static const char *skip_space(const char *text)
{
    return text + strspn(text, " \t");
}

static bool read_field(const struct field *field, const char **text, uint64_t *bits, bool *any)
{
    *any = **text == '*' && (*text)[1] != '/';
    *bits = 0;
    while (read_element(field, text, bits)) {
        if (**text != ',')
            return **text == ' ' || **text == '\t' || **text == '\0';
        (*text)++;
    }
    return false;
}

static const char *long_form(const char *text)
{
    static const char *const forms[][2] = {
        {"@hourly", "0 * * * *"},  {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@weekly", "0 0 * * 0"},
        {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcasecmp(text, forms[i][0]) == 0)
            return forms[i][1];
    return text;
}

static int say_missing(const char *text, int from)
{
    char names[80] = "";
    for (int i = from; i < 5; i++) {
        (void)strcat(names, i > from ? ", " : "");
        (void)strcat(names, fields[i].name);
    }
    return vg_jobs_why(-EINVAL, "'%.60s' has %d of five fields; missing: %s", text, from, names);
}

int vg_jobs_cron_parse(struct vg_jobs_cron *cron, const char *text)
{
    uint64_t bits[5];
    bool any[5];
    const char *at = long_form(text);
    for (int i = 0; i < 5; i++) {
        at = skip_space(at);
        if (*at == '\0')
            return say_missing(text, i);
        if (!read_field(&fields[i], &at, &bits[i], &any[i]))
            return vg_jobs_why(-EINVAL, "'%.60s': the %s is not understood", text, fields[i].name);
    }
    if (*skip_space(at) != '\0')
        return vg_jobs_why(-EINVAL, "'%.60s' has more than five fields", text);
    if ((bits[4] & (1U << 7)) != 0) /* Sunday has two numbers */
        bits[4] |= 1;
    *cron = (struct vg_jobs_cron){.minutes = bits[0],
                                  .hours = (uint32_t)bits[1],
                                  .days = (uint32_t)bits[2],
                                  .months = (uint32_t)bits[3],
                                  .weekdays = (uint32_t)bits[4],
                                  .any_hour = any[1],
                                  .any_day = any[2],
                                  .any_weekday = any[4]};
    return 0;
}

static bool day_matches(const struct vg_jobs_cron *cron, int64_t days)
{
    int64_t year;
    int month, day, weekday = (int)(((days + 4) % 7 + 7) % 7);
    vg_jobs_date(days, &year, &month, &day);
    if ((cron->months >> month & 1) == 0)
        return false;
    bool by_day = (cron->days >> day & 1) != 0, by_weekday = (cron->weekdays >> weekday & 1) != 0;
    if (cron->any_day || cron->any_weekday)
        return by_day && by_weekday;
    return by_day || by_weekday;
}

/* The instants of a local time, earliest first; 1 or 2. The offsets around it are those a day before and after. */
static int instants(const struct vg_jobs_zone *zone, int64_t local, int64_t found[2])
{
    int64_t early = vg_jobs_zone_offset(zone, local - DAY), late = vg_jobs_zone_offset(zone, local + DAY);
    int64_t first = local - early, second = local - late;
    bool first_is = vg_jobs_zone_offset(zone, first) == early, second_is = vg_jobs_zone_offset(zone, second) == late;
    if (first_is && second_is && first != second) {
        found[0] = first < second ? first : second;
        found[1] = first < second ? second : first;
        return 2;
    }
    if (first_is || second_is)
        found[0] = first_is ? first : second;
    else /* it is skipped: the change itself */
        found[0] = vg_jobs_zone_change(zone, local - late - DAY, local - early + DAY);
    return 1;
}

/* The first fire time after `after` that belongs to this local day. */
static int64_t next_in_day(const struct vg_jobs_cron *cron, const struct vg_jobs_zone *zone, int64_t days,
                           int64_t after)
{
    int64_t best = INT64_MAX;
    for (int hour = 0; hour < 24; hour++) {
        if ((cron->hours >> hour & 1) == 0)
            continue;
        for (int minute = 0; minute < 60; minute++) {
            if ((cron->minutes >> minute & 1) == 0)
                continue;
            int64_t found[2];
            int count = instants(zone, days * DAY + hour * 3600 + minute * 60, found);
            for (int i = 0; i < (cron->any_hour ? count : 1); i++)
                if (found[i] > after && found[i] < best)
                    best = found[i];
        }
    }
    return best;
}

int64_t vg_jobs_cron_next(const struct vg_jobs_cron *cron, const struct vg_jobs_zone *zone, int64_t after)
{
    int64_t local = after + vg_jobs_zone_offset(zone, after), best = INT64_MAX;
    int64_t today = local / DAY - (local % DAY < 0);
    /* A day earlier and one more after the first hit: a change of the offset may move times over midnight. */
    for (int64_t days = today - 1, last = today + LONGEST_DAYS; days <= last; days++) {
        if (!day_matches(cron, days))
            continue;
        int64_t found = next_in_day(cron, zone, days, after);
        if (found < best) {
            best = found;
            last = days + 1;
        }
    }
    return best;
}
