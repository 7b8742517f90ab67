cutechess-cli -engine cmd=kite arg=uci arg=--threads arg=2 name=kite -engine cmd=heron name=heron -each proto=uci tc=1+0.05 -games 2 -rounds 1 -repeat -pgnout match.pgn -recover
