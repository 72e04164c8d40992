/* SPDX-License-Identifier: MIT */
/* Static data of the engine itself: kept apart, because all other static data
 * is put back before each execution. */
#ifndef VGC_STATE_H
#define VGC_STATE_H
#define ENGINE_STATE __attribute__((section("vgc_state")))
#endif
