-- How deep and how fast did each engine search?
WITH sides AS (
  SELECT white AS engine, white_side AS side FROM games UNION ALL SELECT black, black_side FROM games
)
SELECT engine,
       count(*) AS games,
       round(sum(json_extract(side, '$.effort.depth.sum')) * 1.0 / sum(json_extract(side, '$.effort.depth.moves')), 1) AS depth,
       sum(json_extract(side, '$.effort.nodes.sum')) * 1000 / sum(json_extract(side, '$.effort.nodes_ms.sum')) AS nps
FROM sides
GROUP BY engine
ORDER BY engine;
