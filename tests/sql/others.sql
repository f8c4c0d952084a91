DROP QUERY cheap
=> DropQuery(id='cheap', if_exists=False)
---
DROP QUERY IF EXISTS "alert #17";
=> DropQuery(id='alert #17', if_exists=True)
---
DROP STREAM ticks
=> DropStream(name='ticks', if_exists=False)
---
SHOW QUERIES
=> ShowQueries(where=None)
---
show streams;
=> ShowStreams()
---
EXPLAIN QUERY odd
=> ExplainQuery(id='odd')
---
-- before
SHOW QUERIES; -- after
;; /* and more */
=> ShowQueries(where=None)
---
DROP QUERY END
=> DropQuery(id='END', if_exists=False)
---
SHOW QUERIES WHERE properties.kind = 'school' AND NOT (id LIKE 'old-%' OR properties.level > 3)
=> ShowQueries(where=QueryFilter(text="properties.kind = 'school' AND NOT (id LIKE 'old-%' OR properties.level > 3)"))
---
CREATE QUERY fence AS SELECT * FROM cars WHERE speed > 3 INSIDE (1, 2, 3, 4) EMIT CHANGES PROPERTIES '{"b": [1, 2.0, null], "a": "it''s"}'
=> CREATE QUERY fence AS SELECT * FROM cars WHERE speed > 3 INSIDE (1, 2, 3, 4) EMIT CHANGES PROPERTIES '{"a":"it''s","b":[1,2.0,null]}'
---
CREATE QUERY fence AS SELECT * FROM cars PROPERTIES '{}' INSIDE CIRCLE (1, 2, 3)
=> CREATE QUERY fence AS SELECT * FROM cars INSIDE CIRCLE (1, 2, 3) EMIT CHANGES
---
CREATE QUERY pairs AS SELECT * FROM ticks [ROWS 5] AS a, ticks [ROWS 5] AS b WHERE a.n = b.n PROPERTIES '{"kind": "school"}'
=> CREATE QUERY pairs AS SELECT * FROM ticks AS a [ROWS 5], ticks AS b [ROWS 5] WHERE a.n = b.n PROPERTIES '{"kind":"school"}'
---
CREATE QUERY q AS SELECT properties.n FROM ticks AS properties [ROWS 5], ticks [ROWS 5] AS b WHERE properties.n = b.n
=> CREATE QUERY q AS SELECT properties.n FROM ticks AS properties [ROWS 5], ticks AS b [ROWS 5] WHERE b.n = properties.n
