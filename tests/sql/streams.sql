# Declarations used by all the fixtures below, and their own canonical form.
CREATE STREAM ticks (symbol STRING, price DOUBLE, volume DOUBLE, n BIGINT, halted BOOLEAN, ts TIMESTAMP) OBJECT symbol TIME ts
=> CREATE STREAM ticks (symbol STRING, price DOUBLE, volume DOUBLE, n BIGINT, halted BOOLEAN, ts TIMESTAMP) OBJECT symbol TIME ts
---
CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, speed DOUBLE, kind STRING, ts TIMESTAMP)
       OBJECT id TIME ts POINT (x, y) TIMEOUT INTERVAL 90 SECONDS MAX SPEED 0.02;
=> CREATE STREAM cars (id BIGINT, x DOUBLE, y DOUBLE, speed DOUBLE, kind STRING, ts TIMESTAMP) OBJECT id TIME ts POINT (x, y) TIMEOUT INTERVAL 90 SECONDS MAX SPEED 0.02
---
CREATE STREAM r (id BIGINT, x DOUBLE, y DOUBLE, w DOUBLE, tag STRING, ts TIMESTAMP) OBJECT id TIME ts
=> CREATE STREAM r (id BIGINT, x DOUBLE, y DOUBLE, w DOUBLE, tag STRING, ts TIMESTAMP) OBJECT id TIME ts
---
CREATE STREAM s (id BIGINT, x DOUBLE, z DOUBLE, tag STRING, ts TIMESTAMP) OBJECT id TIME ts
=> CREATE STREAM s (id BIGINT, x DOUBLE, z DOUBLE, tag STRING, ts TIMESTAMP) OBJECT id TIME ts
---
CREATE STREAM ships (mmsi STRING, lon DOUBLE, lat DOUBLE, seen TIMESTAMP) TIME seen POINT (lon, lat) OBJECT mmsi
=> CREATE STREAM ships (mmsi STRING, lon DOUBLE, lat DOUBLE, seen TIMESTAMP) OBJECT mmsi TIME seen POINT (lon, lat)
---
create stream lower (a int, b float, c text, d bool, e timestamp) object a time e
=> CREATE STREAM lower (a BIGINT, b DOUBLE, c STRING, d BOOLEAN, e TIMESTAMP) OBJECT a TIME e
---
CREATE STREAM IF NOT EXISTS again (a BIGINT, t TIMESTAMP) OBJECT a TIME t TIMEOUT INTERVAL '1.5' HOURS
=> [if not exists] CREATE STREAM again (a BIGINT, t TIMESTAMP) OBJECT a TIME t TIMEOUT INTERVAL 90 MINUTES
---
CREATE STREAM "my stream" ("the id" STRING, "order" DOUBLE, "select" TIMESTAMP) OBJECT "the id" TIME "select"
=> CREATE STREAM "my stream" ("the id" STRING, "order" DOUBLE, "select" TIMESTAMP) OBJECT "the id" TIME "select"
---
CREATE STREAM kept (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP) OBJECT id TIME ts POINT (x, y) SHED OBJECTS MAX OBJECTS 100000 CACHE 0.250 RETAIN SIGNIFICANT
=> CREATE STREAM kept (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP) OBJECT id TIME ts POINT (x, y) RETAIN SIGNIFICANT CACHE 0.25 MAX OBJECTS 100000 SHED OBJECTS
---
create stream kept2 (id bigint, x double, y double, ts timestamp) object id time ts point (x, y) timeout interval 30 seconds max speed 0.02 retain significant max bytes 1e6 shed queries
=> CREATE STREAM kept2 (id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP) OBJECT id TIME ts POINT (x, y) TIMEOUT INTERVAL 30 SECONDS MAX SPEED 0.02 RETAIN SIGNIFICANT MAX BYTES 1000000 SHED QUERIES
---
CREATE STREAM kept3 (id BIGINT, ts TIMESTAMP) OBJECT id TIME ts RETAIN ALL
=> CREATE STREAM kept3 (id BIGINT, ts TIMESTAMP) OBJECT id TIME ts
