SELECT * FROM ticks
=> QuerySyntaxError: expected CREATE, DROP, SHOW or EXPLAIN, found 'SELECT'
  at line 1, column 1:
    SELECT * FROM ticks
    ^^^^^^
---
CREATE TABLE t (a INT)
=> QuerySyntaxError: expected STREAM, QUERY or OR REPLACE QUERY, found 'TABLE'
  at line 1, column 8:
    CREATE TABLE t (a INT)
           ^^^^^
---
CREATE OR REPLACE STREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts
=> QuerySyntaxError: expected QUERY, found 'STREAM'
  at line 1, column 19:
    CREATE OR REPLACE STREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts
                      ^^^^^^
---
CREATE QUERY AS SELECT * FROM ticks
=> QuerySyntaxError: expected a query id, found 'AS'
  at line 1, column 14:
    CREATE QUERY AS SELECT * FROM ticks
                 ^^
---
CREATE QUERY "" AS SELECT * FROM ticks
=> QuerySyntaxError: a query id must not be empty
  at line 1, column 14:
    CREATE QUERY "" AS SELECT * FROM ticks
                 ^^
---
CREATE QUERY q SELECT * FROM ticks
=> QuerySyntaxError: expected AS, found 'SELECT'
  at line 1, column 16:
    CREATE QUERY q SELECT * FROM ticks
                   ^^^^^^
---
CREATE QUERY q AS SELECT FROM ticks
=> QuerySyntaxError: expected * or an attribute, found 'FROM'
  at line 1, column 26:
    CREATE QUERY q AS SELECT FROM ticks
                             ^^^^
---
CREATE QUERY q AS SELECT prise FROM ticks
=> QuerySyntaxError: stream 'ticks' has no attribute 'prise'; did you mean 'price'?
  at line 1, column 26:
    CREATE QUERY q AS SELECT prise FROM ticks
                             ^^^^^
---
CREATE QUERY q AS SELECT price AS p FROM ticks
=> QuerySyntaxError: expected FROM, found 'AS'
  at line 1, column 32:
    CREATE QUERY q AS SELECT price AS p FROM ticks
                                   ^^
---
CREATE QUERY q AS SELECT price + 1 FROM ticks
=> QuerySyntaxError: SELECT takes * or names of attributes
  at line 1, column 26:
    CREATE QUERY q AS SELECT price + 1 FROM ticks
                             ^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM tick
=> QuerySyntaxError: there is no stream 'tick'; did you mean 'ticks'?
  at line 1, column 33:
    CREATE QUERY q AS SELECT * FROM tick
                                    ^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE
=> QuerySyntaxError: expected a condition, but the statement ends
  at line 1, column 44:
    CREATE QUERY q AS SELECT * FROM ticks WHERE
                                               ^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE prise < 3
=> QuerySyntaxError: stream 'ticks' has no attribute 'prise'; did you mean 'price'?
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE prise < 3
                                                ^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE Price < 3
=> QuerySyntaxError: stream 'ticks' has no attribute 'Price'; did you mean 'price'?
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE Price < 3
                                                ^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks t WHERE ticks.price < 3
=> QuerySyntaxError: expected WHERE, INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 't'; an alias that no attribute carries is written with AS
  at line 1, column 39:
    CREATE QUERY q AS SELECT * FROM ticks t WHERE ticks.price < 3
                                          ^
---
CREATE QUERY q AS SELECT * FROM ticks T WHERE t.price < 4
=> QuerySyntaxError: expected WHERE, INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'T'; attributes carry 't': write the alias in the same case
  at line 1, column 39:
    CREATE QUERY q AS SELECT * FROM ticks T WHERE t.price < 4
                                          ^
---
CREATE QUERY q AS SELECT * FROM ticks
WHERE symbol = 'IBM'
  AND price <
=> QuerySyntaxError: expected a value after '<', but the statement ends
  at line 3, column 14:
      AND price <
                 ^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE (price < 3 OR volume > 1
=> QuerySyntaxError: expected ')', but the statement ends
  at line 1, column 69:
    …UERY q AS SELECT * FROM ticks WHERE (price < 3 OR volume > 1
                                                                 ^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3)
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found ')'
  at line 1, column 54:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3)
                                                         ^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 'cheap'
=> QuerySyntaxError: price is DOUBLE: expected a number, found a string
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price < 'cheap'
                                                ^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE symbol = 3
=> QuerySyntaxError: symbol is STRING: expected a string in '…', found a number
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE symbol = 3
                                                ^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE symbol < 'IBM'
=> QuerySyntaxError: symbol is STRING: it allows only =, <> or IN
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE symbol < 'IBM'
                                                ^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE halted = 'yes'
=> QuerySyntaxError: halted is BOOLEAN: expected TRUE or FALSE, found a string
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE halted = 'yes'
                                                ^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE halted >= TRUE
=> QuerySyntaxError: halted is BOOLEAN: it allows only =, <> or IN
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE halted >= TRUE
                                                ^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price
=> QuerySyntaxError: expected a condition such as price = …; 'price' is DOUBLE, not BOOLEAN
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price
                                                ^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE ts > 5
=> QuerySyntaxError: ts is TIMESTAMP: expected a time such as TIMESTAMP '2026-03-01 12:30:00', found a number
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE ts > 5
                                                ^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE ts > 'yesterday'
=> QuerySyntaxError: expected a time such as '2026-03-01 12:30:00' or '2026-03-01T12:30:00.25+01:00', found 'yesterday'
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE ts > 'yesterday'
                                                ^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price = symbol
=> QuerySyntaxError: price is DOUBLE and symbol is STRING: they cannot be compared
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price = symbol
                                                ^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price = NULL
=> QuerySyntaxError: a comparison with NULL is never true: write price IS NULL or IS NOT NULL
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price = NULL
                                                ^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price IN (1, NULL)
=> QuerySyntaxError: price is DOUBLE: expected a number, found NULL
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price IN (1, NULL)
                                                ^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price IN (1, volume)
=> QuerySyntaxError: IN takes constants: compare attributes with = and OR
  at line 1, column 58:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price IN (1, volume)
                                                             ^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price IN (SELECT 1)
=> QuerySyntaxError: IN takes a list of constants: x IN (1, 2, 3)
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price IN (SELECT 1)
                                                ^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 AND price > 4
=> QuerySyntaxError: the condition can never be true: no row can satisfy it
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 AND price > 4
                                                ^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price BETWEEN 5 AND 3
=> QuerySyntaxError: the condition can never be true: no row can satisfy it
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price BETWEEN 5 AND 3
                                                ^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE FALSE
=> QuerySyntaxError: the condition can never be true: no row can satisfy it
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE FALSE
                                                ^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < volume AND volume < price
=> QuerySyntaxError: the condition can never be true: no row can satisfy it
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price < volume AND volume < price
                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE symbol = 'a' AND symbol IS NULL
=> QuerySyntaxError: the condition can never be true: no row can satisfy it
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE symbol = 'a' AND symbol IS NULL
                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE n = 2.5
=> QuerySyntaxError: the condition can never be true: no row can satisfy it
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE n = 2.5
                                                ^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE n > 99999999999999999999
=> QuerySyntaxError: the condition can never be true: no row can satisfy it
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE n > 99999999999999999999
                                                ^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE abs(price) < 3
=> QuerySyntaxError: expected an attribute or a constant; the function abs is neither
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE abs(price) < 3
                                                ^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price * 2 < 3
=> QuerySyntaxError: arithmetic on attributes is not supported: move the constants to the other side of the comparison
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price * 2 < 3
                                                ^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE symbol LIKE 'I%'
=> QuerySyntaxError: expected a condition of =, <>, <, <=, >, >=, BETWEEN, IN, IS NULL, INSIDE, AND, OR, NOT; "symbol LIKE 'I%'" is none
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE symbol LIKE 'I%'
                                                ^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 1 / 0
=> QuerySyntaxError: division by zero
  at line 1, column 53:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price < 1 / 0
                                                        ^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 1e309
=> QuerySyntaxError: the number is beyond the range of DOUBLE (about ±1.8e308)
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price < 1e309
                                                ^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 1e999999999
=> QuerySyntaxError: the number is beyond what Watchline compares (10^±400)
  at line 1, column 53:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price < 1e999999999
                                                        ^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE symbol = 'IBM
=> QuerySyntaxError: a quotation mark or comment is opened here and never closed
  at line 1, column 54:
    CREATE QUERY q AS SELECT * FROM ticks WHERE symbol = 'IBM
                                                         ^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE `price` < 3
=> QuerySyntaxError: unexpected character '`': quote names with "…" and strings with '…'
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE `price` < 3
                                                ^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 LIMIT 5
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'LIMIT'
  at line 1, column 55:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 LIMIT 5
                                                          ^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 EMIT ALL
=> QuerySyntaxError: expected MATCHES or CHANGES, found 'ALL'
  at line 1, column 60:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 EMIT ALL
                                                               ^^^
---
CREATE QUERY q AS SELECT * FROM ticks EMIT CHANGES EMIT MATCHES
=> QuerySyntaxError: EMIT stands here a second time
  at line 1, column 52:
    CREATE QUERY q AS SELECT * FROM ticks EMIT CHANGES EMIT MATCHES
                                                       ^^^^
---
CREATE QUERY q AS SELECT * FROM ticks ACCURACY 1.5
=> QuerySyntaxError: ACCURACY is the least part of an answer that is kept when load is shed; matches and joins are never shed: leave it out
  at line 1, column 48:
    CREATE QUERY q AS SELECT * FROM ticks ACCURACY 1.5
                                                   ^^^
---
CREATE QUERY q AS SELECT * FROM ticks FOR INTERVAL 0 SECONDS
=> QuerySyntaxError: a length of time must be greater than zero and below 146,000 years
  at line 1, column 52:
    CREATE QUERY q AS SELECT * FROM ticks FOR INTERVAL 0 SECONDS
                                                       ^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks FOR INTERVAL 5 FORTNIGHTS
=> QuerySyntaxError: expected a unit of time (WEEKS, DAYS, HOURS, MINUTES, SECONDS, MILLISECONDS, MICROSECONDS), found 'FORTNIGHTS'
  at line 1, column 54:
    CREATE QUERY q AS SELECT * FROM ticks FOR INTERVAL 5 FORTNIGHTS
                                                         ^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks INSIDE (0, 0, 1, 1)
=> QuerySyntaxError: INSIDE needs a place: stream 'ticks' was declared without POINT
  at line 1, column 39:
    CREATE QUERY q AS SELECT * FROM ticks INSIDE (0, 0, 1, 1)
                                          ^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (0, 0, 1)
=> QuerySyntaxError: expected INSIDE (x1, y1, x2, y2): 4 values, found 3
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars INSIDE (0, 0, 1)
                                         ^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (0, 0, 0, 1)
=> QuerySyntaxError: a box needs two opposite corners: x1 and x2 are both 0.0
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars INSIDE (0, 0, 0, 1)
                                         ^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE SQUARE (0, 0, 1)
=> QuerySyntaxError: expected '(', CIRCLE, POLYGON or CORRIDOR after INSIDE, found 'SQUARE'
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM cars INSIDE SQUARE (0, 0, 1)
                                                ^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CIRCLE (0, 0, -1)
=> QuerySyntaxError: the radius of a circle must be greater than zero and finite, not -1.0
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars INSIDE CIRCLE (0, 0, -1)
                                         ^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE ('N', 17, 1, 1)
=> QuerySyntaxError: expected 'M' (moves with an object) or a number, found 'N'
  at line 1, column 46:
    CREATE QUERY q AS SELECT * FROM cars INSIDE ('N', 17, 1, 1)
                                                 ^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 'seventeen', 1, 1)
=> QuerySyntaxError: an object id ('id' is BIGINT) must be a whole number within ±9,223,372,036,854,775,807
  at line 1, column 51:
    CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 'seventeen', 1, 1)
                                                      ^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 17, 1, 0)
=> QuerySyntaxError: the height of a moving box must be greater than zero and finite, not 0.0
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 17, 1, 0)
                                         ^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON 'POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))'
=> QuerySyntaxError: the polygon crosses or overlaps itself near (0.5, 0.5): mend it (shapely's make_valid, PostGIS' ST_MakeValid)
  at line 1, column 53:
    CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON 'POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))'
                                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON 'POLYGON EMPTY'
=> QuerySyntaxError: the polygon is empty: it needs three corners or more
  at line 1, column 53:
    CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON 'POLYGON EMPTY'
                                                        ^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON 'POLYGON ((0 0, 1 1))'
=> QuerySyntaxError: a ring of the polygon does not end where it starts
  at line 1, column 53:
    CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON 'POLYGON ((0 0, 1 1))'
                                                        ^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON 'LINESTRING (0 0, 1 1)'
=> QuerySyntaxError: expected a POLYGON or MULTIPOLYGON, found LINESTRING: write INSIDE CORRIDOR '…' WITHIN distance
  at line 1, column 53:
    CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON 'LINESTRING (0 0, 1 1)'
                                                        ^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON 'circle'
=> QuerySyntaxError: expected a polygon as WKT or GeoJSON, as in 'POLYGON ((0 0, 1 0, 1 1, 0 0))'
  at line 1, column 53:
    CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON 'circle'
                                                        ^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON '{"type": "Polygon"}'
=> QuerySyntaxError: expected a polygon as WKT or GeoJSON, as in 'POLYGON ((0 0, 1 0, 1 1, 0 0))'
  at line 1, column 53:
    CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON '{"type": "Polygon"}'
                                                        ^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN (0, 1, 1)
=> QuerySyntaxError: kNN needs k >= 1, not 0
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars kNN (0, 1, 1)
                                         ^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN (2.5, 1, 1)
=> QuerySyntaxError: k must be a whole number within ±2,147,483,647
  at line 1, column 43:
    CREATE QUERY q AS SELECT * FROM cars kNN (2.5, 1, 1)
                                              ^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN (5, 1, 1) EMIT MATCHES
=> QuerySyntaxError: a kNN or moving query has changes only: it cannot EMIT MATCHES
  at line 1, column 57:
    CREATE QUERY q AS SELECT * FROM cars kNN (5, 1, 1) EMIT MATCHES
                                                            ^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN (-3, 1, 1)
=> QuerySyntaxError: kNN needs k >= 1, not -3
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars kNN (-3, 1, 1)
                                         ^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN ('M', 0, 17)
=> QuerySyntaxError: kNN needs k >= 1, not 0
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars kNN ('M', 0, 17)
                                         ^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN ('M', 2.5, 17)
=> QuerySyntaxError: k must be a whole number within ±2,147,483,647
  at line 1, column 48:
    CREATE QUERY q AS SELECT * FROM cars kNN ('M', 2.5, 17)
                                                   ^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN (2147483648, 0, 0)
=> QuerySyntaxError: k must be a whole number within ±2,147,483,647
  at line 1, column 43:
    CREATE QUERY q AS SELECT * FROM cars kNN (2147483648, 0, 0)
                                              ^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN (NULL, 0, 0)
=> QuerySyntaxError: k must be a whole number within ±2,147,483,647
  at line 1, column 43:
    CREATE QUERY q AS SELECT * FROM cars kNN (NULL, 0, 0)
                                              ^^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN (2, 0)
=> QuerySyntaxError: expected kNN (k, x, y): 3 values, found 2
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars kNN (2, 0)
                                         ^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN (2, 0, 0, 0)
=> QuerySyntaxError: expected kNN (k, x, y): 3 values, found 4
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars kNN (2, 0, 0, 0)
                                         ^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN ()
=> QuerySyntaxError: expected a number, found ')'
  at line 1, column 43:
    CREATE QUERY q AS SELECT * FROM cars kNN ()
                                              ^
---
CREATE QUERY q AS SELECT * FROM cars kNN 5
=> QuerySyntaxError: expected '(', found '5'
  at line 1, column 42:
    CREATE QUERY q AS SELECT * FROM cars kNN 5
                                             ^
---
CREATE QUERY q AS SELECT * FROM cars kNN (2, 'a', 0)
=> QuerySyntaxError: expected a number
  at line 1, column 46:
    CREATE QUERY q AS SELECT * FROM cars kNN (2, 'a', 0)
                                                 ^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN (2, 1e400, 0)
=> QuerySyntaxError: the number is beyond the range of DOUBLE (about ±1.8e308)
  at line 1, column 46:
    CREATE QUERY q AS SELECT * FROM cars kNN (2, 1e400, 0)
                                                 ^^^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN (2, NaN, 0)
=> QuerySyntaxError: expected a constant
  at line 1, column 46:
    CREATE QUERY q AS SELECT * FROM cars kNN (2, NaN, 0)
                                                 ^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN (2, x, y)
=> QuerySyntaxError: expected a constant
  at line 1, column 46:
    CREATE QUERY q AS SELECT * FROM cars kNN (2, x, y)
                                                 ^
---
CREATE QUERY q AS SELECT * FROM cars kNN ('M', 2)
=> QuerySyntaxError: expected kNN ('M', k, object id): 3 values, found 2
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars kNN ('M', 2)
                                         ^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN ('M', 2, 17, 3)
=> QuerySyntaxError: expected kNN ('M', k, object id): 3 values, found 4
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars kNN ('M', 2, 17, 3)
                                         ^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN ('M', 2, 'seventeen')
=> QuerySyntaxError: an object id ('id' is BIGINT) must be a whole number within ±9,223,372,036,854,775,807
  at line 1, column 51:
    CREATE QUERY q AS SELECT * FROM cars kNN ('M', 2, 'seventeen')
                                                      ^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN ('M', 2, 17.5)
=> QuerySyntaxError: an object id ('id' is BIGINT) must be a whole number within ±9,223,372,036,854,775,807
  at line 1, column 51:
    CREATE QUERY q AS SELECT * FROM cars kNN ('M', 2, 17.5)
                                                      ^^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN ('M', 2, 9223372036854775808)
=> QuerySyntaxError: an object id ('id' is BIGINT) must be a whole number within ±9,223,372,036,854,775,807
  at line 1, column 51:
    CREATE QUERY q AS SELECT * FROM cars kNN ('M', 2, 9223372036854775808)
                                                      ^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN ('M', 2, NULL)
=> QuerySyntaxError: an object id ('id' is BIGINT) must be a whole number within ±9,223,372,036,854,775,807
  at line 1, column 51:
    CREATE QUERY q AS SELECT * FROM cars kNN ('M', 2, NULL)
                                                      ^^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN ('N', 2, 17)
=> QuerySyntaxError: expected 'M' (moves with an object) or a number, found 'N'
  at line 1, column 43:
    CREATE QUERY q AS SELECT * FROM cars kNN ('N', 2, 17)
                                              ^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN (2, 0, 0) kNN ('M', 3, 17)
=> QuerySyntaxError: kNN stands here a second time
  at line 1, column 52:
    CREATE QUERY q AS SELECT * FROM cars kNN (2, 0, 0) kNN ('M', 3, 17)
                                                       ^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN ('M', 2, 17) EMIT MATCHES
=> QuerySyntaxError: a kNN or moving query has changes only: it cannot EMIT MATCHES
  at line 1, column 60:
    CREATE QUERY q AS SELECT * FROM cars kNN ('M', 2, 17) EMIT MATCHES
                                                               ^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 17, -1, 1)
=> QuerySyntaxError: the width of a moving box must be greater than zero and finite, not -1.0
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 17, -1, 1)
                                         ^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 17, 1)
=> QuerySyntaxError: expected INSIDE ('M', object id, width, height): 4 values, found 3
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 17, 1)
                                         ^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 17, 1, 1, 1)
=> QuerySyntaxError: expected INSIDE ('M', object id, width, height): 4 values, found 5
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 17, 1, 1, 1)
                                         ^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 17, 1e400, 1)
=> QuerySyntaxError: the number is beyond the range of DOUBLE (about ±1.8e308)
  at line 1, column 55:
    CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 17, 1e400, 1)
                                                          ^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 17, 1e-400, 1)
=> QuerySyntaxError: the width of a moving box must be greater than zero and finite, not 0.0
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 17, 1e-400, 1)
                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 17, NaN, 1)
=> QuerySyntaxError: expected a constant
  at line 1, column 55:
    CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 17, NaN, 1)
                                                          ^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 17, 'wide', 1)
=> QuerySyntaxError: expected a number
  at line 1, column 55:
    CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 17, 'wide', 1)
                                                          ^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', NULL, 1, 1)
=> QuerySyntaxError: an object id ('id' is BIGINT) must be a whole number within ±9,223,372,036,854,775,807
  at line 1, column 51:
    CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', NULL, 1, 1)
                                                      ^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', -9223372036854775809, 1, 1)
=> QuerySyntaxError: an object id ('id' is BIGINT) must be a whole number within ±9,223,372,036,854,775,807
  at line 1, column 51:
    CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', -9223372036854775809, 1, 1)
                                                      ^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', id, 1, 1)
=> QuerySyntaxError: expected a constant
  at line 1, column 51:
    CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', id, 1, 1)
                                                      ^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE ('M')
=> QuerySyntaxError: expected INSIDE ('M', object id, width, height): 4 values, found 1
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars INSIDE ('M')
                                         ^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE ()
=> QuerySyntaxError: expected a number, found ')'
  at line 1, column 46:
    CREATE QUERY q AS SELECT * FROM cars INSIDE ()
                                                 ^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 17, 1, 1) EMIT MATCHES
=> QuerySyntaxError: a kNN or moving query has changes only: it cannot EMIT MATCHES
  at line 1, column 66:
    …E QUERY q AS SELECT * FROM cars INSIDE ('M', 17, 1, 1) EMIT MATCHES
                                                                 ^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CIRCLE ('M', 17, 0)
=> QuerySyntaxError: the radius of a moving circle must be greater than zero and finite, not 0.0
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars INSIDE CIRCLE ('M', 17, 0)
                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CIRCLE ('M', 17, inf)
=> QuerySyntaxError: expected a constant
  at line 1, column 62:
    …REATE QUERY q AS SELECT * FROM cars INSIDE CIRCLE ('M', 17, inf)
                                                                 ^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CIRCLE ('M', 17)
=> QuerySyntaxError: expected INSIDE CIRCLE ('M', object id, radius): 3 values, found 2
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars INSIDE CIRCLE ('M', 17)
                                         ^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CIRCLE ('M', 17, 1, 1)
=> QuerySyntaxError: expected INSIDE CIRCLE ('M', object id, radius): 3 values, found 4
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars INSIDE CIRCLE ('M', 17, 1, 1)
                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CIRCLE (0, 0)
=> QuerySyntaxError: expected INSIDE CIRCLE (x, y, radius): 3 values, found 2
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars INSIDE CIRCLE (0, 0)
                                         ^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CIRCLE (0, 0, 0)
=> QuerySyntaxError: the radius of a circle must be greater than zero and finite, not 0.0
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars INSIDE CIRCLE (0, 0, 0)
                                         ^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE ELLIPSE (0, 0, 1, 2)
=> QuerySyntaxError: expected '(', CIRCLE, POLYGON or CORRIDOR after INSIDE, found 'ELLIPSE'
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM cars INSIDE ELLIPSE (0, 0, 1, 2)
                                                ^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE ELLIPSE ('M', 17, 1, 2)
=> QuerySyntaxError: expected '(', CIRCLE, POLYGON or CORRIDOR after INSIDE, found 'ELLIPSE'
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM cars INSIDE ELLIPSE ('M', 17, 1, 2)
                                                ^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON ('M', 17)
=> QuerySyntaxError: expected a polygon in quotes, as WKT or GeoJSON, found '('
  at line 1, column 53:
    CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON ('M', 17)
                                                        ^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON 'POLYGON ((0 0, 4 4, 4 0, 0 4, 0 0))' kNN (2, 0, 0)
=> QuerySyntaxError: the polygon crosses or overlaps itself near (2, 2): mend it (shapely's make_valid, PostGIS' ST_MakeValid)
  at line 1, column 53:
    CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON 'POLYGON ((0 0, 4 4, 4 0, 0 4, 0 0))' kNN (2, 0, 0)
                                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (0, 0, 1, 1) INSIDE ('M', 17, 1, 1)
=> QuerySyntaxError: INSIDE stands here a second time
  at line 1, column 58:
    CREATE QUERY q AS SELECT * FROM cars INSIDE (0, 0, 1, 1) INSIDE ('M', 17, 1, 1)
                                                             ^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks kNN (2, 0, 0)
=> QuerySyntaxError: kNN needs a place: stream 'ticks' was declared without POINT
  at line 1, column 39:
    CREATE QUERY q AS SELECT * FROM ticks kNN (2, 0, 0)
                                          ^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks kNN ('M', 2, 'IBM')
=> QuerySyntaxError: kNN needs a place: stream 'ticks' was declared without POINT
  at line 1, column 39:
    CREATE QUERY q AS SELECT * FROM ticks kNN ('M', 2, 'IBM')
                                          ^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks INSIDE CIRCLE ('M', 'IBM', 2)
=> QuerySyntaxError: INSIDE needs a place: stream 'ticks' was declared without POINT
  at line 1, column 39:
    CREATE QUERY q AS SELECT * FROM ticks INSIDE CIRCLE ('M', 'IBM', 2)
                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ships kNN ('M', 2, 17)
=> QuerySyntaxError: object ids are STRING here ('mmsi'): expected a string in '…'
  at line 1, column 52:
    CREATE QUERY q AS SELECT * FROM ships kNN ('M', 2, 17)
                                                       ^^
---
CREATE QUERY q AS SELECT * FROM ships INSIDE ('M', 17, 1, 1)
=> QuerySyntaxError: object ids are STRING here ('mmsi'): expected a string in '…'
  at line 1, column 52:
    CREATE QUERY q AS SELECT * FROM ships INSIDE ('M', 17, 1, 1)
                                                       ^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.x kNN (2, 0, 0)
=> QuerySyntaxError: a join takes no INSIDE and no kNN: register a query of one stream for what is inside, or write the box as conditions such as a.x >= 1 AND a.x < 2
  at line 1, column 72:
    …Y q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.x kNN (2, 0, 0)
                                                                 ^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.y > 1
=> QuerySyntaxError: no condition links 's' with 'r' in: r.y > 1; write CROSS JOIN if every pair is meant
  at line 1, column 33:
    CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.y > 1
                                    ^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM r, s WHERE r.x = s.x
=> QuerySyntaxError: a joined stream needs a window: r [RANGE 60 SECONDS] or r [ROWS 1000]
  at line 1, column 33:
    CREATE QUERY q AS SELECT * FROM r, s WHERE r.x = s.x
                                    ^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 0], s [ROWS 5] WHERE r.x = s.x
=> QuerySyntaxError: a ROWS window must hold at least one row
  at line 1, column 33:
    CREATE QUERY q AS SELECT * FROM r [ROWS 0], s [ROWS 5] WHERE r.x = s.x
                                    ^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM r [RANGE -5 SECONDS], s [ROWS 5] WHERE r.x = s.x
=> QuerySyntaxError: expected a length of time such as 90 SECONDS, found '-'
  at line 1, column 42:
    CREATE QUERY q AS SELECT * FROM r [RANGE -5 SECONDS], s [ROWS 5] WHERE r.x = s.x
                                             ^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5]
=> QuerySyntaxError: no condition links 's' with 'r' in: TRUE; write CROSS JOIN if every pair is meant
  at line 1, column 33:
    CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5]
                                    ^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.x OR r.y > 1
=> QuerySyntaxError: no condition links 's' with 'r' in: r.y > 1; write CROSS JOIN if every pair is meant
  at line 1, column 33:
    CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.x OR r.y > 1
                                    ^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5], r [ROWS 5] AS t WHERE r.x = s.x AND t.y > 1
=> QuerySyntaxError: no condition links 't' with 'r' in: t.y > 1 AND r.x = s.x; write CROSS JOIN if every pair is meant
  at line 1, column 33:
    CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5], r [ROWS 5] AS t WHERE r.x = s.x AND …
                                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5] JOIN s [ROWS 5] WHERE r.x = s.x
=> QuerySyntaxError: expected ON, found 'WHERE'
  at line 1, column 60:
    CREATE QUERY q AS SELECT * FROM r [ROWS 5] JOIN s [ROWS 5] WHERE r.x = s.x
                                                               ^^^^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5], s WHERE r.x = s.x
=> QuerySyntaxError: a joined stream needs a window: s [RANGE 60 SECONDS] or s [ROWS 1000]
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM r [ROWS 5], s WHERE r.x = s.x
                                                ^
---
CREATE QUERY q AS SELECT * FROM r CROSS JOIN s [ROWS 5]
=> QuerySyntaxError: a joined stream needs a window: r [RANGE 60 SECONDS] or r [ROWS 1000]
  at line 1, column 33:
    CREATE QUERY q AS SELECT * FROM r CROSS JOIN s [ROWS 5]
                                    ^
---
CREATE QUERY q AS SELECT * FROM r [RANGE 0 SECONDS], s [ROWS 5] WHERE r.x = s.x
=> QuerySyntaxError: a length of time must be greater than zero and below 146,000 years
  at line 1, column 42:
    CREATE QUERY q AS SELECT * FROM r [RANGE 0 SECONDS], s [ROWS 5] WHERE r.x = s.x
                                             ^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM r [RANGE 0.1 MICROSECONDS], s [ROWS 5] WHERE r.x = s.x
=> QuerySyntaxError: a length of time must be a whole number of microseconds
  at line 1, column 42:
    CREATE QUERY q AS SELECT * FROM r [RANGE 0.1 MICROSECONDS], s [ROWS 5] WHERE r.x = s.x
                                             ^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM r [RANGE 5], s [ROWS 5] WHERE r.x = s.x
=> QuerySyntaxError: expected a unit of time (WEEKS, DAYS, HOURS, MINUTES, SECONDS, MILLISECONDS, MICROSECONDS), found ']'
  at line 1, column 43:
    CREATE QUERY q AS SELECT * FROM r [RANGE 5], s [ROWS 5] WHERE r.x = s.x
                                              ^
---
CREATE QUERY q AS SELECT * FROM r [ROWS -1], s [ROWS 5] WHERE r.x = s.x
=> QuerySyntaxError: a ROWS window must hold at least one row
  at line 1, column 33:
    CREATE QUERY q AS SELECT * FROM r [ROWS -1], s [ROWS 5] WHERE r.x = s.x
                                    ^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 1.5], s [ROWS 5] WHERE r.x = s.x
=> QuerySyntaxError: the number of ROWS must be a whole number within ±2,147,483,647
  at line 1, column 41:
    CREATE QUERY q AS SELECT * FROM r [ROWS 1.5], s [ROWS 5] WHERE r.x = s.x
                                            ^^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 99999999999], s [ROWS 5] WHERE r.x = s.x
=> QuerySyntaxError: the number of ROWS must be a whole number within ±2,147,483,647
  at line 1, column 41:
    CREATE QUERY q AS SELECT * FROM r [ROWS 99999999999], s [ROWS 5] WHERE r.x = s.x
                                            ^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM r [LAST 5], s [ROWS 5] WHERE r.x = s.x
=> QuerySyntaxError: expected RANGE or ROWS, found 'LAST'
  at line 1, column 36:
    CREATE QUERY q AS SELECT * FROM r [LAST 5], s [ROWS 5] WHERE r.x = s.x
                                       ^^^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.tag = s.x
=> QuerySyntaxError: r.tag is STRING and s.x is DOUBLE: they cannot be compared
  at line 1, column 62:
    …REATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.tag = s.x
                                                                 ^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.tag < s.tag
=> QuerySyntaxError: r.tag is STRING: it allows only =, <> or IN
  at line 1, column 62:
    …REATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.tag < s.tag
                                                                 ^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x < s.x AND s.x < r.x
=> QuerySyntaxError: the condition can never be true: no row can satisfy it
  at line 1, column 62:
    …REATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x < s.x AND s.x < r.x
                                                                 ^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5], r [ROWS 5] WHERE r.x = 1
=> QuerySyntaxError: 'r' stands in FROM twice: give one an alias with AS
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM r [ROWS 5], r [ROWS 5] WHERE r.x = 1
                                                ^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE x = 1
=> QuerySyntaxError: 'x' is an attribute of 'r' or 's': write r.x
  at line 1, column 62:
    …REATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE x = 1
                                                                 ^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.x EMIT CHANGES
=> QuerySyntaxError: a join reports each pair once: it cannot EMIT CHANGES
  at line 1, column 77:
    …S SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.x EMIT CHANGES
                                                                 ^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks [ROWS 5]
=> QuerySyntaxError: a window belongs to a join of two streams or more
  at line 1, column 33:
    CREATE QUERY q AS SELECT * FROM ticks [ROWS 5]
                                    ^^^^^^^^^^^^^^
---
CREATE STREAM t (a BIGINT, ts TIMESTAMP) TIME ts
=> QuerySyntaxError: a stream needs OBJECT and the name of one of its attributes
  at line 1, column 49:
    CREATE STREAM t (a BIGINT, ts TIMESTAMP) TIME ts
                                                    ^
---
CREATE STREAM t (a BIGINT, ts TIMESTAMP) OBJECT b TIME ts
=> QuerySyntaxError: stream 't' has no attribute 'b'; there is 'a' or 'ts'
  at line 1, column 49:
    CREATE STREAM t (a BIGINT, ts TIMESTAMP) OBJECT b TIME ts
                                                    ^
---
CREATE STREAM t (a DOUBLE, ts TIMESTAMP) OBJECT a TIME ts
=> QuerySyntaxError: OBJECT needs a BIGINT or STRING attribute; 'a' is DOUBLE
  at line 1, column 49:
    CREATE STREAM t (a DOUBLE, ts TIMESTAMP) OBJECT a TIME ts
                                                    ^
---
CREATE STREAM t (a BIGINT, ts BIGINT) OBJECT a TIME ts
=> QuerySyntaxError: TIME needs a TIMESTAMP attribute; 'ts' is BIGINT
  at line 1, column 53:
    CREATE STREAM t (a BIGINT, ts BIGINT) OBJECT a TIME ts
                                                        ^^
---
CREATE STREAM t (a BIGINT, a TIMESTAMP) OBJECT a TIME a
=> QuerySyntaxError: stream 't' declares attribute 'a' twice
  at line 1, column 1:
    CREATE STREAM t (a BIGINT, a TIMESTAMP) OBJECT a TIME a
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE STREAM t (a BIGINT, x DUBLE, ts TIMESTAMP) OBJECT a TIME ts
=> QuerySyntaxError: unknown type 'DUBLE': expected DOUBLE, BIGINT, STRING, BOOLEAN or TIMESTAMP; did you mean 'DOUBLE'?
  at line 1, column 30:
    CREATE STREAM t (a BIGINT, x DUBLE, ts TIMESTAMP) OBJECT a TIME ts
                                 ^^^^^
---
CREATE STREAM t (a BIGINT, x DOUBLE, ts TIMESTAMP) OBJECT a TIME ts POINT (x)
=> QuerySyntaxError: POINT takes two attributes, not 1
  at line 1, column 75:
    …t (a BIGINT, x DOUBLE, ts TIMESTAMP) OBJECT a TIME ts POINT (x)
                                                                 ^^^
---
CREATE STREAM t (a BIGINT, x DOUBLE, ts TIMESTAMP) OBJECT a TIME ts POINT (x, x)
=> QuerySyntaxError: POINT needs two different attributes, not 'x' twice
  at line 1, column 79:
    … BIGINT, x DOUBLE, ts TIMESTAMP) OBJECT a TIME ts POINT (x, x)
                                                                 ^
---
CREATE STREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts MAX SPEED 0
=> QuerySyntaxError: MAX SPEED must be greater than zero
  at line 1, column 69:
    …TREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts MAX SPEED 0
                                                                 ^
---
SHOW TABLES
=> QuerySyntaxError: expected QUERIES or STREAMS, found 'TABLES'
  at line 1, column 6:
    SHOW TABLES
         ^^^^^^
---
DROP VIEW q
=> QuerySyntaxError: expected QUERY or STREAM, found 'VIEW'
  at line 1, column 6:
    DROP VIEW q
         ^^^^
---
EXPLAIN SELECT 1
=> QuerySyntaxError: expected QUERY, found 'SELECT'
  at line 1, column 9:
    EXPLAIN SELECT 1
            ^^^^^^
---
;
=> QuerySyntaxError: the text holds no statement: expected CREATE, DROP, SHOW or EXPLAIN
---
CREATE STREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts RETAIN SIGNIFICANT
=> QuerySyntaxError: RETAIN SIGNIFICANT needs MAX SPEED and TIMEOUT, which say how far an object gets before it reports again; or CACHE with a number from 0 to 1
  at line 1, column 66:
    …E STREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts RETAIN SIGNIFICANT
                                                                 ^^^^^^^^^^^
---
CREATE STREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts RETAIN SOME
=> QuerySyntaxError: expected ALL or SIGNIFICANT, found 'SOME'
  at line 1, column 66:
    …E STREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts RETAIN SOME
                                                                 ^^^^
---
CREATE STREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts RETAIN SIGNIFICANT CACHE 1.5
=> QuerySyntaxError: CACHE must lie between 0 and 1, not 1.5
  at line 1, column 84:
    …NT, ts TIMESTAMP) OBJECT a TIME ts RETAIN SIGNIFICANT CACHE 1.5
                                                                 ^^^
---
CREATE STREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts RETAIN SIGNIFICANT CACHE
=> QuerySyntaxError: expected a number, but the statement ends
  at line 1, column 83:
    …INT, ts TIMESTAMP) OBJECT a TIME ts RETAIN SIGNIFICANT CACHE
                                                                 ^
---
CREATE STREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts CACHE 0.5
=> QuerySyntaxError: CACHE goes with RETAIN SIGNIFICANT
  at line 1, column 65:
    …TE STREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts CACHE 0.5
                                                                 ^^^
---
CREATE STREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts RETAIN ALL MAX OBJECTS 5
=> QuerySyntaxError: MAX OBJECTS goes with RETAIN SIGNIFICANT
  at line 1, column 82:
    …GINT, ts TIMESTAMP) OBJECT a TIME ts RETAIN ALL MAX OBJECTS 5
                                                                 ^
---
CREATE STREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 0
=> QuerySyntaxError: MAX OBJECTS must leave room for one object
  at line 1, column 98:
    …MP) OBJECT a TIME ts RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 0
                                                                 ^
---
CREATE STREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts RETAIN SIGNIFICANT CACHE 0 MAX BYTES 3
=> QuerySyntaxError: MAX BYTES must leave room for one object: 16 bytes
  at line 1, column 96:
    …TAMP) OBJECT a TIME ts RETAIN SIGNIFICANT CACHE 0 MAX BYTES 3
                                                                 ^
---
CREATE STREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 1.5
=> QuerySyntaxError: MAX OBJECTS must be a whole number within ±4,611,686,018,427,387,904
  at line 1, column 98:
    …MP) OBJECT a TIME ts RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 1.5
                                                                 ^^^
---
CREATE STREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts RETAIN SIGNIFICANT CACHE 0 SHED QUERIES
=> QuerySyntaxError: SHED QUERIES needs a bound: MAX OBJECTS or MAX BYTES
  at line 1, column 91:
    …TIMESTAMP) OBJECT a TIME ts RETAIN SIGNIFICANT CACHE 0 SHED QUERIES
                                                                 ^^^^^^^
---
CREATE STREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 5 SHED CARS
=> QuerySyntaxError: expected OBJECTS or QUERIES, found 'CARS'
  at line 1, column 105:
    …ECT a TIME ts RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 5 SHED CARS
                                                                 ^^^^
---
CREATE STREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 5 MAX BYTES 5000
=> QuerySyntaxError: a stream has one bound: MAX OBJECTS or MAX BYTES
  at line 1, column 110:
    … TIME ts RETAIN SIGNIFICANT CACHE 0 MAX OBJECTS 5 MAX BYTES 5000
                                                                 ^^^^
---
CREATE STREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts MAX 5
=> QuerySyntaxError: expected OBJECT, TIME, POINT, TIMEOUT, MAX SPEED, MAX AHEAD, RETAIN, CACHE, MAX OBJECTS, MAX BYTES, SHED or the end of the statement, found 'MAX'
  at line 1, column 59:
    CREATE STREAM t (a BIGINT, ts TIMESTAMP) OBJECT a TIME ts MAX 5
                                                              ^^^
---
CREATE QUERY q AS SELECT * FROM cars FOO BAR
=> QuerySyntaxError: expected WHERE, INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'FOO'; an alias that no attribute carries is written with AS
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars FOO BAR
                                         ^^^
---
CREATE QUERY q AS SELECT * FROM cars EMITS CHANGES
=> QuerySyntaxError: expected WHERE, INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'EMITS'; did you mean EMIT?
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars EMITS CHANGES
                                         ^^^^^
---
CREATE QUERY q AS SELECT * FROM cars c
=> QuerySyntaxError: expected WHERE, INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'c'; an alias that no attribute carries is written with AS
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars c
                                         ^
---
CREATE QUERY q AS SELECT * FROM cars AS a AS b
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'AS'
  at line 1, column 43:
    CREATE QUERY q AS SELECT * FROM cars AS a AS b
                                              ^^
---
CREATE QUERY q AS SELECT * FROM cars OUTSIDE (0,0,1,1)
=> QuerySyntaxError: expected WHERE, INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'OUTSIDE'; write NOT INSIDE, in the condition after WHERE
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars OUTSIDE (0,0,1,1)
                                         ^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars NOT INSIDE (0,0,1,1)
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'NOT'; with AND, OR and NOT, INSIDE stands in the condition: WHERE … AND NOT INSIDE (…)
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars NOT INSIDE (0,0,1,1)
                                         ^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE kind = 'taxi' NOT INSIDE (0,0,1,1)
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'NOT'; with AND, OR and NOT, INSIDE stands in the condition: WHERE … AND NOT INSIDE (…)
  at line 1, column 58:
    CREATE QUERY q AS SELECT * FROM cars WHERE kind = 'taxi' NOT INSIDE (0,0,1,1)
                                                             ^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE (kind = 'taxi' OR kNN (5, 0, 0))
=> QuerySyntaxError: expected a condition, found 'kNN'; kNN is a clause: it stands once, after the condition, without AND, OR or NOT
  at line 1, column 62:
    …REATE QUERY q AS SELECT * FROM cars WHERE (kind = 'taxi' OR kNN (5, 0, 0))
                                                                 ^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE x BETWEEN 1 2
=> QuerySyntaxError: expected AND and the upper end of BETWEEN, found '2'
  at line 1, column 56:
    CREATE QUERY q AS SELECT * FROM cars WHERE x BETWEEN 1 2
                                                           ^
---
CREATE QUERY q AS SELECT * FROM cars WHERE x BETWEEN SYMMETRIC 2 AND 1
=> QuerySyntaxError: expected the lower end of BETWEEN, found 'SYMMETRIC'
  at line 1, column 54:
    CREATE QUERY q AS SELECT * FROM cars WHERE x BETWEEN SYMMETRIC 2 AND 1
                                                         ^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE x IN (1, , 2)
=> QuerySyntaxError: expected a value, found ','
  at line 1, column 53:
    CREATE QUERY q AS SELECT * FROM cars WHERE x IN (1, , 2)
                                                        ^
---
CREATE QUERY q AS SELECT * FROM cars WHERE x IN (1, 2,)
=> QuerySyntaxError: expected a value, found ')'
  at line 1, column 55:
    CREATE QUERY q AS SELECT * FROM cars WHERE x IN (1, 2,)
                                                          ^
---
CREATE QUERY q AS SELECT * FROM cars WHERE x IN (, 1)
=> QuerySyntaxError: expected a value, found ','
  at line 1, column 50:
    CREATE QUERY q AS SELECT * FROM cars WHERE x IN (, 1)
                                                     ^
---
CREATE QUERY q AS SELECT * FROM cars WHERE (x < 3 AS cheap)
=> QuerySyntaxError: expected ')', found 'AS'
  at line 1, column 51:
    CREATE QUERY q AS SELECT * FROM cars WHERE (x < 3 AS cheap)
                                                      ^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE + kind = 'taxi'
=> QuerySyntaxError: expected a number after '+', found 'kind'
  at line 1, column 46:
    CREATE QUERY q AS SELECT * FROM cars WHERE + kind = 'taxi'
                                                 ^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE x < 3 NOT FOR INTERVAL 1 HOUR EMIT CHANGES
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'NOT'
  at line 1, column 50:
    CREATE QUERY q AS SELECT * FROM cars WHERE x < 3 NOT FOR INTERVAL 1 HOUR EMIT CHANGES
                                                     ^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE ts < TIMESTAMP (5) '2026-03-01'
=> QuerySyntaxError: a TIMESTAMP has microseconds: it takes no precision
  at line 1, column 50:
    CREATE QUERY q AS SELECT * FROM ticks WHERE ts < TIMESTAMP (5) '2026-03-01'
                                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE ts < TIMESTAMP DATE '2026-03-01'
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'DATE'
  at line 1, column 60:
    CREATE QUERY q AS SELECT * FROM ticks WHERE ts < TIMESTAMP DATE '2026-03-01'
                                                               ^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE ts < DATE TIMESTAMP '2026-03-01'
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'TIMESTAMP'
  at line 1, column 55:
    CREATE QUERY q AS SELECT * FROM ticks WHERE ts < DATE TIMESTAMP '2026-03-01'
                                                          ^^^^^^^^^
---
CREATE STREAM t (id BIGINT, price DECIMAL(3,2), ts TIMESTAMP) OBJECT id TIME ts
=> QuerySyntaxError: unknown type 'DECIMAL(3,2)': expected DOUBLE, BIGINT, STRING, BOOLEAN or TIMESTAMP
  at line 1, column 35:
    CREATE STREAM t (id BIGINT, price DECIMAL(3,2), ts TIMESTAMP) OBJECT id TIME ts
                                      ^^^^^^^^^^^^
---
CREATE STREAM t (id BIGINT, name VARCHAR(20), ts TIMESTAMP) OBJECT id TIME ts
=> QuerySyntaxError: a type takes no length or precision: write STRING
  at line 1, column 34:
    CREATE STREAM t (id BIGINT, name VARCHAR(20), ts TIMESTAMP) OBJECT id TIME ts
                                     ^^^^^^^^^^^
---
CREATE STREAM t (id BIGINT, ts TIMESTAMP(3)) OBJECT id TIME ts
=> QuerySyntaxError: a type takes no length or precision: write TIMESTAMP
  at line 1, column 32:
    CREATE STREAM t (id BIGINT, ts TIMESTAMP(3)) OBJECT id TIME ts
                                   ^^^^^^^^^^^^
---
CREATE STREAM t (id BIGINT NOT NULL, ts TIMESTAMP) OBJECT id TIME ts
=> QuerySyntaxError: expected ')', found 'NOT'
  at line 1, column 28:
    CREATE STREAM t (id BIGINT NOT NULL, ts TIMESTAMP) OBJECT id TIME ts
                               ^^^
---
CREATE STREAM t (id BIGINT, ts TIMESTAMP) OBJECT id TIME ts FOO
=> QuerySyntaxError: expected OBJECT, TIME, POINT, TIMEOUT, MAX SPEED, MAX AHEAD, RETAIN, CACHE, MAX OBJECTS, MAX BYTES, SHED or the end of the statement, found 'FOO'
  at line 1, column 61:
    CREATE STREAM t (id BIGINT, ts TIMESTAMP) OBJECT id TIME ts FOO
                                                                ^^^
---
CREATE STREAM t (id BIGINT, ts TIMESTAMP) OBJECT id TIME ts TIMOUT INTERVAL 3 SECONDS
=> QuerySyntaxError: expected OBJECT, TIME, POINT, TIMEOUT, MAX SPEED, MAX AHEAD, RETAIN, CACHE, MAX OBJECTS, MAX BYTES, SHED or the end of the statement, found 'TIMOUT'; did you mean TIMEOUT?
  at line 1, column 61:
    CREATE STREAM t (id BIGINT, ts TIMESTAMP) OBJECT id TIME ts TIMOUT INTERVAL 3 SECONDS
                                                                ^^^^^^
---
DROP QUERY q CASCADE
=> QuerySyntaxError: expected the end of the statement or ';', found 'CASCADE'
  at line 1, column 14:
    DROP QUERY q CASCADE
                 ^^^^^^^
---
SHOW QUERIES LIKE 'x'
=> QuerySyntaxError: expected the end of the statement or ';', found 'LIKE'
  at line 1, column 14:
    SHOW QUERIES LIKE 'x'
                 ^^^^
---
EXPLAIN QUERY q FOO
=> QuerySyntaxError: expected the end of the statement or ';', found 'FOO'
  at line 1, column 17:
    EXPLAIN QUERY q FOO
                    ^^^
---
EXPLAIN q
=> QuerySyntaxError: expected QUERY, found 'q'
  at line 1, column 9:
    EXPLAIN q
            ^
---
CREATE QUERY q AS SELECT * FROM cars WHERE price . 3 < 4
=> QuerySyntaxError: there is no 'price' in FROM; there is 'cars'
  at line 1, column 44:
    CREATE QUERY q AS SELECT * FROM cars WHERE price . 3 < 4
                                               ^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE x < 3 . 4
=> QuerySyntaxError: expected an attribute or a constant; '3 . 4' is neither
  at line 1, column 48:
    CREATE QUERY q AS SELECT * FROM cars WHERE x < 3 . 4
                                                   ^^^^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5] a CROSS JOIN s [ROWS 5] b
=> QuerySyntaxError: expected WHERE, INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'a'; an alias that no attribute carries is written with AS
  at line 1, column 44:
    CREATE QUERY q AS SELECT * FROM r [ROWS 5] a CROSS JOIN s [ROWS 5] b
                                               ^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5] LEFT JOIN s [ROWS 5] ON r.x = s.x
=> QuerySyntaxError: expected WHERE, INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'LEFT'; a join is JOIN … ON or CROSS JOIN
  at line 1, column 44:
    CREATE QUERY q AS SELECT * FROM r [ROWS 5] LEFT JOIN s [ROWS 5] ON r.x = s.x
                                               ^^^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5] CROSS JOIN s [ROWS 5] FOO
=> QuerySyntaxError: expected WHERE, INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'FOO'; an alias that no attribute carries is written with AS
  at line 1, column 66:
    …E QUERY q AS SELECT * FROM r [ROWS 5] CROSS JOIN s [ROWS 5] FOO
                                                                 ^^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5] AS a, r [ROWS 5] AS b WHERE a.x < b.x + 0.001
=> QuerySyntaxError: arithmetic on attributes is not supported: compute it before Watchline, as a column that the stream declares
  at line 1, column 78:
    … SELECT * FROM r [ROWS 5] AS a, r [ROWS 5] AS b WHERE a.x < b.x + 0.001
                                                                 ^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price * 2 < 40
=> QuerySyntaxError: arithmetic on attributes is not supported: move the constants to the other side of the comparison
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price * 2 < 40
                                                ^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE n % 2 = 0
=> QuerySyntaxError: arithmetic on attributes is not supported: compute it before Watchline, as a column that the stream declares
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE n % 2 = 0
                                                ^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE 10 / price < 2
=> QuerySyntaxError: arithmetic on attributes is not supported: compute it before Watchline, as a column that the stream declares
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE 10 / price < 2
                                                ^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price / 10 < 2 AND volume < 3
=> QuerySyntaxError: arithmetic on attributes is not supported: move the constants to the other side of the comparison
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price / 10 < 2 AND volume < 3
                                                ^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price - 1 BETWEEN 2 AND 3
=> QuerySyntaxError: arithmetic on attributes is not supported: move the constants to the other side of the comparison
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price - 1 BETWEEN 2 AND 3
                                                ^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price - volume BETWEEN 2 AND 3
=> QuerySyntaxError: arithmetic on attributes is not supported: compute it before Watchline, as a column that the stream declares
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price - volume BETWEEN 2 AND 3
                                                ^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE -price < 3
=> QuerySyntaxError: arithmetic on attributes is not supported: move the constants to the other side of the comparison
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE -price < 3
                                                ^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price + 1 IN (2, 3)
=> QuerySyntaxError: arithmetic on attributes is not supported: move the constants to the other side of the comparison
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price + 1 IN (2, 3)
                                                ^^^^^^^^^
---
CREATE QUERY q AS SELECT DISTINCT price FROM ticks
=> QuerySyntaxError: expected * or an attribute, found 'DISTINCT'
  at line 1, column 26:
    CREATE QUERY q AS SELECT DISTINCT price FROM ticks
                             ^^^^^^^^
---
CREATE QUERY q AS SELECT price p FROM ticks
=> QuerySyntaxError: expected FROM, found 'p'
  at line 1, column 32:
    CREATE QUERY q AS SELECT price p FROM ticks
                                   ^
---
CREATE QUERY q AS SELECT COUNT(*) FROM ticks
=> QuerySyntaxError: SELECT takes * or names of attributes
  at line 1, column 26:
    CREATE QUERY q AS SELECT COUNT(*) FROM ticks
                             ^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 ORDER BY price
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'ORDER BY'
  at line 1, column 55:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 ORDER BY price
                                                          ^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 GROUP BY symbol
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'GROUP BY'
  at line 1, column 55:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 GROUP BY symbol
                                                          ^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price =< 3
=> QuerySyntaxError: expected a value, found '<'
  at line 1, column 52:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price =< 3
                                                       ^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 AND
=> QuerySyntaxError: expected a value after 'AND', but the statement ends
  at line 1, column 58:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 AND
                                                             ^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 AND AND volume < 3
=> QuerySyntaxError: expected a value after 'AND', found 'AND'
  at line 1, column 59:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 AND AND volume < 3
                                                              ^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 volume < 3
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'volume'
  at line 1, column 55:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 volume < 3
                                                          ^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price <
=> QuerySyntaxError: expected a value after '<', but the statement ends
  at line 1, column 52:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price <
                                                       ^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE < 3
=> QuerySyntaxError: expected a value, found '<'
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE < 3
                                                ^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE (price < 3
=> QuerySyntaxError: expected ')', but the statement ends
  at line 1, column 55:
    CREATE QUERY q AS SELECT * FROM ticks WHERE (price < 3
                                                          ^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE symbol = "IBM"
=> QuerySyntaxError: stream 'ticks' has no attribute 'IBM'; there is 'halted', 'n', 'price', 'symbol', 'ts' or 'volume'
  at line 1, column 54:
    CREATE QUERY q AS SELECT * FROM ticks WHERE symbol = "IBM"
                                                         ^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE symbol = IBM
=> QuerySyntaxError: stream 'ticks' has no attribute 'IBM'; there is 'halted', 'n', 'price', 'symbol', 'ts' or 'volume'
  at line 1, column 54:
    CREATE QUERY q AS SELECT * FROM ticks WHERE symbol = IBM
                                                         ^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE symbol IN 'IBM'
=> QuerySyntaxError: IN takes a list of constants: x IN (1, 2, 3)
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE symbol IN 'IBM'
                                                ^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE symbol IN ()
=> QuerySyntaxError: IN takes a list of constants: x IN (1, 2, 3)
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE symbol IN ()
                                                ^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price IN (SELECT 3)
=> QuerySyntaxError: IN takes a list of constants: x IN (1, 2, 3)
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price IN (SELECT 3)
                                                ^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price IS 3
=> QuerySyntaxError: IS takes NULL, NOT NULL or, for BOOLEAN attributes, TRUE or FALSE
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price IS 3
                                                ^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE ABS(price) < 3
=> QuerySyntaxError: expected an attribute or a constant; the function ABS is neither
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE ABS(price) < 3
                                                ^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE ts > NOW()
=> QuerySyntaxError: expected an attribute or a constant; the function NOW is neither
  at line 1, column 50:
    CREATE QUERY q AS SELECT * FROM ticks WHERE ts > NOW()
                                                     ^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE ts > CURRENT_TIMESTAMP
=> QuerySyntaxError: expected an attribute or a constant; the function CURRENT_TIMESTAMP is neither
  at line 1, column 50:
    CREATE QUERY q AS SELECT * FROM ticks WHERE ts > CURRENT_TIMESTAMP
                                                     ^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE ts > TIMESTAMP '2026-13-01'
=> QuerySyntaxError: expected a time such as '2026-03-01 12:30:00' or '2026-03-01T12:30:00.25+01:00', found '2026-13-01'
  at line 1, column 50:
    CREATE QUERY q AS SELECT * FROM ticks WHERE ts > TIMESTAMP '2026-13-01'
                                                     ^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE ts > ts - INTERVAL '3' DAYS
=> QuerySyntaxError: arithmetic on attributes is not supported: compute it before Watchline, as a column that the stream declares
  at line 1, column 50:
    CREATE QUERY q AS SELECT * FROM ticks WHERE ts > ts - INTERVAL '3' DAYS
                                                     ^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE 3 < price < 5
=> QuerySyntaxError: comparisons do not chain: write x > 1 AND x < 5
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE 3 < price < 5
                                                ^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < '3'
=> QuerySyntaxError: price is DOUBLE: expected a number, found a string
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price < '3'
                                                ^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 && volume > 3
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found '&&'
  at line 1, column 55:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 && volume > 3
                                                          ^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 || volume > 3
=> QuerySyntaxError: comparisons do not chain: write x > 1 AND x < 5
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 || volume > 3
                                                ^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < $1
=> QuerySyntaxError: stream 'ticks' has no attribute '$1'; there is 'halted', 'n', 'price', 'symbol', 'ts' or 'volume'
  at line 1, column 53:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price < $1
                                                        ^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE CASE WHEN price < 3 THEN TRUE ELSE FALSE END
=> QuerySyntaxError: expected a condition of =, <>, <, <=, >, >=, BETWEEN, IN, IS NULL, INSIDE, AND, OR, NOT; the function CASE is none
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE CASE WHEN price < 3 THEN TRUE ELSE FALSE END
                                                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE CAST(price AS BIGINT) = 3
=> QuerySyntaxError: expected an attribute or a constant; the function CAST is neither
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM ticks WHERE CAST(price AS BIGINT) = 3
                                                ^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price::bigint = 3
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found '::'
  at line 1, column 50:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price::bigint = 3
                                                     ^^
---
CREATE QUERY q AS SELECT * FROM ticks, WHERE price < 3
=> QuerySyntaxError: expected a stream name, found 'WHERE'
  at line 1, column 40:
    CREATE QUERY q AS SELECT * FROM ticks, WHERE price < 3
                                           ^^^^^
---
CREATE QUERY q AS SELECT * FROM WHERE price < 3
=> QuerySyntaxError: expected a stream name, found 'WHERE'
  at line 1, column 33:
    CREATE QUERY q AS SELECT * FROM WHERE price < 3
                                    ^^^^^
---
CREATE QUERY q AS * FROM ticks
=> QuerySyntaxError: expected SELECT, found '*'
  at line 1, column 19:
    CREATE QUERY q AS * FROM ticks
                      ^
---
CREATE QUERY 5 AS SELECT * FROM ticks
=> QuerySyntaxError: expected a query id, found '5'
  at line 1, column 14:
    CREATE QUERY 5 AS SELECT * FROM ticks
                 ^
---
CREATE QUERY my-query AS SELECT * FROM ticks
=> QuerySyntaxError: expected AS, found '-'; an id that is no plain word stands in quotes: "cab-17"
  at line 1, column 16:
    CREATE QUERY my-query AS SELECT * FROM ticks
                   ^
---
CREATE QUERY a.b AS SELECT * FROM ticks
=> QuerySyntaxError: expected AS, found '.'; an id that is no plain word stands in quotes: "cab-17"
  at line 1, column 15:
    CREATE QUERY a.b AS SELECT * FROM ticks
                  ^
---
CREATE QUERY q AS SELECT * FROM db.ticks
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found '.'
  at line 1, column 35:
    CREATE QUERY q AS SELECT * FROM db.ticks
                                      ^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE
=> QuerySyntaxError: expected '(', CIRCLE, POLYGON or CORRIDOR after INSIDE, but the statement ends
  at line 1, column 44:
    CREATE QUERY q AS SELECT * FROM cars INSIDE
                                               ^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE 0, 0, 1, 1
=> QuerySyntaxError: expected '(', CIRCLE, POLYGON or CORRIDOR after INSIDE, found '0'
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM cars INSIDE 0, 0, 1, 1
                                                ^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (0, 0, 1, 'a')
=> QuerySyntaxError: expected a number
  at line 1, column 55:
    CREATE QUERY q AS SELECT * FROM cars INSIDE (0, 0, 1, 'a')
                                                          ^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (0, 0, x, 1)
=> QuerySyntaxError: expected a constant
  at line 1, column 52:
    CREATE QUERY q AS SELECT * FROM cars INSIDE (0, 0, x, 1)
                                                       ^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CIRCLE (M, 17, 1)
=> QuerySyntaxError: expected a constant
  at line 1, column 53:
    CREATE QUERY q AS SELECT * FROM cars INSIDE CIRCLE (M, 17, 1)
                                                        ^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', '17', 1, 1)
=> QuerySyntaxError: an object id ('id' is BIGINT) must be a whole number within ±9,223,372,036,854,775,807
  at line 1, column 51:
    CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', '17', 1, 1)
                                                      ^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE BOX (0, 0, 1, 1)
=> QuerySyntaxError: expected '(', CIRCLE, POLYGON or CORRIDOR after INSIDE, found 'BOX'
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM cars INSIDE BOX (0, 0, 1, 1)
                                                ^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON ((0 0, 1 0, 1 1, 0 0))
=> QuerySyntaxError: expected a polygon in quotes, as WKT or GeoJSON, found '('
  at line 1, column 53:
    CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON ((0 0, 1 0, 1 1, 0 0))
                                                        ^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON "POLYGON ((0 0, 1 0, 1 1, 0 0))"
=> QuerySyntaxError: expected a polygon in quotes, as WKT or GeoJSON, found 'POLYGON ((0 0, 1 0, 1 1, 0 0))'
  at line 1, column 53:
    CREATE QUERY q AS SELECT * FROM cars INSIDE POLYGON "POLYGON ((0 0, 1 0, 1 1, 0 0))"
                                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN (0, 0.5, 0.5)
=> QuerySyntaxError: kNN needs k >= 1, not 0
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars kNN (0, 0.5, 0.5)
                                         ^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN (5)
=> QuerySyntaxError: expected kNN (k, x, y): 3 values, found 1
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars kNN (5)
                                         ^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN 5, 0, 0
=> QuerySyntaxError: expected '(', found '5'
  at line 1, column 42:
    CREATE QUERY q AS SELECT * FROM cars kNN 5, 0, 0
                                             ^
---
CREATE QUERY q AS SELECT * FROM cars kNN (1.5, 0, 0)
=> QuerySyntaxError: k must be a whole number within ±2,147,483,647
  at line 1, column 43:
    CREATE QUERY q AS SELECT * FROM cars kNN (1.5, 0, 0)
                                              ^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN ('M', 17)
=> QuerySyntaxError: expected kNN ('M', k, object id): 3 values, found 2
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cars kNN ('M', 17)
                                         ^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars kNN (5, 0, 0) EMIT MATCHES
=> QuerySyntaxError: a kNN or moving query has changes only: it cannot EMIT MATCHES
  at line 1, column 57:
    CREATE QUERY q AS SELECT * FROM cars kNN (5, 0, 0) EMIT MATCHES
                                                            ^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars FOR 2 HOURS
=> QuerySyntaxError: expected INTERVAL, found '2'
  at line 1, column 42:
    CREATE QUERY q AS SELECT * FROM cars FOR 2 HOURS
                                             ^
---
CREATE QUERY q AS SELECT * FROM cars FOR INTERVAL 2
=> QuerySyntaxError: expected a unit of time (WEEKS, DAYS, HOURS, MINUTES, SECONDS, MILLISECONDS, MICROSECONDS), but the statement ends
  at line 1, column 52:
    CREATE QUERY q AS SELECT * FROM cars FOR INTERVAL 2
                                                       ^
---
CREATE QUERY q AS SELECT * FROM cars FOR INTERVAL 2 HOUR S
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'S'
  at line 1, column 58:
    CREATE QUERY q AS SELECT * FROM cars FOR INTERVAL 2 HOUR S
                                                             ^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (0,0,1,1) FOR INTERVAL 2 MONTHS
=> QuerySyntaxError: expected a unit of time (WEEKS, DAYS, HOURS, MINUTES, SECONDS, MILLISECONDS, MICROSECONDS), found 'MONTHS'
  at line 1, column 70:
    …ERY q AS SELECT * FROM cars INSIDE (0,0,1,1) FOR INTERVAL 2 MONTHS
                                                                 ^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (0,0,1,1) FOR INTERVAL -2 HOURS
=> QuerySyntaxError: expected a length of time such as 90 SECONDS, found '-'
  at line 1, column 68:
    …QUERY q AS SELECT * FROM cars INSIDE (0,0,1,1) FOR INTERVAL -2 HOURS
                                                                 ^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (0,0,1,1) ACCURACY 90%
=> QuerySyntaxError: expected a value after '%', but the statement ends
  at line 1, column 67:
    … QUERY q AS SELECT * FROM cars INSIDE (0,0,1,1) ACCURACY 90%
                                                                 ^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (0,0,1,1) ACCURACY 2
=> QuerySyntaxError: ACCURACY must lie between 0 and 1, not 2.0
  at line 1, column 64:
    …ATE QUERY q AS SELECT * FROM cars INSIDE (0,0,1,1) ACCURACY 2
                                                                 ^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (0,0,1,1) EMIT ALL
=> QuerySyntaxError: expected MATCHES or CHANGES, found 'ALL'
  at line 1, column 60:
    CREATE QUERY q AS SELECT * FROM cars INSIDE (0,0,1,1) EMIT ALL
                                                               ^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (0,0,1,1) EMIT CHANGE
=> QuerySyntaxError: expected MATCHES or CHANGES, found 'CHANGE'
  at line 1, column 60:
    CREATE QUERY q AS SELECT * FROM cars INSIDE (0,0,1,1) EMIT CHANGE
                                                               ^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (0,0,1,1) WHERE kind = 'taxi'
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'WHERE'; WHERE stands once, directly after FROM
  at line 1, column 55:
    CREATE QUERY q AS SELECT * FROM cars INSIDE (0,0,1,1) WHERE kind = 'taxi'
                                                          ^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (0,0,1,1) INSIDE (2,2,3,3)
=> QuerySyntaxError: INSIDE stands here a second time
  at line 1, column 55:
    CREATE QUERY q AS SELECT * FROM cars INSIDE (0,0,1,1) INSIDE (2,2,3,3)
                                                          ^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (0,0,1,1) OR INSIDE (2,2,3,3)
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'OR'; with AND, OR and NOT, INSIDE stands in the condition: WHERE … AND NOT INSIDE (…)
  at line 1, column 55:
    CREATE QUERY q AS SELECT * FROM cars INSIDE (0,0,1,1) OR INSIDE (2,2,3,3)
                                                          ^^
---
CREATE STREAM t id BIGINT, ts TIMESTAMP OBJECT id TIME ts
=> QuerySyntaxError: expected '(', found 'id'
  at line 1, column 17:
    CREATE STREAM t id BIGINT, ts TIMESTAMP OBJECT id TIME ts
                    ^^
---
CREATE STREAM t (id BIGINT, ts TIMESTAMP,) OBJECT id TIME ts
=> QuerySyntaxError: expected an attribute name, found ')'
  at line 1, column 42:
    CREATE STREAM t (id BIGINT, ts TIMESTAMP,) OBJECT id TIME ts
                                             ^
---
CREATE STREAM t (id BIGINT, ts) OBJECT id TIME ts
=> QuerySyntaxError: expected a type such as DOUBLE, found ')'
  at line 1, column 31:
    CREATE STREAM t (id BIGINT, ts) OBJECT id TIME ts
                                  ^
---
CREATE STREAM t () OBJECT id TIME ts
=> QuerySyntaxError: expected an attribute name, found ')'
  at line 1, column 18:
    CREATE STREAM t () OBJECT id TIME ts
                     ^
---
CREATE STREAM t (id BIGINT, ts TIMESTAMP) OBJECT (id) TIME ts
=> QuerySyntaxError: expected the attribute that names the object, found '('
  at line 1, column 50:
    CREATE STREAM t (id BIGINT, ts TIMESTAMP) OBJECT (id) TIME ts
                                                     ^
---
CREATE STREAM t (id BIGINT, ts TIMESTAMP) TIME ts
=> QuerySyntaxError: a stream needs OBJECT and the name of one of its attributes
  at line 1, column 50:
    CREATE STREAM t (id BIGINT, ts TIMESTAMP) TIME ts
                                                     ^
---
CREATE STREAM t (id BIGINT, x DOUBLE, ts TIMESTAMP) OBJECT id TIME ts POINT x, y
=> QuerySyntaxError: expected '(', found 'x'
  at line 1, column 77:
    …(id BIGINT, x DOUBLE, ts TIMESTAMP) OBJECT id TIME ts POINT x, y
                                                                 ^
---
CREATE STREAM t (id BIGINT, ts TIMESTAMP) OBJECT id TIME ts MAX SPED 3
=> QuerySyntaxError: expected OBJECT, TIME, POINT, TIMEOUT, MAX SPEED, MAX AHEAD, RETAIN, CACHE, MAX OBJECTS, MAX BYTES, SHED or the end of the statement, found 'MAX'; did you mean MAX SPEED?
  at line 1, column 61:
    CREATE STREAM t (id BIGINT, ts TIMESTAMP) OBJECT id TIME ts MAX SPED 3
                                                                ^^^
---
CREATE STREAM t (id BIGINT, ts TIMESTAMP) OBJECT id TIME ts TIMEOUT 90 SECONDS
=> QuerySyntaxError: expected INTERVAL, found '90'
  at line 1, column 69:
    …TREAM t (id BIGINT, ts TIMESTAMP) OBJECT id TIME ts TIMEOUT 90 SECONDS
                                                                 ^^
---
CREATE STREAM t (id BIGINT, ts TIMESTAMP) OBJECT id TIME id
=> QuerySyntaxError: TIME needs a TIMESTAMP attribute; 'id' is BIGINT
  at line 1, column 58:
    CREATE STREAM t (id BIGINT, ts TIMESTAMP) OBJECT id TIME id
                                                             ^^
---
CREATE TABLE t (id BIGINT)
=> QuerySyntaxError: expected STREAM, QUERY or OR REPLACE QUERY, found 'TABLE'
  at line 1, column 8:
    CREATE TABLE t (id BIGINT)
           ^^^^^
---
CREATE OR REPLACE STREAM t (id BIGINT)
=> QuerySyntaxError: expected QUERY, found 'STREAM'
  at line 1, column 19:
    CREATE OR REPLACE STREAM t (id BIGINT)
                      ^^^^^^
---
DROP TABLE t
=> QuerySyntaxError: expected QUERY or STREAM, found 'TABLE'
  at line 1, column 6:
    DROP TABLE t
         ^^^^^
---
DROP QUERY
=> QuerySyntaxError: expected an id, but the statement ends
  at line 1, column 11:
    DROP QUERY
              ^
---
DROP QUERY q, r
=> QuerySyntaxError: expected the end of the statement or ';', found ','
  at line 1, column 13:
    DROP QUERY q, r
                ^
---
EXPLAIN SELECT * FROM ticks
=> QuerySyntaxError: expected QUERY, found 'SELECT'
  at line 1, column 9:
    EXPLAIN SELECT * FROM ticks
            ^^^^^^
---
CREATE QUERY q AS SELECT * FROM r [RANGE 60], s [ROWS 5] WHERE r.x = s.x
=> QuerySyntaxError: expected a unit of time (WEEKS, DAYS, HOURS, MINUTES, SECONDS, MILLISECONDS, MICROSECONDS), found ']'
  at line 1, column 44:
    CREATE QUERY q AS SELECT * FROM r [RANGE 60], s [ROWS 5] WHERE r.x = s.x
                                               ^
---
CREATE QUERY q AS SELECT * FROM r [60 SECONDS], s [ROWS 5] WHERE r.x = s.x
=> QuerySyntaxError: expected RANGE or ROWS, found '60'
  at line 1, column 36:
    CREATE QUERY q AS SELECT * FROM r [60 SECONDS], s [ROWS 5] WHERE r.x = s.x
                                       ^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.nope
=> QuerySyntaxError: stream 's' has no attribute 'nope'; there is 'id', 'tag', 'ts', 'x' or 'z'
  at line 1, column 68:
    …QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.nope
                                                                 ^^^^^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE x = s.x
=> QuerySyntaxError: 'x' is an attribute of 'r' or 's': write r.x
  at line 1, column 62:
    …REATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE x = s.x
                                                                 ^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] USING (x)
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'USING'
  at line 1, column 56:
    CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] USING (x)
                                                           ^^^^^
---
CREATE QUERY q AS SELECT r.* FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.x
=> QuerySyntaxError: SELECT takes * or names of attributes
  at line 1, column 26:
    CREATE QUERY q AS SELECT r.* FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.x
                             ^^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5], r [ROWS 5] WHERE r.x = s.x
=> QuerySyntaxError: 'r' stands in FROM twice: give one an alias with AS
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM r [ROWS 5], r [ROWS 5] WHERE r.x = s.x
                                                ^
---
CREATE QUERY q AS SELECT * FROM (SELECT * FROM r), s
=> QuerySyntaxError: expected a stream name, found '('
  at line 1, column 33:
    CREATE QUERY q AS SELECT * FROM (SELECT * FROM r), s
                                    ^
---
CREATE QUERY q AS SELECT * FROM ticks AS t WHERE ticks.price < 3
=> QuerySyntaxError: there is no 'ticks' in FROM; there is 't'
  at line 1, column 50:
    CREATE QUERY q AS SELECT * FROM ticks AS t WHERE ticks.price < 3
                                                     ^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 FOR INTERVAL 2 HOURS
=> QuerySyntaxError: EMIT MATCHES keeps no state, so a life of FOR INTERVAL has no beginning: end the query with UNTIL TIMESTAMP '…', or EMIT CHANGES
  at line 1, column 68:
    …QUERY q AS SELECT * FROM ticks WHERE price < 3 FOR INTERVAL 2 HOURS
                                                                 ^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (0, 0, 1, 1) EMIT MATCHES FOR INTERVAL 2 HOURS
=> QuerySyntaxError: EMIT MATCHES keeps no state, so a life of FOR INTERVAL has no beginning: end the query with UNTIL TIMESTAMP '…', or EMIT CHANGES
  at line 1, column 84:
    …T * FROM cars INSIDE (0, 0, 1, 1) EMIT MATCHES FOR INTERVAL 2 HOURS
                                                                 ^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 ACCURACY 0.5
=> QuerySyntaxError: ACCURACY is the least part of an answer that is kept when load is shed; matches and joins are never shed: leave it out
  at line 1, column 64:
    …ATE QUERY q AS SELECT * FROM ticks WHERE price < 3 ACCURACY 0.5
                                                                 ^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 ACCURACY 0 EMIT MATCHES
=> QuerySyntaxError: ACCURACY is the least part of an answer that is kept when load is shed; matches and joins are never shed: leave it out
  at line 1, column 64:
    …ATE QUERY q AS SELECT * FROM ticks WHERE price < 3 ACCURACY 0 EMIT MATCHES
                                                                 ^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.x ACCURACY 1
=> QuerySyntaxError: ACCURACY is the least part of an answer that is kept when load is shed; matches and joins are never shed: leave it out
  at line 1, column 81:
    …LECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.x ACCURACY 1
                                                                 ^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 UNTIL '2026-03-01'
=> QuerySyntaxError: expected TIMESTAMP, found '2026-03-01'
  at line 1, column 61:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 UNTIL '2026-03-01'
                                                                ^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 UNTIL TIMESTAMP
=> QuerySyntaxError: expected a time such as '2026-03-01 12:30:00', but the statement ends
  at line 1, column 70:
    …ERY q AS SELECT * FROM ticks WHERE price < 3 UNTIL TIMESTAMP
                                                                 ^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 UNTIL TIMESTAMP '2026-02-30'
=> QuerySyntaxError: expected a time such as '2026-03-01 12:30:00' or '2026-03-01T12:30:00.25+01:00', found '2026-02-30'
  at line 1, column 71:
    …RY q AS SELECT * FROM ticks WHERE price < 3 UNTIL TIMESTAMP '2026-02-30'
                                                                 ^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 UNTIL TIMESTAMP '2026-02-01' UNTIL TIMESTAMP '2026-02-02'
=> QuerySyntaxError: UNTIL stands here a second time
  at line 1, column 84:
    …T * FROM ticks WHERE price < 3 UNTIL TIMESTAMP '2026-02-01' UNTIL TIMESTAMP '2026-02-02'
                                                                 ^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 UNTILL TIMESTAMP '2026-02-01'
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'UNTILL'; did you mean UNTIL?
  at line 1, column 55:
    CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 UNTILL TIMESTAMP '2026-02-01'
                                                          ^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (0, 0, 1, 1) ACCURACY 1.5
=> QuerySyntaxError: ACCURACY must lie between 0 and 1, not 1.5
  at line 1, column 67:
    … QUERY q AS SELECT * FROM cars INSIDE (0, 0, 1, 1) ACCURACY 1.5
                                                                 ^^^
---
CREATE STREAM t (id BIGINT, ts TIMESTAMP) OBJECT id TIME ts MAX AHEAD 5 MINUTES
=> QuerySyntaxError: expected INTERVAL or UNLIMITED, found '5'
  at line 1, column 71:
    …EAM t (id BIGINT, ts TIMESTAMP) OBJECT id TIME ts MAX AHEAD 5 MINUTES
                                                                 ^
---
CREATE STREAM t (id BIGINT, ts TIMESTAMP) OBJECT id TIME ts MAX AHEAD NEVER
=> QuerySyntaxError: expected INTERVAL or UNLIMITED, found 'NEVER'
  at line 1, column 71:
    …EAM t (id BIGINT, ts TIMESTAMP) OBJECT id TIME ts MAX AHEAD NEVER
                                                                 ^^^^^
---
CREATE STREAM t (id BIGINT, ts TIMESTAMP) OBJECT id TIME ts MAX AHEAD INTERVAL 0 SECONDS
=> QuerySyntaxError: a length of time must be greater than zero and below 146,000 years
  at line 1, column 80:
    … BIGINT, ts TIMESTAMP) OBJECT id TIME ts MAX AHEAD INTERVAL 0 SECONDS
                                                                 ^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars PROPERTIES {"a": 1}
=> QuerySyntaxError: expected a JSON object in quotes, found '{'
  at line 1, column 49:
    CREATE QUERY q AS SELECT * FROM cars PROPERTIES {"a": 1}
                                                    ^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (1, 2, 3, 4) PROPERTIES '{"a": }'
=> QuerySyntaxError: the properties are no JSON: Expecting value: line 1 column 7 (char 6)
  at line 1, column 69:
    …UERY q AS SELECT * FROM cars INSIDE (1, 2, 3, 4) PROPERTIES '{"a": }'
                                                                 ^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (1, 2, 3, 4) PROPERTIES '[1]'
=> QuerySyntaxError: properties are a JSON object such as {"kind": "school"}, not [1]
  at line 1, column 69:
    …UERY q AS SELECT * FROM cars INSIDE (1, 2, 3, 4) PROPERTIES '[1]'
                                                                 ^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (1, 2, 3, 4) PROPERTIES '{"a": NaN}'
=> QuerySyntaxError: the properties have NaN, which JSON does not know: leave it out
  at line 1, column 69:
    …UERY q AS SELECT * FROM cars INSIDE (1, 2, 3, 4) PROPERTIES '{"a": NaN}'
                                                                 ^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (1, 2, 3, 4) PROPERTIES '{"a": 1e999}'
=> QuerySyntaxError: the properties cannot be written as JSON: Out of range float values are not JSON compliant
  at line 1, column 69:
    …UERY q AS SELECT * FROM cars INSIDE (1, 2, 3, 4) PROPERTIES '{"a": 1e999}'
                                                                 ^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (1, 2, 3, 4) PROPERTIES '{"a": 1, "a": 2}'
=> QuerySyntaxError: the properties have 'a' twice
  at line 1, column 69:
    …UERY q AS SELECT * FROM cars INSIDE (1, 2, 3, 4) PROPERTIES '{"a": 1, "a": 2}'
                                                                 ^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (1, 2, 3, 4) PROPERTIES '{"a": "\ud800"}'
=> QuerySyntaxError: the properties have text that is not valid Unicode
  at line 1, column 69:
    …UERY q AS SELECT * FROM cars INSIDE (1, 2, 3, 4) PROPERTIES '{"a": "\ud800"}'
                                                                 ^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars PROPERTIES '{}' INSIDE (1, 2, 3, 4) PROPERTIES '{}'
=> QuerySyntaxError: PROPERTIES stands here a second time
  at line 1, column 74:
    …q AS SELECT * FROM cars PROPERTIES '{}' INSIDE (1, 2, 3, 4) PROPERTIES '{}'
                                                                 ^^^^^^^^^^
---
SHOW STREAMS WHERE id = 'x'
=> QuerySyntaxError: expected the end of the statement or ';', found 'WHERE'
  at line 1, column 14:
    SHOW STREAMS WHERE id = 'x'
                 ^^^^^
---
SHOW QUERIES WHERE
=> QuerySyntaxError: expected a condition, but the statement ends
  at line 1, column 19:
    SHOW QUERIES WHERE
                      ^
---
SHOW QUERIES WHERE kind = 'x'
=> QuerySyntaxError: a query has id, stream, emit or properties, and no 'kind'
  at line 1, column 20:
    SHOW QUERIES WHERE kind = 'x'
                       ^^^^
---
SHOW QUERIES WHERE properties = 'x'
=> QuerySyntaxError: expected a property or a plain column, such as properties.kind
  at line 1, column 20:
    SHOW QUERIES WHERE properties = 'x'
                       ^^^^^^^^^^
---
SHOW QUERIES WHERE id.x = 'x'
=> QuerySyntaxError: expected a property or a plain column, such as id
  at line 1, column 20:
    SHOW QUERIES WHERE id.x = 'x'
                       ^^^^
---
SHOW QUERIES WHERE properties.a = lower(id)
=> QuerySyntaxError: expected a string, a number, TRUE, FALSE or NULL
  at line 1, column 35:
    SHOW QUERIES WHERE properties.a = lower(id)
                                      ^^^^^^^^^
---
SHOW QUERIES WHERE 1 = 1
=> QuerySyntaxError: compare a query's id, stream, emit or properties with something
  at line 1, column 20:
    SHOW QUERIES WHERE 1 = 1
                       ^
---
SHOW QUERIES WHERE emit = 'pairs'
=> QuerySyntaxError: emit is 'MATCHES' or 'CHANGES'
  at line 1, column 27:
    SHOW QUERIES WHERE emit = 'pairs'
                              ^^^^^^^
---
SHOW QUERIES WHERE properties.a IN (SELECT 1)
=> QuerySyntaxError: IN takes constants: properties.kind IN ('school', 'park')
  at line 1, column 20:
    SHOW QUERIES WHERE properties.a IN (SELECT 1)
                       ^^^^^^^^^^^^^^^^^^^^^^^^^^
---
SHOW QUERIES WHERE id LIKE 5
=> QuerySyntaxError: LIKE takes a string, in which % stands for any text, _ for a letter
  at line 1, column 20:
    SHOW QUERIES WHERE id LIKE 5
                       ^^^^^^^^^
---
SHOW QUERIES WHERE id = 'x' ORDER BY id
=> QuerySyntaxError: expected the end of the statement or ';', found 'ORDER BY'
  at line 1, column 29:
    SHOW QUERIES WHERE id = 'x' ORDER BY id
                                ^^^^^^^^
---
SHOW QUERIES WHERE properties.a IS 5
=> QuerySyntaxError: IS takes NULL, TRUE or FALSE
  at line 1, column 20:
    SHOW QUERIES WHERE properties.a IS 5
                       ^^^^^^^^^^^^^^^^^
---
SHOW QUERIES WHERE properties.a BETWEEN 1 AND
=> QuerySyntaxError: expected a value after 'AND', but the statement ends
  at line 1, column 46:
    SHOW QUERIES WHERE properties.a BETWEEN 1 AND
                                                 ^
---
SHOW QUERIES WHERE properties.a + 1 > 3
=> QuerySyntaxError: expected a string, a number, TRUE, FALSE or NULL
  at line 1, column 20:
    SHOW QUERIES WHERE properties.a + 1 > 3
                       ^^^^^^^^^^^^^^^^
---
# INSIDE as a condition: where it stands, and what it takes.
CREATE QUERY q AS SELECT * FROM cars WHERE x = INSIDE (0, 0, 1, 1)
=> QuerySyntaxError: expected a value, found 'INSIDE'; INSIDE is a condition, for AND, OR and NOT
  at line 1, column 48:
    CREATE QUERY q AS SELECT * FROM cars WHERE x = INSIDE (0, 0, 1, 1)
                                                   ^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE (INSIDE (0, 0, 1, 1)) = TRUE
=> QuerySyntaxError: INSIDE is no value: it is a condition, for AND, OR and NOT
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM cars WHERE (INSIDE (0, 0, 1, 1)) = TRUE
                                                ^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE x BETWEEN 1 AND INSIDE (0, 0, 1, 1)
=> QuerySyntaxError: INSIDE is no value: it is a condition, for AND, OR and NOT
  at line 1, column 60:
    CREATE QUERY q AS SELECT * FROM cars WHERE x BETWEEN 1 AND INSIDE (0, 0, 1, 1)
                                                               ^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE x IN (1, INSIDE (0, 0, 1, 1))
=> QuerySyntaxError: expected a value, found 'INSIDE'; INSIDE is a condition, for AND, OR and NOT
  at line 1, column 53:
    CREATE QUERY q AS SELECT * FROM cars WHERE x IN (1, INSIDE (0, 0, 1, 1))
                                                        ^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE x IN (INSIDE (0, 0, 1, 1))
=> QuerySyntaxError: INSIDE is no value: it is a condition, for AND, OR and NOT
  at line 1, column 50:
    CREATE QUERY q AS SELECT * FROM cars WHERE x IN (INSIDE (0, 0, 1, 1))
                                                     ^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE INSIDE (0, 0, 1, 1) IS NULL
=> QuerySyntaxError: INSIDE is no value: it is a condition, for AND, OR and NOT
  at line 1, column 44:
    CREATE QUERY q AS SELECT * FROM cars WHERE INSIDE (0, 0, 1, 1) IS NULL
                                               ^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE INSIDE (0, 0, 1, 1) IS TRUE
=> QuerySyntaxError: INSIDE is no value: it is a condition, for AND, OR and NOT
  at line 1, column 44:
    CREATE QUERY q AS SELECT * FROM cars WHERE INSIDE (0, 0, 1, 1) IS TRUE
                                               ^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE INSIDE (0, 0, 1, 1) = INSIDE (0, 0, 2, 2)
=> QuerySyntaxError: expected a value, found 'INSIDE'; INSIDE is a condition, for AND, OR and NOT
  at line 1, column 66:
    …E QUERY q AS SELECT * FROM cars WHERE INSIDE (0, 0, 1, 1) = INSIDE (0, 0, 2, 2)
                                                                 ^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE 1 + INSIDE (0, 0, 1, 1) > 3
=> QuerySyntaxError: expected a value, found 'INSIDE'; INSIDE is a condition, for AND, OR and NOT
  at line 1, column 48:
    CREATE QUERY q AS SELECT * FROM cars WHERE 1 + INSIDE (0, 0, 1, 1) > 3
                                                   ^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE -INSIDE (0, 0, 1, 1)
=> QuerySyntaxError: expected a value, found 'INSIDE'; INSIDE is a condition, for AND, OR and NOT
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM cars WHERE -INSIDE (0, 0, 1, 1)
                                                ^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE INSIDE (INSIDE (0, 0, 1, 1), 0, 1, 1)
=> QuerySyntaxError: expected a constant
  at line 1, column 52:
    CREATE QUERY q AS SELECT * FROM cars WHERE INSIDE (INSIDE (0, 0, 1, 1), 0, 1, 1)
                                                       ^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT INSIDE (0, 0, 1, 1) FROM cars
=> QuerySyntaxError: expected a value, found 'INSIDE'; INSIDE is a condition, for AND, OR and NOT
  at line 1, column 26:
    CREATE QUERY q AS SELECT INSIDE (0, 0, 1, 1) FROM cars
                             ^^^^^^
---
CREATE QUERY q AS SELECT (INSIDE (0, 0, 1, 1)) FROM cars
=> QuerySyntaxError: SELECT takes * or names of attributes
  at line 1, column 26:
    CREATE QUERY q AS SELECT (INSIDE (0, 0, 1, 1)) FROM cars
                             ^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE INSIDE ('M', 17, 1, 1)
=> QuerySyntaxError: a region that moves is no condition: write it once, as a clause after the condition, without AND, OR or NOT
  at line 1, column 44:
    CREATE QUERY q AS SELECT * FROM cars WHERE INSIDE ('M', 17, 1, 1)
                                               ^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE kind = 'taxi' OR NOT INSIDE CIRCLE ('M', 17, 0.5)
=> QuerySyntaxError: a region that moves is no condition: write it once, as a clause after the condition, without AND, OR or NOT
  at line 1, column 65:
    …TE QUERY q AS SELECT * FROM cars WHERE kind = 'taxi' OR NOT INSIDE CIRCLE ('M', 17, 0.5)
                                                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE kNN (3, 0, 0)
=> QuerySyntaxError: expected a condition, found 'kNN'; kNN is a clause: it stands once, after the condition, without AND, OR or NOT
  at line 1, column 44:
    CREATE QUERY q AS SELECT * FROM cars WHERE kNN (3, 0, 0)
                                               ^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE kind = 'taxi' AND NOT kNN (3, 0, 0)
=> QuerySyntaxError: expected a condition, found 'kNN'; kNN is a clause: it stands once, after the condition, without AND, OR or NOT
  at line 1, column 66:
    …E QUERY q AS SELECT * FROM cars WHERE kind = 'taxi' AND NOT kNN (3, 0, 0)
                                                                 ^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE kind = 'taxi' AND OUTSIDE CIRCLE (0, 0, 1)
=> QuerySyntaxError: expected a condition, found 'OUTSIDE'; write NOT INSIDE, in the condition after WHERE
  at line 1, column 62:
    …REATE QUERY q AS SELECT * FROM cars WHERE kind = 'taxi' AND OUTSIDE CIRCLE (0, 0, 1)
                                                                 ^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE kind = 'taxi' AND INSIDE ELLIPSE (0, 0, 1, 2)
=> QuerySyntaxError: expected '(', CIRCLE, POLYGON or CORRIDOR after INSIDE, found 'ELLIPSE'
  at line 1, column 69:
    …UERY q AS SELECT * FROM cars WHERE kind = 'taxi' AND INSIDE ELLIPSE (0, 0, 1, 2)
                                                                 ^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE NOT INSIDE BOX '0 0 1 1'
=> QuerySyntaxError: expected '(', CIRCLE, POLYGON or CORRIDOR after INSIDE, found 'BOX'
  at line 1, column 55:
    CREATE QUERY q AS SELECT * FROM cars WHERE NOT INSIDE BOX '0 0 1 1'
                                                          ^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE kind = 'taxi' AND INSIDE (0, 0, 1)
=> QuerySyntaxError: expected INSIDE (x1, y1, x2, y2): 4 values, found 3
  at line 1, column 62:
    …REATE QUERY q AS SELECT * FROM cars WHERE kind = 'taxi' AND INSIDE (0, 0, 1)
                                                                 ^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE kind = 'taxi' OR INSIDE CIRCLE (0, 0, -1)
=> QuerySyntaxError: the radius of a circle must be greater than zero and finite, not -1.0
  at line 1, column 61:
    CREATE QUERY q AS SELECT * FROM cars WHERE kind = 'taxi' OR INSIDE CIRCLE (0, 0, -1)
                                                                ^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE NOT (INSIDE POLYGON 'POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))' OR speed > 3)
=> QuerySyntaxError: the polygon crosses or overlaps itself near (0.5, 0.5): mend it (shapely's make_valid, PostGIS' ST_MakeValid)
  at line 1, column 64:
    …ATE QUERY q AS SELECT * FROM cars WHERE NOT (INSIDE POLYGON 'POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))' OR speed > 3)
                                                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE kind = 'taxi' AND INSIDE POLYGON
=> QuerySyntaxError: expected a polygon in quotes, as WKT or GeoJSON, but the statement ends
  at line 1, column 76:
    …AS SELECT * FROM cars WHERE kind = 'taxi' AND INSIDE POLYGON
                                                                 ^
---
CREATE QUERY q AS SELECT * FROM cars WHERE INSIDE (0, 0, 1, 1) AND
=> QuerySyntaxError: expected a value after 'AND', but the statement ends
  at line 1, column 67:
    … QUERY q AS SELECT * FROM cars WHERE INSIDE (0, 0, 1, 1) AND
                                                                 ^
---
CREATE QUERY q AS SELECT * FROM cars WHERE INSIDE (0, 0, 1, 1) INSIDE CIRCLE (0, 0, 1) INSIDE CIRCLE (0, 0, 2)
=> QuerySyntaxError: INSIDE stands here a second time
  at line 1, column 88:
    …FROM cars WHERE INSIDE (0, 0, 1, 1) INSIDE CIRCLE (0, 0, 1) INSIDE CIRCLE (0, 0, 2)
                                                                 ^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE INSIDE (0, 0, 1, 1) kind = 'taxi'
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'kind'
  at line 1, column 64:
    …ATE QUERY q AS SELECT * FROM cars WHERE INSIDE (0, 0, 1, 1) kind = 'taxi'
                                                                 ^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE kind = 'taxi' INSIDE (0, 0, 1, 1) AND INSIDE CIRCLE (0, 0, 1)
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'AND'; with AND, OR and NOT, INSIDE stands in the condition: WHERE … AND NOT INSIDE (…)
  at line 1, column 78:
    … SELECT * FROM cars WHERE kind = 'taxi' INSIDE (0, 0, 1, 1) AND INSIDE CIRCLE (0, 0, 1)
                                                                 ^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE (kind = 'taxi' INSIDE (0, 0, 1, 1))
=> QuerySyntaxError: expected ')', found 'INSIDE'
  at line 1, column 59:
    CREATE QUERY q AS SELECT * FROM cars WHERE (kind = 'taxi' INSIDE (0, 0, 1, 1))
                                                              ^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (0, 0, 1, 1) AND speed > 3
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'AND'; with AND, OR and NOT, INSIDE stands in the condition: WHERE … AND NOT INSIDE (…)
  at line 1, column 58:
    CREATE QUERY q AS SELECT * FROM cars INSIDE (0, 0, 1, 1) AND speed > 3
                                                             ^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE (0, 0, 1, 1) AND NOT kNN (3, 0, 0)
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'AND'; kNN is a clause: it stands once, after the condition, without AND, OR or NOT
  at line 1, column 58:
    CREATE QUERY q AS SELECT * FROM cars INSIDE (0, 0, 1, 1) AND NOT kNN (3, 0, 0)
                                                             ^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE INSIDE (0, 0, 1, 1) AND NOT INSIDE (1, 1, 0, 0)
=> QuerySyntaxError: the condition can never be true: no row can satisfy it
  at line 1, column 44:
    CREATE QUERY q AS SELECT * FROM cars WHERE INSIDE (0, 0, 1, 1) AND NOT INSIDE (1, 1, 0, 0)
                                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE x IS NULL AND INSIDE CIRCLE (0, 0, 1)
=> QuerySyntaxError: the condition can never be true: no row can satisfy it
  at line 1, column 44:
    CREATE QUERY q AS SELECT * FROM cars WHERE x IS NULL AND INSIDE CIRCLE (0, 0, 1)
                                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM ticks WHERE price < 3 AND NOT INSIDE (0, 0, 1, 1)
=> QuerySyntaxError: INSIDE needs a place: stream 'ticks' was declared without POINT
  at line 1, column 63:
    …EATE QUERY q AS SELECT * FROM ticks WHERE price < 3 AND NOT INSIDE (0, 0, 1, 1)
                                                                 ^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.x AND NOT INSIDE (0, 0, 1, 1)
=> QuerySyntaxError: a join takes no INSIDE and no kNN: register a query of one stream for what is inside, or write the box as conditions such as a.x >= 1 AND a.x < 2
  at line 1, column 80:
    …ELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.x AND NOT INSIDE (0, 0, 1, 1)
                                                                 ^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5] JOIN s [ROWS 5] ON INSIDE (0, 0, 1, 1)
=> QuerySyntaxError: a join takes no INSIDE and no kNN: register a query of one stream for what is inside, or write the box as conditions such as a.x >= 1 AND a.x < 2
  at line 1, column 63:
    …EATE QUERY q AS SELECT * FROM r [ROWS 5] JOIN s [ROWS 5] ON INSIDE (0, 0, 1, 1)
                                                                 ^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.x INSIDE (0, 0, 1)
=> QuerySyntaxError: a join takes no INSIDE and no kNN: register a query of one stream for what is inside, or write the box as conditions such as a.x >= 1 AND a.x < 2
  at line 1, column 72:
    …Y q AS SELECT * FROM r [ROWS 5], s [ROWS 5] WHERE r.x = s.x INSIDE (0, 0, 1)
                                                                 ^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE INSIDE (0, 0, 1, 1) EMIT MATCHES FOR INTERVAL 2 HOURS
=> QuerySyntaxError: EMIT MATCHES keeps no state, so a life of FOR INTERVAL has no beginning: end the query with UNTIL TIMESTAMP '…', or EMIT CHANGES
  at line 1, column 90:
    …OM cars WHERE INSIDE (0, 0, 1, 1) EMIT MATCHES FOR INTERVAL 2 HOURS
                                                                 ^^^^^^^
---
# Corridors.
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR
=> QuerySyntaxError: expected a line in quotes, as WKT or GeoJSON, but the statement ends
  at line 1, column 53:
    CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR
                                                        ^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR (0, 0, 1, 1)
=> QuerySyntaxError: expected a line in quotes, as WKT or GeoJSON, found '('
  at line 1, column 54:
    CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR (0, 0, 1, 1)
                                                         ^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)'
=> QuerySyntaxError: expected WITHIN and a distance after the line, but the statement ends
  at line 1, column 77:
    …S SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)'
                                                                 ^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' 0.5
=> QuerySyntaxError: expected WITHIN and a distance after the line, found '0.5'
  at line 1, column 78:
    … SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' 0.5
                                                                 ^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN
=> QuerySyntaxError: expected a distance, but the statement ends
  at line 1, column 84:
    …T * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN
                                                                 ^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN 0
=> QuerySyntaxError: the distance of a corridor must be between 1e-140 and 1e+140, not 0.0
  at line 1, column 85:
    … * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN 0
                                                                 ^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN -1
=> QuerySyntaxError: the distance of a corridor must be between 1e-140 and 1e+140, not -1.0
  at line 1, column 85:
    … * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN -1
                                                                 ^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN 1e200
=> QuerySyntaxError: the distance of a corridor must be between 1e-140 and 1e+140, not 1e+200
  at line 1, column 85:
    … * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN 1e200
                                                                 ^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN x
=> QuerySyntaxError: expected a constant
  at line 1, column 85:
    … * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN x
                                                                 ^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN 'near'
=> QuerySyntaxError: expected a number
  at line 1, column 85:
    … * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN 'near'
                                                                 ^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN 5 METERS
=> QuerySyntaxError: a unit needs a place on Earth, and the point of stream 'cars' is one of a plane: declare the point AS GEOGRAPHY, or leave the unit out
  at line 1, column 85:
    … * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN 5 METERS
                                                                 ^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING EMPTY' WITHIN 1
=> QuerySyntaxError: the line is empty: it needs two points or more
  at line 1, column 54:
    CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING EMPTY' WITHIN 1
                                                         ^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0)' WITHIN 1
=> QuerySyntaxError: expected a line as WKT or GeoJSON, as in 'LINESTRING (0 0, 1 1)'
  at line 1, column 54:
    CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0)' WITHIN 1
                                                         ^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, nan 1)' WITHIN 1
=> QuerySyntaxError: the points of a corridor's line must be finite numbers
  at line 1, column 54:
    CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, nan 1)' WITHIN 1
                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1e200 1)' WITHIN 1
=> QuerySyntaxError: the segments of a corridor must be between 1e-140 and 1e+140 long, or of no length
  at line 1, column 54:
    CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1e200 1)' WITHIN 1
                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1e-200 0)' WITHIN 1
=> QuerySyntaxError: the segments of a corridor must be between 1e-140 and 1e+140 long, or of no length
  at line 1, column 54:
    CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'LINESTRING (0 0, 1e-200 0)' WITHIN 1
                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'MULTILINESTRING ((1e308 0, 1e308 1), (-1e308 0, -1e308 1))' WITHIN 1
=> QuerySyntaxError: the line is wider or higher than a DOUBLE can say
  at line 1, column 54:
    CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'MULTILINESTRING ((1e308 0, 1e308 1), (-1e308 0, -1e308 1))'…
                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'POLYGON ((0 0, 1 0, 1 1, 0 0))' WITHIN 1
=> QuerySyntaxError: expected a LINESTRING or MULTILINESTRING, found POLYGON: write INSIDE POLYGON '…'
  at line 1, column 54:
    CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'POLYGON ((0 0, 1 0, 1 1, 0 0))' WITHIN 1
                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'POINT (0 0)' WITHIN 1
=> QuerySyntaxError: expected a LINESTRING or MULTILINESTRING, found POINT: write INSIDE CIRCLE (x, y, radius)
  at line 1, column 54:
    CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'POINT (0 0)' WITHIN 1
                                                         ^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'GEOMETRYCOLLECTION (LINESTRING (0 0, 1 1))' WITHIN 1
=> QuerySyntaxError: expected a LINESTRING or MULTILINESTRING, found GEOMETRYCOLLECTION: register one query for each line
  at line 1, column 54:
    CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'GEOMETRYCOLLECTION (LINESTRING (0 0, 1 1))' WITHIN 1
                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR '{"type": "LineString"}' WITHIN 1
=> QuerySyntaxError: expected a line as WKT or GeoJSON, as in 'LINESTRING (0 0, 1 1)'
  at line 1, column 54:
    CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR '{"type": "LineString"}' WITHIN 1
                                                         ^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'the high street' WITHIN 1
=> QuerySyntaxError: expected a line as WKT or GeoJSON, as in 'LINESTRING (0 0, 1 1)'
  at line 1, column 54:
    CREATE QUERY q AS SELECT * FROM cars INSIDE CORRIDOR 'the high street' WITHIN 1
                                                         ^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE kind = 'taxi' AND NOT INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN 0
=> QuerySyntaxError: the distance of a corridor must be between 1e-140 and 1e+140, not 0.0
  at line 1, column 113:
    …axi' AND NOT INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN 0
                                                                 ^
---
CREATE QUERY q AS SELECT * FROM ticks INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN 1
=> QuerySyntaxError: INSIDE needs a place: stream 'ticks' was declared without POINT
  at line 1, column 39:
    CREATE QUERY q AS SELECT * FROM ticks INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN 1
                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
# What sqlglot would fail on.
CREATE QUERY q AS SELECT * FROM cars WHERE x{:} > 3
=> QuerySyntaxError: expected a value or an operator, found '{'
  at line 1, column 45:
    CREATE QUERY q AS SELECT * FROM cars WHERE x{:} > 3
                                                ^
---
# On Earth.
CREATE STREAM t (id BIGINT, lon DOUBLE, lat DOUBLE, ts TIMESTAMP) OBJECT id TIME ts POINT (lon, lat) AS GEOGRPHY
=> QuerySyntaxError: expected GEOGRAPHY, found 'GEOGRPHY'; did you mean GEOGRAPHY?
  at line 1, column 105:
    …DOUBLE, ts TIMESTAMP) OBJECT id TIME ts POINT (lon, lat) AS GEOGRPHY
                                                                 ^^^^^^^^
---
CREATE STREAM t (id BIGINT, lon DOUBLE, lat DOUBLE, ts TIMESTAMP) OBJECT id TIME ts POINT (lon, lat) AS
=> QuerySyntaxError: expected GEOGRAPHY, but the statement ends
  at line 1, column 104:
    … DOUBLE, ts TIMESTAMP) OBJECT id TIME ts POINT (lon, lat) AS
                                                                 ^
---
CREATE STREAM t (id BIGINT, lon DOUBLE, lat DOUBLE, ts TIMESTAMP) OBJECT id TIME ts AS GEOGRAPHY
=> QuerySyntaxError: expected OBJECT, TIME, POINT, TIMEOUT, MAX SPEED, MAX AHEAD, RETAIN, CACHE, MAX OBJECTS, MAX BYTES, SHED or the end of the statement, found 'AS'
  at line 1, column 85:
    …NT, lon DOUBLE, lat DOUBLE, ts TIMESTAMP) OBJECT id TIME ts AS GEOGRAPHY
                                                                 ^^
---
CREATE STREAM t (id BIGINT, lon DOUBLE, lat DOUBLE, ts TIMESTAMP) OBJECT id TIME ts POINT (lat, lon) AS GEOGRAPHY
=> QuerySyntaxError: the point of a place on Earth is its longitude, then its latitude: write POINT (lon, lat)
  at line 1, column 92:
    … DOUBLE, lat DOUBLE, ts TIMESTAMP) OBJECT id TIME ts POINT (lat, lon) AS GEOGRAPHY
                                                                 ^^^^^^^^
---
CREATE STREAM t (id BIGINT, lon DOUBLE, lat DOUBLE, ts TIMESTAMP) OBJECT id TIME ts POINT (lon, lat) MAX SPEED 40 KM PER HOUR
=> QuerySyntaxError: a unit needs a place on Earth, and the point of stream 't' is one of a plane: declare the point AS GEOGRAPHY, or leave the unit out
  at line 1, column 112:
    … ts TIMESTAMP) OBJECT id TIME ts POINT (lon, lat) MAX SPEED 40 KM PER HOUR
                                                                 ^^^^^^^^^^^^^^
---
CREATE STREAM t (id BIGINT, lon DOUBLE, lat DOUBLE, ts TIMESTAMP) OBJECT id TIME ts POINT (lon, lat) AS GEOGRAPHY MAX SPEED 40 METERS
=> QuerySyntaxError: a speed is in METERS PER SECOND, KILOMETERS PER HOUR, MILES PER HOUR or FEET PER SECOND, not in METERS
  at line 1, column 125:
    …) OBJECT id TIME ts POINT (lon, lat) AS GEOGRAPHY MAX SPEED 40 METERS
                                                                 ^^^^^^^^^
---
CREATE STREAM t (id BIGINT, lon DOUBLE, lat DOUBLE, ts TIMESTAMP) OBJECT id TIME ts POINT (lon, lat) AS GEOGRAPHY MAX SPEED 40 METERS PER HOUR
=> QuerySyntaxError: a speed is in METERS PER SECOND, KILOMETERS PER HOUR, MILES PER HOUR or FEET PER SECOND, not in METERS PER HOUR
  at line 1, column 125:
    …) OBJECT id TIME ts POINT (lon, lat) AS GEOGRAPHY MAX SPEED 40 METERS PER HOUR
                                                                 ^^^^^^^^^^^^^^^^^^
---
CREATE STREAM t (id BIGINT, lon DOUBLE, lat DOUBLE, ts TIMESTAMP) OBJECT id TIME ts POINT (lon, lat) AS GEOGRAPHY MAX SPEED 40 METERS PER DAY
=> QuerySyntaxError: expected SECOND or HOUR, found 'DAY'
  at line 1, column 139:
    …ME ts POINT (lon, lat) AS GEOGRAPHY MAX SPEED 40 METERS PER DAY
                                                                 ^^^
---
CREATE STREAM t (id BIGINT, lon DOUBLE, lat DOUBLE, ts TIMESTAMP) OBJECT id TIME ts POINT (lon, lat) AS GEOGRAPHY MAX SPEED 40 KMH
=> QuerySyntaxError: unknown unit 'KMH'; did you mean KILOMETERS PER HOUR?
  at line 1, column 128:
    …BJECT id TIME ts POINT (lon, lat) AS GEOGRAPHY MAX SPEED 40 KMH
                                                                 ^^^
---
CREATE STREAM t (id BIGINT, lon DOUBLE, lat DOUBLE, ts TIMESTAMP) OBJECT id TIME ts POINT (lon, lat) AS GEOGRAPHY MAX SPEED 40 KNOTS
=> QuerySyntaxError: unknown unit 'KNOTS': expected METERS PER SECOND, KILOMETERS PER HOUR, MILES PER HOUR or FEET PER SECOND
  at line 1, column 128:
    …BJECT id TIME ts POINT (lon, lat) AS GEOGRAPHY MAX SPEED 40 KNOTS
                                                                 ^^^^^
---
CREATE STREAM t (id BIGINT, lon DOUBLE, lat DOUBLE, ts TIMESTAMP) OBJECT id TIME ts POINT (lon, lat) AS GEOGRAPHY MAX SPEED 40 RETAINS ALL
=> QuerySyntaxError: expected OBJECT, TIME, POINT, TIMEOUT, MAX SPEED, MAX AHEAD, RETAIN, CACHE, MAX OBJECTS, MAX BYTES, SHED or the end of the statement, found 'RETAINS'; did you mean RETAIN?
  at line 1, column 128:
    …BJECT id TIME ts POINT (lon, lat) AS GEOGRAPHY MAX SPEED 40 RETAINS ALL
                                                                 ^^^^^^^
---
CREATE STREAM t (id BIGINT, lon DOUBLE, lat DOUBLE, ts TIMESTAMP) OBJECT id TIME ts POINT (lon, lat) AS GEOGRAPHY RETAIN SIGNIFICANT CACHE 1 KM
=> QuerySyntaxError: KILOMETERS has no place here: a unit goes with a length or a speed that is one plain number
  at line 1, column 140:
    …E ts POINT (lon, lat) AS GEOGRAPHY RETAIN SIGNIFICANT CACHE 1 KM
                                                                 ^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE CIRCLE (0.5, 0.5, 500 METERS)
=> QuerySyntaxError: a unit needs a place on Earth, and the point of stream 'cars' is one of a plane: declare the point AS GEOGRAPHY, or leave the unit out
  at line 1, column 63:
    …EATE QUERY q AS SELECT * FROM cars INSIDE CIRCLE (0.5, 0.5, 500 METERS)
                                                                 ^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 17, 0.1, 2 KM)
=> QuerySyntaxError: a unit needs a place on Earth, and the point of stream 'cars' is one of a plane: declare the point AS GEOGRAPHY, or leave the unit out
  at line 1, column 60:
    CREATE QUERY q AS SELECT * FROM cars INSIDE ('M', 17, 0.1, 2 KM)
                                                               ^^^^
---
CREATE QUERY q AS SELECT * FROM cars WHERE speed > 3 OR NOT INSIDE CIRCLE (0.5, 0.5, 1 MI)
=> QuerySyntaxError: a unit needs a place on Earth, and the point of stream 'cars' is one of a plane: declare the point AS GEOGRAPHY, or leave the unit out
  at line 1, column 86:
    …* FROM cars WHERE speed > 3 OR NOT INSIDE CIRCLE (0.5, 0.5, 1 MI)
                                                                 ^^^^
---
CREATE QUERY q AS SELECT * FROM cabs INSIDE CIRCLE (-122.4, 37.8, 500 METRS)
=> QuerySyntaxError: unknown unit 'METRS'; did you mean METRES?
  at line 1, column 71:
    …RY q AS SELECT * FROM cabs INSIDE CIRCLE (-122.4, 37.8, 500 METRS)
                                                                 ^^^^^
---
CREATE QUERY q AS SELECT * FROM cabs INSIDE CIRCLE (-122.4, 37.8, 500 YARDS)
=> QuerySyntaxError: unknown unit 'YARDS': expected METERS, KILOMETERS, MILES or FEET
  at line 1, column 71:
    …RY q AS SELECT * FROM cabs INSIDE CIRCLE (-122.4, 37.8, 500 YARDS)
                                                                 ^^^^^
---
CREATE QUERY q AS SELECT * FROM cabs INSIDE CIRCLE (-122.4, 37.8, 500 "m")
=> QuerySyntaxError: expected ')', found 'm'
  at line 1, column 71:
    …RY q AS SELECT * FROM cabs INSIDE CIRCLE (-122.4, 37.8, 500 "m")
                                                                 ^^^
---
CREATE QUERY q AS SELECT * FROM cabs INSIDE CIRCLE (-122.4, 37.8, 500 METERS PER SECOND)
=> QuerySyntaxError: a length is in METERS, KILOMETERS, MILES or FEET, not in METERS PER SECOND
  at line 1, column 67:
    … QUERY q AS SELECT * FROM cabs INSIDE CIRCLE (-122.4, 37.8, 500 METERS PER SECOND)
                                                                 ^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cabs INSIDE CIRCLE (-122.4, 37.8, -5 KM)
=> QuerySyntaxError: the radius of a circle must be greater than zero and finite, not -5000.0
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cabs INSIDE CIRCLE (-122.4, 37.8, -5 KM)
                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cabs INSIDE CIRCLE (-122.4, 37.8, 2 * 5 KM)
=> QuerySyntaxError: KILOMETERS has no place here: a unit goes with a length or a speed that is one plain number
  at line 1, column 71:
    …RY q AS SELECT * FROM cabs INSIDE CIRCLE (-122.4, 37.8, 2 * 5 KM)
                                                                 ^^^^
---
CREATE QUERY q AS SELECT * FROM cabs INSIDE CIRCLE (37.8, -122.4, 500 M)
=> QuerySyntaxError: the centre of a circle has latitude -122.4, beyond 90: are longitude and latitude swapped?
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cabs INSIDE CIRCLE (37.8, -122.4, 500 M)
                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cabs INSIDE CIRCLE (-122.4, 37.8)
=> QuerySyntaxError: expected INSIDE CIRCLE (lon, lat, radius): 3 values, found 2
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cabs INSIDE CIRCLE (-122.4, 37.8)
                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cabs INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN 5 KILOMTERS EMIT CHANGES
=> QuerySyntaxError: unknown unit 'KILOMTERS'; did you mean KILOMETERS?
  at line 1, column 87:
    … FROM cabs INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN 5 KILOMTERS EMIT CHANGES
                                                                 ^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cabs INSIDE CORRIDOR 'LINESTRING (0 0, 1 91)' WITHIN 5 KM
=> QuerySyntaxError: the line of a corridor has latitude 91, beyond 90: are longitude and latitude swapped?
  at line 1, column 54:
    CREATE QUERY q AS SELECT * FROM cabs INSIDE CORRIDOR 'LINESTRING (0 0, 1 91)' WITHIN 5 KM
                                                         ^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cabs INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN 5 EMITT CHANGES
=> QuerySyntaxError: expected INSIDE, kNN, FOR, UNTIL, ACCURACY, EMIT, PROPERTIES or the end of the statement, found 'EMITT'; did you mean EMIT?
  at line 1, column 87:
    … FROM cabs INSIDE CORRIDOR 'LINESTRING (0 0, 1 1)' WITHIN 5 EMITT CHANGES
                                                                 ^^^^^
---
CREATE QUERY q AS SELECT * FROM cabs INSIDE (1 KM, 2, 3, 4)
=> QuerySyntaxError: KILOMETERS has no place here: a unit goes with a length or a speed that is one plain number
  at line 1, column 46:
    CREATE QUERY q AS SELECT * FROM cabs INSIDE (1 KM, 2, 3, 4)
                                                 ^^^^
---
CREATE QUERY q AS SELECT * FROM cabs INSIDE (0, 38, 1, 37)
=> QuerySyntaxError: a box on Earth is (west, south, east, north): south 38 is not below north 37
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cabs INSIDE (0, 38, 1, 37)
                                         ^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cabs INSIDE (0, 37, 360, 37)
=> QuerySyntaxError: a box on Earth is (west, south, east, north): south 37 is not below north 37
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cabs INSIDE (0, 37, 360, 37)
                                         ^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cabs INSIDE (190, 37, -170, 38)
=> QuerySyntaxError: a box on Earth is (west, south, east, north): west and east are both -170
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cabs INSIDE (190, 37, -170, 38)
                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cabs INSIDE (37, -122.5, 38, -122.3)
=> QuerySyntaxError: a corner of a box has latitude -122.5, beyond 90: are longitude and latitude swapped?
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cabs INSIDE (37, -122.5, 38, -122.3)
                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cabs kNN (5, 37.8, -122.4)
=> QuerySyntaxError: the centre of a kNN query has latitude -122.4, beyond 90: are longitude and latitude swapped?
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cabs kNN (5, 37.8, -122.4)
                                         ^^^^^^^^^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cabs kNN (5 M, -122.4, 37.8)
=> QuerySyntaxError: METERS has no place here: a unit goes with a length or a speed that is one plain number
  at line 1, column 43:
    CREATE QUERY q AS SELECT * FROM cabs kNN (5 M, -122.4, 37.8)
                                              ^^^
---
CREATE QUERY q AS SELECT * FROM cabs kNN (5, 37.8)
=> QuerySyntaxError: expected kNN (k, lon, lat): 3 values, found 2
  at line 1, column 38:
    CREATE QUERY q AS SELECT * FROM cabs kNN (5, 37.8)
                                         ^^^^^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cabs WHERE m < 40 METERS
=> QuerySyntaxError: METERS has no place here: a unit goes with a length or a speed that is one plain number
  at line 1, column 48:
    CREATE QUERY q AS SELECT * FROM cabs WHERE m < 40 METERS
                                                   ^^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cabs WHERE m < 40 miles
=> QuerySyntaxError: MILES has no place here: a unit goes with a length or a speed that is one plain number
  at line 1, column 48:
    CREATE QUERY q AS SELECT * FROM cabs WHERE m < 40 miles
                                                   ^^^^^^^^
---
CREATE QUERY q AS SELECT * FROM cabs [RANGE 5 SECONDS] AS a, cabs [ROWS 5 KM] AS b WHERE a.id = b.id
=> QuerySyntaxError: KILOMETERS has no place here: a unit goes with a length or a speed that is one plain number
  at line 1, column 73:
    … q AS SELECT * FROM cabs [RANGE 5 SECONDS] AS a, cabs [ROWS 5 KM] AS b WHERE a.id = b.id
                                                                 ^^^^
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
