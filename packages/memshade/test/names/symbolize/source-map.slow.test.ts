import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire, SourceMap } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { decodedMappings, TraceMap } from "@jridgewell/trace-mapping";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadSymbolizer } from "../../../src/names/load/symbolizer.ts";

const folder = mkdtempSync(join(tmpdir(), "memshade-source-map-"));
afterAll(() => rmSync(folder, { recursive: true }));

const SOURCE = fileURLToPath(
  new URL("../../fixtures/programs/assemblyscript/containers.as", import.meta.url),
);
const COMPILER = createRequire(import.meta.url).resolve("assemblyscript/bin/asc.js");
const MODULE = join(folder, "containers.wasm");

/** Node's reader of source maps is the oracle: it sees a module as one line with one column per byte. */
function placesByNode(map: SourceMap, fileOffset: number): string {
  const entry = map.findEntry(0, fileOffset);
  if (!("originalSource" in entry) || entry.originalSource === undefined) return "nowhere";
  return `${entry.originalSource}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
}

function placesOfModule(): { ours: string[]; offsets: number[]; missing: readonly string[] } {
  const { symbolizer, frames, missing } = loadSymbolizer(MODULE);
  const { codeOffset, sections } = symbolizer.object;
  const { size } = sections.find(({ offset }) => offset === codeOffset)!;
  const addresses = Array.from({ length: size }, (_, address) => address);
  return {
    offsets: addresses.map((address) => codeOffset! + address),
    ours: addresses.map((address) => {
      const [{ file, line, column, approximate }] = frames(address) as [ReturnType<typeof frames>[0]];
      return file === undefined || approximate ? "nowhere" : `${file}:${line}:${column}`;
    }),
    missing,
  };
}

describe("the source map that a compiler made for a module", () => {
  beforeAll(() => {
    copyFileSync(SOURCE, join(folder, "containers.ts"));
    const args = ["containers.ts", "-o", "containers.wasm", "--sourceMap", "-O1"];
    const { status, stderr } = spawnSync(process.execPath, [COMPILER, ...args], {
      cwd: folder,
      encoding: "utf8",
    });
    expect({ status, stderr }).toMatchObject({ status: 0 });
  });

  it("tells the places of all offsets", () => {
    const json = readFileSync(`${MODULE}.map`, "utf8");
    const map = new SourceMap(JSON.parse(json));
    // If an offset has two mappings, readers may take either.
    const columns = decodedMappings(new TraceMap(json))[0]!.map(([column]) => column);
    const isAmbiguous = new Set(columns.filter((column, index) => column === columns[index - 1]));
    const { ours, offsets, missing } = placesOfModule();
    expect(missing).toEqual([]);
    expect(ours.filter((place) => /containers\.ts:\d+:\d+$/.test(place)).length).toBeGreaterThan(100);
    const theirs = offsets.map((offset) => placesByNode(map, offset));
    // Paths are resolved against the map's path, which Node does not do.
    const tail = (place: string) => place.replace(/^.*[/\\]/, "");
    const clear = [...offsets.keys()].filter((index) => {
      const column = columns.findLast((each) => each <= offsets[index]!);
      // Node returns the mapping before for the last one.
      return column !== undefined && column !== columns.at(-1) && !isAmbiguous.has(column);
    });
    expect(clear.length).toBeGreaterThan(0.9 * offsets.length);
    expect(clear.map((index) => tail(ours[index]!))).toEqual(clear.map((index) => tail(theirs[index]!)));
  });

  it("tells the same when it comes in sections", () => {
    const before = placesOfModule().ours;
    const map = JSON.parse(readFileSync(`${MODULE}.map`, "utf8")) as object;
    const indexed = { version: 3, sections: [{ offset: { line: 0, column: 0 }, map }] };
    writeFileSync(`${MODULE}.map`, JSON.stringify(indexed));
    expect(placesOfModule().ours).toEqual(before);
  });

  it("says that it is missing", () => {
    rmSync(`${MODULE}.map`);
    expect(placesOfModule().missing.join()).toContain("containers.wasm.map");
  });
});
