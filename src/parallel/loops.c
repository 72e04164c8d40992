/* SPDX-License-Identifier: MIT */
/*
 * loops.c - vigil_parallel_for and its relatives: what a piece means for each.
 */
#include "call.h"

#include "base/why.h"

#include <errno.h>

static int for_piece(vg_parallel *call, size_t begin, size_t end, void *value)
{
    (void)value;
    return ((const vigil_piece_fn *)call->detail)[0](call->arg, begin, end);
}

int vigil_parallel_for(vigil_pool *pool, size_t begin, size_t end, vigil_piece_fn body, void *arg,
                       const vigil_parallel_options *options)
{
    vg_parallel call;
    const int error = vg_parallel_begin(&call, pool, options);
    if (error != 0)
        return error;
    if (body == NULL)
        return VG_WHY_NULL("body");
    call.piece = for_piece;
    call.detail = &body;
    call.arg = arg;
    return vg_parallel_run(&call, begin, end, NULL);
}

/* ---- elements ---- */

typedef struct element_loop {
    int (*each)(void *arg, void *element);
    int (*transform)(void *arg, const void *from, void *to);
    vigil_array from, to;
} element_loop;

static int each_piece(vg_parallel *call, size_t begin, size_t end, void *value)
{
    (void)value;
    const element_loop *it = call->detail;
    char *element = (char *)it->from.base + begin * it->from.bytes;
    for (size_t i = begin; i < end; i++, element += it->from.bytes) {
        const int status = it->each(call->arg, element);
        if (status < 0)
            return status;
    }
    return 0;
}

int vigil_parallel_for_each(vigil_pool *pool, void *base, size_t count, size_t bytes,
                            int (*fn)(void *arg, void *element), void *arg, const vigil_parallel_options *options)
{
    vg_parallel call;
    const int error = vg_parallel_begin(&call, pool, options);
    if (error != 0)
        return error;
    if (fn == NULL || (base == NULL && count > 0))
        return fn == NULL ? VG_WHY_NULL("fn") : VG_WHY_NULL("base");
    const element_loop detail = {.each = fn, .from = {base, bytes}};
    call.piece = each_piece;
    call.detail = &detail;
    call.arg = arg;
    return vg_parallel_run(&call, 0, count, NULL);
}

static int transform_piece(vg_parallel *call, size_t begin, size_t end, void *value)
{
    (void)value;
    const element_loop *it = call->detail;
    const char *from = (const char *)it->from.base + begin * it->from.bytes;
    char *to = (char *)it->to.base + begin * it->to.bytes;
    for (size_t i = begin; i < end; i++, from += it->from.bytes, to += it->to.bytes) {
        const int status = it->transform(call->arg, from, to);
        if (status < 0)
            return status;
    }
    return 0;
}

int vigil_parallel_transform(vigil_pool *pool, vigil_array from, vigil_array to, size_t count,
                             int (*fn)(void *arg, const void *from, void *to), void *arg,
                             const vigil_parallel_options *options)
{
    vg_parallel call;
    const int error = vg_parallel_begin(&call, pool, options);
    if (error != 0)
        return error;
    if (fn == NULL)
        return VG_WHY_NULL("fn");
    if (count > 0 && (from.base == NULL || to.base == NULL))
        return from.base == NULL ? VG_WHY_NULL("from.base") : VG_WHY_NULL("to.base");
    const element_loop detail = {.transform = fn, .from = from, .to = to};
    call.piece = transform_piece;
    call.detail = &detail;
    call.arg = arg;
    return vg_parallel_run(&call, 0, count, NULL);
}

/* ---- two dimensions ---- */

typedef struct tile_loop {
    int (*body)(void *arg, const vigil_tile *tile);
    vigil_tile area;
    size_t rows, columns; /* of a tile */
    size_t tiles_down, tiles_across;
} tile_loop;

/* The tile of this number: halve the longer side of the grid, and stay in the half that holds it. So numbers that are
   near each other name tiles that are. */
static vigil_tile tile_at(const tile_loop *it, size_t number)
{
    size_t top = 0;
    size_t left = 0;
    size_t down = it->tiles_down;
    size_t across = it->tiles_across;
    while (down > 1 || across > 1) {
        const bool by_row = down * it->rows >= across * it->columns ? down > 1 : across == 1;
        const size_t near = by_row ? down / 2 * across : across / 2 * down;
        if (by_row) {
            top += number < near ? 0 : down / 2;
            down = number < near ? down / 2 : down - down / 2;
        } else {
            left += number < near ? 0 : across / 2;
            across = number < near ? across / 2 : across - across / 2;
        }
        number -= number < near ? 0 : near;
    }
    vigil_tile tile = {.row = it->area.row + top * it->rows, .column = it->area.column + left * it->columns};
    const size_t rows_left = it->area.row_end - tile.row;
    const size_t columns_left = it->area.column_end - tile.column;
    tile.row_end = tile.row + (it->rows < rows_left ? it->rows : rows_left);
    tile.column_end = tile.column + (it->columns < columns_left ? it->columns : columns_left);
    return tile;
}

static int tile_piece(vg_parallel *call, size_t begin, size_t end, void *value)
{
    (void)value;
    const tile_loop *it = call->detail;
    for (size_t i = begin; i < end; i++) {
        const vigil_tile tile = tile_at(it, i);
        const int status = it->body(call->arg, &tile);
        if (status < 0)
            return status;
    }
    return 0;
}

int vigil_parallel_for_2d(vigil_pool *pool, const vigil_tile *area, size_t tile_rows, size_t tile_columns,
                          int (*body)(void *arg, const vigil_tile *tile), void *arg,
                          const vigil_parallel_options *options)
{
    vg_parallel call;
    const int error = vg_parallel_begin(&call, pool, options);
    if (error != 0)
        return error;
    if (body == NULL || area == NULL)
        return body == NULL ? VG_WHY_NULL("body") : VG_WHY_NULL("area");
    if (area->row >= area->row_end || area->column >= area->column_end)
        return 0;
    tile_loop detail = {.body = body, .area = *area};
    detail.rows = tile_rows != 0 ? tile_rows : 32;
    detail.columns = tile_columns != 0 ? tile_columns : 32;
    detail.tiles_down = (area->row_end - area->row - 1) / detail.rows + 1;
    detail.tiles_across = (area->column_end - area->column - 1) / detail.columns + 1;
    size_t tiles;
    if (__builtin_mul_overflow(detail.tiles_down, detail.tiles_across, &tiles))
        return vg_why(-EINVAL, "area has more tiles than a size_t can count");
    call.piece = tile_piece;
    call.detail = &detail;
    call.arg = arg;
    return vg_parallel_run(&call, 0, tiles, NULL);
}
