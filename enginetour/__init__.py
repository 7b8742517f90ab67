"""enginetour: leave a field of chess engines alone overnight and find a rating list you can trust."""

__version__ = "1.0.0"
