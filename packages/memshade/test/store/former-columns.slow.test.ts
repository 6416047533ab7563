import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parquetReadObjects } from "hyparquet";
import { describe, expect, it } from "vitest";
import { type StoreRow, tableOf, writeTable } from "../../src/profile/formats/parquet-store.ts";
import { memshade, newFolder } from "../cli/support/command-line.ts";
import { heapPicture, writePicture } from "../heap-picture.ts";

const LATER = ["objects", "object_bytes", "objects_in_use"];

async function succeed(args: readonly string[], cwd: string): Promise<string> {
  const { code, stdout, stderr } = await memshade(args, { cwd });
  expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

async function add(cwd: string, build: string): Promise<void> {
  writePicture(join(cwd, build), heapPicture(`main > parse  ${build.length} x 64  peak 1`));
  await succeed(["store", "add", "--to", "fleet", "--build", build, build], cwd);
}

/** Rewrites the runs of a store in the format before runs could have objects. */
async function forgetObjects(store: string): Promise<void> {
  const table = tableOf("runs");
  const columns = table.columns.filter(({ name }) => !LATER.includes(name));
  for (const name of readdirSync(join(store, "runs"), { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".parquet")) continue;
    const file = join(store, "runs", name);
    const rows = await parquetReadObjects({ file: new Uint8Array(readFileSync(file)).buffer });
    const known = rows.map((row) =>
      Object.fromEntries(
        columns
          .map((column) => [column.name, plainValue(row[column.name])] as const)
          .filter(([, value]) => value !== null),
      ),
    );
    writeFileSync(file, writeTable({ ...table, columns }, known as StoreRow[]));
  }
}

function plainValue(value: unknown): unknown {
  return value instanceof Date ? value.getTime() : value;
}

describe("a store from before it had columns for objects", () => {
  it("is asked, grows and is compacted as any other; what its runs do not say is null", async () => {
    const cwd = newFolder();
    await add(cwd, "a");
    await forgetObjects(join(cwd, "fleet"));
    const sql = "select build, objects, allocations from runs order by build";
    const rows = async () => JSON.parse(await succeed(["store", "query", "fleet", sql, "--json"], cwd));
    expect(await rows()).toEqual([{ build: "a", objects: null, allocations: 1 }]);
    const count = "select count(*)::int as n from objects";
    expect(JSON.parse(await succeed(["store", "query", "fleet", count, "--json"], cwd))).toEqual([{ n: 0 }]);
    await add(cwd, "bb");
    const both = [
      { build: "a", objects: null, allocations: 1 },
      { build: "bb", objects: null, allocations: 2 },
    ];
    expect(await rows()).toEqual(both);
    await succeed(["store", "compact", "fleet"], cwd);
    expect(await rows()).toEqual(both);
    const { steps } = JSON.parse(await succeed(["store", "trend", "fleet", "--by", "bytes", "--json"], cwd));
    expect(steps).toHaveLength(1);
  });
});
