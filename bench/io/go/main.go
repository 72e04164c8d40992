// SPDX-License-Identifier: MIT

// The servers of the io benches in Go, called by harness.c through go.c:
//
//	io-go-server io-http 5         says its port to descriptor 5
//	io-go-server io-tls DIR PORT   listens at PORT with DIR/cert.pem and DIR/key.pem
//
// Each connection has a goroutine, as Go's users write it. GOMAXPROCS is 1, because the process has one CPU.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"os"
	"strconv"
)

const (
	answer   = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\nConnection: keep-alive\r\n\r\nhello world\n"
	most     = 64
	longest  = 256
	tlsHello = "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nhello world\n"
	tlsBulk  = 64 << 20
	tlsHead  = "HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n"
)

var answers = bytes.Repeat([]byte(answer), most)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func say(address net.Addr) {
	fd, err := strconv.Atoi(os.Args[2])
	must(err)
	port := 0
	switch it := address.(type) {
	case *net.TCPAddr:
		port = it.Port
	case *net.UDPAddr:
		port = it.Port
	}
	var word [4]byte
	binary.LittleEndian.PutUint32(word[:], uint32(port))
	out := os.NewFile(uintptr(fd), "port")
	_, err = out.Write(word[:])
	must(err)
	out.Close()
}

// How many requests end in these bytes; the same automaton as io_requests in harness.h.
func requests(data []byte, state *int) int {
	const end = "\r\n\r\n"
	seen, count := *state, 0
	for _, c := range data {
		if c == end[seen] {
			seen++
		} else if c == '\r' {
			seen = 1
		} else {
			seen = 0
		}
		if seen == 4 {
			seen = 0
			count++
		}
	}
	*state = seen
	if count > most {
		return most
	}
	return count
}

func serveRequests(conn net.Conn) {
	defer conn.Close()
	buffer := make([]byte, 8192)
	state := 0
	for {
		got, err := conn.Read(buffer)
		if err != nil {
			return
		}
		if count := requests(buffer[:got], &state); count != 0 {
			if _, err = conn.Write(answers[:count*len(answer)]); err != nil {
				return
			}
		}
	}
}

// Lines that came together go back together.
func serveLines(conn net.Conn) {
	defer conn.Close()
	in, out := bufio.NewReader(conn), bufio.NewWriter(conn)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil || len(line) > longest {
			return
		}
		out.Write(line)
		if in.Buffered() == 0 && out.Flush() != nil {
			return
		}
	}
}

func serveTLS(conn net.Conn) {
	defer conn.Close()
	buffer := make([]byte, 4096)
	piece := bytes.Repeat([]byte{'x'}, 1<<18)
	for {
		got, err := conn.Read(buffer)
		if err != nil {
			return
		}
		if !bytes.HasPrefix(buffer[:got], []byte("GET /bulk")) {
			_, err = conn.Write([]byte(tlsHello))
		} else {
			_, err = conn.Write([]byte(tlsHead))
			for sent := 0; sent < tlsBulk && err == nil; sent += len(piece) {
				_, err = conn.Write(piece)
			}
		}
		if err != nil {
			return
		}
	}
}

func accept(listener net.Listener) net.Conn {
	conn, err := listener.Accept()
	must(err)
	return conn
}

func echo() {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	must(err)
	say(conn.LocalAddr())
	buffer := make([]byte, 2048)
	for {
		got, peer, err := conn.ReadFromUDPAddrPort(buffer)
		must(err)
		_, err = conn.WriteToUDPAddrPort(buffer[:got], peer)
		must(err)
	}
}

func main() {
	bench := os.Args[1]
	if bench == "io-udp" {
		echo()
	}
	if bench == "io-tls" {
		pair, err := tls.LoadX509KeyPair(os.Args[2]+"/cert.pem", os.Args[2]+"/key.pem")
		must(err)
		config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
		listener, err := tls.Listen("tcp4", "127.0.0.1:"+os.Args[3], config)
		must(err)
		for {
			go serveTLS(accept(listener))
		}
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	must(err)
	say(listener.Addr())
	if bench == "io-copy" {
		from := accept(listener)
		to := accept(listener)
		io.Copy(to, from) // by splice
		return
	}
	serve := serveRequests
	if bench == "io-lines" {
		serve = serveLines
	}
	for {
		go serve(accept(listener))
	}
}
