cutechess-cli -engine cmd=kite -engine cmd=heron tscale=2 -each proto=uci tc=40/30 -rounds 1
