module vigil/bench/share/go

go 1.18
