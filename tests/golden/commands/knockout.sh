cutechess-cli -tournament knockout -seeds 2 -engine cmd=a -engine cmd=b -engine cmd=c -engine cmd=d -each proto=uci tc=0:30+0.3 -games 4 -event "Evening cup" -epdout last.epd
