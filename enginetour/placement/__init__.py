"""The order of a field: codes in a row, each of which splits those still tied on everything before it.

codes.py has the table of all codes; terms.py what a system adds: starts, bands, how unplayed rounds count.
"""

from enginetour.placement.choice import Codes, warnings
from enginetour.placement.codes import CODES
from enginetour.placement.ledger import Ledger
from enginetour.placement.names import legend
from enginetour.placement.order import ordered, table, values
from enginetour.placement.terms import Terms, Unplayed

__all__ = ["CODES", "Codes", "Ledger", "Terms", "Unplayed", "legend", "ordered", "table", "values", "warnings"]
