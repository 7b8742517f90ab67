-- Which engines lost games or made them void by their own fault, and how?
SELECT culprit AS engine, termination, count(*) AS games, max(datetime(ended_unix, 'unixepoch')) AS last
FROM games
WHERE culprit <> ''
GROUP BY culprit, termination
ORDER BY games DESC, engine, termination;
