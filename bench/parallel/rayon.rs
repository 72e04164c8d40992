// SPDX-License-Identifier: MIT
//! rayon: what the benches call, as C functions; rayon.cpp is the peer.

use rayon::prelude::*;
use std::os::raw::c_void;
use std::sync::atomic::{AtomicU8, Ordering};

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

struct Grid {
    side: usize,
    left: Vec<AtomicU8>, // cells before it that have not ended
    f: extern "C" fn(*mut c_void),
    arg: Shared,
}

fn cell<'a>(scope: &rayon::Scope<'a>, grid: &'a Grid, mut at: usize) {
    loop {
        (grid.f)(grid.arg.get());
        let mut next = None;
        let behind = [(at % grid.side + 1 < grid.side, at + 1), (at / grid.side + 1 < grid.side, at + grid.side)];
        for (there, i) in behind {
            if there && grid.left[i].fetch_sub(1, Ordering::AcqRel) == 1 {
                match next {
                    None => next = Some(i), // one of the two goes on here
                    Some(_) => scope.spawn(move |s| cell(s, grid, i)),
                }
            }
        }
        match next {
            Some(i) => at = i,
            None => return,
        }
    }
}

#[no_mangle]
pub extern "C" fn rayon_grid(side: usize, f: extern "C" fn(*mut c_void), arg: *mut c_void) {
    let left = (0..side * side).map(|i| AtomicU8::new((i % side != 0) as u8 + (i / side != 0) as u8)).collect();
    let grid = Grid { side, left, f, arg: Shared(arg) };
    rayon::scope(|s| cell(s, &grid, 0));
}
