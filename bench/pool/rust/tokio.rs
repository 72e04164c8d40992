// SPDX-License-Identifier: MIT
//! tokio: the multi-thread runtime, without its drivers for I/O and time; a task is a future that is ready at once.

mod harness;
use harness::{PoolFn, PoolPeer};
use std::sync::atomic::{AtomicPtr, Ordering};

static RUNTIME: AtomicPtr<tokio::runtime::Runtime> = AtomicPtr::new(std::ptr::null_mut());

extern "C" fn start(workers: u32, _tasks: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers as usize)
        .build()
        .expect("a tokio runtime");
    RUNTIME.store(Box::into_raw(Box::new(runtime)), Ordering::Release);
}

extern "C" fn produce(_first: usize, count: usize, f: PoolFn) {
    // Set in start, before anyone comes here; freed in stop, after.
    let runtime = unsafe { &*RUNTIME.load(Ordering::Acquire) };
    let handle = runtime.handle();
    for _ in 0..count {
        handle.spawn(async move { f() });
    }
}

extern "C" fn stop() {
    drop(unsafe { Box::from_raw(RUNTIME.swap(std::ptr::null_mut(), Ordering::AcqRel)) });
}

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static pool_peer: PoolPeer = PoolPeer {
    start,
    produce,
    stop: Some(stop),
    producers: None,
    fib: None,
    fib_limit: 0,
    spawn: None,
};
