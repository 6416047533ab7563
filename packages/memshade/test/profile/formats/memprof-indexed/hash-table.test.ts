import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { openSection, readIndexed } from "../../../../src/profile/formats/memprof-indexed/index.ts";

const file = (name: string) =>
  new Uint8Array(readFileSync(fileURLToPath(new URL(`../../../fixtures/memprof/${name}`, import.meta.url))));

/** Offset of the first entry of the record table: its hash, the lengths of key and data, the key. */
function firstRecord(bytes: Uint8Array): number {
  const { cursor } = openSection(bytes);
  const view = new DataView(bytes.buffer);
  const table = Number(view.getBigUint64(cursor.position + 16, true));
  const buckets = Number(view.getBigUint64(table, true));
  for (let bucket = 0; bucket < buckets; bucket++) {
    const offset = Number(view.getBigUint64(table + 16 + 8 * bucket, true));
    if (offset !== 0) return offset + 2;
  }
  throw new Error("there are no records");
}

describe("a record that nobody who looks it up would find makes the file a damaged one", () => {
  const HASH = 0;
  const KEY = 24;
  it.each([
    ["its key is not that of its hash", [KEY]],
    ["its hash is not that of its key", [HASH]],
    ["its bucket is not that of its key", [HASH, KEY]],
  ])("%s", (_, damaged) => {
    const bytes = file("c-basic.v5.v3.memprofdata");
    const at = firstRecord(bytes);
    for (const place of damaged) bytes[at + place]! ^= 1;
    expect(() => readIndexed(bytes)).toThrow(/the key \d+ is in the wrong place/);
  });
});
