module bench/io

go 1.19
