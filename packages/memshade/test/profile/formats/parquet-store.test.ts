import { parquetReadObjects } from "hyparquet";
import { describe, expect, it } from "vitest";
import {
  STORE_TABLES,
  type StoreRow,
  tableOf,
  writeTable,
} from "../../../src/profile/formats/parquet-store.ts";

async function readBack(bytes: Uint8Array): Promise<Record<string, unknown>[]> {
  return parquetReadObjects({ file: bytes.slice().buffer });
}

describe("tables as Parquet", () => {
  it("have all columns of their description, with what is not known as null", async () => {
    const rows: StoreRow[] = [
      {
        run: 1n,
        project: "p",
        day: "2026-11-24",
        ctx: -1n,
        site: 2n ** 64n - 1n,
        alloc_count: 7,
        size_log2: [0, 7],
        lifetime_log2: [],
      },
    ];
    const [row] = await readBack(writeTable(tableOf("metrics"), rows));
    expect(row).toMatchObject({
      run: 1n,
      project: "p",
      ctx: -1n,
      site: -1n,
      alloc_count: 7n,
      live_bytes: null,
      size_log2: [0n, 7n],
      lifetime_log2: [],
    });
    expect(Object.keys(row!).sort()).toEqual(
      tableOf("metrics")
        .columns.map(({ name }) => name)
        .sort(),
    );
  });

  it("have lists, also empty ones", async () => {
    const rows = [
      { ctx: 1n, ctx_functions: 2n, site: 3n, frames: [4n, -5n] },
      { ctx: 2n, ctx_functions: 2n, site: 3n, frames: [] },
    ];
    expect(await readBack(writeTable(tableOf("contexts"), rows))).toEqual(rows);
  });

  it("are the same bytes for the same rows", () => {
    const rows = [
      { run: 1n, project: "p", day: "2026-11-24", instance: 0, t: 1, live_bytes: 2, live_blocks: 3 },
    ];
    expect(writeTable(tableOf("series"), rows)).toEqual(writeTable(tableOf("series"), rows));
  });

  it("have names that no engine takes for a word of its own", () => {
    const words = new Set([
      "commit",
      "function",
      "order",
      "group",
      "select",
      "from",
      "where",
      "table",
      "index",
      "user",
      "end",
    ]);
    for (const { columns } of STORE_TABLES) for (const { name } of columns) expect(words).not.toContain(name);
  });
});
