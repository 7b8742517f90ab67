"""The database: tables, tournaments, log, rating lists, editions, checks, upgrades. No other package uses SQL."""
