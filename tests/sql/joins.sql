CREATE QUERY pair AS SELECT * FROM r [RANGE 60 SECONDS], s [ROWS 1000] WHERE r.x = s.x AND r.y > 0.5 AND s.z <= r.w
=> CREATE QUERY pair AS SELECT * FROM r [RANGE 1 MINUTE], s [ROWS 1000] WHERE r.y > 0.5 AND r.w >= s.z AND r.x = s.x
---
CREATE QUERY selfjoin AS SELECT a.x, b.x FROM r [ROWS 10] AS a, r [ROWS 20] AS b WHERE a.x < b.x AND a.tag = b.tag
=> CREATE QUERY selfjoin AS SELECT a.x, b.x FROM r AS a [ROWS 10], r AS b [ROWS 20] WHERE a.tag = b.tag AND a.x < b.x
---
CREATE QUERY aliasfirst AS SELECT * FROM r AS a [RANGE 1 MINUTE], s b [RANGE 2 MINUTES] WHERE a.x >= b.z
=> CREATE QUERY aliasfirst AS SELECT * FROM r AS a [RANGE 1 MINUTE], s AS b [RANGE 2 MINUTES] WHERE a.x >= b.z
---
CREATE QUERY unqualified AS SELECT y, z FROM r [ROWS 1], s [ROWS 1] WHERE y < z
=> CREATE QUERY unqualified AS SELECT r.y, s.z FROM r [ROWS 1], s [ROWS 1] WHERE r.y < s.z
---
CREATE QUERY three AS SELECT * FROM r [ROWS 5], s [ROWS 5], r [ROWS 5] AS t WHERE r.x = s.x AND s.z < t.y
=> CREATE QUERY three AS SELECT * FROM r [ROWS 5], s [ROWS 5], r AS t [ROWS 5] WHERE r.x = s.x AND s.z < t.y
---
CREATE QUERY onclause AS SELECT * FROM r [ROWS 5] JOIN s [ROWS 5] ON r.x = s.x WHERE r.y > 1
=> CREATE QUERY onclause AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.y > 1 AND r.x = s.x
---
CREATE QUERY product AS SELECT * FROM r [ROWS 5] CROSS JOIN s [ROWS 5] WHERE r.y > 1
=> CREATE QUERY product AS SELECT * FROM r [ROWS 5] CROSS JOIN s [ROWS 5] WHERE r.y > 1
---
CREATE QUERY either AS SELECT * FROM r [RANGE 500 MILLISECONDS], s [ROWS 9] WHERE r.x = s.x AND (r.y > 1 OR s.z > 2)
=> CREATE QUERY either AS SELECT * FROM r [RANGE 500 MILLISECONDS], s [ROWS 9] WHERE (r.y > 1 AND r.x = s.x) OR (s.z > 2 AND r.x = s.x)
---
CREATE QUERY linked AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.x AND r.id <> s.id AND NOT r.y > s.z EMIT MATCHES
=> CREATE QUERY linked AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.id <> s.id AND r.x = s.x AND r.y <= s.z
---
CREATE QUERY ends AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.x UNTIL TIMESTAMP '2026-03-01' FOR INTERVAL 1 DAY
=> CREATE QUERY ends AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.x FOR INTERVAL 1 DAY UNTIL TIMESTAMP '2026-03-01 00:00:00'
---
# Distances: the aliases in their order, one bound above and one below.
CREATE QUERY near AS SELECT * FROM cars [RANGE 10 SECONDS], kept [RANGE 10 SECONDS] WHERE DISTANCE(kept, cars) < 1/4 AND distance (cars, kept) <= 0.5
=> CREATE QUERY near AS SELECT * FROM cars [RANGE 10 SECONDS], kept [RANGE 10 SECONDS] WHERE DISTANCE(cars, kept) < 0.25
---
CREATE QUERY ring AS SELECT * FROM cars a [ROWS 5], cars b [ROWS 5] WHERE DISTANCE(a, b) BETWEEN 1 AND 2 AND a.id < b.id
=> CREATE QUERY ring AS SELECT * FROM cars AS a [ROWS 5], cars AS b [ROWS 5] WHERE a.id < b.id AND DISTANCE(a, b) <= 2 AND DISTANCE(a, b) >= 1
---
CREATE QUERY apart AS SELECT * FROM cars a [ROWS 5], cars b [ROWS 5] WHERE NOT 3 >= DISTANCE(a, b) OR a.kind = b.kind
=> CREATE QUERY apart AS SELECT * FROM cars AS a [ROWS 5], cars AS b [ROWS 5] WHERE DISTANCE(a, b) > 3 OR a.kind = b.kind
---
CREATE QUERY meet AS SELECT * FROM cabs [RANGE 10 SECONDS] JOIN vans [RANGE 10 SECONDS] ON DISTANCE(cabs, vans) < 200 METERS
=> CREATE QUERY meet AS SELECT * FROM cabs [RANGE 10 SECONDS], vans [RANGE 10 SECONDS] WHERE DISTANCE(cabs, vans) < 200 METERS
---
CREATE QUERY miles AS SELECT * FROM cabs a [ROWS 5], cabs b [ROWS 5], vans c [ROWS 5] WHERE DISTANCE(a, b) < (1 MILE) AND DISTANCE(c, b) <= 50
=> CREATE QUERY miles AS SELECT * FROM cabs AS a [ROWS 5], cabs AS b [ROWS 5], vans AS c [ROWS 5] WHERE DISTANCE(a, b) < 1609.344 METERS AND DISTANCE(b, c) <= 50 METERS
