import { existsSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openObject } from "../../../src/code/objects/index.ts";
import {
  Registers,
  StackImage,
  Unwinder,
  UnwindTable,
  unwindTarget,
} from "../../../src/code/unwind/index.ts";
import { drawCfi, drawCfiObject, type FdePicture } from "./cfi-picture.ts";

const FDES: readonly FdePicture[] = Array.from({ length: 6 }, (_, i) => ({
  start: 0x1000 + 0x40 * i,
  size: 0x40,
  program: [
    0x41, 0x0e, 16, 0x86, 2, 0x0a, 0x43, 0x0d, 6, 0x10, 3, 2, 0x76, 0x70, 0x0f, 3, 0x76, 0x78, 6, 0x48, 0x0b,
  ],
}));
const WHOLE = drawCfi("eh_frame", { augmentation: "zPLR" }, FDES);

function readAll(bytes: Uint8Array, lazy = false): UnwindTable {
  const table = UnwindTable.fromObject(drawCfiObject("eh_frame", bytes), { lazy });
  for (let address = 0xfc0; address < 0x1200; address += 5) table.find(address);
  return table;
}

describe("a damaged section", () => {
  it("that is cut anywhere gives the functions in front of the cut", () => {
    const counts = Array.from(
      { length: WHOLE.length + 1 },
      (_, length) => readAll(WHOLE.slice(0, length)).counts.fdes,
    );
    expect(counts[0]).toBe(0);
    expect(counts.at(-1)).toBe(FDES.length);
    for (let i = 1; i < counts.length; i++) expect(counts[i]).toBeGreaterThanOrEqual(counts[i - 1]);
  });

  it("with any byte changed gives a table, of a size that follows from the section's", () => {
    for (let offset = 0; offset < WHOLE.length; offset++)
      for (const mask of [0x01, 0x80, 0xff]) {
        const bytes = WHOLE.slice();
        bytes[offset] ^= mask;
        expect(readAll(bytes).rowCount).toBeLessThanOrEqual(2 * WHOLE.length);
      }
  });

  it("of random bytes gives a table", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        const table = readAll(bytes);
        expect(table.rowCount).toBeLessThanOrEqual(2 * bytes.length);
        expect(table.problemCount).toBeGreaterThanOrEqual(table.problems.length);
      }),
      { numRuns: 300 },
    );
  });

  it("with random instructions gives a table", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(255), { maxLength: 60 }), (program) => {
        readAll(drawCfi("eh_frame", {}, [{ start: 0x1000, size: 0x100, program }]));
      }),
      { numRuns: 300 },
    );
  });

  it("whose entries all lead to long overlapping CIEs is not run over and over", () => {
    // Each FDE names a different position inside one CIE's instructions as its CIE; each position is a valid CIE.
    const cie = [0, 0, 0, 0, 1, 0x7a, 0x52, 0, 1, 0x78, 16, 1, 0x1b];
    const bytes: number[] = [];
    const u32 = (value: number) => [
      value & 0xff,
      (value >> 8) & 0xff,
      (value >> 16) & 0xff,
      (value >> 24) & 0xff,
    ];
    const count = 500;
    const spacing = 4 + cie.length;
    for (let i = 0; i < count; i++) bytes.push(...u32((count - i) * spacing - 4), ...cie);
    for (let i = 0; i < count; i++) {
      const idAt = bytes.length + 4;
      bytes.push(...u32(12), ...u32(idAt - i * spacing), ...u32(0x1000 * i), ...u32(16));
    }
    const table = UnwindTable.fromObject(drawCfiObject("eh_frame", Uint8Array.from(bytes)));
    expect(table.problems.map(String).join("\n")).toMatch(/too long/);
  });
});

const libc = ["/usr/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6"].find((path) => existsSync(path));
if (libc === undefined) console.warn("SKIPPED: there is no libc.so.6 to damage");

describe.skipIf(libc === undefined)("a damaged library", () => {
  it("is read on demand and whole, whatever bytes of its tables are wrong", () => {
    const file = readFileSync(libc!);
    const { sections } = openObject(file);
    const tables = sections.filter(({ name }) => name.startsWith(".eh_frame"));
    const change = fc.record({
      section: fc.constantFrom(...tables),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      byte: fc.nat(255),
    });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 200 }), (changes) => {
        const bytes = new Uint8Array(file);
        for (const { section, at, byte } of changes)
          bytes[section.offset + Math.min(Math.floor(at * section.size), section.size - 1)] = byte;
        const object = openObject(bytes);
        const whole = UnwindTable.fromObject(object);
        const lazy = UnwindTable.fromObject(object, { lazy: true });
        // A damaged function may have any size, but the table is bounded by the code in the file.
        expect(whole.byteLength).toBeLessThan(file.length / 4);
        for (let address = 0; address < 0x20_0000; address += 0x4321) {
          expect(whole.find(address)).toBeGreaterThanOrEqual(0);
          expect(lazy.find(address)).toBeGreaterThanOrEqual(0);
        }
      }),
      { numRuns: 8 },
    );
  });
});

describe("a damaged stack", () => {
  const target = unwindTarget("x86_64")!;
  const table = UnwindTable.fromObject(drawCfiObject("eh_frame", WHOLE));
  const unwinder = new Unwinder("x86_64", { scan: true });
  unwinder.modules.add({ start: 0x1000, end: 0x1200, bias: 0, table });

  it("of random words ends, with and without registers", () => {
    const word = fc.oneof(
      fc.integer({ min: 0x1000, max: 0x11ff }),
      fc.integer({ min: 0x8000, max: 0x8200 }).map((value) => value & ~7),
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    );
    fc.assert(
      fc.property(
        fc.array(word, { maxLength: 64 }),
        fc.array(word, { minLength: 17, maxLength: 17 }),
        (words, values) => {
          const stack = new StackImage(
            0x8000,
            new Uint8Array(new BigUint64Array(words.map((each) => BigInt(each))).buffer),
          );
          const registers = new Registers(target);
          for (const [number, value] of values.entries()) registers.set(number, value);
          registers.set(target.stackPointer, 0x8000);
          const fast = unwinder.unwind(registers, stack, { scan: true });
          const exact = unwinder.unwind(registers, stack, { scan: true, registers: true });
          expect(fast.frames.length).toBeLessThan(1000);
          expect(fast.frames.map(({ pc, cfa, foundBy }) => ({ pc, cfa, foundBy }))).toEqual(
            exact.frames.map(({ pc, cfa, foundBy }) => ({ pc, cfa, foundBy })),
          );
          expect(fast.end).toBe(exact.end);
        },
      ),
      { numRuns: 500 },
    );
  });
});
