/* SPDX-License-Identifier: MIT */
/*
 * reader_hists.c - histograms, as the file has them and as they are shown.
 */
#include "reader_hists.h"
#include "raw.h"

void vg_raw_hist(const vg_raw *raw, const vg_file_hist *from, vg_hist_view *into)
{
    into->tick_ns = raw->snapshot->tick_ns;
    into->sum_ns += vg_raw_ns(raw, vg_raw_get(&from->sum));
    const uint64_t longest = vg_raw_ns(raw, vg_raw_get(&from->longest));
    if (longest > into->longest_ns)
        into->longest_ns = longest;
    for (unsigned i = 0; i < VG_HIST_BUCKETS; i++) {
        const uint64_t count = vg_raw_get(&from->buckets[i]);
        into->buckets[i] += count;
        into->count += count;
    }
}

uint64_t vg_hist_quantile(const vg_hist_view *hist, double q)
{
    if (hist->count == 0 || !(q >= 0))
        return 0;
    if (q > 1)
        q = 1;
    const double exact = q * (double)hist->count;
    double rank = (double)(uint64_t)exact;
    if (rank < exact || rank < 1)
        rank += 1;
    double seen = 0;
    for (unsigned i = 0; i < VG_HIST_BUCKETS; i++) {
        seen += (double)hist->buckets[i];
        if (seen < rank)
            continue;
        const double low = (double)vg_hist_floor(i);
        const double width = (double)(vg_hist_floor(i + 1) - vg_hist_floor(i));
        const double ns = (width > 1 ? low + width / 2 : low) * hist->tick_ns;
        const uint64_t value = ns < 1.8e19 ? (uint64_t)ns : UINT64_MAX;
        return hist->longest_ns != 0 && value > hist->longest_ns ? hist->longest_ns : value;
    }
    return hist->longest_ns;
}

void vg_hist_add(vg_hist_view *into, const vg_hist_view *more)
{
    into->count += more->count;
    into->sum_ns += more->sum_ns;
    if (more->longest_ns > into->longest_ns)
        into->longest_ns = more->longest_ns;
    if (more->tick_ns != 0)
        into->tick_ns = more->tick_ns;
    for (unsigned i = 0; i < VG_HIST_BUCKETS; i++)
        into->buckets[i] += more->buckets[i];
}

void vg_hist_since(vg_hist_view *result, const vg_hist_view *now, const vg_hist_view *before)
{
    vg_hist_view since = {.tick_ns = now->tick_ns, .longest_ns = now->longest_ns};
    since.sum_ns = vg_less(now->sum_ns, before->sum_ns);
    for (unsigned i = 0; i < VG_HIST_BUCKETS; i++) {
        since.buckets[i] = vg_less(now->buckets[i], before->buckets[i]);
        since.count += since.buckets[i];
    }
    *result = since;
}
