import { spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ModuleCache } from "../../../../src/record/host/module/module-cache.ts";
import { shrinkKept, tryKeepModule } from "../../../../src/record/host/run/kept-files.ts";
import { type InstrumentOptions, instrument } from "../../../../src/record/tools/index.ts";
import { assemble, LIBRARY } from "../../../cli/support/programs.ts";

const MODULE = assemble(LIBRARY);
const OPTIONS: InstrumentOptions = { name: "library.wasm", tools: ["heap"], sharedShadow: true };
const OTHER_OPTIONS: readonly InstrumentOptions[] = [
  { ...OPTIONS, name: "other.wasm" },
  { ...OPTIONS, tools: ["waste"] },
  { ...OPTIONS, tools: ["waste"], waste: { contexts: true } },
  { ...OPTIONS, tools: ["waste"], waste: { siteRuns: { offsets: [7], runs: [1] } } },
  { ...OPTIONS, glue: "var malloc = 1;" },
  { ...OPTIONS, leftOut: { heap: "It is left out." } },
  { ...OPTIONS, acrossThreads: true },
];

describe("rewritten modules", () => {
  let folder: string;
  let stored: string[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "memshade-modules-"));
    stored = [];
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const cacheOf = (version: string | undefined, place: string | undefined = folder): ModuleCache =>
    new ModuleCache(
      place,
      (path, bytes) => {
        stored.push(path);
        tryKeepModule(path, bytes);
      },
      version,
    );
  const onlyPath = (): string => join(folder, readdirSync(folder)[0]!);

  it("are the same from the cache, with their descriptions", () => {
    for (const options of [OPTIONS, ...OTHER_OPTIONS]) {
      const made = cacheOf("v1").instrument(MODULE, options);
      const kept = cacheOf("v1").instrument(MODULE, options);
      expect(Buffer.from(made.bytes).equals(Buffer.from(instrument(MODULE, options).bytes))).toBe(true);
      expect(Buffer.from(kept.bytes).equals(Buffer.from(made.bytes))).toBe(true);
      expect(kept.info).toEqual(made.info);
      expect(Object.keys(kept.info)).toEqual(
        Object.keys(made.info).filter((key) => made.info[key as "name"] !== undefined),
      );
    }
    expect(stored).toHaveLength(1 + OTHER_OPTIONS.length);
    expect(new Set(stored).size).toBe(stored.length);
  });

  it("without code of a tool are too", () => {
    const empty = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
    const made = cacheOf("v1").instrument(empty, OPTIONS);
    expect(cacheOf("v1").instrument(empty, OPTIONS).info).toEqual(made.info);
  });

  it("are made again by another version, and for other bytes", () => {
    cacheOf("v1").instrument(MODULE, OPTIONS);
    cacheOf("v2").instrument(MODULE, OPTIONS);
    cacheOf("v1").instrument(assemble(LIBRARY.replace("42", "43")), OPTIONS);
    expect(new Set(stored).size).toBe(3);
  });

  it("have their tools and names in the names of their files", () => {
    cacheOf("v1").instrument(MODULE, { ...OPTIONS, name: "../a b/größe.wasm", tools: ["heap", "waste"] });
    expect(readdirSync(folder)).toEqual([
      expect.stringMatching(/^[0-9a-f]{32} heap\+waste .._a_b_gr__e\.wasm$/),
    ]);
  });

  const damage: Readonly<Record<string, (path: string) => void>> = {
    "are empty": (path) => truncateSync(path, 0),
    "are cut": (path) => truncateSync(path, statSync(path).size - 1),
    "have another last byte": (path) => {
      const bytes = readFileSync(path);
      bytes[bytes.length - 1]! ^= 1;
      writeFileSync(path, bytes);
    },
    "are other files": (path) => writeFileSync(path, "something else"),
    "could be written by others": (path) => chmodSync(path, 0o666),
  };
  for (const [how, change] of Object.entries(damage))
    it(`are made again if the files ${how}`, () => {
      const made = cacheOf("v1").instrument(MODULE, OPTIONS);
      const whole = readFileSync(onlyPath());
      change(onlyPath());
      expect(cacheOf("v1").instrument(MODULE, OPTIONS)).toEqual(made);
      expect(stored).toHaveLength(2);
      expect(readFileSync(onlyPath()).equals(whole)).toBe(true);
      expect(statSync(onlyPath()).mode & 0o777).toBe(0o644);
    });

  it("are made without a cache if there is no folder, no version, or no way to write", () => {
    const made = instrument(MODULE, OPTIONS);
    const bytesBy = (cache: ModuleCache) => Buffer.from(cache.instrument(MODULE, OPTIONS).bytes);
    writeFileSync(join(folder, "file"), "");
    mkdirSync(join(folder, "removed"));
    rmSync(join(folder, "removed"), { recursive: true });
    for (const place of [undefined, join(folder, "file"), join(folder, "removed")])
      expect(bytesBy(new ModuleCache(place, tryKeepModule, "v1")).equals(Buffer.from(made.bytes))).toBe(true);
    expect(bytesBy(new ModuleCache(folder)).equals(Buffer.from(made.bytes))).toBe(true);
    expect(readdirSync(folder)).toEqual(["file"]);
  });

  it("are not kept if the module is refused", () => {
    const invalid = assemble(LIBRARY);
    invalid[invalid.length - 1] = 0;
    expect(() => cacheOf("v1").instrument(invalid, OPTIONS)).toThrow();
    expect(() => cacheOf("v1").instrument(MODULE, OPTIONS, "digest", () => false)).toThrow(/engine refuses/);
    expect(() => cacheOf("v1").instrument(MODULE, { ...OPTIONS, allocator: "malloc=nothing" })).toThrow();
    expect(stored).toEqual([]);
  });

  it("go when others need their room, those unused for longest first", () => {
    for (const [i, options] of [OPTIONS, ...OTHER_OPTIONS.slice(0, 2)].entries()) {
      cacheOf("v1").instrument(MODULE, options);
      utimesSync(stored[i]!, new Date(1000 * (i + 1)), new Date(1000 * (i + 1)));
    }
    // The first is used again.
    cacheOf("v1").instrument(MODULE, OPTIONS);
    const size = (path: string): number => statSync(path).size;
    shrinkKept(folder, size(stored[0]!) + size(stored[2]!), 0);
    expect(readdirSync(folder).sort()).toEqual(
      [stored[0]!, stored[2]!].map((path) => path.slice(folder.length + 1)).sort(),
    );
  });

  it("that a killed process left unfinished go after a while", () => {
    const left = join(folder, ".half.1.partial");
    writeFileSync(left, "half");
    shrinkKept(folder, 1000, 0);
    expect(readdirSync(folder)).toHaveLength(1);
    utimesSync(left, new Date(0), new Date(0));
    shrinkKept(folder, 1000, 0);
    expect(readdirSync(folder)).toHaveLength(0);
  });

  it("are not written to a full disk, which stays as it was", ({ skip }) => {
    const disk = join(folder, "disk");
    mkdirSync(disk);
    if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=4096", "tmpfs", disk]).status !== 0)
      skip("nothing can be mounted");
    try {
      const made = instrument(MODULE, OPTIONS);
      expect(cacheOf("v1", disk).instrument(MODULE, OPTIONS).info).toEqual(made.info);
      expect(readdirSync(disk)).toEqual([]);
    } finally {
      spawnSync("umount", [disk]);
    }
  });
});
