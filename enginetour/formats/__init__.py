"""Who plays whom: pure folds over the log."""
