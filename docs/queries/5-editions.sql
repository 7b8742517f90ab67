-- How did the rating of an engine develop over the editions of a published list?
SELECT editions.number AS edition, datetime(made_unix, 'unixepoch') AS published, rank, round(rating) AS rating,
       round(plus) AS plus, round(minus) AS minus, edition_lines.games
FROM edition_lines JOIN editions ON editions.id = edition
WHERE list = 'blitz' AND name = 'Pebble 1'
ORDER BY edition;
