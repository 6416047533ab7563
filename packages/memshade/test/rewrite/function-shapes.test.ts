import { describe, expect, it } from "vitest";
import { functionShape, instructionOffsets } from "../../src/rewrite/facts/function-shapes.ts";
import { decodeModule } from "../../src/wasm/index.ts";
import { wat } from "../support/assemble.ts";

/** Shapes of the functions of a module with a memory, a global and two imported functions. */
function shapes(...functions: string[]): number[] {
  const module = decodeModule(
    wat(`(module
      (import "m" "f" (func $f)) (import "m" "g" (func $g))
      (memory 1) (global $a (mut i32) (i32.const 0)) (global $b (mut i32) (i32.const 0))
      ${functions.join("\n")})`),
  );
  return module.bodies.map((_, defined) => functionShape(module, defined));
}

function same(one: string, other: string): boolean {
  const [a, b] = shapes(one, other);
  return a === b;
}

describe("the shape of a function", () => {
  it("stays where other parts of the program move: functions, globals, static data", () => {
    expect(same("(func call $f)", "(func call $g)")).toBe(true);
    expect(same("(func (drop (global.get $a)))", "(func (drop (global.get $b)))")).toBe(true);
    expect(same("(func (drop (i32.const 1024)))", "(func (drop (i32.const 70000)))")).toBe(true);
    expect(
      same(
        "(func (drop (i32.load offset=2000 (i32.const 0))))",
        "(func (drop (i32.load offset=99999 (i32.const 0))))",
      ),
    ).toBe(true);
  });

  it("is another one where the code does something else", () => {
    const load = "(func (param i32 i32) (drop (i32.load offset=8 (local.get 0))))";
    for (const other of [
      "(func (param i32 i32) (drop (i32.load offset=8 (local.get 1))))",
      "(func (param i32 i32) (drop (i32.load offset=12 (local.get 0))))",
      "(func (param i32 i32) (drop (i32.load16_u offset=8 (local.get 0))))",
      "(func (param i32 i32) (drop (i32.load offset=8 (local.get 0))) nop)",
    ])
      expect(same(load, other)).toBe(false);
    const leave = (label: number) => `(func (block (block (br ${label}))))`;
    expect(same(leave(0), leave(1))).toBe(false);
  });

  it("is found with a named memory and displacements of 64 bits", () => {
    const far = (offset: string) => {
      const module = decodeModule(
        wat(`(module (memory i64 1) (func (drop (i32.load offset=${offset} (i64.const 0)))))`),
      );
      return functionShape(module, 0);
    };
    expect(far("0x7fffffffff")).toBe(far("0x6fffffffff"));
    expect(far("0x7fffffffff")).not.toBe(far("4"));
  });
});

it("instructions are where their offsets say", () => {
  const module = decodeModule(
    wat("(module (memory 1) (func (drop (i32.load (i32.const 300)))) (func nop (drop (i32.const 1))))"),
  );
  for (const [defined, names] of [
    [0, [0x41, 0x28, 0x1a, 0x0b]],
    [1, [0x01, 0x41, 0x1a, 0x0b]],
  ] as const)
    expect(
      instructionOffsets(module, defined).map((offset) => module.bytes[offset + module.codePayloadStart]),
    ).toEqual(names);
});
