import { Digest, packageFile, require, runAsScript, type Workload } from "./workload.ts";

/** DuckDB, built with wasm exceptions (34 MB): generated rows, joins, aggregates, and an error that is thrown. */
function duckdbBuild(build: "eh" | "mvp"): Workload {
  return {
    name: `duckdb-${build}`,
    files: () => [{ wasm: packageFile("@duckdb/duckdb-wasm", `dist/duckdb-${build}.wasm`) }],
    load: async () => {
      const duckdb = require(packageFile("@duckdb/duckdb-wasm", "dist/duckdb-node-blocking.cjs"));
      const file = packageFile("@duckdb/duckdb-wasm", `dist/duckdb-${build}.wasm`);
      const bundle = { mainModule: file, mainWorker: null };
      const none = { mainModule: "", mainWorker: "" };
      const database = await duckdb.createDuckDB(
        build === "eh" ? { mvp: none, eh: bundle } : { mvp: bundle },
        new duckdb.VoidLogger(),
        duckdb.NODE_RUNTIME,
      );
      await database.instantiate(() => undefined);
      return {
        run: (scale) => {
          const rows = scale === "full" ? 60_000 : 500;
          const digest = new Digest();
          const connection = database.connect();
          const select = (sql: string) =>
            digest.add(
              connection
                .query(sql)
                .toArray()
                .map((row: { toJSON(): unknown }) =>
                  JSON.stringify(row.toJSON(), (_, value) =>
                    typeof value === "bigint" ? String(value) : value,
                  ),
                ),
            );
          connection.query(`CREATE TABLE trip AS SELECT i AS id, (i * 7919) % 1009 AS city, (i * 31) % 500 / 10.0 AS price,
            'note ' || (i % 77) AS note FROM range(${rows}) t(i)`);
          select(
            "SELECT city, count(*), sum(price), max(note) FROM trip GROUP BY city ORDER BY 3 DESC, 1 LIMIT 40",
          );
          select(
            "SELECT a.note, count(*) FROM trip a JOIN trip b ON a.id = b.city GROUP BY 1 ORDER BY 2 DESC, 1",
          );
          select(
            "SELECT id, sum(price) OVER (PARTITION BY city ORDER BY id) FROM trip ORDER BY city, id LIMIT 200",
          );
          try {
            connection.query("SELECT nothing FROM nowhere");
          } catch (error) {
            digest.add(String(error));
          }
          connection.query("DROP TABLE trip");
          connection.close();
          return digest.finish(`${rows} rows`);
        },
      };
    },
  };
}

export const duckdbEh = duckdbBuild("eh");
export const duckdbMvp = duckdbBuild("mvp");

if (import.meta.main) await runAsScript(process.argv[3] === "mvp" ? duckdbMvp : duckdbEh);
