import { describe, expect, it } from "vitest";
import { compile } from "../../../src/code/aot/compile.ts";
import { UnsupportedCode } from "../../../src/code/aot/lower/body.ts";
import type { CompileOptions } from "../../../src/code/aot/module-context.ts";
import { FormatError } from "../../../src/ground/bytes/errors.ts";
import { wat } from "../../support/assemble.ts";
import { type Argument, RUNS_NATIVE, runNative } from "./native-host.ts";

function call(
  text: string,
  name: string,
  args: readonly Argument[],
  options: CompileOptions = {},
): bigint | string {
  const native = compile(wat(text), options);
  const [reply] = runNative(native, 1, [{ kind: "call", entry: native.entries.get(name) as number, args }]);
  return reply.kind === "result" ? reply.general : reply.kind === "trap" ? reply.why : "";
}

describe("what no machine code is made of", () => {
  it("is named with its function and its place", () => {
    const module = wat(`(module (func $ok (export "a") (result i32) (i32.const 1))
      (func (export "b") (param i32) (result i32) (i32.trunc_f64_s (f64.convert_i32_s (local.get 0)))))`);
    const error = thrownBy(() => compile(module)) as UnsupportedCode;
    expect(error).toBeInstanceOf(UnsupportedCode);
    expect(error).toMatchObject({ kind: "unsupported", functionIndex: 1, instruction: "f64.convert_i32_s" });
    expect(module[error.offset]).toBe(0xb7);
    expect([...compile(module, { exports: ["a"] }).entries.keys()]).toEqual(["a"]);
    expect(() => compile(module, { exports: ["c"] })).toThrow(/no function is exported as c/);
  });

  it.each([
    ["floating-point parameters", `(module (func (export "f") (param f64)))`],
    ["a table", `(module (table 1 funcref) (func (export "f") (call_indirect (i32.const 0))))`],
    ["memory that grows", `(module (memory 1) (func (export "f") (drop (memory.grow (i32.const 1)))))`],
    ["a start function", `(module (func $f) (start $f))`],
    ["64-bit memory", `(module (memory i64 1))`],
    ["passive data", `(module (memory 1) (data "a"))`],
    ["several results", `(module (func (export "f") (result i32 i32) (i32.const 1) (i32.const 2)))`],
    ["imports of other modules", `(module (import "env" "f" (func $f)) (func (export "g") (call $f)))`],
    [
      "globals without a value",
      `(module (import "env" "g" (global i32)) (func (export "f") (drop (global.get 0))))`,
    ],
    ["an exported import", `(module (import "native" "f" (func $f)) (export "f" (func $f)))`],
  ])("is refused: %s", (_, text) => {
    expect(() => compile(wat(text))).toThrow(FormatError);
  });

  it("is refused when it is no valid module", () => {
    const bytes = wat(`(module (func (export "f") (param i32) (result i32) (local.get 0)))`);
    bytes[bytes.length - 3 - 0] ^= 0x40;
    for (let at = 8; at < bytes.length; at++)
      for (const flip of [0xff, 1, 0x40]) {
        const damaged = bytes.slice();
        damaged[at] ^= flip;
        const error = thrownBy(() => compile(damaged));
        if (error !== undefined) expect(error).toBeInstanceOf(FormatError);
      }
  });
});

describe.skipIf(!RUNS_NATIVE)("machine code", () => {
  it("does not load a parameter over another value where only a later one needs the register", () => {
    // $late is written before it is read, so the passed value is never used.
    const text = `(module (func (export "f") (param $a i64) (param $late i64) (result i64)
      (local.set $late (i64.const 5))
      (loop $again (local.set $a (i64.add (local.get $a) (local.get $late)))
        (br_if $again (i64.lt_u (local.get $a) (i64.const 100))))
      (local.get $a)))`;
    for (const registers of [0, 1, 2, 12]) expect(call(text, "f", [1n, 999n], { registers })).toBe(101n);
  });

  it("gives 0 for the remainder of the least number by -1, and traps for the quotient", () => {
    const text = (op: string) => `(module (func (export "f") (param i64 i64) (result i64)
      (i64.${op} (local.get 0) (local.get 1))) (func (export "c") (param i64) (result i64)
      (i64.${op} (local.get 0) (i64.const -1))))`;
    const least = 1n << 63n;
    expect(call(text("rem_s"), "f", [least, -1n])).toBe(0n);
    expect(call(text("rem_s"), "c", [least])).toBe(0n);
    expect(call(text("div_s"), "f", [least, -1n])).toBe("division");
    expect(call(text("rem_s"), "f", [7n, 0n])).toBe("division");
  });

  it("leaves out a load that nobody uses, unless it is to keep traps", () => {
    const text = `(module (memory 1) (func (export "f") (drop (i32.load (i32.const 70000)))))`;
    expect(call(text, "f", [])).not.toBe("out of bounds");
    expect(call(text, "f", [], { keepTraps: true })).toBe("out of bounds");
    const fused = text
      .replace("(i32.load", "(i32.xor (i32.const 1) (i32.load")
      .replace("70000)))", "70000))))");
    expect(call(fused, "f", [], { keepTraps: true })).toBe("out of bounds");
  });

  it("wraps addresses at 4 GiB before the offset is added, not after", () => {
    const text = `(module (memory 1) (data (i32.const 12) "\\07") (func (export "f") (param i32) (result i32)
      (i32.load offset=4 (i32.add (local.get 0) (i32.const 16)))) (func (export "g") (param i32) (result i32)
      (i32.load offset=16 (local.get 0))) (func (export "h") (param i32) (result i32)
      (i32.load offset=0x80000000 (local.get 0))))`;
    const native = compile(wat(text));
    const calls = [
      ["f", -8n],
      ["g", -4n],
      ["h", 0n],
    ] as const;
    const replies = runNative(
      native,
      1,
      calls.map(([name, arg]) => ({ kind: "call", entry: native.entries.get(name) as number, args: [arg] })),
    );
    expect(replies[0]).toMatchObject({ kind: "result", general: 7n });
    expect(replies.slice(1)).toEqual([
      { kind: "trap", why: "out of bounds" },
      { kind: "trap", why: "out of bounds" },
    ]);
  });

  it("ignores the upper half of an i32 argument", () => {
    const text = `(module (func (export "f") (param i32) (result i64) (i64.extend_i32_u (local.get 0))))`;
    expect(call(text, "f", [0xffff_ffff_0000_0001n])).toBe(1n);
  });

  it("takes arguments from the stack, and vectors in their own registers", () => {
    const params = Array.from({ length: 9 }, (_, i) => `(param $p${i} i64)`).join(" ");
    const sum = Array.from({ length: 9 }, (_, i) => `(i64.mul (local.get $p${i}) (i64.const ${10 ** i}))`);
    const text = `(module (func $inner ${params} (param $v v128) (result i64)
      ${sum.join(" ")} ${"(i64.add) ".repeat(8)} (i64.add (i64x2.extract_lane 1 (local.get $v))))
      (func (export "f") ${params} (param $v v128) (result i64)
        ${Array.from({ length: 9 }, (_, i) => `(local.get $p${8 - i})`).join(" ")} (local.get $v) (call $inner)))`;
    const vector = new Uint8Array(16);
    vector[8] = 200;
    for (const registers of [0, 12])
      expect(call(text, "f", [1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n, 9n, vector], { registers })).toBe(
        123456789n + 200n,
      );
  });

  it("says where each function's frame is, row by row", () => {
    const { functions } = compile(
      wat(`(module (memory 1) (func $g (param i64) (result i64) (local.get 0)) (func (export "f") (param i64) (result i64)
        (i64.add (call $g (local.get 0)) (i64.mul (local.get 0) (local.get 0)))))`),
    );
    const { rows, saved, start, end } = functions.find(({ name }) => name === "f") as (typeof functions)[0];
    // Pushes of r15, one register for the parameter, and a word for the alignment; then the pops, and the body's rule again for the code
    // behind.
    expect(rows.map(({ cfa }) => cfa)).toEqual([8, 16, 24, 32, 24, 16, 8, 32]);
    expect(saved.map(({ register, at }) => [register, at])).toEqual([
      [15, 16],
      [3, 24],
    ]);
    expect(rows[0].offset).toBe(start);
    expect(rows.at(-1)?.offset).toBe(end);
  });
});

function thrownBy(run: () => unknown): unknown {
  try {
    run();
    return undefined;
  } catch (error) {
    return error;
  }
}
