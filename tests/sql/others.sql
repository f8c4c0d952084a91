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
---
-- before
SHOW QUERIES; -- after
;; /* and more */
=> ShowQueries()
---
DROP QUERY END
=> DropQuery(id='END', if_exists=False)
