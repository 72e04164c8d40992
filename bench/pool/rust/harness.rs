// SPDX-License-Identifier: MIT
// harness.h as Rust sees it; the measuring itself is harness.c.

/// What a task does.
pub type PoolFn = extern "C" fn();

/// struct pool_peer, field for field.
#[repr(C)]
pub struct PoolPeer {
    pub start: extern "C" fn(workers: u32, tasks: usize),
    pub produce: extern "C" fn(first: usize, count: usize, f: PoolFn),
    pub stop: Option<extern "C" fn()>,
    pub producers: Option<extern "C" fn(u32, u32, extern "C" fn(u32))>,
    pub fib: Option<extern "C" fn(workers: u32, n: u32) -> u64>,
    pub fib_limit: u32,
    pub spawn: Option<extern "C" fn(first: usize, count: usize, f: PoolFn)>,
}
