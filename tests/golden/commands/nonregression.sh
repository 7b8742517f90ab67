cutechess-cli.exe \
    -engine name=new proto=uci cmd=new.exe stderr=new_stderr.txt \
    -engine name=old proto=uci cmd=old.exe stderr=old_stderr.txt \
    -openings file=8moves.pgn format=pgn order=random \
    -resign movecount=3 score=400 -draw movenumber=40 movecount=3 score=10 \
    -concurrency 11 -ratinginterval 10 -games 50000 \
    -repeat -each tc=8+0.08 -sprt elo0=-10 elo1=0 alpha=0.05 beta=0.05 \
    # -debug
