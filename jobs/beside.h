/* SPDX-License-Identifier: MIT */
/*
 * beside.h - the shared file beside an SQLite database: wakes between processes, turns between writers, the clock of
 * tests.
 *
 * Nothing in it is needed for correctness of the jobs: the database alone says what exists. A deleted or foreign file
 * costs wakes until the processes are started again.
 *
 * Wakes. Each runner owns a slot with one futex word. A waker adds its events to the word by compare-and-swap and
 * clears SLEEPING; the clearer makes the system call, so a burst costs one. The runner sets SLEEPING only on a
 * word without events. Both sides change one word alone, so no fence is needed beyond acquire and release, and no wake
 * is lost.
 *
 * Turns. SQLite lets the process that has just committed in again first, and the others sleep longer and longer. So a
 * writer lets everybody go first who wants a turn and has had one less lately, and sleeps until the next commit, which
 * is counted here. At most some milliseconds: then a dead or stopped process loses its claim to be first.
 */
#ifndef VG_JOBS_BESIDE_H
#define VG_JOBS_BESIDE_H

#include <stdbool.h>
#include <stdint.h>

struct vg_jobs_beside;

/* Map the file of this name, and make it if it is not there. A private one, without a file, if path is NULL. */
int vg_jobs_beside_open(struct vg_jobs_beside **beside, const char *path);
void vg_jobs_beside_close(struct vg_jobs_beside *beside);

/* Own a slot; gives its number, or -1 if all are taken: then the caller polls. */
int vg_jobs_beside_join(struct vg_jobs_beside *beside);
void vg_jobs_beside_leave(struct vg_jobs_beside *beside, int slot);

/* Add events to one slot, or to all, and wake who sleeps there. */
void vg_jobs_beside_ring(struct vg_jobs_beside *beside, int slot, unsigned events);
void vg_jobs_beside_ring_all(struct vg_jobs_beside *beside, unsigned events);
/* All but this slot. */
void vg_jobs_beside_ring_others(struct vg_jobs_beside *beside, int own, unsigned events);
/* Take the events of the own slot, and sleep until there are some. 0 after the timeout (negative: none). */
unsigned vg_jobs_beside_wait(struct vg_jobs_beside *beside, int slot, int64_t timeout_ms);

/* Around a write transaction; a process without a slot (-1) has no turns. begin gives the count of commits. */
uint32_t vg_jobs_beside_turn_begin(struct vg_jobs_beside *beside, int slot);
/* The database was busy: sleep until there are more commits than were seen, or the time is over. Gives the count. */
uint32_t vg_jobs_beside_turn_wait(struct vg_jobs_beside *beside, int slot, uint32_t seen, int64_t most_us);
void vg_jobs_beside_turn_end(struct vg_jobs_beside *beside, int slot);

/* Ends of jobs are counted for those who wait for one. */
uint32_t vg_jobs_beside_ended(struct vg_jobs_beside *beside);
void vg_jobs_beside_ended_add(struct vg_jobs_beside *beside);
void vg_jobs_beside_ended_wait(struct vg_jobs_beside *beside, uint32_t seen, int64_t timeout_ms);

/* How far the clock of the tests is ahead. */
int64_t vg_jobs_beside_ahead_ms(struct vg_jobs_beside *beside);
void vg_jobs_beside_advance(struct vg_jobs_beside *beside, int64_t by_ms);

#endif
