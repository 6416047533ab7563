import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { memprofHeapProfile } from "../../../../src/names/memprof/heap.ts";
import { readRawDumps, writeRaw } from "../../../../src/profile/formats/memprof-raw/index.ts";
import { blockMib } from "../../../../src/profile/model/mib.ts";
import type { RawProfile } from "../../../../src/profile/model/raw-profile.ts";
import { heapReportJson } from "../../../../src/show/report/json/heap-report.ts";
import { jsonText } from "../../../../src/show/report/json/text.ts";
import { createPaint } from "../../../../src/show/report/terminal/common/paint.ts";
import { heapReport } from "../../../../src/show/report/terminal/heap/heap-report.ts";
import { rawProfile } from "../../../profile/formats/memprof-raw/arbitrary.ts";

const folder = mkdtempSync(join(tmpdir(), "memshade-raw-report-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, "memprof.profraw.1");

const BUILD_ID = Uint8Array.from({ length: 20 }, (_, index) => index + 1);
const OTHER_ID = Uint8Array.from({ length: 20 }, (_, index) => 0xa0 + index);

const block = (size: number, histogram?: readonly bigint[]) =>
  blockMib({
    accessCount: histogram?.reduce((sum, count) => sum + count, 0n) ?? 5n,
    size,
    allocTimestamp: 0,
    deallocTimestamp: 3,
    allocCpuId: 0,
    deallocCpuId: 0,
    histogram,
  });

function processAt(base: bigint, contexts: RawProfile["contexts"]): RawProfile {
  return {
    version: 5,
    segments: [
      { start: base + 0x1000n, end: base + 0x2000n, offset: base, buildId: BUILD_ID },
      { start: base + 0x101000n, end: base + 0x102000n, offset: base + 0x100000n, buildId: OTHER_ID },
    ],
    contexts,
  };
}

async function profileOf(...processes: readonly RawProfile[]) {
  writeFileSync(file, Buffer.concat(processes.map((raw) => writeRaw(raw))));
  return (await memprofHeapProfile(file))!;
}

interface Json {
  sites: {
    allocCount: number;
    totalSize: number;
    totalAccessCount: number;
    stack: { function: string }[];
  }[];
}

async function rowsOf(...processes: readonly RawProfile[]): Promise<Json["sites"]> {
  const report = heapReportJson(await profileOf(...processes), { input: file });
  return (JSON.parse(jsonText(report)) as Json).sites;
}

const pathsOf = (rows: Json["sites"]) => rows.map(({ stack }) => stack.map((frame) => frame.function));

describe("the report of a raw profile", () => {
  it("adds up to the blocks of its records, whatever it holds", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(rawProfile, { minLength: 1, maxLength: 3 }), async (processes) => {
        const rows = await rowsOf(...processes);
        const mibs = processes
          .flatMap((raw) => readRawDumps(writeRaw(raw)).flatMap((dump) => dump.mibs))
          .map(({ mib }) => mib);
        const sum = (values: readonly (number | bigint)[]) =>
          values.reduce((total: number, value) => total + Number(value), 0);
        for (const field of ["allocCount", "totalSize", "totalAccessCount"] as const) {
          const recorded = sum(mibs.map((mib) => mib[field]));
          const shown = sum(rows.map((row) => row[field]));
          expect(Math.abs(shown - recorded)).toBeLessThanOrEqual(recorded * 1e-12);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("shows code that has no file as its module and the offset in it", async () => {
    const base = 0x5555_0000_0000n;
    const rows = await rowsOf(
      processAt(base, [
        // The innermost frame is MemProf's own function.
        { stackId: 1n, mib: block(8), pcs: [base + 0x1010n, base + 0x101020n, base + 0x1030n] },
        { stackId: 2n, mib: block(16), pcs: [base + 0x1010n] },
        { stackId: 3n, mib: block(32), pcs: [base + 0x1010n, 0x7fff_0000_0000n] },
        { stackId: 4n, mib: block(64), pcs: [] },
      ]),
    );
    expect(pathsOf(rows)).toEqual([
      [],
      ["[unknown code]"],
      ["[01020304]+0x1010"],
      ["[a0a1a2a3]+0x1020", "[01020304]+0x1030"],
    ]);
  });

  it("puts processes together by modules, which each of them has elsewhere", async () => {
    const contexts = (base: bigint) => [
      { stackId: 1n, mib: block(8), pcs: [base + 0x1010n, base + 0x101020n] },
    ];
    const [one, other] = [0x5555_0000_0000n, 0x5666_0000_0000n];
    const rows = await rowsOf(processAt(one, contexts(one)), processAt(other, contexts(other)));
    expect(rows).toMatchObject([{ allocCount: 2, totalSize: 16 }]);
  });

  it("keeps what does not fit into the fields of a file", async () => {
    const base = 0x5555_0000_0000n;
    const many = { ...block(8), allocCount: 0xf000_0000 };
    const raw = processAt(base, [{ stackId: 1n, mib: many, pcs: [base + 0x1010n, base + 0x1020n] }]);
    expect(await rowsOf(raw, raw)).toMatchObject([{ allocCount: 2 * 0xf000_0000 }]);
  });

  it("says of full counters that there may have been more", async () => {
    const base = 0x5555_0000_0000n;
    const pcs = [base + 0x1010n, base + 0x1020n];
    const reportOf = async (counts: readonly bigint[]) => {
      const raw = processAt(base, [{ stackId: 1n, mib: block(16, counts), pcs }]);
      return heapReport(await profileOf(raw), {
        input: file,
        paint: createPaint(false),
        width: 80,
        isWide: false,
      });
    };
    const full = await reportOf([255n, 3n]);
    expect(full).toContain("258 or more to heap blocks");
    expect(full).toContain("most at byte 0: 255 or more");
    expect(await reportOf([254n, 3n])).not.toMatch(/[0-9B] or more/);
  });

  it("says where sizes of 4 GiB became 0", async () => {
    const base = 0x5555_0000_0000n;
    const mib = block(2 ** 32);
    const { description } = await profileOf(processAt(base, [{ stackId: 1n, mib, pcs: [base + 0x1010n] }]));
    expect(description.notTracked.join()).toContain("MemProf records sizes modulo 4 GiB: 1 call path has");
  });

  it("names the build ids of what it did not find", async () => {
    const base = 0x5555_0000_0000n;
    const pcs = [base + 0x1010n, base + 0x101020n];
    const { description, modules } = await profileOf(processAt(base, [{ stackId: 1n, mib: block(8), pcs }]));
    const gaps = description.notTracked.join("\n");
    expect(gaps).toContain("1 program was not found (build id 0102030405060708090a0b0c0d0e0f1011121314)");
    expect(gaps).toContain("1 library was not found (build id a0a1a2a3");
    expect(modules.map(({ path, knows }) => ({ path, knows }))).toEqual([
      { path: undefined, knows: "nothing" },
      { path: undefined, knows: "nothing" },
    ]);
  });
});
