// SPDX-License-Identifier: MIT
//! crossbeam-channel: bounded and unbounded.
use crossbeam_channel::{bounded, unbounded, Receiver, Sender};
use std::sync::OnceLock;

static ENDS: OnceLock<(Sender<u64>, Receiver<u64>)> = OnceLock::new();

extern "C" fn open(capacity: usize) {
    let _ = ENDS.set(if capacity == usize::MAX { unbounded() } else { bounded(capacity) });
}

extern "C" fn send(message: u64) {
    ENDS.get().unwrap().0.send(message).unwrap();
}

extern "C" fn receive() -> u64 {
    ENDS.get().unwrap().1.recv().unwrap()
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
    SharePeer { lock: None, unlock: None, acquire: None, post: None, open: Some(open), send: Some(send), receive: Some(receive), green: None };
