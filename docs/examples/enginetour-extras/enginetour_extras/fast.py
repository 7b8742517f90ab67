"""The rating system ``fast``: Elo with K = 100, so that ratings follow the last few games."""

from enginetour.ratings import elo
from enginetour.ratings.systems import IncrementalSystem

CONTRACT = 1
PLUGIN = IncrementalSystem(elo.EloSettings(k=100), elo.begin, title="Elo, fast", scale="elo")
