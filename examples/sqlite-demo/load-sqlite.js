import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * Loads SQLite's own WebAssembly build, @sqlite.org/sqlite-wasm. The package is made for browsers: it looks at
 * `self.location` while it loads, and streams its module through fetch, which in Node does not read files.
 */
export async function loadSqlite() {
  const folder = dirname(createRequire(import.meta.url).resolve("@sqlite.org/sqlite-wasm/package.json"));
  const { fetch } = globalThis;
  const borrowed = {
    self: globalThis,
    location: pathToFileURL(`${folder}/index.mjs`),
    sqlite3ApiConfig: { warn: () => undefined },
    fetch: async (address) =>
      new Response(await readFile(new URL(address)), { headers: { "content-type": "application/wasm" } }),
  };
  Object.assign(globalThis, borrowed);
  try {
    const { default: initialize } = await import("@sqlite.org/sqlite-wasm");
    return await initialize({ print: console.log, printErr: console.error });
  } finally {
    for (const name of Object.keys(borrowed)) delete globalThis[name];
    globalThis.fetch = fetch;
  }
}
