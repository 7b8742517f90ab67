fastchess -engine cmd=kite name=test -engine cmd=kite-base name=base \
  -each tc=10+0.1 option.Hash=16 option.Threads=1 proto=uci \
  -openings file=UHO.epd format=epd order=random \
  -repeat -games 2 -rounds 30000 -concurrency 8 -recover \
  -sprt elo0=0 elo1=5 alpha=0.05 beta=0.05 -ratinginterval 200
