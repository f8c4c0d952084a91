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
---
# An attribute may have the name.
CREATE QUERY named AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.x AND distance > 5
=> QuerySyntaxError: stream 'r' or 's' has no attribute 'distance'; there is 'id', 'id', 'tag', 'tag', 'ts', 'ts', 'w', 'x', 'x', 'y' or 'z'
  at line 1, column 80:
    …AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.x AND distance > 5
                                                                 ^^^^^^^^
---
CREATE QUERY bad AS SELECT * FROM cars WHERE DISTANCE(cars, cars) < 5
=> QuerySyntaxError: DISTANCE (a, b) is between two aliases of a join; what is near a place or an object is INSIDE CIRCLE (x, y, radius) or INSIDE CIRCLE ('M', object id, radius)
  at line 1, column 46:
    CREATE QUERY bad AS SELECT * FROM cars WHERE DISTANCE(cars, cars) < 5
                                                 ^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY bad AS SELECT * FROM cars AS a [ROWS 5], cars AS b [ROWS 5] WHERE DISTANCE(a, a) < 5
=> QuerySyntaxError: DISTANCE is between two aliases: a stream that is joined with itself stands in FROM twice, each time with an alias of its own
  at line 1, column 80:
    … SELECT * FROM cars AS a [ROWS 5], cars AS b [ROWS 5] WHERE DISTANCE(a, a) < 5
                                                                 ^^^^^^^^^^^^^^
---
CREATE QUERY bad AS SELECT * FROM cars AS a [ROWS 5], cars AS bus [ROWS 5] WHERE DISTANCE(a, bu) < 5
=> QuerySyntaxError: there is no 'bu' in FROM; did you mean 'bus'?
  at line 1, column 94:
    … cars AS a [ROWS 5], cars AS bus [ROWS 5] WHERE DISTANCE(a, bu) < 5
                                                                 ^^
---
CREATE QUERY bad AS SELECT * FROM cars AS a [ROWS 5], cars AS b [ROWS 5] WHERE DISTANCE(a.x, b.x) < 5
=> QuerySyntaxError: DISTANCE (a, b) takes aliases of FROM, whose streams have a POINT
  at line 1, column 89:
    … FROM cars AS a [ROWS 5], cars AS b [ROWS 5] WHERE DISTANCE(a.x, b.x) < 5
                                                                 ^^^
---
CREATE QUERY bad AS SELECT * FROM cars AS a [ROWS 5], cars AS b [ROWS 5] WHERE DISTANCE(a) < 5
=> QuerySyntaxError: DISTANCE (a, b) takes two aliases of FROM, not 1
  at line 1, column 80:
    … SELECT * FROM cars AS a [ROWS 5], cars AS b [ROWS 5] WHERE DISTANCE(a) < 5
                                                                 ^^^^^^^^^^^
---
CREATE QUERY bad AS SELECT * FROM cars a [ROWS 5], r b [ROWS 5] WHERE DISTANCE(a, b) < 5
=> QuerySyntaxError: DISTANCE needs places: stream 'r' was declared without POINT; declare it with POINT (x, y) or POINT (lon, lat) AS GEOGRAPHY
  at line 1, column 83:
    …LECT * FROM cars a [ROWS 5], r b [ROWS 5] WHERE DISTANCE(a, b) < 5
                                                                 ^
---
CREATE QUERY bad AS SELECT * FROM cars a [ROWS 5], cabs b [ROWS 5] WHERE DISTANCE(a, b) < 5
=> QuerySyntaxError: 'b' is on Earth (AS GEOGRAPHY) and 'a' is not: they have no distance; declare the streams of both AS GEOGRAPHY, or neither
  at line 1, column 74:
    …bad AS SELECT * FROM cars a [ROWS 5], cabs b [ROWS 5] WHERE DISTANCE(a, b) < 5
                                                                 ^^^^^^^^^^^^^^
---
CREATE QUERY bad AS SELECT * FROM cars a [ROWS 5], kept b [ROWS 5] WHERE DISTANCE(a, b) < 5 METERS
=> QuerySyntaxError: a unit needs a place on Earth, and the point of stream 'cars' is one of a plane: declare the point AS GEOGRAPHY, or leave the unit out
  at line 1, column 91:
    …ROM cars a [ROWS 5], kept b [ROWS 5] WHERE DISTANCE(a, b) < 5 METERS
                                                                 ^^^^^^^^
---
CREATE QUERY bad AS SELECT * FROM cabs a [ROWS 5], vans b [ROWS 5] WHERE DISTANCE(a, b) < 5 KM PER HOUR
=> QuerySyntaxError: a length is in METERS, KILOMETERS, MILES or FEET, not in KILOMETERS PER HOUR
  at line 1, column 91:
    …ROM cabs a [ROWS 5], vans b [ROWS 5] WHERE DISTANCE(a, b) < 5 KM PER HOUR
                                                                 ^^^^^^^^^^^^^
---
CREATE QUERY bad AS SELECT * FROM cabs a [ROWS 5], vans b [ROWS 5] WHERE DISTANCE(a, b) < 5 METRS
=> QuerySyntaxError: unknown unit 'METRS'; did you mean METRES?
  at line 1, column 93:
    …M cabs a [ROWS 5], vans b [ROWS 5] WHERE DISTANCE(a, b) < 5 METRS
                                                                 ^^^^^
---
CREATE QUERY bad AS SELECT * FROM cars a [ROWS 5], kept b [ROWS 5] WHERE DISTANCE(a, b) < 0
=> QuerySyntaxError: a distance must be greater than zero and finite, not 0.0
  at line 1, column 91:
    …ROM cars a [ROWS 5], kept b [ROWS 5] WHERE DISTANCE(a, b) < 0
                                                                 ^
---
CREATE QUERY bad AS SELECT * FROM cars a [ROWS 5], kept b [ROWS 5] WHERE DISTANCE(a, b) <= -1
=> QuerySyntaxError: a distance must be greater than zero and finite, not -1.0
  at line 1, column 92:
    …OM cars a [ROWS 5], kept b [ROWS 5] WHERE DISTANCE(a, b) <= -1
                                                                 ^^
---
CREATE QUERY bad AS SELECT * FROM cars a [ROWS 5], kept b [ROWS 5] WHERE DISTANCE(a, b) = 1
=> QuerySyntaxError: a distance is compared with a length, by <, <=, > or >=, as in: DISTANCE(a, b) < 200
  at line 1, column 74:
    …bad AS SELECT * FROM cars a [ROWS 5], kept b [ROWS 5] WHERE DISTANCE(a, b) = 1
                                                                 ^^^^^^^^^^^^^^^^^^
---
CREATE QUERY bad AS SELECT * FROM cars a [ROWS 5], kept b [ROWS 5] WHERE DISTANCE(a, b) < a.x
=> QuerySyntaxError: expected a constant
  at line 1, column 91:
    …ROM cars a [ROWS 5], kept b [ROWS 5] WHERE DISTANCE(a, b) < a.x
                                                                 ^^^
---
CREATE QUERY bad AS SELECT * FROM cars a [ROWS 5], kept b [ROWS 5] WHERE DISTANCE(a, b) < DISTANCE(b, a)
=> QuerySyntaxError: a distance is compared with a length, by <, <=, > or >=, as in: DISTANCE(a, b) < 200
  at line 1, column 74:
    …bad AS SELECT * FROM cars a [ROWS 5], kept b [ROWS 5] WHERE DISTANCE(a, b) < DISTANCE(b, a)
                                                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY bad AS SELECT * FROM cars a [ROWS 5], kept b [ROWS 5] WHERE DISTANCE(a, b)
=> QuerySyntaxError: a distance is compared with a length, by <, <=, > or >=, as in: DISTANCE(a, b) < 200
  at line 1, column 74:
    …bad AS SELECT * FROM cars a [ROWS 5], kept b [ROWS 5] WHERE DISTANCE(a, b)
                                                                 ^^^^^^^^^^^^^^
---
CREATE QUERY bad AS SELECT * FROM cars a [ROWS 5], kept b [ROWS 5] WHERE DISTANCE(a, b) IN (1, 2)
=> QuerySyntaxError: a distance is compared with a length, by <, <=, > or >=, as in: DISTANCE(a, b) < 200
  at line 1, column 74:
    …bad AS SELECT * FROM cars a [ROWS 5], kept b [ROWS 5] WHERE DISTANCE(a, b) IN (1, 2)
                                                                 ^^^^^^^^^^^^^^
---
CREATE QUERY bad AS SELECT * FROM cars a [ROWS 5], kept b [ROWS 5] WHERE DISTANCE(a, b) < 1 AND DISTANCE(a, b) > 1
=> QuerySyntaxError: the condition can never be true: no row can satisfy it
  at line 1, column 74:
    …bad AS SELECT * FROM cars a [ROWS 5], kept b [ROWS 5] WHERE DISTANCE(a, b) < 1 AND DISTANCE(a, b) > 1
                                                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY bad AS SELECT * FROM cars a [ROWS 5], kept b [ROWS 5], r c [ROWS 5] WHERE DISTANCE(a, b) < 1 AND c.x > 1
=> QuerySyntaxError: no condition links 'c' with 'a' in: c.x > 1 AND DISTANCE(a, b) < 1; write CROSS JOIN if every pair is meant
  at line 1, column 35:
    CREATE QUERY bad AS SELECT * FROM cars a [ROWS 5], kept b [ROWS 5], r c [ROWS 5] WHERE DISTANC…
                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
