cutechess-cli ^
 -engine conf=Kite_2.0 name="Kite 2.0" ^
 -engine conf=Heron_7 name="Heron 7" ^
 -each tc=6:00+4 restart=on timemargin=75 -debug ^
 -openings file="book-ply8.pgn" format=pgn order=random plies=8 policy=round ^
 -resign movecount=6 score=600 twosided=true ^
 -games 2 -rounds 25 -repeat 2 -resultformat wide -recover -wait 75 ^
 -maxmoves 200 -tb /srv/syzygy -tbpieces 6 ^
 -ratinginterval 10 -variant standard -concurrency 1 ^
 -event elo-gauntlet -pgnout "elo.pgn" -site "Somewhere, FL" -tournament gauntlet
