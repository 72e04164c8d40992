/* SPDX-License-Identifier: MIT */
#include "pq_array.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "decimal.h"

static void add(struct vg_pq_array *array, const char *bytes, size_t length)
{
    if (array->length + length + 2 > array->room) {
        size_t room = (array->length + length + 2) * 2 + 64;
        char *more = realloc(array->text, room);
        if (more == NULL) {
            array->failed = true;
            return;
        }
        array->text = more;
        array->room = room;
    }
    memcpy(array->text + array->length, bytes, length);
    array->length += length;
    array->text[array->length] = '\0';
}

static void begin_element(struct vg_pq_array *array)
{
    add(array, array->length == 0 ? "{" : ",", 1);
}

void vg_pq_array_number(struct vg_pq_array *array, int64_t number)
{
    char text[24];
    size_t length = vg_jobs_decimal(number, text);
    begin_element(array);
    add(array, text, length);
}

void vg_pq_array_string(struct vg_pq_array *array, const char *string)
{
    begin_element(array);
    if (string == NULL) {
        add(array, "NULL", 4);
        return;
    }
    add(array, "\"", 1);
    for (; *string != '\0'; string++) {
        if (*string == '"' || *string == '\\')
            add(array, "\\", 1);
        add(array, string, 1);
    }
    add(array, "\"", 1);
}

const char *vg_pq_array_text(struct vg_pq_array *array)
{
    if (array->length == 0)
        add(array, "{", 1);
    add(array, "}", 1);
    return array->failed ? NULL : array->text;
}

enum {
    BYTEA = 17, /* the type, as every server numbers it */
};

/* In front of the elements: dimensions, whether there is a NULL, type, number of elements, first index. */
struct head {
    uint32_t dimensions, nulls, type, count, first;
};

void vg_pq_array_bytes(struct vg_pq_array *array, const void *bytes, size_t length)
{
    struct head head = {.dimensions = htobe32(1), .type = htobe32(BYTEA), .first = htobe32(1)};
    uint32_t size = htobe32((uint32_t)length);
    if (array->length == 0)
        add(array, (const char *)&head, sizeof head);
    add(array, (const char *)&size, sizeof size);
    add(array, bytes, length);
    if (array->failed)
        return;
    memcpy(&head, array->text, sizeof head);
    head.count = htobe32(be32toh(head.count) + 1);
    memcpy(array->text, &head, sizeof head);
}
