"""The live page: the report's pages of every tournament of a database, and boards that follow the running ones.

Read-only in every respect: the database is opened for reading, running tournaments are only listened to, and
nothing a browser sends changes anything. One event loop; what reads the database or draws does so in one thread
beside it.
"""
