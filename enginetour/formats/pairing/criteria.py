"""What makes a pair good: weighted criteria of the Gotha kind, whose sum a round makes as large as can be.

present.py, seeding.py, floats.py and kinship.py have the criteria of today, older.py the function of about 2005;
lineup.py says who is there, drawing.py makes a round of the weights.
"""
