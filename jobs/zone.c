/* SPDX-License-Identifier: MIT */
#include "zone.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "why.h"

enum {
    LARGEST = 1 << 20, /* bytes of a file; the real ones have a few thousand */
    DAY = 86400,
};

/* A rule of the footer: the m'th month, its n'th weekday (5: the last), and the second of the day in local time. */
struct rule {
    int month, week, weekday, day; /* month 0: `day` is a day of the year, from 0 */
    bool no_leap;                  /* day counts from 1, and February 29 is never counted */
    int64_t at;
};

struct vg_jobs_zone {
    uint32_t count;
    int64_t *times;   /* of the changes */
    int64_t *offsets; /* from each change on */
    int64_t before;   /* the first change */
    bool footer, saves;
    int64_t standard, summer;
    struct rule begin, end; /* of summer time */
};

int64_t vg_jobs_days(int64_t year, int month, int day)
{
    /* The year begins in March, so that the leap day is its last. */
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

void vg_jobs_date(int64_t days, int64_t *year, int *month, int *day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097, of_era = days - era * 146097;
    int64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * years + years / 4 - years / 100), part = (5 * of_year + 2) / 153;
    *day = (int)(of_year - (153 * part + 2) / 5 + 1);
    *month = (int)(part < 10 ? part + 3 : part - 9);
    *year = years + era * 400 + (*month <= 2);
}

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* The second since 1970, in local time, at which the rule applies in this year. */
static int64_t rule_second(const struct rule *rule, int64_t year)
{
    int64_t day;
    if (rule->month == 0) {
        day = vg_jobs_days(year, 1, 1) + rule->day;
        if (rule->no_leap)
            day += (is_leap(year) && rule->day >= 60) - 1;
    } else {
        int64_t first = vg_jobs_days(year, rule->month, 1);
        int64_t next = rule->month == 12 ? vg_jobs_days(year + 1, 1, 1) : vg_jobs_days(year, rule->month + 1, 1);
        int weekday = (int)(((first + 4) % 7 + 7) % 7);
        day = first + (rule->weekday - weekday + 7) % 7 + (rule->week - 1) * INT64_C(7);
        while (day >= next)
            day -= 7;
    }
    return day * DAY + rule->at;
}

/* ---- the footer: a TZ string of POSIX ---------------------------------------------------------------------------- */

static bool skip_name(const char **text)
{
    const char *at = *text;
    if (*at == '<') {
        at = strchr(at, '>');
        if (at == NULL)
            return false;
        *text = at + 1;
        return true;
    }
    while ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z'))
        at++;
    bool found = at - *text >= 3;
    *text = at;
    return found;
}

/* [+-]hh[:mm[:ss]] in seconds. */
static bool read_time(const char **text, int64_t *seconds)
{
    int64_t sign = 1, unit = 3600;
    if (**text == '+' || **text == '-')
        sign = *(*text)++ == '-' ? -1 : 1;
    *seconds = 0;
    for (int part = 0; part < 3; part++, unit /= 60) {
        if (part > 0 && **text != ':')
            break;
        *text += part > 0;
        char *end;
        long value = strtol(*text, &end, 10);
        if (end == *text || value < 0 || value > 167)
            return false;
        *seconds += value * unit;
        *text = end;
    }
    *seconds *= sign;
    return true;
}

static bool read_rule(const char **text, struct rule *rule)
{
    *rule = (struct rule){.at = 7200};
    int read = 0;
    if (**text == 'M') {
        if (sscanf(*text, "M%d.%d.%d%n", &rule->month, &rule->week, &rule->weekday, &read) != 3 || rule->month < 1 ||
            rule->month > 12 || rule->week < 1 || rule->week > 5 || rule->weekday < 0 || rule->weekday > 6)
            return false;
    } else {
        rule->no_leap = **text == 'J';
        if (sscanf(*text, rule->no_leap ? "J%d%n" : "%d%n", &rule->day, &read) != 1 || rule->day < 0 || rule->day > 365)
            return false;
    }
    *text += read;
    if (**text != '/')
        return true;
    (*text)++;
    return read_time(text, &rule->at);
}

static bool read_footer(struct vg_jobs_zone *zone, const char *text)
{
    if (*text == '\0')
        return true; /* nothing is known beyond the table */
    if (!skip_name(&text) || !read_time(&text, &zone->standard))
        return false;
    zone->standard = -zone->standard; /* POSIX counts west */
    zone->footer = true;
    if (*text == '\0')
        return true;
    zone->summer = zone->standard + 3600;
    if (!skip_name(&text))
        return false;
    if (*text != ',' && *text != '\0') {
        if (!read_time(&text, &zone->summer))
            return false;
        zone->summer = -zone->summer;
    }
    if (*text++ != ',' || !read_rule(&text, &zone->begin) || *text++ != ',' || !read_rule(&text, &zone->end))
        return false;
    zone->saves = true;
    return *text == '\0';
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

struct header {
    char magic[4], version, unused[15];
    uint32_t isut, isstd, leap, time, type, chars;
};

static uint32_t number(uint32_t value)
{
    return be32toh(value);
}

static size_t block_size(const struct header *header, size_t time_size)
{
    return (size_t)number(header->time) * (time_size + 1) + (size_t)number(header->type) * 6 + number(header->chars) +
           (size_t)number(header->leap) * (time_size + 4) + number(header->isstd) + number(header->isut);
}

static int read_table(struct vg_jobs_zone *zone, const unsigned char *bytes, const struct header *header)
{
    uint32_t count = number(header->time), types = number(header->type);
    const unsigned char *index = bytes + (size_t)count * 8, *type = index + count;
    zone->times = calloc((size_t)count + 1, sizeof *zone->times);
    zone->offsets = calloc((size_t)count + 1, sizeof *zone->offsets);
    if (zone->times == NULL || zone->offsets == NULL)
        return -ENOMEM;
    zone->count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t time;
        uint32_t offset;
        if (index[i] >= types)
            return -EINVAL;
        memcpy(&time, bytes + (size_t)i * 8, sizeof time);
        memcpy(&offset, type + (size_t)index[i] * 6, sizeof offset);
        zone->times[i] = (int64_t)be64toh(time);
        zone->offsets[i] = (int32_t)number(offset);
    }
    if (types == 0)
        return -EINVAL;
    uint32_t first;
    memcpy(&first, type, sizeof first);
    zone->before = (int32_t)number(first);
    return 0;
}

/* Versions 2 and later: after the block with 32 bits there is one with 64, and a footer between line ends. */
static int parse(struct vg_jobs_zone *zone, unsigned char *bytes, size_t length)
{
    struct header header;
    size_t at = 0;
    for (int block = 0; block < 2; block++) {
        if (length - at < sizeof header)
            return -EINVAL;
        memcpy(&header, bytes + at, sizeof header);
        if (memcmp(header.magic, "TZif", 4) != 0 || header.version < '2')
            return -EINVAL;
        at += sizeof header;
        size_t size = block_size(&header, block == 0 ? 4 : 8);
        if (size > length - at)
            return -EINVAL;
        if (block == 1) {
            int error = read_table(zone, bytes + at, &header);
            if (error != 0)
                return error;
        }
        at += size;
    }
    unsigned char *end = at < length && bytes[at] == '\n' ? memchr(bytes + at + 1, '\n', length - at - 1) : NULL;
    if (end == NULL)
        return -EINVAL;
    *end = '\0';
    return read_footer(zone, (const char *)bytes + at + 1) ? 0 : -EINVAL;
}

static bool is_name(const char *name)
{
    return name[0] != '/' && name[0] != '.' && name[0] != '\0' && strstr(name, "..") == NULL && strlen(name) < 200;
}

int vg_jobs_zone_open(struct vg_jobs_zone **zone, const char *name)
{
    struct vg_jobs_zone *it = calloc(1, sizeof *it);
    if (it == NULL)
        return -ENOMEM;
    *zone = it;
    if (name == NULL || name[0] == '\0' || strcmp(name, "UTC") == 0)
        return 0;
    char path[256];
    unsigned char *bytes = malloc(LARGEST);
    (void)snprintf(path, sizeof path, "/usr/share/zoneinfo/%.200s", name);
    FILE *file = is_name(name) && bytes != NULL ? fopen(path, "re") : NULL;
    int error = bytes == NULL ? -ENOMEM : -EINVAL;
    if (file != NULL) {
        size_t length = fread(bytes, 1, LARGEST, file);
        error = parse(it, bytes, length);
        (void)fclose(file);
    }
    free(bytes);
    if (error != 0) {
        vg_jobs_zone_close(it);
        return vg_jobs_why(error, "there is no time zone '%.60s'", name);
    }
    return 0;
}

void vg_jobs_zone_close(struct vg_jobs_zone *zone)
{
    if (zone == NULL)
        return;
    free(zone->times);
    free(zone->offsets);
    free(zone);
}

/* By the footer, which holds after the last change of the table. */
static int64_t footer_offset(const struct vg_jobs_zone *zone, int64_t utc)
{
    if (!zone->saves)
        return zone->standard;
    int64_t year, days = (utc + zone->standard) / DAY - ((utc + zone->standard) % DAY < 0);
    int month, day;
    vg_jobs_date(days, &year, &month, &day);
    int64_t begin = rule_second(&zone->begin, year) - zone->standard;
    int64_t end = rule_second(&zone->end, year) - zone->summer;
    bool summer = begin < end ? utc >= begin && utc < end : utc >= begin || utc < end;
    return summer ? zone->summer : zone->standard;
}

int64_t vg_jobs_zone_offset(const struct vg_jobs_zone *zone, int64_t utc)
{
    if (zone->footer && (zone->count == 0 || utc >= zone->times[zone->count - 1]))
        return footer_offset(zone, utc);
    uint32_t low = 0, high = zone->count; /* the changes before `low` are not after utc */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (zone->times[middle] <= utc)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? zone->before : zone->offsets[low - 1];
}

int64_t vg_jobs_zone_change(const struct vg_jobs_zone *zone, int64_t after, int64_t until)
{
    int64_t old = vg_jobs_zone_offset(zone, after);
    if (vg_jobs_zone_offset(zone, until) == old)
        return INT64_MAX; /* two changes in the stretch, which is a day, do not occur */
    while (until - after > 1) {
        int64_t middle = after + (until - after) / 2;
        if (vg_jobs_zone_offset(zone, middle) == old)
            after = middle;
        else
            until = middle;
    }
    return until;
}
