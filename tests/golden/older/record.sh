#!/bin/bash
# How this set was recorded: in /srv/chess, which held engines/, configs/ and pgn/ of this folder, by the program of
# commit 433f15d (0.1.0). Afterwards only the name of the processor was replaced, and each database was packed by xz.
for file in configs/systems/*.toml; do
  case $(basename "$file" .toml) in
    epm | gerlach | godraw | gopair | gotha-2005 | mcmahon | probe) db=results/rules.db ;;  # rules changed since
    *) db=results/systems.db ;;
  esac
  enginetour run "$file" --plain --slots 2 --db "$db"
done

export ENGINETOUR_DB=results/league.db
enginetour run configs/league.toml --plain --max-games 14
enginetour void 2 -t league --why "the machine was swapping"
enginetour withdraw "Pebble crash" -t league --why "crashes every game"
enginetour add b1 -t league --why "came late"
enginetour replace "Pebble slow" c0 -t league --name "Pebble 0 late"
enginetour run configs/league.toml --plain --accept-change
enginetour void 9 -t league --why "wrong book"
enginetour run configs/league.toml --plain
enginetour run configs/match.toml --plain
enginetour lists define blitz --time-class ultrabullet --by name --anchor "Pebble 1=1500"
enginetour lists define everything --model davidson --advantage fit --min-games 2
enginetour publish blitz --note "the first"
enginetour import pgn/old.pgn --name "Old league"
enginetour import pgn/more.pgn --name "More" --aliases pgn/aliases.csv
enginetour import pgn/wrong.pgn --name "Wrong"
enginetour publish everything
enginetour import --remove Wrong --why "wrong time control"
enginetour run configs/shuffled.toml --plain
enginetour run configs/odds.toml --plain
enginetour match p0 b1 --games 4 --tc 5+0.05 --name "short match" --max-moves 20
enginetour lists define blitz --not-engine "Pebble illegal"
enginetour publish blitz --note "the second"
enginetour publish everything --note "without the removed import"
for system in elo gor egf egf2021; do enginetour ratings --all --system "$system"; done

export ENGINETOUR_DB=results/interrupted.db
enginetour run configs/bubble.toml --plain --max-games 28
enginetour run configs/swiss.toml --plain --max-games 5
enginetour run configs/voids.toml --plain --max-games 5
enginetour void 2 -t voids --why "replay me"
unset ENGINETOUR_DB

enginetour engines add found-uci engines/pebble.py 0
enginetour engines add found-cecp --protocol cecp engines/pebble.py 0 computer
enginetour engines check found-uci found-cecp --write
for system in bubble swiss; do
  enginetour init "configs/init-$system.toml" --format "$system" --engine p0 --engine p1 --engine b2
done
enginetour init configs/init-command.toml --from-command 'cutechess-cli -engine conf=p0 -engine cmd=./engines/pebble.py
  arg=1 proto=xboard name=second -each tc=40/10+0.1 timemargin=50 -rounds 4 -games 2 -repeat -openings
  file=pgn/lines.pgn format=pgn order=random plies=4 -draw movenumber=40 movecount=8 score=10 -resign movecount=4
  score=600 twosided=true -pgnout games.pgn -srand 5 -concurrency 2'
