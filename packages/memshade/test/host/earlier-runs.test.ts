import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EarlierRuns, earlierRunsFolder } from "../../src/host/earlier-runs.ts";
import { findSites } from "../../src/tools/index.ts";
import { decodeModule } from "../../src/wasm/index.ts";
import { wat } from "../support/assemble.ts";

const MODULE = Uint8Array.of(0, 1, 2);
const OTHER = Uint8Array.of(0, 1, 3);
const runs = { offsets: [5], runs: [8], events: [0] };

function siteOffsets(original: Uint8Array): number[] {
  const { offset, length } = findSites(decodeModule(original), []);
  return [...offset.subarray(0, length)];
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "memshade-earlier-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("what is known of earlier runs", () => {
  it("is what was kept of the very same module, older runs counting half", () => {
    const earlier = new EarlierRuns(join(folder, "not", "there", "yet"));
    expect(earlier.of(MODULE)).toBeUndefined();
    earlier.keep([{ original: MODULE, runs }]);
    expect(earlier.of(MODULE)).toEqual(runs);
    expect(earlier.of(OTHER)).toBeUndefined();
    earlier.keep([{ original: MODULE, runs }]);
    expect(earlier.of(MODULE)).toEqual({ offsets: [5], runs: [12], events: [0] });
  });

  it("is what an earlier build of the program did in the functions they share, until it has run itself", () => {
    const earlier = new EarlierRuns(folder);
    const program = (before: string) =>
      wat(`(module (memory 1) ${before} (func (export "f") (drop (i32.load (i32.const 8)))))`);
    const [old, fresh] = [program(""), program("(func (i32.store (i32.const 8) (i32.const 1)))")];
    const [oldSites, freshSites] = [old, fresh].map(siteOffsets);
    earlier.keep([{ original: old, runs: { offsets: [oldSites[0]], runs: [8], events: [2] } }]);
    expect(earlier.of(fresh)).toEqual({
      offsets: [freshSites[1]],
      runs: [8],
      events: [2],
      newFunctions: [0],
    });
    expect(earlier.of(wat('(module (func (export "g")))'))).toBeUndefined();
    earlier.keep([{ original: fresh, runs: { offsets: freshSites, runs: [1, 100], events: [0, 10] } }]);
    expect(earlier.of(fresh)).toEqual({ offsets: freshSites, runs: [1, 104], events: [0, 11] });
    expect(earlier.of(old)).toEqual({ offsets: [oldSites[0]], runs: [8], events: [2] });
  });

  it("is of builds what they did when they did most: a short first run does not say what is busy", () => {
    const earlier = new EarlierRuns(folder);
    const program = (before: string) =>
      wat(`(module (memory 1) ${before}
        (func (export "f") (drop (i32.load (i32.const 8))) (drop (i32.load (i32.const 8)))))`);
    const [old, fresh] = [program(""), program("(func nop)")];
    const [one, two] = siteOffsets(old);
    const [newOne, newTwo] = siteOffsets(fresh);
    earlier.keep([{ original: old, runs: { offsets: [one], runs: [1], events: [0] } }]);
    expect(earlier.of(fresh)).toMatchObject({ offsets: [newOne], runs: [1] });
    earlier.keep([{ original: old, runs: { offsets: [one, two], runs: [1, 900], events: [0, 0] } }]);
    expect(earlier.of(fresh)).toMatchObject({ offsets: [newOne, newTwo], runs: [2, 900] });
    earlier.keep([{ original: old, runs: { offsets: [one], runs: [600], events: [0] } }]);
    expect(earlier.of(fresh)).toMatchObject({ offsets: [newOne, newTwo], runs: [2, 900] });
  });

  it("survives other builds' files that are damaged", () => {
    const earlier = new EarlierRuns(folder);
    const program = wat('(module (memory 1) (func (export "f") (drop (i32.load (i32.const 8)))))');
    const offsets = siteOffsets(program);
    earlier.keep([{ original: program, runs: { offsets, runs: [8], events: [2] } }]);
    for (const name of readdirSync(folder)) writeFileSync(join(folder, name), "of somebody else");
    expect(earlier.of(program)).toBeUndefined();
  });

  it("is put beside the other options of the tool, if there is anything", () => {
    const earlier = new EarlierRuns(folder);
    const options = { tools: ["waste"], waste: { ids: 32 } } as const;
    expect(earlier.added(options, MODULE)).toBe(options);
    earlier.keep([{ original: MODULE, runs }]);
    expect(earlier.added(options, MODULE)).toEqual({ ...options, waste: { ids: 32, siteRuns: runs } });
  });

  it("is nothing where there is no folder", () => {
    const nowhere = new EarlierRuns(undefined);
    nowhere.keep([{ original: MODULE, runs }]);
    expect(nowhere.of(MODULE)).toBeUndefined();
    expect(earlierRunsFolder({ MEMSHADE_CACHE: "", XDG_CACHE_HOME: folder })).toBeUndefined();
  });

  it("is in the folder that is named, or in memshade's among the caches, wherever the program goes from here", () => {
    expect(earlierRunsFolder({ MEMSHADE_CACHE: "here", XDG_CACHE_HOME: "/elsewhere" })).toBe(resolve("here"));
    expect(earlierRunsFolder({ XDG_CACHE_HOME: folder })).toBe(join(folder, "memshade"));
    for (const environment of [{}, { XDG_CACHE_HOME: "" }])
      expect(earlierRunsFolder(environment)).toBe(join(homedir(), ".cache", "memshade"));
  });

  it("costs speed alone when it is damaged, or its folder is none: no error, and the next run mends it", () => {
    const earlier = new EarlierRuns(folder);
    earlier.keep([{ original: MODULE, runs }]);
    const [name] = readdirSync(folder);
    writeFileSync(join(folder, name), readFileSync(join(folder, name), "utf8").slice(0, -2));
    expect(earlier.of(MODULE)).toBeUndefined();
    earlier.keep([{ original: MODULE, runs }]);
    expect(earlier.of(MODULE)).toEqual(runs);
    const none = new EarlierRuns(join(folder, name));
    none.keep([{ original: OTHER, runs }]);
    expect(none.of(OTHER)).toBeUndefined();
    expect(readdirSync(folder)).toEqual([name]);
  });

  it("is not kept where writing is not allowed", () => {
    chmodSync(folder, 0o500);
    try {
      new EarlierRuns(folder).keep([{ original: MODULE, runs }]);
      // The superuser may write all the same.
      expect(readdirSync(folder).filter((name) => !name.endsWith(".runs"))).toEqual([]);
    } finally {
      chmodSync(folder, 0o700);
    }
  });

  it("is forgotten of the modules that ran longest ago, beyond 200", () => {
    const earlier = new EarlierRuns(folder);
    for (let i = 0; i < 200; i++) {
      for (const name of [`${i}.runs`, `${i}.functions`]) {
        writeFileSync(join(folder, name), "");
        utimesSync(join(folder, name), 1000 + i, 1000 + i);
      }
    }
    writeFileSync(join(folder, "of-somebody-else"), "");
    const original = wat('(module (memory 1) (func (export "f") (drop (i32.load (i32.const 8)))))');
    earlier.keep([{ original, runs }]);
    const left = readdirSync(folder);
    expect(left.length).toBe(401);
    for (const ending of ["runs", "functions"]) {
      expect(left).not.toContain(`0.${ending}`);
      expect(left).toContain(`1.${ending}`);
    }
    expect(left).toContain("of-somebody-else");
    expect(earlier.of(original)).toEqual(runs);
  });
});
