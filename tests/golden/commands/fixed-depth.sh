fastchess -engine cmd=target/release/kite args=-u -engine cmd=target/release/kite args="-u --quiet" -each proto=uci depth=4 -rounds 20 -games 2 -concurrency 4
