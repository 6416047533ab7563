import { describe, expect, it } from "vitest";
import { StackImage, Unwinder, UnwindTable } from "../../../src/code/unwind/index.ts";
import { drawCfi, drawCfiObject } from "./cfi-picture.ts";

const STACK = 0x7000_0000;
/** `helper` has a frame pointer and no call frame information; `caller` uses that register for something else. */
const HELPER = 0x5000;
const CALLER = { start: 0x1000, size: 0x100, program: [] };
const RETURN_ADDRESS = 0x1050;

/** Walks from `helper`. Its frame pointer leads to the saved register and the return address, followed by the given words. */
function stackOf(
  saved: number,
  codeBeforeReturn: readonly number[],
  returnAddress = RETURN_ADDRESS,
  behind: readonly number[] = [0],
) {
  const unwinder = new Unwinder("x86_64");
  const code = new Uint8Array(0x6000);
  code.set(codeBeforeReturn, returnAddress - codeBeforeReturn.length);
  unwinder.modules.add({
    start: 0,
    end: 0x6000,
    bias: 0,
    table: UnwindTable.fromObject(drawCfiObject("eh_frame", drawCfi("eh_frame", {}, [CALLER]))),
    readCode: (address, length) => code.subarray(address, address + length),
  });
  const words = new BigUint64Array([0, 0, saved, returnAddress, ...behind].map(BigInt));
  const image = new StackImage(STACK, new Uint8Array(words.buffer));
  return unwinder.unwind({ rip: HELPER + 16, rsp: STACK, rbp: STACK + 16 }, image);
}

function walk(...stack: Parameters<typeof stackOf>): string[] {
  return stackOf(...stack).frames.map(({ pc, foundBy }) => `${pc.toString(16)} ${foundBy}`);
}

const CALL = [0xe8, 0, 0, 0, 0];

describe("a function without call frame information", () => {
  it("is left by its frame pointer, where the caller has one too", () => {
    expect(walk(STACK + 32, [])).toEqual(["5010 context", "1050 frame-pointer"]);
  });

  it("is left so too where the caller uses the register otherwise, if the return address lies behind a call", () => {
    expect(walk(0x1234_5678_9abc, CALL)).toEqual(["5010 context", "1050 frame-pointer"]);
    expect(walk(0x1234_5678_9abc, [0x90, 0x90, 0x90, 0x90, 0x90])).toEqual(["5010 context"]);
  });

  it("is not left where nobody called it: its first address was put on the stack, as makecontext does", () => {
    const further = [STACK + 48, RETURN_ADDRESS, 0];
    expect(walk(STACK + 32, [], CALLER.start, further)).toEqual(["5010 context", "1000 frame-pointer"]);
    const { frames, end } = stackOf(STACK + 32, [], CALLER.start, further);
    expect(end).toBe("outermost");
    // The frame follows its own rules, and its name is that of its first address.
    expect(frames[1]).toMatchObject({ pc: 0x1000, lookupAddress: 0x1000, cfa: STACK + 40 });
    // Behind code without unwind information, the chain of frame pointers is followed.
    expect(walk(STACK + 32, [], HELPER + 8, further)).toEqual([
      "5010 context",
      "5008 frame-pointer",
      "1050 frame-pointer",
    ]);
  });
});

describe("code without call frame information", () => {
  // f0 was called by f1, f1 by f2, f2 by f3: the words are the same on both machines.
  const FRAMES: readonly [number, number, number][] = [
    [0x10, 0x40, 0x1010],
    [0x40, 0x80, 0x1020],
    [0x80, 0, 0x1030],
  ];

  it.each<["x86_64" | "aarch64", (pc: number, fp: number) => Record<string, number>]>([
    ["x86_64", (rip, rbp) => ({ rip, rsp: STACK, rbp })],
    ["aarch64", (pc, x29) => ({ pc, sp: STACK, x29, x30: 0 })],
  ])("is left frame by frame on %s", (architecture, registersOf) => {
    const stack = new BigUint64Array(0x12);
    for (const [at, saved, returnAddress] of FRAMES) {
      stack[at / 8] = BigInt(saved === 0 ? 0 : STACK + saved);
      stack[at / 8 + 1] = BigInt(returnAddress);
    }
    const unwinder = new Unwinder(architecture, { framePointers: true });
    unwinder.modules.add({ start: 0, end: 0x2000, bias: 0, readCode: () => new Uint8Array(0) });
    const image = new StackImage(STACK, new Uint8Array(stack.buffer));
    const { frames } = unwinder.unwind(registersOf(0x1000, STACK + 0x10), image);
    expect(frames.map(({ pc }) => pc)).toEqual([0x1000, 0x1010, 0x1020, 0x1030]);
  });
});

describe("the trampoline that ends a signal handler", () => {
  /** `mov $15, %rax; syscall` */
  const CODE = [0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05];
  const TRAMPOLINE = 0x1200;
  const INTERRUPTED = 0x1080;

  it.each([false, true])(
    "is known by its code where it looks like any function, as in Go (registers: %s)",
    (registers) => {
      const handler = { start: 0x1100, size: 0x100, program: [] };
      const trampoline = { start: TRAMPOLINE, size: 0x10, program: [] };
      const unwinder = new Unwinder("x86_64", { registers });
      const code = new Uint8Array(0x3000);
      code.set(CODE, TRAMPOLINE);
      const image = drawCfiObject("eh_frame", drawCfi("eh_frame", {}, [CALLER, handler, trampoline]));
      unwinder.modules.add({
        start: 0,
        end: 0x3000,
        bias: 0,
        table: UnwindTable.fromObject(image),
        readCode: (address, length) => code.subarray(address, address + length),
      });
      const words = new BigUint64Array(64);
      words[0] = BigInt(TRAMPOLINE);
      // The kernel's saved registers begin behind the return address: the stack pointer at 160, the program counter at 168.
      words[1 + 160 / 8] = BigInt(STACK + 8 * 50);
      words[1 + 168 / 8] = BigInt(INTERRUPTED);
      words[50] = BigInt(RETURN_ADDRESS);
      const stack = new StackImage(STACK, new Uint8Array(words.buffer));
      const walked = () =>
        unwinder
          .unwind({ rip: handler.start + 5, rsp: STACK, rbp: 0 }, stack)
          .frames.map(({ pc, kind }) => `${pc.toString(16)} ${kind}`);
      const expected = ["1105 normal", "1200 signal", "1080 normal", "1050 normal"];
      expect(walked()).toEqual(expected);
      // The second walk uses the cache.
      expect(walked()).toEqual(expected);
    },
  );
});
