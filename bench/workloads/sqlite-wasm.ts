import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { Digest, packageFile, runAsScript, sequence, type Workload } from "./workload.ts";

/**
 * The package expects a browser. During `body` there is a `self` with a location, and fetch reads file addresses,
 * from which the package loads its module with instantiateStreaming.
 */
async function asInBrowser<T>(address: string, body: () => Promise<T>): Promise<T> {
  const scope = globalThis as { self?: unknown; location?: unknown; sqlite3ApiConfig?: unknown };
  const { fetch } = globalThis;
  scope.self = globalThis;
  scope.location = new URL(address);
  scope.sqlite3ApiConfig = { warn: () => undefined };
  globalThis.fetch = async (input, init) => {
    if (!String(input).startsWith("file:")) return fetch(input, init);
    const bytes = await readFile(new URL(String(input)));
    return new Response(bytes, { headers: { "content-type": "application/wasm" } });
  };
  try {
    return await body();
  } finally {
    globalThis.fetch = fetch;
    delete scope.self;
    delete scope.location;
    delete scope.sqlite3ApiConfig;
  }
}

let loads = 0;

/** sqlite-wasm: SQLite's own build, with its object interface: full-text-like search, recursion, JSON, windows. */
export const sqliteWasm: Workload = {
  name: "sqlite-wasm",
  files: () => [
    {
      wasm: packageFile("@sqlite.org/sqlite-wasm", "sqlite-wasm/jswasm/sqlite3.wasm"),
      glue: packageFile("@sqlite.org/sqlite-wasm", "sqlite-wasm/jswasm/sqlite3-bundler-friendly.mjs"),
    },
  ],
  load: async () => {
    const glue = packageFile("@sqlite.org/sqlite-wasm", "sqlite-wasm/jswasm/sqlite3-bundler-friendly.mjs");
    const address = `${pathToFileURL(glue)}?load=${++loads}`;
    const sqlite3 = await asInBrowser(address, async () => {
      const { default: sqlite3InitModule } = await import(address);
      return sqlite3InitModule({ print: () => undefined, printErr: () => undefined });
    });
    return {
      run: (scale) => {
        const rows = scale === "full" ? 12_000 : 300;
        const next = sequence(5);
        const digest = new Digest();
        const database = new sqlite3.oo1.DB(":memory:");
        const select = (sql: string) => digest.add(database.exec({ sql, returnValue: "resultRows" }));
        database.exec("CREATE TABLE note (id INTEGER PRIMARY KEY, topic TEXT, body TEXT, weight INT)");
        database.transaction(() => {
          const insert = database.prepare("INSERT INTO note VALUES (?, ?, ?, ?)");
          for (let id = 0; id < rows; id++)
            insert
              .bind([id, `topic ${next(40)}`, `body ${next(500)} of ${next(500)}`, next(1000)])
              .stepReset();
          insert.finalize();
        });
        database.exec("CREATE INDEX note_by_topic ON note (topic, weight)");
        select("SELECT topic, count(*), sum(weight) FROM note GROUP BY topic ORDER BY 3 DESC");
        select("SELECT id FROM note WHERE body LIKE '%7 of 4%' ORDER BY weight, id LIMIT 100");
        select(
          "SELECT topic, weight, rank() OVER (PARTITION BY topic ORDER BY weight DESC, id) r FROM note LIMIT 500",
        );
        select(
          "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 20000) SELECT sum(x * x) FROM n",
        );
        database.exec(
          "UPDATE note SET weight = weight * 2 WHERE id % 5 = 0; DELETE FROM note WHERE id % 7 = 0",
        );
        select("SELECT count(*), sum(weight), max(body) FROM note");
        database.close();
        return digest.finish(`${rows} rows`);
      },
    };
  },
};

if (import.meta.main) await runAsScript(sqliteWasm);
