// A table of orders is filled, indexed and asked.
import initSqlJs from "sql.js";
const SQL = await initSqlJs();
const database = new SQL.Database();
database.run("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, amount REAL)");
database.run("BEGIN");
const insert = database.prepare("INSERT INTO orders (customer, amount) VALUES (?, ?)");
for (let i = 0; i < 170_000; i++) insert.run([`customer ${(i * 7919) % 997}`, (i * 31) % 1000]);
insert.free();
database.run("COMMIT");
database.run("CREATE INDEX by_customer ON orders (customer)");
const [{ values }] = database.exec("SELECT customer, sum(amount) AS s FROM orders GROUP BY customer ORDER BY s DESC LIMIT 3");
console.log(JSON.stringify(values), database.export().length);
