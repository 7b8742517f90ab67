-- How did White score with each opening of the opening book in one tournament?
SELECT json_extract(opening, '$.name') AS opening_name,
       count(*) AS games,
       round(100.0 * sum(CASE outcome WHEN '1-0' THEN 1.0 WHEN '1/2-1/2' THEN 0.5 ELSE 0 END) / count(*), 1) AS white_percent
FROM games
WHERE tournament = (SELECT id FROM tournaments WHERE name = 'league' ORDER BY edition DESC LIMIT 1)
  AND outcome <> '*'
  AND NOT EXISTS (SELECT 1 FROM events WHERE kind = 'voided' AND events.game = games.id)
GROUP BY opening_name
ORDER BY games DESC, opening_name;
