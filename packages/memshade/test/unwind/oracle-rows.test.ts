import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openObject } from "../../src/objects/index.ts";
import { UnwindTable } from "../../src/unwind/index.ts";
import { sharedPath } from "../shared-path.ts";
import { InterpretedRows } from "./interpreted-rows.ts";
import { compareWithDwarfdump, compareWithReadelf } from "./row-comparison.ts";

/** Compares every row of the large files too, not only those of some functions. */
const isThorough = process.env.MEMSHADE_ALL_ROWS !== undefined;
const DWARFDUMP = "llvm-dwarfdump-22";

function isInstalled(command: string): boolean {
  const found = spawnSync(command, ["--version"]).status === 0;
  if (!found) console.warn(`SKIPPED: ${command} is not installed`);
  return found;
}

function firstOf(...paths: string[]): string | undefined {
  const found = paths.find((path) => existsSync(path));
  if (found === undefined) console.warn(`SKIPPED: none of ${paths.join(", ")} is there`);
  return found;
}

const libraries = "/usr/lib/x86_64-linux-gnu";
const READELF_FILES: readonly [path: string | undefined, every: number][] = [
  [firstOf(`${libraries}/libc.so.6`, "/lib64/libc.so.6"), 1],
  [firstOf(`${libraries}/libstdc++.so.6`), 1],
  [firstOf("/usr/bin/python3.11", "/usr/bin/python3"), 1],
  [process.execPath, isThorough ? 1 : 8],
  [sharedPath("fixtures/unwind/aarch64-frames/prog"), 1],
  [sharedPath("fixtures/unwind/frames-mix/prog"), 1],
];

describe.skipIf(!isInstalled("readelf"))("rows equal those of readelf", () => {
  for (const [path, every] of READELF_FILES) {
    it.skipIf(path === undefined)(`${path}${every > 1 ? `, one of ${every} functions` : ""}`, async () => {
      const ours = new InterpretedRows(openObject(readFileSync(path!)));
      const comparison = await compareWithReadelf(realpathSync(path!), ours, every);
      expect(comparison.differences).toEqual([]);
      expect(comparison.differenceCount).toBe(0);
      expect(comparison.fdes).toBe(Math.ceil(ours.rows.fdeCount / every));
      if (every === 1) expect(comparison.rows).toBe(ours.rows.count);
    });
  }
});

const libLlvm = firstOf(`${libraries}/libLLVM.so.22.1`);

describe.skipIf(libLlvm === undefined)("a library whose header hides functions behind empty FDEs", () => {
  it.skipIf(!isInstalled(DWARFDUMP))("has the rows that llvm-dwarfdump shows", async () => {
    const every = isThorough ? 1 : 16;
    const ours = new InterpretedRows(openObject(readFileSync(libLlvm!)));
    const comparison = await compareWithDwarfdump(DWARFDUMP, libLlvm!, ours, every);
    expect(comparison.differences).toEqual([]);
    expect(comparison.fdes).toBe(Math.ceil(ours.rows.fdeCount / every));
  });

  it("gives hidden functions their rules, read whole and on demand", () => {
    const object = openObject(readFileSync(libLlvm!));
    const ours = new InterpretedRows(object);
    const { rows } = ours;
    const hidden = hiddenStarts(object);
    const own = new Set(hidden);
    const addresses: number[] = [];
    for (let fde = 0; fde < rows.fdeCount; fde++) {
      if (!own.has(ours.base + rows.fdeStarts[fde])) continue;
      for (let row = rows.fdeRows[fde]; row < rows.fdeRows[fde + 1]; row++) {
        addresses.push(ours.base + rows.starts[row]);
      }
    }
    const whole = UnwindTable.fromObject(object);
    const lazy = UnwindTable.fromObject(object, { lazy: true });
    for (const address of addresses) {
      expect(whole.find(address), address.toString(16)).toBeGreaterThan(0);
      expect(lazy.find(address), address.toString(16)).toBeGreaterThan(0);
    }
    // In the build of Debian that this was first seen in.
    if (object.buildId === "11337edccc89edc3ecdd09323f98ca5b527fdd6e") expect(hidden).toHaveLength(191);
    else expect(hidden.length).toBeGreaterThan(0);
  });
});

/** Starts of functions whose place in `.eh_frame_hdr` is taken by an FDE without code. */
function hiddenStarts(object: ReturnType<typeof openObject>): number[] {
  const header = object.section(".eh_frame_hdr")!;
  const frame = object.sections.find(({ name }) => name === ".eh_frame")!;
  const headerAddress = object.sections.find(({ name }) => name === ".eh_frame_hdr")!.address;
  const view = new DataView(header.buffer, header.byteOffset, header.length);
  const bytes = object.contentOf(frame)!;
  const frameView = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const ours = new InterpretedRows(object);
  const { rows } = ours;
  const real = new Set<number>();
  for (let fde = 0; fde < rows.fdeCount; fde++) real.add(ours.base + rows.fdeStarts[fde]);
  const starts: number[] = [];
  for (let entry = 0; entry < view.getUint32(8, true); entry++) {
    const start = headerAddress + view.getInt32(12 + 8 * entry, true);
    const fde = headerAddress + view.getInt32(16 + 8 * entry, true) - frame.address;
    // Range of an FDE with the usual encoding, behind its length, CIE pointer and start.
    if (frameView.getUint32(fde + 12, true) === 0 && real.has(start)) starts.push(start);
  }
  return starts;
}
