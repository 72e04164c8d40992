// SPDX-License-Identifier: MIT
//! tokio: the runtime of one thread, because the server has one CPU; a task for each connection.

use std::ffi::CStr;
use std::os::raw::{c_char, c_int};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

extern "C" {
    fn io_listening(port: c_int);
}

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\nConnection: keep-alive\r\n\r\nhello world\n";
const MOST: usize = 64;
const LONGEST: usize = 256;

/// How many requests end in these bytes; the same automaton as io_requests in harness.h.
fn requests(data: &[u8], state: &mut usize) -> usize {
    const END: [u8; 4] = *b"\r\n\r\n";
    let mut seen = *state;
    let mut count = 0;
    for &c in data {
        seen = if c == END[seen] {
            seen + 1
        } else if c == b'\r' {
            1
        } else {
            0
        };
        if seen == 4 {
            seen = 0;
            count += 1;
        }
    }
    *state = seen;
    count.min(MOST)
}

async fn serve_requests(mut stream: TcpStream, answers: &'static [u8]) {
    let mut buffer = vec![0u8; 8192];
    let mut state = 0;
    loop {
        match stream.read(&mut buffer).await {
            Ok(got) if got > 0 => {
                let count = requests(&buffer[..got], &mut state);
                if count != 0 && stream.write_all(&answers[..count * ANSWER.len()]).await.is_err() {
                    return;
                }
            }
            _ => return,
        }
    }
}

/// Lines that came together go back together.
async fn serve_lines(mut stream: TcpStream) {
    let (from, mut to) = stream.split();
    let mut from = BufReader::new(from);
    let mut lines = Vec::new();
    loop {
        let before = lines.len();
        match from.read_until(b'\n', &mut lines).await {
            Ok(got) if got > 0 && lines.len() - before <= LONGEST => {
                if from.buffer().is_empty() {
                    if to.write_all(&lines).await.is_err() {
                        return;
                    }
                    lines.clear();
                }
            }
            _ => return,
        }
    }
}

async fn copy(listener: TcpListener) {
    let (mut from, _) = listener.accept().await.expect("a connection");
    let (mut to, _) = listener.accept().await.expect("a connection");
    let _ = tokio::io::copy(&mut from, &mut to).await;
}

async fn echo(socket: UdpSocket) {
    let mut buffer = vec![0u8; 2048];
    loop {
        let (got, peer) = socket.recv_from(&mut buffer).await.expect("a datagram");
        socket.send_to(&buffer[..got], peer).await.expect("an echo");
    }
}

async fn serve(bench: &str) {
    if bench == "io-udp" {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
        unsafe { io_listening(socket.local_addr().expect("an address").port() as c_int) };
        return echo(socket).await;
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    unsafe { io_listening(listener.local_addr().expect("an address").port() as c_int) };
    if bench == "io-copy" {
        return copy(listener).await;
    }
    let answers: &'static [u8] = Box::leak(ANSWER.repeat(MOST).into_boxed_slice());
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        let _ = stream.set_nodelay(true);
        if bench == "io-lines" {
            tokio::spawn(serve_lines(stream));
        } else {
            tokio::spawn(serve_requests(stream, answers));
        }
    }
}

#[no_mangle]
pub extern "C" fn io_serve(bench: *const c_char) {
    let bench = unsafe { CStr::from_ptr(bench) }.to_str().expect("a bench");
    tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .expect("a tokio runtime")
        .block_on(serve(bench));
}
