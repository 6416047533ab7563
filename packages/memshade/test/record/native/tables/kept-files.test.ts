import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { openObject } from "../../../../src/code/objects/index.ts";
import { readKept, writeKept } from "../../../../src/record/host/run/kept-files.ts";
import { Remembered } from "../../../../src/record/native/rewritten/later-files.ts";
import { tableKey } from "../../../../src/record/native/tables/table-key.ts";
import { TableCache } from "../../../../src/record/native/tables/tables-file.ts";

const folder = mkdtempSync(join(tmpdir(), "memshade-kept-"));
afterAll(() => rmSync(folder, { recursive: true }));

function withUmask(mask: number, act: () => void): void {
  const before = process.umask(mask);
  try {
    act();
  } finally {
    process.umask(before);
  }
}

const DAMAGE: readonly [string, (path: string) => void][] = [
  ["empty", (path) => truncateSync(path, 0)],
  ["cut off", (path) => truncateSync(path, readFileSync(path).length - 4)],
  ["of other bytes", (path) => writeFileSync(path, readFileSync(path).fill(0xa5))],
  [
    "changed in one bit",
    (path) => {
      const bytes = readFileSync(path);
      bytes[bytes.length >> 1]! ^= 16;
      writeFileSync(path, bytes);
    },
  ],
];

describe.skipIf(process.platform !== "linux" || process.arch !== "x64")("tables that are kept", () => {
  const object = openObject(readFileSync("/bin/ls"));
  const cache = new TableCache(folder, join(folder, "cache"));
  const path = join(cache.folder, tableKey(object)!);
  beforeEach(() => cache.make(object));

  it("are made once", () => {
    const before = readFileSync(path);
    expect(cache.has(object)).toBe(true);
    cache.make(object);
    expect(readFileSync(path)).toEqual(before);
  });

  it("are made once also where new files are for a group to write to", () => {
    rmSync(path);
    withUmask(0o002, () => cache.make(object));
    expect(cache.has(object)).toBe(true);
  });

  for (const [how, damage] of DAMAGE)
    it(`are made again where they are ${how}`, () => {
      const before = readFileSync(path);
      damage(path);
      expect(cache.has(object)).toBe(false);
      cache.make(object);
      expect(readFileSync(path)).toEqual(before);
    });
});

describe("an image that is kept", () => {
  const path = join(folder, "image");
  const image = Uint8Array.from({ length: 4096 }, (_, i) => (i * i) >>> 3);

  it("is read as it was written", () => {
    expect(readKept(path)).toBeUndefined();
    writeKept(path, image);
    expect(Uint8Array.from(readKept(path)!)).toEqual(image);
    withUmask(0o002, () => writeKept(path, image));
    expect(Uint8Array.from(readKept(path)!)).toEqual(image);
  });

  it("is believed, as lists of earlier runs are, where new files are for a group to write to", () => {
    withUmask(0o002, () => new Remembered("/bin/program", folder).keep(["/lib/other.so"]));
    expect(new Remembered("/bin/program", folder).items).toEqual(["/lib/other.so"]);
  });

  for (const [how, damage] of DAMAGE)
    it(`counts as absent where it is ${how}`, () => {
      writeKept(path, image);
      damage(path);
      expect(readKept(path)).toBeUndefined();
    });
});
