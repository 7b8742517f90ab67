"""The socket of a running tournament: requests in, live events out, one JSON object a line.

::

    {"do": "withdraw", "name": "Toga II"}   ->  {"ok": true, ...}  or  {"ok": false, "error": "...", "exit": 2}
    {"do": "subscribe"}                     ->  {"ok": true}, then events until one side closes

It lies beside the database and belongs to one user; where such a path is too long for a socket, or the file
system has none, or the database is on a server, in that user's runtime folder under a digest of the path or address.
Only a process that this user started is heard, no engine: by its number the kernel tells where it comes from.
Nothing a client sends, holds back or leaves unread reaches the tournament: lines, waits and queues have limits, and
who passes one is cut off.
"""

from __future__ import annotations
