cutechess-cli -engine cmd=build/kite nodes=1000 -engine cmd=old/kite -each st=0.01 proto=uci timemargin=1500 book=books/perfect.bin bookdepth=8 -rounds 100 -pgnout "out.pgn" -debug
