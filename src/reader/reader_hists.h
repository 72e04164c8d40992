/* SPDX-License-Identifier: MIT */
/*
 * reader_hists.h - histograms.
 */
#ifndef VG_READER_READER_HISTS_H
#define VG_READER_READER_HISTS_H

#include "view.h"

typedef struct vg_raw vg_raw;

/* The value below which the fraction q (0 to 1) lies, in ns; 0 for an empty histogram. Off by at most 1/32. */
uint64_t vg_hist_quantile(const vg_hist_view *hist, double q);

/* Add `more` to `into`, and take `before` off `now` (both of one histogram: what has come since). */
void vg_hist_add(vg_hist_view *into, const vg_hist_view *more);
void vg_hist_since(vg_hist_view *result, const vg_hist_view *now, const vg_hist_view *before);

void vg_raw_hist(const vg_raw *raw, const vg_file_hist *from, vg_hist_view *into); /* adds */

#endif
