"""The loop that plays a tournament, and what it goes by: what is on offer, what waits, what is not written yet.

loop          offers -> place -> log -> step
surroundings  what it needs of a log and of a place to play
offers        which games may begin, and in which order
setbacks      what the machine and engines failed, and what therefore waits
standstill    nothing can be played but with engines that do not start
unwritten     games that have ended and are not in the log yet

Which slot plays which game is `enginetour.tournament.allotment`: a new run asks that before any of this is loaded.
"""
