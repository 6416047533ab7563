import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ARENA, SLOTS_END } from "../../../../../src/record/native/tools/waste/layout.ts";
import {
  keepPlace,
  settlePlace,
  takePlace,
} from "../../../../../src/record/native/tools/waste/site-places.ts";

const MIB = 2 ** 20;
const ALL = Math.floor((SLOTS_END - ARENA) / MIB) * MIB;
const [LARGE, SMALL, OTHER] = ["00000001", "0a000002", "ffff0003"];

describe("slots of files", () => {
  let files: string;
  beforeEach(() => {
    files = join(mkdtempSync(join(tmpdir(), "memshade-places-")), "rewritten");
    mkdirSync(files);
  });
  afterEach(() => rmSync(join(files, ".."), { recursive: true }));

  /** Puts a file into the cache that was rewritten and last used this number of minutes ago. */
  function keep(key: string, minutesAgo: number): void {
    const used = new Date(Date.now() - minutesAgo * 60_000);
    mkdirSync(join(files, key), { recursive: true });
    const places = `${files}-places`;
    const units = readdirSync(places).map((unit) => join(places, unit));
    for (const unit of units) if (readFileSync(unit, "latin1") === key) utimesSync(unit, used, used);
    utimesSync(join(files, key), used, used);
  }

  it("belong to one file; if two processes make the file at once, the slots of the kept one count", () => {
    const places = [LARGE, SMALL, OTHER, "00000004"].map((key) => takePlace(files, key, 3 * MIB));
    for (const { from, to } of places) {
      expect(to - from).toBe(3 * MIB);
      expect(from).toBeGreaterThanOrEqual(ARENA);
      expect(to).toBeLessThanOrEqual(SLOTS_END);
    }
    const inOrder = [...places].sort((a, b) => a.from - b.from);
    for (let i = 1; i < inOrder.length; i++)
      expect(inOrder[i].from).toBeGreaterThanOrEqual(inOrder[i - 1].to);
    const second = takePlace(files, SMALL, 3 * MIB);
    expect(places).not.toContainEqual(second);
    mkdirSync(join(files, SMALL));
    for (let i = 0; i < 2; i++) expect(settlePlace(files, SMALL, places[1])).toBe(true);
    expect(takePlace(files, "00000005", 3 * MIB)).toEqual(second);
  });

  it("that another process takes while a file is made are not used: the file is made again", () => {
    const place = takePlace(files, SMALL, 3 * MIB);
    rmSync(join(`${files}-places`, "1"));
    mkdirSync(join(files, SMALL));
    expect(takePlace(files, LARGE, MIB).from).toBe(ARENA + MIB);
    expect(settlePlace(files, SMALL, place)).toBe(false);
    expect(existsSync(join(files, SMALL))).toBe(false);
  });

  it("are found for a large file behind many small ones", () => {
    const small = Array.from({ length: 100 }, (_, i) =>
      ((i * 2654435761) >>> 0).toString(16).padStart(8, "0"),
    );
    for (const key of small) takePlace(files, `${key}-${small.indexOf(key)}`, MIB);
    expect(takePlace(files, LARGE, ALL - 100 * MIB).to).toBe(ARENA + ALL);
  });

  it("can be taken if the process that held the lock has ended", () => {
    mkdirSync(`${files}-places-lock`);
    const then = new Date(Date.now() - 60_000);
    utimesSync(`${files}-places-lock`, then, then);
    expect(takePlace(files, SMALL, MIB).from).toBe(ARENA);
    expect(existsSync(`${files}-places-lock`)).toBe(false);
  });

  it("go to other files if a file needs fewer", () => {
    const place = takePlace(files, LARGE, ALL);
    keepPlace(files, place, place.from + 10);
    expect(takePlace(files, SMALL, ALL - MIB).from).toBeGreaterThanOrEqual(ARENA + MIB);
  });

  it("are taken from files that were unused for a while if no others are free", () => {
    takePlace(files, LARGE, 250 * MIB);
    keep(LARGE, 11);
    takePlace(files, SMALL, 240 * MIB);
    expect(existsSync(join(files, LARGE))).toBe(true);
    takePlace(files, OTHER, 200 * MIB);
    expect(existsSync(join(files, LARGE))).toBe(false);
  });

  it("are refused with a message while all are in use", () => {
    takePlace(files, LARGE, ALL);
    keep(LARGE, 9);
    expect(() => takePlace(files, SMALL, 1)).toThrow(/try again/);
    expect(existsSync(join(files, LARGE))).toBe(true);
    // The failed attempt leaves no trace.
    keep(LARGE, 11);
    expect(takePlace(files, OTHER, ALL).to).toBe(ARENA + ALL);
  });
});
