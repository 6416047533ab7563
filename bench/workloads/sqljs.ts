import { Digest, packageFile, requireAnew, runAsScript, sequence, type Workload } from "./workload.ts";

/** sql.js: SQLite over Emscripten; bulk insert, index, joins, aggregates, updates in an in-memory database. */
export const sqljs: Workload = {
  name: "sql.js",
  files: () => [
    { wasm: packageFile("sql.js", "dist/sql-wasm.wasm"), glue: packageFile("sql.js", "dist/sql-wasm.js") },
  ],
  load: async () => {
    const SQL = await requireAnew("sql.js")();
    return {
      run: (scale) => {
        const rows = scale === "full" ? 12_000 : 300;
        const next = sequence();
        const digest = new Digest();
        const database = new SQL.Database();
        database.run("CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT, country TEXT)");
        database.run(
          "CREATE TABLE trip (id INTEGER PRIMARY KEY, origin INT, target INT, price REAL, note TEXT)",
        );
        database.run("BEGIN");
        for (let id = 0; id < 200; id++)
          database.run("INSERT INTO city VALUES (?, ?, ?)", [id, `city ${id}`, `country ${id % 17}`]);
        const insert = database.prepare("INSERT INTO trip VALUES (?, ?, ?, ?, ?)");
        for (let id = 0; id < rows; id++)
          insert.run([id, next(200), next(200), next(100_000) / 100, `note ${next(1000)}`]);
        insert.free();
        database.run("COMMIT");
        database.run("CREATE INDEX trip_by_origin ON trip (origin, price)");
        digest.add(
          database.exec(`SELECT a.country, b.country, count(*), round(sum(price), 2), max(note)
            FROM trip JOIN city a ON origin = a.id JOIN city b ON target = b.id
            GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 50`),
        );
        const find = database.prepare(
          "SELECT id, price FROM trip WHERE origin = ? AND price > ? ORDER BY price",
        );
        for (let origin = 0; origin < 200; origin++) {
          find.bind([origin, 500]);
          while (find.step()) digest.add(find.get());
        }
        find.free();
        database.run("UPDATE trip SET note = note || ' changed' WHERE price < 300");
        database.run("DELETE FROM trip WHERE target % 3 = 0");
        digest.add(
          database.exec("SELECT count(*), sum(length(note)) FROM trip WHERE note LIKE '%1%changed'"),
        );
        digest.add(database.export());
        database.close();
        return digest.finish(`${rows} rows`);
      },
    };
  },
};

if (import.meta.main) await runAsScript(sqljs);
