cutechess-cli -engine cmd="python3 kite.py --model weights/model.pt" -engine cmd=heron -each tc=60+1 proto=uci -games 100
