"""The only room that knows the database: tables, the log, rating lists, the lock."""
