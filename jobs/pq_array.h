/* SPDX-License-Identifier: MIT */
/* pq_array.h - arrays of numbers and texts in PostgreSQL's notation, and of bytes in its binary format. */
#ifndef VG_JOBS_PQ_ARRAY_H
#define VG_JOBS_PQ_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts as zeroes; text is freed by its owner. */
struct vg_pq_array {
    char *text;
    size_t length, room;
    bool failed;
};

void vg_pq_array_number(struct vg_pq_array *array, int64_t number);
void vg_pq_array_string(struct vg_pq_array *array, const char *string); /* NULL is NULL */
/* The finished text, or NULL without memory. */
const char *vg_pq_array_text(struct vg_pq_array *array);
/* An element of a bytea[]: `length` bytes of `text` are the array then, whole after each element. */
void vg_pq_array_bytes(struct vg_pq_array *array, const void *bytes, size_t length);

#endif
