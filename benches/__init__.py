"""Figures of enginetour next to those of its peers, as ratios. Nothing is asserted."""
