-- What is the score of every two engines over all tournaments, with both colors together?
WITH results AS (
  SELECT white_engine AS engine, black_engine AS opponent, wins, draws, losses FROM pair_counts
  UNION ALL SELECT black_engine, white_engine, losses, draws, wins FROM pair_counts
)
SELECT e.name AS engine, o.name AS opponent, sum(wins) AS wins, sum(draws) AS draws, sum(losses) AS losses
FROM results JOIN engines e ON e.id = engine JOIN engines o ON o.id = opponent
WHERE e.name < o.name
GROUP BY e.name, o.name
HAVING sum(wins + draws + losses) > 0
ORDER BY e.name, o.name;
