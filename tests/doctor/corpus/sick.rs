// SPDX-License-Identifier: MIT
// Two mutexes in two orders; a channel whose sender is kept; waits that nobody ends.
use std::io::Write;
use std::sync::{mpsc, Arc, Barrier, Condvar, Mutex};
use std::thread;

fn say_ready() {
    println!("ready");
    std::io::stdout().flush().unwrap();
}

fn abba() {
    let left = Arc::new(Mutex::new(0));
    let right = Arc::new(Mutex::new(0));
    let both = Arc::new(Barrier::new(2));
    let (l, r, b) = (left.clone(), right.clone(), both.clone());
    let other = thread::spawn(move || {
        let _held = r.lock().unwrap();
        b.wait();
        let _wanted = l.lock().unwrap();
    });
    let _held = left.lock().unwrap();
    both.wait();
    say_ready();
    let _wanted = right.lock().unwrap();
    other.join().unwrap();
}

fn channel() {
    let (sender, receiver) = mpsc::channel::<i32>();
    let keeps = sender.clone();
    say_ready();
    for value in receiver {
        println!("{}", value);
    }
    drop(keeps);
    drop(sender);
}

fn condvar() {
    let (lock, changed) = (Mutex::new(false), Condvar::new());
    say_ready();
    let mut held = lock.lock().unwrap();
    while !*held {
        held = changed.wait(held).unwrap();
    }
}

fn barrier() {
    let both = Arc::new(Barrier::new(3));
    let other = both.clone();
    let one = thread::spawn(move || {
        other.wait();
    });
    say_ready();
    both.wait();
    one.join().unwrap();
}

fn park() {
    say_ready();
    loop {
        thread::park();
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("abba") => abba(),
        Some("channel") => channel(),
        Some("condvar") => condvar(),
        Some("barrier") => barrier(),
        Some("park") => park(),
        _ => std::process::exit(2),
    }
}
