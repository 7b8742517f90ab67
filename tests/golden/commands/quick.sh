fastchess -quick cmd=./kite cmd=./heron book=UHO.pgn
