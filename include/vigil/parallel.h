/* SPDX-License-Identifier: MIT */
/*
 * vigil/parallel.h - loops, reductions, scans, searches and sorts on the workers of a pool.
 *
 * Every call here splits its range into pieces, runs them on the workers, and returns when all of
 * them have ended. The caller may be any thread. Inside a task of the pool the caller takes part,
 * in the class of its task; elsewhere the whole runs on the pool in the class of the options, and
 * the caller sleeps, or works as well if options->caller_works says so.
 *
 *     static int scale(void *arg, size_t begin, size_t end)
 *     {
 *         double *v = arg;
 *         for (size_t i = begin; i < end; i++)
 *             v[i] *= 2;
 *         return 0;
 *     }
 *     ...
 *     int error = vigil_parallel_for(pool, 0, count, scale, v, NULL);
 *
 * Splitting. A worker runs its range piece by piece, from the front. Before each piece it looks at
 * its own deque: if that is empty, somebody has taken what lay there, or nothing was there yet,
 * and the worker puts the back half of its range there (lazy binary splitting). So a loop on a
 * busy pool is split a few times, and one with hungry workers as often as they ask. A piece grows
 * or shrinks until it lasts about 20 us, so neither tiny nor uneven iterations need an option.
 *
 * Failure. A body that returns a negative value or calls vigil_raise ends the call: pieces that
 * have not begun are left out, and the call returns the first failure. The task of the caller has
 * not failed by that. A token that is aborted does the same with its status, and so does the end
 * of the pool with -ECANCELED.
 *
 * Nesting. A body may call anything here. While a call waits for a stolen piece it runs pieces of
 * its own range only.
 */
#ifndef VIGIL_PARALLEL_H
#define VIGIL_PARALLEL_H

#include <stddef.h>
#include <stdint.h>

#include <vigil/base.h>
#include <vigil/cancel.h>
#include <vigil/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a range becomes pieces. */
typedef enum vigil_split {
    VIGIL_SPLIT_LAZY = 0, /* as above (default) */
    /* the same pieces and the same order of merges in every run: `grain` each, or one per worker
       if grain is 0 */
    VIGIL_SPLIT_STATIC = 1
} vigil_split;

/* Start from VIGIL_PARALLEL_OPTIONS_INIT. */
typedef struct vigil_parallel_options {
    size_t size;
    vigil_split split;
    vigil_priority priority;   /* outside a task of the pool; the _INIT macro says VIGIL_NORMAL */
    size_t grain;              /* the least of a piece, but for the last of a range; 0: 1 */
    vigil_cancel_token *token; /* looked at before each piece; NULL: none */
    /* Called now and then with the number of iterations that have ended, by the worker that ended
       some; never twice at a time. A call that succeeds makes a last one with done == total. To
       return other than 0 ends the whole with -ECANCELED, or with that value if it is negative.
       May be NULL. Must not vigil_raise. */
    int (*progress)(void *user, size_t done, size_t total);
    void *user; /* for progress */
    /* outside a task of the pool the caller works too (vigil_pool_run); else it sleeps */
    bool caller_works;
} vigil_parallel_options;

#define VIGIL_PARALLEL_OPTIONS_INIT                                                                \
    {                                                                                              \
        sizeof(vigil_parallel_options), VIGIL_SPLIT_LAZY, VIGIL_NORMAL, 0, NULL, NULL, NULL, false \
    }

/* One piece: everything from begin to before end. Returns a status: negative is a failure. */
typedef int (*vigil_piece_fn)(void *arg, size_t begin, size_t end);

/* Run body over the pieces of [begin, end). An empty range is no error. Any thread; blocks.
   0; the first failure; -ECANCELED; -EINVAL; -EAGAIN outside a worker, max_queue is reached;
   -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_parallel_for(vigil_pool *pool, size_t begin, size_t end, vigil_piece_fn body,
                                 void *arg, const vigil_parallel_options *options);

/* A tile: rows from row to before row_end, columns from column to before column_end. */
typedef struct vigil_tile {
    size_t row, row_end;
    size_t column, column_end;
} vigil_tile;

/* Run body over the tiles of `area`, each of at most rows x columns of `tile_rows` and
   `tile_columns` (0: 32). Neighbours come one after the other: the area is halved along its longer
   side again and again. options->grain counts tiles. Any thread; blocks.
   0; the first failure; -ECANCELED; -EINVAL; -EAGAIN; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_parallel_for_2d(vigil_pool *pool, const vigil_tile *area, size_t tile_rows,
                                    size_t tile_columns,
                                    int (*body)(void *arg, const vigil_tile *tile), void *arg,
                                    const vigil_parallel_options *options);

/* Call fn(arg, element) for each of `count` elements of `bytes` bytes at base. Any thread; blocks.
   0; the first failure; -ECANCELED; -EINVAL; -EAGAIN; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_parallel_for_each(vigil_pool *pool, void *base, size_t count, size_t bytes,
                                      int (*fn)(void *arg, void *element), void *arg,
                                      const vigil_parallel_options *options);

/* An array to read or write. */
typedef struct vigil_array {
    void *base;
    size_t bytes; /* of an element */
} vigil_array;

/* Call fn(arg, from, to) for each of `count` pairs of elements. from and to may be the same array.
   Any thread; blocks.
   0; the first failure; -ECANCELED; -EINVAL; -EAGAIN; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_parallel_transform(vigil_pool *pool, vigil_array from, vigil_array to,
                                       size_t count,
                                       int (*fn)(void *arg, const void *from, void *to), void *arg,
                                       const vigil_parallel_options *options);

/* ---- values ---------------------------------------------------------------------------------- */

/* How values come about and how two of them become one. `merge` must be associative; it gets
   neighbours in the order of the range, so it need not be commutative. Start from
   VIGIL_REDUCER_INIT. */
typedef struct vigil_reducer {
    size_t size;
    size_t bytes; /* of a value: 1 to VIGIL_VALUE_BYTES */
    /* make a neutral value; NULL: all bytes zero */
    void (*start)(void *arg, void *value);
    /* add a piece to the value; negative is a failure */
    int (*fold)(void *arg, size_t begin, size_t end, void *value);
    /* value = value and then right. Called for every value that was started, also after a failure:
       right is not used again, and what it holds may be freed here. */
    void (*merge)(void *arg, void *value, void *right);
    /* for vigil_parallel_scan: as fold, and write the results of the piece; value holds what comes
       before it. NULL elsewhere. */
    int (*write)(void *arg, size_t begin, size_t end, void *value);
} vigil_reducer;
#define VIGIL_REDUCER_INIT VG_SIZED(vigil_reducer)
#define VIGIL_VALUE_BYTES  1024

/* Fold [begin, end) into *result, which need not be initialised and is started first. With
   VIGIL_SPLIT_STATIC a sum of floating point numbers is the same in every run. Any thread; blocks.
   0; the first failure; -ECANCELED; -EINVAL; -EAGAIN; -ESHUTDOWN; -ECHILD. *result is started
   unless it is -EINVAL or -ECHILD. */
VIGIL_API int vigil_parallel_reduce(vigil_pool *pool, size_t begin, size_t end,
                                    const vigil_reducer *reducer, void *arg,
                                    const vigil_parallel_options *options, void *result);

/* Prefix sums: for each piece, in order of the range, reducer->write gets the value of everything
   before it and adds the piece. Parts whose left side is not ready are folded first and written
   later, so fold sees some pieces that write sees too. Values are copied byte by byte. *result is
   the value of the whole. Of the options it uses priority and token. Any thread; blocks.
   0; the first failure; -ECANCELED; -ENOMEM; -EINVAL; -EAGAIN; -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_parallel_scan(vigil_pool *pool, size_t begin, size_t end,
                                  const vigil_reducer *reducer, void *arg,
                                  const vigil_parallel_options *options, void *result);

/* Find the lowest index that `test` finds. test looks through a piece in order: 1 and the index in
   *at, or 0, or a negative failure. Pieces behind an index that was found are left out. Any thread;
   blocks.
   1 found, *at is the index; 0 there is none; the first failure; -ECANCELED; -EINVAL; -EAGAIN;
   -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_parallel_find(vigil_pool *pool, size_t begin, size_t end,
                                  int (*test)(void *arg, size_t begin, size_t end, size_t *at),
                                  void *arg, const vigil_parallel_options *options, size_t *at);

/* ---- sorting --------------------------------------------------------------------------------- */

/* Negative, 0, positive: as for qsort_r(3). Called on several workers at once. */
typedef int (*vigil_compare_fn)(const void *a, const void *b, void *arg);

/* Sort `count` elements of `bytes` bytes at base, in place. Equal elements may change places; the
   worst case is n log n. Of the options it uses priority and token. After a failure the elements
   are there in any order. Any thread; blocks.
   0; -ECANCELED or the token's status; the status that compare raised; -EINVAL; -EAGAIN;
   -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_parallel_sort(vigil_pool *pool, void *base, size_t count, size_t bytes,
                                  vigil_compare_fn compare, void *arg,
                                  const vigil_parallel_options *options);

/* The same; equal elements keep their order. Needs room for a second array. A compare that raises
   leaves some elements twice and others nowhere. Any thread; blocks.
   0; -ENOMEM; -ECANCELED or the token's status; the status that compare raised; -EINVAL; -EAGAIN;
   -ESHUTDOWN; -ECHILD. */
VIGIL_API int vigil_parallel_sort_stable(vigil_pool *pool, void *base, size_t count, size_t bytes,
                                         vigil_compare_fn compare, void *arg,
                                         const vigil_parallel_options *options);

/* ---- a value per worker ---------------------------------------------------------------------- */

typedef struct vigil_local vigil_local;

/* Make room for one value of `bytes` bytes per worker. A value is made when its worker first asks
   for it: start(arg, value), or all bytes zero if start is NULL. *local is given back with
   vigil_local_destroy. Any thread; does not block.
   0; -EINVAL; -ENOMEM; -ECHILD. */
VIGIL_API int vigil_local_create(vigil_local **local, vigil_pool *pool, size_t bytes,
                                 void (*start)(void *arg, void *value), void *arg);

/* The value of the calling worker; it stays where it is. A wait inside a task may run other
   tasks on the same worker, and they see the same value. Worker; does not block. Returns NULL
   outside a task, or if there is no memory for the worker's first value. */
VIGIL_API void *vigil_local_get(vigil_local *local);

/* Call fn(arg, value) for each value that was made, in the order of the workers. No task may use
   the values at that time: call it when the loop has returned. Any thread; does not block.
   0; the first negative value that fn returned, which ends the walk; -EINVAL. */
VIGIL_API int vigil_local_each(vigil_local *local, int (*fn)(void *arg, void *value), void *arg);

/* Free the values and the rest. What values hold is the caller's: vigil_local_each first. NULL is
   allowed. No other thread may use it. Before the pool is destroyed or after. Any thread; does not
   block. */
VIGIL_API void vigil_local_destroy(vigil_local *local);

#ifdef __cplusplus
}
#endif
#endif
