"""Benchmarks of enginetour and of other programs, shown as ratios. They assert nothing."""
