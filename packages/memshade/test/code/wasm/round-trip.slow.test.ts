import binaryen from "binaryen";
import { describe, expect, it } from "vitest";
import {
  decodeLocals,
  decodeModule,
  encodeModule,
  IMMEDIATE_KIND,
  opcodeIdAt,
  readNames,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../../src/code/wasm/index.ts";
import { ByteWriter } from "../../../src/ground/bytes/writer.ts";
import { iterateOperators } from "./reference/operators.ts";
import { encodeBody, reencodeModule } from "./reference/reencode.ts";
import { writeInstruction } from "./reference/write-instruction.ts";
import { assemble, installedModules, KITCHEN_SINK } from "./support.ts";

/** Time limit: these tests do much, and do not measure speed. */

const modules = installedModules();

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

/** Walks all code without decoding it; every walk must end exactly at the body's end. */
function walkBodies(module: WasmModule): number {
  const { bytes } = module;
  let instructions = 0;
  for (const body of module.bodies) {
    let position = body.codeStart;
    while (position < body.end) {
      const kind = IMMEDIATE_KIND[opcodeIdAt(bytes, position)];
      position = skipImmediates(bytes, skipOpcode(bytes, position), kind);
      instructions++;
    }
    if (position !== body.end) expect.fail(`the walk left a body at ${position}, not at ${body.end}`);
  }
  return instructions;
}

describe("programs from npm", () => {
  it("are there to be tested", () => {
    expect(modules.length).toBeGreaterThan(8);
  });

  it.each(modules)("$name comes out byte for byte", ({ read }) => {
    const bytes = read();
    const module = decodeModule(bytes);
    expect(equalBytes(encodeModule(module), bytes)).toBe(true);
    expect(walkBodies(module)).toBeGreaterThan(module.bodies.length);
    readNames(module);
  });

  it.each(modules)("$name built anew from its decoded form is the same module", ({ read }) => {
    const module = decodeModule(read());
    const again = reencodeModule(module);
    const second = decodeModule(again);
    expect(equalBytes(reencodeModule(second), again)).toBe(true);
    expect(second.types).toEqual(module.types);
    expect(second.imports).toEqual(module.imports);
    expect(second.exports).toEqual(module.exports);
    expect(second.functions).toEqual(module.functions);
    expect(WebAssembly.validate(again as BufferSource)).toBe(
      WebAssembly.validate(module.bytes as BufferSource),
    );
  });

  it("keep their instructions when these are decoded and written one by one", () => {
    for (const { read } of modules.filter(({ name }) =>
      /sql-wasm\.wasm|tiktoken_bg|zstd\.wasm$/.test(name),
    )) {
      const module = decodeModule(read());
      for (const body of module.bodies) {
        const writer = new ByteWriter(body.end - body.codeStart);
        for (const { id, immediates } of iterateOperators(module, body))
          writeInstruction(writer, id, immediates);
        expect(equalBytes(writer.view(), module.bytes.subarray(body.codeStart, body.end))).toBe(true);
      }
    }
  });
});

describe("a module with one of everything", () => {
  it("comes out byte for byte and can be built anew", () => {
    const bytes = assemble(KITCHEN_SINK, { names: true });
    const module = decodeModule(bytes);
    expect(equalBytes(encodeModule(module), bytes)).toBe(true);
    expect(equalBytes(reencodeModule(module), bytes)).toBe(true);
  });

  it("keeps padded integers where nothing changed and shortens them when built anew", () => {
    const padded = assemble(KITCHEN_SINK, { relocatable: true });
    const short = assemble(KITCHEN_SINK);
    const module = decodeModule(padded);
    expect(equalBytes(encodeModule(module), padded)).toBe(true);
    expect(reencodeModule(module).length).toBeLessThan(padded.length);
    expect(decodeModule(reencodeModule(module)).exports).toEqual(decodeModule(short).exports);
  });

  it("survives with GC types", () => {
    const built = binaryen.parseText(`(module
      (rec (type $node (sub (struct (field (ref null $list)) (field (mut i16)))))
           (type $list (array (mut (ref null $node)))))
      (type $leaf (sub final $node (struct (field (ref null $list)) (field (mut i16)) (field f64))))
      (table 3 (ref null $node))
      (table $exns 1 exnref)
      (global (ref $list) (array.new_default $list (i32.const 4)))
      (elem $typed (ref null $node) (ref.null none))
      (func (export "make") (param (ref $list)) (result (ref $leaf))
        (table.set 0 (i32.const 0) (array.get $list (local.get 0) (i32.const 1)))
        (table.init 0 $typed (i32.const 0) (i32.const 0) (i32.const 1))
        (struct.new_default $leaf)))`);
    built.setFeatures(binaryen.Features.All);
    const bytes = built.emitBinary();
    built.dispose();
    const module = decodeModule(bytes);
    expect(equalBytes(encodeModule(module), bytes)).toBe(true);
    expect(WebAssembly.validate(reencodeModule(module) as BufferSource)).toBe(true);
    expect(decodeModule(reencodeModule(module)).types).toEqual(module.types);
  });
});

describe("a module of 40 MB", () => {
  it("is decoded, walked and written", () => {
    const seed = decodeModule(
      assemble(`(module (func (local i32) ${"v128.const i64x2 1 2 drop ".repeat(400)}))`),
    );
    const code = seed.bytes.subarray(seed.bodies[0].codeStart, seed.bodies[0].end);
    const entry = encodeBody(decodeLocals(seed, seed.bodies[0]), code);
    const count = Math.ceil(40e6 / entry.length);
    const functions = new ByteWriter(count + 5).u32Leb(count).bytes(new Uint8Array(count)).finish();
    const bodies = new ByteWriter(41e6).u32Leb(count);
    for (let i = 0; i < count; i++) bodies.bytes(entry);
    const sections = new Map([
      [3, functions],
      [10, bodies.finish()],
    ]);
    const bytes = encodeModule(seed, { sections });
    const module = decodeModule(bytes);
    expect(module.bodies.length).toBe(count);
    expect(walkBodies(module)).toBe(count * [...iterateOperators(seed, seed.bodies[0])].length);
    expect(equalBytes(encodeModule(module), bytes)).toBe(true);
  });
});
