// A shop's database in memory: tables, bulk inserts in transactions, indexes, joins, full-text search, updates, a
// rollback, deletes. Some seconds of ordinary SQLite work, the same every time.
//
//   node examples/sqlite-demo/shop.js              as it is
//   npx memshade node examples/sqlite-demo/shop.js with a heap profile
import { loadSqlite } from "./load-sqlite.js";

const CUSTOMERS = 8_000;
const PRODUCTS = 1_500;
const ORDERS = 24_000;

let state = 2026;
/** A whole number below `limit`, from a fixed sequence. */
function random(limit) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * limit);
}
const pick = (list) => list[random(list.length)];

const FIRST = ["Ada", "Bo", "Cem", "Dora", "Eli", "Fay", "Gus", "Hana", "Ivo", "June", "Kai", "Lea"];
const LAST = ["Abt", "Berg", "Costa", "Dunn", "Engel", "Frost", "Gray", "Holm", "Iqbal", "Jones"];
const CITIES = ["Bergen", "Cork", "Delft", "Evora", "Faro", "Gent", "Hull", "Ivrea"];
const THINGS = ["lamp", "chair", "kettle", "clock", "rope", "ladder", "basket", "mirror", "brush", "drum"];
const KINDS = ["small", "blue", "folding", "heavy", "old", "bright", "woven", "round", "quiet", "spare"];

const sqlite3 = await loadSqlite();
const database = new sqlite3.oo1.DB(":memory:");

const say = (text) => console.log(`- ${text}`);
const rows = (sql, bind) => database.exec({ sql, bind, returnValue: "resultRows" });
const value = (sql, bind) => rows(sql, bind)[0]?.[0];

function insertAll(sql, count, row) {
  database.transaction(() => {
    const statement = database.prepare(sql);
    for (let i = 0; i < count; i++) statement.bind(row(i)).stepReset();
    statement.finalize();
  });
}

function createTables() {
  database.exec(`
    CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL, note TEXT);
    CREATE TABLE product (id INTEGER PRIMARY KEY, title TEXT NOT NULL, price REAL NOT NULL, stock INTEGER NOT NULL);
    CREATE TABLE purchase (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL, day INTEGER NOT NULL, details TEXT);
    CREATE TABLE line (purchase INTEGER NOT NULL, product INTEGER NOT NULL, amount INTEGER NOT NULL, price REAL);
    CREATE VIRTUAL TABLE description USING fts5(text);`);
}

function fillTables() {
  insertAll("INSERT INTO customer VALUES (?, ?, ?, ?)", CUSTOMERS, (id) => [
    id,
    `${pick(FIRST)} ${pick(LAST)}`,
    pick(CITIES),
    random(4) === 0 ? `asked for ${pick(KINDS)} ${pick(THINGS)} ${random(100)}` : null,
  ]);
  insertAll("INSERT INTO product VALUES (?, ?, ?, ?)", PRODUCTS, (id) => [
    id,
    `${pick(KINDS)} ${pick(THINGS)} ${id}`,
    (100 + random(90_000)) / 100,
    random(500),
  ]);
  insertAll("INSERT INTO description (rowid, text) VALUES (?, ?)", PRODUCTS, (id) => [
    id,
    Array.from({ length: 12 + random(30) }, () => pick(random(2) ? KINDS : THINGS)).join(" "),
  ]);
  insertAll("INSERT INTO purchase VALUES (?, ?, ?, ?)", ORDERS, (id) => [
    id,
    random(CUSTOMERS),
    random(365),
    JSON.stringify({ gift: random(5) === 0, weight: random(9000), from: pick(CITIES) }),
  ]);
  insertAll("INSERT INTO line VALUES (?, ?, ?, ?)", ORDERS * 2, (i) => [
    i >> 1,
    random(PRODUCTS),
    1 + random(4),
    null,
  ]);
}

createTables();
say("created 5 tables, one of them for full-text search");
fillTables();
say(
  `inserted ${value("SELECT (SELECT count(*) FROM purchase) + (SELECT count(*) FROM line)")} purchases and lines`,
);

database.exec(`
  CREATE INDEX purchase_by_customer ON purchase (customer, day);
  CREATE INDEX line_by_product ON line (product);
  CREATE INDEX line_by_purchase ON line (purchase);
  CREATE INDEX customer_by_city ON customer (city, name);`);
say("built 4 indexes");

database.exec("UPDATE line SET price = (SELECT price FROM product WHERE product.id = line.product)");
say(`priced all lines: ${value("SELECT round(sum(amount * price), 2) FROM line")} in total`);

const cities = rows(`
  SELECT city, count(DISTINCT purchase.id), round(sum(amount * price), 2) AS turnover
  FROM customer JOIN purchase ON customer = customer.id JOIN line ON purchase = purchase.id
  GROUP BY city ORDER BY turnover DESC`);
say(
  `turnover by city: ${cities
    .slice(0, 3)
    .map((row) => row.join(" "))
    .join(", ")}`,
);

const ranked = rows(`
  SELECT product, total FROM (
    SELECT product, total, rank() OVER (PARTITION BY product % 10 ORDER BY total DESC, product) AS place
    FROM (SELECT product, sum(amount) AS total FROM line GROUP BY product))
  WHERE place <= 3`);
say(`ranked the products in ten groups: ${ranked.length} leaders`);

let found = 0;
for (const kind of KINDS)
  for (const thing of THINGS)
    found += rows(
      `SELECT title, snippet(description, 0, '[', ']', '…', 6) FROM description JOIN product ON product.id = description.rowid
       WHERE description MATCH ? ORDER BY rank, product.id LIMIT 20`,
      `"${kind} ${thing}"`,
    ).length;
say(`searched the descriptions a hundred times: ${found} snippets`);

const lookup = database.prepare(
  "SELECT purchase.id, day, json_extract(details, '$.weight') FROM purchase WHERE customer = ? ORDER BY day",
);
let weight = 0;
for (let customer = 0; customer < CUSTOMERS; customer += 2) {
  lookup.bind(customer);
  while (lookup.step()) weight += lookup.get([])[2];
  lookup.reset();
}
lookup.finalize();
say(`looked up ${CUSTOMERS / 2} customers: ${weight} g shipped`);

for (let day = 0; day < 365; day += 5)
  database.exec({ sql: "UPDATE product SET stock = stock + ? WHERE id % 73 = ?", bind: [day, day / 5] });
database.exec("UPDATE customer SET note = coalesce(note, '') || ' (' || city || ')' WHERE id % 3 = 0");
say(`changed stocks and notes: ${value("SELECT sum(length(note)) FROM customer")} characters of notes`);

try {
  database.transaction(() => {
    database.exec("DELETE FROM line WHERE product < 700");
    throw new Error("changed our mind");
  });
} catch (error) {
  say(`rolled back a delete (${error.message}): ${value("SELECT count(*) FROM line")} lines`);
}
database.exec("DELETE FROM purchase WHERE day < 90");
database.exec("DELETE FROM line WHERE purchase NOT IN (SELECT id FROM purchase)");
say(`deleted the first quarter: ${value("SELECT count(*) FROM line")} lines left`);

say(`integrity check: ${value("PRAGMA integrity_check")}`);
database.close();
