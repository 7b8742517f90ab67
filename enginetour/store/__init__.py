"""The only package that uses SQL: tables, log, lists, editions, checks, migrations."""
