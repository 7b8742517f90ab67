"""The examination of an engine: whether it keeps to its protocol."""
