cutechess-cli -engine cmd=sloppy initstr="random\nbook off" whitepov -engine cmd=sloppy ponder trust -each proto=xboard tc=40/60 -rounds 10
