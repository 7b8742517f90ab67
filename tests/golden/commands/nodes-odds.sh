fastchess \
  -engine cmd=kite name=Kite1 option.Threads=1 nodes=2000000 \
  -engine cmd=kite name=Kite2 option.Threads=2 nodes=1000000 \
  -openings file=UHO.epd format=epd order=random \
  -each tc=300+5 -resign movecount=3 score=600 -draw movenumber=34 movecount=8 score=20 \
  -sprt elo0=0 elo1=2 alpha=0.05 beta=0.05 \
  -rounds 100000 -concurrency 3 -pgnout notation=san nodes=true file=./games/sprt.pgn
