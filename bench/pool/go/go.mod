module vigil/bench/pool/go

go 1.18
