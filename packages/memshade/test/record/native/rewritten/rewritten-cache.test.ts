import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  markOf,
  RewrittenCache,
  rewrittenKey,
  stayInUse,
} from "../../../../src/record/native/rewritten/rewritten-cache.ts";

const KEY = rewrittenKey("12", "tool");
const MADE = {
  bytes: new Uint8Array(5000).fill(7),
  origins: new Uint8Array([1]),
  functions: 3,
  unpatched: { places: 0, functions: 0 },
  oldText: 10,
  newText: 20,
  withoutFrames: 0,
  leftAlone: { undecodable: 0, overlapping: 0, special: 1, exceptions: 0, returnAddresses: 0 },
};

const canMount = spawnSync("unshare", ["-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).status === 0;
if (!canMount) console.warn("SKIPPED: nothing can be mounted: no cache has a folder without code");

describe("files that were rewritten", () => {
  let folder: string;
  let cache: RewrittenCache;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "memshade-cache-"));
    cache = new RewrittenCache({ caches: folder, instead: folder });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("are kept by what they were made of and the code that made them", () => {
    expect(cache.read(KEY)).toBeUndefined();
    cache.write(KEY, MADE);
    const kept = cache.read(KEY)!;
    expect(readFileSync(kept.path)).toEqual(Buffer.from(MADE.bytes));
    expect(kept.facts).toMatchObject({ functions: 3, leftAlone: { special: 1 } });
    expect(rewrittenKey("12", "other")).not.toBe(KEY);
    expect(rewrittenKey("13", "tool")).not.toBe(KEY);
    expect(markOf(KEY)).toBeLessThan(2 ** 48);
  });

  it("are as they were made, or gone", () => {
    cache.write(KEY, MADE);
    truncateSync(cache.read(KEY)!.path, 100);
    expect(cache.read(KEY)).toBeUndefined();
    cache.write(KEY, MADE);
    expect(cache.read(KEY)).toBeDefined();
  });

  it("are those of whoever came first, and nothing half-written stays", () => {
    cache.write(KEY, MADE);
    cache.write(KEY, { ...MADE, functions: 4 });
    expect(cache.read(KEY)!.facts).toMatchObject({ functions: 3 });
    expect(readdirSync(cache.folder)).toEqual([KEY]);
  });

  it("may be none, with the reason", () => {
    cache.write(KEY, { refused: "it has no functions" });
    expect(cache.read(KEY)!.facts).toEqual({ refused: "it has no functions" });
  });

  it("go when others need their room, the oldest first, unless they may be in use", () => {
    const small = new RewrittenCache({ caches: folder, instead: folder }, 11_000);
    const keys = ["a", "b", "c"].map((content) => rewrittenKey(content, "tool"));
    const hoursAgo = (folder: string, hours: number): void => {
      const time = new Date(Date.now() - 3_600_000 * hours);
      utimesSync(folder, time, time);
    };
    for (const [i, key] of keys.entries()) {
      small.write(key, MADE);
      hoursAgo(join(small.folder, key), i + 1);
    }
    const left = join(small.folder, ".partial-killed");
    mkdirSync(left);
    writeFileSync(join(left, "file"), "half");
    hoursAgo(left, 5);
    small.shrink();
    expect(readdirSync(small.folder).sort()).toEqual([keys[0], keys[1]].sort());
    for (const key of keys) small.write(key, MADE);
    small.shrink();
    expect(existsSync(join(small.folder, keys[2]))).toBe(true);
  });

  it("stay while a long run says that it uses them", () => {
    const none = new RewrittenCache({ caches: folder, instead: folder }, 0);
    none.write(KEY, MADE);
    const entry = join(none.folder, KEY);
    utimesSync(entry, new Date(0), new Date(0));
    stayInUse({ path: join(entry, "file") });
    none.shrink();
    expect(existsSync(entry)).toBe(true);
    utimesSync(entry, new Date(0), new Date(0));
    none.shrink();
    expect(existsSync(entry)).toBe(false);
    stayInUse({ path: join(entry, "file") });
  });

  it("are kept for one run where the cache cannot be written", () => {
    writeFileSync(join(folder, "no-folder"), "");
    const other = new RewrittenCache({ caches: join(folder, "no-folder"), instead: join(folder, "run") });
    other.write(KEY, MADE);
    expect(other.read(KEY)!.path).toContain(join(folder, "run"));
  });

  it.skipIf(!canMount)("are kept for one run where no code may lie in the cache", () => {
    const caches = join(folder, "no-code");
    mkdirSync(caches);
    expect(spawnSync("mount", ["-t", "tmpfs", "-o", "noexec", "tmpfs", caches]).status).toBe(0);
    try {
      const other = new RewrittenCache({ caches, instead: join(folder, "run") });
      expect(other.folder).toBe(join(folder, "run", "rewritten"));
    } finally {
      spawnSync("umount", [caches]);
    }
  });
});
