import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openObject } from "../../../src/code/objects/index.ts";
import { CFA_RULE, RULE } from "../../../src/code/unwind/cfi/rule-sets.ts";
import { UnwindTable } from "../../../src/code/unwind/index.ts";
import { randomNumbers } from "../../profile/formats/mutations.ts";
import { sharedPath } from "../../shared-path.ts";
import { InterpretedRows } from "./interpreted-rows.ts";
import { compareWithDwarfdump, compareWithReadelf } from "./row-comparison.ts";

/** Compares every row of large files too, instead of the rows of some functions. */
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
  for (const [path, every] of READELF_FILES)
    it.skipIf(path === undefined)(`${path}${every > 1 ? `, one of ${every} functions` : ""}`, async () => {
      const ours = new InterpretedRows(openObject(readFileSync(path!)));
      const comparison = await compareWithReadelf(realpathSync(path!), ours, every);
      expect(comparison.differences).toEqual([]);
      expect(comparison.differenceCount).toBe(0);
      expect(comparison.fdes).toBe(Math.ceil(ours.rows.fdeCount / every));
      if (every === 1) expect(comparison.rows).toBe(ours.rows.count);
    });
});

/** A selection of installed executables and libraries. For others: MEMSHADE_SEED=… MEMSHADE_RUNS=100 */
function installedObjects(count: number, seed: number): string[] {
  const random = randomNumbers(seed);
  const all = ["/usr/bin", libraries].flatMap((folder) =>
    existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [],
  );
  const chosen = new Set<string>();
  for (let tries = 0; tries < 50 * count && chosen.size < count && all.length > 0; tries++) {
    const path = realpathSync(all[Math.floor(random() * all.length)]!);
    const status = statSync(path);
    if (!status.isFile() || status.size > MOST_BYTES) continue;
    // Addresses of relocatable objects are in their relocations.
    if (isElf(readFileSync(path)) && openObject(readFileSync(path)).type !== "relocatable") chosen.add(path);
  }
  return [...chosen];
}

const isElf = (bytes: Buffer) => bytes.length >= 4 && bytes.readUInt32LE(0) === 0x464c457f;

/** Rules at an address, with expressions as bytes: each table numbers its expressions differently. */
function rulesAt(table: UnwindTable, address: number): (number | Uint8Array | undefined)[] {
  const { rules, expressions } = table;
  const set = table.find(address);
  const [flags, cfa, cfaOperand, ...registers] = rules.words.subarray(
    rules.starts[set],
    rules.starts[set + 1],
  );
  const isExpression = rules.cfaRule(set) === CFA_RULE.expression;
  return [
    flags,
    cfa,
    isExpression ? expressions[cfaOperand!] : cfaOperand,
    ...registers.map((word, at) => {
      const rule = at % 2 === 0 ? undefined : registers[at - 1]! & 0xff;
      return rule === RULE.expression || rule === RULE.valExpression ? expressions[word] : word;
    }),
  ];
}

const MOST_BYTES = 8 << 20;
const RUNS = Number(process.env.MEMSHADE_RUNS ?? 2);
const SEED = Number(process.env.MEMSHADE_SEED ?? 1);

describe.skipIf(!isInstalled("readelf"))("rows of whatever is installed", () => {
  it.each(installedObjects(RUNS, SEED))(
    "%s: equal those of readelf, and are found by address",
    async (path) => {
      const object = openObject(readFileSync(path));
      const ours = new InterpretedRows(object);
      const comparison = await compareWithReadelf(path, ours, 1);
      expect(comparison.differences).toEqual([]);
      expect(comparison.fdes).toBe(ours.rows.fdeCount);
      // Tables read on demand give the same rules at any address as tables of all rows.
      const lazy = UnwindTable.fromObject(object, { lazy: true });
      const extents = UnwindTable.fromObject(object, { form: "lul" });
      const random = randomNumbers(SEED);
      for (let count = 0; count < 2000 && ours.rows.fdeCount > 0; count++) {
        const fde = Math.floor(random() * ours.rows.fdeCount);
        const address = ours.base + ours.rows.fdeStarts[fde]! + Math.floor(random() * 300) - 20;
        expect(rulesAt(lazy, address), `0x${address.toString(16)}`).toEqual(rulesAt(extents, address));
      }
    },
    600_000,
  );
});

const hasClang =
  isInstalled(DWARFDUMP) &&
  ["clang-22", "ld.lld-22"].every((tool) => spawnSync(tool, ["--version"]).status === 0);
if (!hasClang) console.warn("SKIPPED: return addresses with signatures: clang-22 or ld.lld-22 is missing");

describe.skipIf(!hasClang)(
  "rows of AArch64 whose return addresses are signed equal those of llvm-dwarfdump",
  () => {
    // Shrink-wrapped functions are signed in some of their rows; readelf does not show which.
    const SOURCE = `
    int use(int *); void stop(void) __attribute__((noreturn));
    int early(int n) { int a[64]; if (n < 0) stop(); if (n == 5) return 7; a[n] = n; return use(a) + early(n - 1); }
    int sized(int n) { int a[n]; a[0] = n; return use(a) + early(n); }
    int leaf(int n) { return 3 * n; }`;

    it.each([
      ["pac-ret", "-O0"],
      ["pac-ret+leaf", "-O2"],
      ["pac-ret+b-key", "-O2"],
      ["standard", "-Os"],
    ])("-mbranch-protection=%s %s", async (protection, level) => {
      const folder = mkdtempSync(join(tmpdir(), "memshade-test-"));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const [source, library] = [join(folder, "signed.c"), join(folder, "signed.so")];
      writeFileSync(source, SOURCE);
      const target = ["--target=aarch64-linux-gnu", "-fPIC", "-shared", "-nostdlib", "-fuse-ld=lld-22"];
      const options = [...target, level, `-mbranch-protection=${protection}`, source, "-o", library];
      expect(spawnSync("clang-22", options).status).toBe(0);
      const ours = new InterpretedRows(openObject(readFileSync(library)));
      const comparison = await compareWithDwarfdump(DWARFDUMP, library, ours);
      expect(comparison.differences).toEqual([]);
      expect(comparison.rows).toBe(ours.rows.count);
      const rows = Array.from({ length: ours.rows.count }, (_, row) => ours.text(row));
      expect(rows.filter((row) => row.includes("r34=1")).length).toBeGreaterThan(4);
      expect(rows.filter((row) => !row.includes("r34")).length).toBeGreaterThan(1);
    });
  },
);

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
      for (let row = rows.fdeRows[fde]; row < rows.fdeRows[fde + 1]; row++)
        addresses.push(ours.base + rows.starts[row]);
    }
    const whole = UnwindTable.fromObject(object);
    const lazy = UnwindTable.fromObject(object, { lazy: true });
    for (const address of addresses) {
      expect(whole.find(address), address.toString(16)).toBeGreaterThan(0);
      expect(lazy.find(address), address.toString(16)).toBeGreaterThan(0);
    }
    // Count in the Debian build in which this case was found.
    if (object.buildId === "11337edccc89edc3ecdd09323f98ca5b527fdd6e") expect(hidden).toHaveLength(191);
    else expect(hidden.length).toBeGreaterThan(0);
  });
});

/** Starts of functions whose entry in `.eh_frame_hdr` is taken by an FDE without code. */
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
