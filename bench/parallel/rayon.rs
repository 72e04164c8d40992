// SPDX-License-Identifier: MIT
//! rayon: what the benches call, as C functions; rayon.cpp is the peer.

use rayon::prelude::*;
use std::os::raw::c_void;

#[derive(Clone, Copy)]
struct Shared(*mut c_void);
unsafe impl Send for Shared {}
unsafe impl Sync for Shared {}
impl Shared {
    fn get(self) -> *mut c_void {
        self.0
    }
}

#[no_mangle]
pub extern "C" fn rayon_start(workers: u32) {
    rayon::ThreadPoolBuilder::new().num_threads(workers as usize).build_global().expect("a rayon pool");
}

#[no_mangle]
pub extern "C" fn rayon_inside(f: extern "C" fn(*mut c_void), arg: *mut c_void) {
    let arg = Shared(arg);
    rayon::scope(|_| f(arg.get()));
}

#[no_mangle]
pub extern "C" fn rayon_join(a: extern "C" fn(*mut c_void), x: *mut c_void, b: extern "C" fn(*mut c_void), y: *mut c_void) {
    let (x, y) = (Shared(x), Shared(y));
    rayon::join(|| a(x.get()), || b(y.get()));
}

#[no_mangle]
pub extern "C" fn rayon_for(n: usize, f: extern "C" fn(*mut c_void, usize), arg: *mut c_void) {
    let arg = Shared(arg);
    (0..n).into_par_iter().for_each(|i| f(arg.get(), i));
}

#[no_mangle]
pub unsafe extern "C" fn rayon_sum(v: *const u32, n: usize) -> u64 {
    std::slice::from_raw_parts(v, n).par_iter().map(|&x| x as u64).sum()
}

#[no_mangle]
pub unsafe extern "C" fn rayon_sort(v: *mut u32, n: usize) {
    std::slice::from_raw_parts_mut(v, n).par_sort_unstable();
}
