"""Who plays whom next: pure folds over the log of a tournament."""
