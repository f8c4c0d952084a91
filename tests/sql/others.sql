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
=> ShowQueries()
---
show streams;
=> ShowStreams()
---
EXPLAIN QUERY odd
=> ExplainQuery(id='odd')
