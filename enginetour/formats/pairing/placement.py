"""The order of a field: codes in a row, each of which splits those still tied on everything before it.

codes.py has the table of all codes; terms.py what a system adds: starts, bands, how unplayed rounds count.
"""
