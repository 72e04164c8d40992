/* SPDX-License-Identifier: MIT */
/* decimal.h - numbers as text. What is done for each job goes without printf, which costs more than all the rest. */
#ifndef VG_JOBS_DECIMAL_H
#define VG_JOBS_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

/* Write a number and a zero. Gives its length without the zero. */
size_t vg_jobs_decimal(int64_t number, char text[24]);

#endif
