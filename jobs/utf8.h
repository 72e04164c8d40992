/* SPDX-License-Identifier: MIT */
/* utf8.h - texts for the database. PostgreSQL refuses a statement with bytes that are not UTF-8, and with it all that
   goes in the same transaction. */
#ifndef VG_JOBS_UTF8_H
#define VG_JOBS_UTF8_H

/* Check a name. NULL is allowed. 0, or -EINVAL with the reason; `what` says which name it is. */
int vg_jobs_utf8_check(const char *text, const char *what);
/* Put a question mark in the place of each byte that does not belong. Gives the text; NULL is allowed. */
char *vg_jobs_utf8_mend(char *text);

#endif
