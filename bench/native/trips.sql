-- Rows, an index, a join and groups, in memory.
CREATE TABLE trip (id INTEGER PRIMARY KEY, city TEXT, price REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900000)
INSERT INTO trip SELECT i, 'city ' || (i % 997), (i * 37) % 1000 FROM n;
CREATE INDEX by_city ON trip (city, price);
CREATE TABLE city AS SELECT DISTINCT city AS name FROM trip;
SELECT name, sum(price) FROM city JOIN trip ON trip.city = name GROUP BY name ORDER BY 2 DESC LIMIT 3;
SELECT count(*), group_concat(substr(city, -1), '') FROM (SELECT city FROM trip WHERE price > 990 LIMIT 40);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200000)
SELECT sum(length(printf('%d-%s', i, hex(i)))) FROM n;
