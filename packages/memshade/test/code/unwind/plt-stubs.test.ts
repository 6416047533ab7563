import { describe, expect, it } from "vitest";
import { Unwinder, UnwindTable } from "../../../src/code/unwind/index.ts";
import { drawCfi, drawCfiObject } from "./cfi-picture.ts";

/** `.plt` as lld writes it: the head, then the entry of one function, without call frame information. */
const TABLES = {
  lazy: `
    ff35ba220000 ff25bc220000 0f1f4000
    ff25ba220000 6800000000 e9e0ffffff`,
  retpoline: `
    ff35ba220000 4c8b1dbb220000 e80e000000 f390 0faee8 ebf9 cccccccccccccc
    4c891c24 c3 cccccccccccccccccccccc
    4c8b1d99220000 e8e4ffffff e9d1ffffff 6800000000 e9b5ffffff cccccccccc`,
  "retpoline, bound from the start": `
    e80b000000 f390 0faee8 ebf9 cccccccc
    4c891c24 c3 cccccccccccccccccccccc
    4c8b1d49120000 e9d4ffffff cccccccc`,
};
const PLT = 0x2000;
const STACK = 0x7000_0000;
/** A function with call frame information, and its address behind the call of a stub. */
const CALLER = { start: 0x1000, size: 0x100, program: [] };
const RETURN_ADDRESS = 0x1050;

function codeOf(table: keyof typeof TABLES): Uint8Array {
  const code = new Uint8Array(0x3000);
  // call
  code[RETURN_ADDRESS - 5] = 0xe8;
  code.set(Buffer.from(TABLES[table].replaceAll(/\s/g, ""), "hex"), PLT);
  return code;
}

/** Frames of the walk from an offset of the table with these words on the stack, and the caller's stack pointer. */
function walk(table: keyof typeof TABLES, offset: number, words: readonly number[]) {
  const code = codeOf(table);
  const unwinder = new Unwinder("x86_64", { registers: true });
  unwinder.modules.add({
    start: 0,
    end: 0x3000,
    bias: 0,
    table: UnwindTable.fromObject(drawCfiObject("eh_frame", drawCfi("eh_frame", {}, [CALLER]))),
    readCode: (address, length) => code.subarray(address, address + length),
  });
  const stack = new Uint8Array(new BigUint64Array([...words, 0, 0].map(BigInt)).buffer);
  const registers = { rip: PLT + offset, rsp: STACK, rbp: 7 };
  const { frames } = unwinder.unwind(registers, (address, length) => {
    const at = address - STACK;
    return at >= 0 && at + length <= stack.length ? stack.subarray(at, at + length) : undefined;
  });
  const places = frames.slice(0, -1).map(({ pc, foundBy }) => `plt+${(pc - PLT).toString(16)} ${foundBy}`);
  const last = frames.at(-1)!;
  return [...places, `${last.pc.toString(16)} ${last.foundBy} ${last.registers!.address(7) - STACK}`];
}

/** The caller's frame if the return address was `depth` bytes above the stack pointer. */
const caller = (depth: number) => `1050 plt ${depth + 8}`;
const SLOT = 0x7fff_f000;
const INDEX = 3;

describe("a stub of the procedure linkage table, without call frame information", () => {
  it("is left by what it has pushed", () => {
    expect(walk("lazy", 16, [RETURN_ADDRESS])).toEqual(["plt+10 context", caller(0)]);
    expect(walk("lazy", 22, [RETURN_ADDRESS])).toEqual(["plt+16 context", caller(0)]);
    expect(walk("lazy", 27, [INDEX, RETURN_ADDRESS])).toEqual(["plt+1b context", caller(8)]);
    expect(walk("lazy", 0, [INDEX, RETURN_ADDRESS])).toEqual(["plt+0 context", caller(8)]);
    expect(walk("lazy", 6, [SLOT, INDEX, RETURN_ADDRESS])).toEqual(["plt+6 context", caller(16)]);
  });

  it("that avoids indirect jumps is left so too, before, in and behind the call that it makes for that", () => {
    const walked = (offset: number, ...words: number[]) => walk("retpoline", offset, words);
    const entry = 0x30;
    for (const offset of [0, 7, 0x11]) expect(walked(entry + offset, RETURN_ADDRESS).at(-1)).toBe(caller(0));
    expect(walked(entry + 0x16, INDEX, RETURN_ADDRESS).at(-1)).toBe(caller(8));
    for (const offset of [0, 6, 13]) {
      const pushed = offset === 0 ? [INDEX] : [SLOT, INDEX];
      expect(walked(offset, ...pushed, RETURN_ADDRESS).at(-1)).toBe(caller(8 * pushed.length));
    }
    // The function called by the stub has the stub's return address, followed by the target address.
    expect(walked(0x20, PLT + entry + 12, RETURN_ADDRESS)).toEqual([
      "plt+20 context",
      "plt+3c plt",
      caller(8),
    ]);
    expect(walked(0x20, PLT + 0x12, SLOT, INDEX, RETURN_ADDRESS)).toEqual([
      "plt+20 context",
      "plt+12 plt",
      caller(24),
    ]);
    expect(walked(0x24, SLOT, RETURN_ADDRESS)).toEqual(["plt+24 context", caller(8)]);
    expect(walked(0x24, SLOT, SLOT, INDEX, RETURN_ADDRESS)).toEqual(["plt+24 context", caller(24)]);
  });

  it("that does so and is bound from the start has no word of its own on the stack", () => {
    const walked = (offset: number, ...words: number[]) =>
      walk("retpoline, bound from the start", offset, words);
    for (const offset of [0x20, 0x27, 0]) expect(walked(offset, RETURN_ADDRESS).at(-1)).toBe(caller(0));
    expect(walked(0x10, PLT + 5, RETURN_ADDRESS).at(-1)).toBe(caller(8));
    expect(walked(0x14, SLOT, RETURN_ADDRESS).at(-1)).toBe(caller(8));
  });
});
