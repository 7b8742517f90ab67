"""The live page."""

API_PREFIX = "/api/v1"  # of the addresses of the HTTP interface
