import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { WASTE_SCHEMA, WASTE_VERSION } from "../../src/profile/model/waste.ts";
import { loadWaste } from "../../src/runs/waste.ts";
import { heapPicture } from "../heap-picture.ts";

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "memshade-"));
afterAll(() => fs.rmSync(directory, { recursive: true }));

const COUNTERS = ["bytes_written", "bytes_read", "nof_stores", "nof_silent", "bytes_dead", "bytes_silent"];
const TOTALS = [
  "bytesWritten",
  "bytesRead",
  "deadOverwritten",
  "deadDeallocated",
  "deadExit",
  "hostAssumedRead",
  "stores",
  "silentStores",
  "loads",
  "bytesLoaded",
  "silentLoads",
];
const zeros = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 0]));

/** A run with one module per name, each with a store in an unnamed function. */
function writeRun(names: readonly string[]): string {
  const { run } = heapPicture("main > _Znwm  3 x 16  live 1");
  const modules = names.map((name, index) => ({
    ...run.modules[0]!,
    index,
    name,
    path: null,
    start: `0x${(index * 2 ** 32).toString(16)}`,
  }));
  const stores = names.map((_, index) => ({
    ips: [{ address: index * 2 ** 32 + 0x40, function: "func[12]" }],
    ...zeros([...COUNTERS, "dead_overwritten", "dead_deallocated", "dead_exit", "host_assumed_read"]),
    class: "plain",
  }));
  const waste = {
    schema: WASTE_SCHEMA,
    version: WASTE_VERSION,
    command: "program",
    options: { engine: "brief", contexts: false, objects: false, compat: "" },
    totals: zeros(TOTALS),
    stores,
    loads: [],
    notTracked: [],
  };
  const folder = fs.mkdtempSync(path.join(directory, "run-"));
  const files = { ...run.files, waste: "waste.json" };
  fs.writeFileSync(path.join(folder, "run.json"), JSON.stringify({ ...run, modules, files }));
  fs.writeFileSync(path.join(folder, "waste.json"), JSON.stringify(waste));
  return folder;
}

const functionsOf = (folder: string) =>
  loadWaste(folder)?.stores.map(({ ips: [ip] }) => [ip?.function, ip?.module]);

describe("functions without a name", () => {
  it("are told by their number in a run of one module", () => {
    expect(functionsOf(writeRun(["a.wasm"]))).toEqual([["func[12]", undefined]]);
  });

  it("are told apart by their modules where there are several", () => {
    expect(functionsOf(writeRun(["a.wasm", "b.wasm"]))).toEqual([
      ["func[12]", "a.wasm"],
      ["func[12]", "b.wasm"],
    ]);
  });
});
