/* SPDX-License-Identifier: MIT */
/*
 * spool.h - a file for jobs that are enqueued while the engine is away, replayed exactly once.
 *
 * Each enqueueing call of a queue with a spool has a number. The engine keeps, per spool, the number that came last,
 * and changes it in the transaction that inserts the jobs, if it is lower. A call whose answer is lost is written to
 * the file with its number. The replay sends the numbers of the file in their order: one that the engine has seen is
 * passed over. While the file has records, later calls go there too, so numbers reach the engine in order.
 *
 * A record is on disk before its call returns. A record that was not written whole was never acknowledged, and is cut
 * off at the next open.
 */
#ifndef VG_JOBS_SPOOL_H
#define VG_JOBS_SPOOL_H

#include "struct.h"

/* Open the file of options.spool, and send what is in it. */
int vg_jobs_spool_open(vigil_jobs *jobs);
/* End the thread; records stay in the file. */
void vg_jobs_spool_close(vigil_jobs *jobs);

/* Enqueue with a number; into the file if the engine is away. Gives how many. Under client_lock. */
int vg_jobs_spool_enqueue(vigil_jobs *jobs, struct vg_jobs_conn *conn, struct vg_jobs_new *all, size_t count);
/* Whether records wait: then the engine need not be asked. */
bool vg_jobs_spool_waits(vigil_jobs *jobs);

#endif
