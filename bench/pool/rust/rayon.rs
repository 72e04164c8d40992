// SPDX-License-Identifier: MIT
//! rayon: ThreadPool::spawn from outside, join for fib.

mod harness;
use harness::{PoolFn, PoolPeer};
use std::sync::atomic::{AtomicPtr, Ordering};

static POOL: AtomicPtr<rayon::ThreadPool> = AtomicPtr::new(std::ptr::null_mut());

fn pool() -> &'static rayon::ThreadPool {
    unsafe { &*POOL.load(Ordering::Acquire) } // set in start, before anyone calls this; freed in stop, after
}

extern "C" fn start(workers: u32, _tasks: usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(workers as usize).build().expect("a rayon pool");
    POOL.store(Box::into_raw(Box::new(pool)), Ordering::Release);
}

extern "C" fn produce(_first: usize, count: usize, f: PoolFn) {
    let pool = pool();
    for _ in 0..count {
        pool.spawn(move || f());
    }
}

extern "C" fn stop() {
    drop(unsafe { Box::from_raw(POOL.swap(std::ptr::null_mut(), Ordering::AcqRel)) });
}

extern "C" fn spawn(_first: usize, count: usize, f: PoolFn) {
    rayon::scope(|scope| {
        for _ in 0..count {
            scope.spawn(move |_| f());
        }
    });
}

fn spawn_fib(n: u32) -> u64 {
    if n < 2 {
        return n as u64;
    }
    let (left, right) = rayon::join(|| spawn_fib(n - 1), || spawn_fib(n - 2));
    left + right
}

extern "C" fn fib(_workers: u32, n: u32) -> u64 {
    pool().install(|| spawn_fib(n))
}

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static pool_peer: PoolPeer = PoolPeer {
    start,
    produce,
    stop: Some(stop),
    producers: None,
    fib: Some(fib),
    fib_limit: 0,
    spawn: Some(spawn),
};
