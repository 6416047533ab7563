import { describe, expect, it } from "vitest";
import { FormatError } from "../../../src/ground/bytes/errors.ts";
import { instrument, TOOL_NAMES } from "../../../src/record/tools/index.ts";
import { instrumentValid } from "../../../src/record/tools/instrument.ts";
import { wat } from "../../support/assemble.ts";

/** A module with an allocator, two items of each index space, and one more piece of code. */
function module(more: string): Uint8Array {
  return wat(`(module
    (type $unary (func (param i32) (result i32)))
    (memory (export "memory") 2)
    (table 1 funcref)
    (global $top (mut i32) (i32.const 4096))
    (func $malloc (export "malloc") (param i32) (result i32)
      (global.set $top (i32.add (global.get $top) (i32.const 64)))
      (global.get $top))
    (func $free (export "free") (param i32))
    (func (export "use") (param i32) (result i32)
      (local $block i32)
      (local.set $block (call $malloc (i32.const 8)))
      (i32.store (local.get $block) (local.get 0))
      (call $free (local.get $block))
      (i32.load (local.get $block)))
    ${more})`);
}

/** Each piece refers to the first index that the module does not have, and that a tool may add. */
const INVALID = {
  "a local": '(func (export "f") (result i32) (i32.load (local.get 0)))',
  "a local behind its own":
    '(func (export "f") (param i32) (result i32) (local i32) (i32.load (local.get 2)))',
  "a function": '(func (export "f") (call 4))',
  "a function by reference": '(func (export "f") (drop (ref.func 4)))',
  "a type": '(func (export "f") (call_indirect (type 9) (i32.const 0)))',
  "a global": '(func (export "f") (result i32) (global.get 1))',
  "a global that is set": '(func (export "f") (global.set 1 (i32.const 0)))',
  "a table": '(func (export "f") (drop (table.get 1 (i32.const 0))))',
  "a memory": '(func (export "f") (result i32) (memory.size 1))',
  "a data segment": '(func (export "f") (memory.init 0 (i32.const 0) (i32.const 0) (i32.const 0)))',
  "an exported function": '(export "f" (func 3))',
  "an exported global": '(export "f" (global 1))',
  "an exported memory": '(export "f" (memory 1))',
  "an exported table": '(export "f" (table 1))',
  "a function in a table": "(elem (i32.const 0) 3)",
  "a function that starts it": "(start 3)",
  "a global that a segment starts at": '(data (global.get 1) "x")',
  "a name that is there twice": '(export "use" (func 0))',
  "a value that is missing": '(func (export "f") (result i32) (i32.load (i32.const 0)) drop)',
  "a value behind what is never reached":
    '(func (export "f") (result i32) unreachable (i64.const 1) i32.add)',
};

describe("a module that is not valid", () => {
  it.each(Object.entries(INVALID))("is refused, whatever tool would make it valid: %s", (_, text) => {
    const bytes = module(text);
    expect(WebAssembly.validate(bytes as BufferSource)).toBe(false);
    for (const tool of TOOL_NAMES) {
      const refused = () => instrument(bytes, { tools: [tool] });
      expect(refused).toThrow(FormatError);
      expect(refused).toThrow(/^module at offset 0x[0-9a-f]+: not valid: /);
    }
  });

  it("is refused with the engine's own sentence and place", () => {
    const bytes = module(INVALID["a local"]);
    let engine = "";
    try {
      new WebAssembly.Module(bytes as BufferSource);
    } catch (error) {
      engine = (error as Error).message;
    }
    const [, sentence, offset] = /^WebAssembly\.Module\(\): (.*) @\+(\d+)$/.exec(engine)!;
    expect(() => instrument(bytes)).toThrow(`0x${Number(offset).toString(16)}: not valid: ${sentence}`);
  });

  it("would have become valid by rewriting: the cases are no idle ones", () => {
    const became = Object.entries(INVALID).filter(([, text]) => {
      try {
        const { bytes } = instrumentValid(module(text), { tools: ["heap", "waste"] });
        return WebAssembly.validate(bytes as BufferSource);
      } catch {
        return false;
      }
    });
    expect(became.map(([name]) => name)).toContain("a local");
    expect(became.length).toBeGreaterThan(5);
  });
});

it("a module that is instrumented already is refused, and what to do with it is said", () => {
  const { bytes } = instrument(module(""));
  const again = () => instrument(bytes, { tools: ["waste"] });
  expect(again).toThrow(FormatError);
  expect(again).toThrow("it is instrumented already: its profile is read with the loader");
});
