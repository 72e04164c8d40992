/* SPDX-License-Identifier: MIT */
#include "decimal.h"

size_t vg_jobs_decimal(int64_t number, char text[24])
{
    char digits[24];
    size_t count = 0, length = 0;
    uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;
    do
        digits[count++] = (char)('0' + left % 10);
    while ((left /= 10) != 0);
    if (number < 0)
        text[length++] = '-';
    while (count > 0)
        text[length++] = digits[--count];
    text[length] = '\0';
    return length;
}
