// SPDX-License-Identifier: MIT
//! parking_lot: RawMutex.
use parking_lot::lock_api::RawMutex as _;
use parking_lot::RawMutex;

static MUTEX: RawMutex = RawMutex::INIT;

extern "C" fn lock() {
    MUTEX.lock();
}

extern "C" fn unlock() {
    unsafe { MUTEX.unlock() }
}

#[repr(C)]
pub struct SharePeer {
    lock: Option<extern "C" fn()>,
    unlock: Option<extern "C" fn()>,
    acquire: Option<extern "C" fn()>,
    post: Option<extern "C" fn()>,
    open: Option<extern "C" fn(usize)>,
    send: Option<extern "C" fn(u64)>,
    receive: Option<extern "C" fn() -> u64>,
    green: Option<extern "C" fn(usize, u32, i64) -> f64>,
}

#[no_mangle]
pub static share_peer: SharePeer =
    SharePeer { lock: Some(lock), unlock: Some(unlock), acquire: None, post: None, open: None, send: None, receive: None, green: None };
