import { describe, expect, it } from "vitest";
import {
  appendToVectorSection,
  decodeModule,
  encodeConstantExpression,
  encodeDataEntry,
  encodeModule,
  I32,
  SectionId,
  sectionPayload,
} from "../../../../src/code/wasm/index.ts";
import { type Profile, readProfile } from "../../../../src/record/host/loader.ts";
import { instrument } from "../../../../src/record/tools/index.ts";
import { programBytes } from "../../../programs/fixtures.ts";
import { wat } from "../../../support/assemble.ts";

type Exports = Record<string, () => number> & { memory: WebAssembly.Memory };
const IMPORTS = {
  wasi_snapshot_preview1: { proc_exit() {} },
};

/** A module whose initial state is the current state of an instance, as Wizer and wasm-ctor-eval write it. */
function frozen(bytes: Uint8Array, initialize: (exports: Exports) => void): Uint8Array {
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource), IMPORTS);
  const exports = instance.exports as Exports;
  initialize(exports);
  const content = new Uint8Array(exports.memory.buffer);
  const first = content.findIndex((byte) => byte !== 0);
  const segment = encodeDataEntry({
    flags: 0,
    memory: 0,
    offset: encodeConstantExpression(I32, first),
    content: content.slice(first, content.findLastIndex((byte) => byte !== 0) + 1),
  });
  const module = decodeModule(bytes);
  const data = appendToVectorSection(sectionPayload(module, SectionId.Data), 1, segment);
  return encodeModule(module, { sections: new Map([[SectionId.Data, data]]) });
}

function profiled(original: Uint8Array, run: (exports: Exports) => void): Profile {
  const { bytes } = instrument(original, { maxBlocks: 2000, maxContexts: 100 });
  const module = new WebAssembly.Module(bytes as BufferSource);
  const instance = new WebAssembly.Instance(module, IMPORTS);
  run(instance.exports as Exports);
  return readProfile(instance, module, { original });
}

describe("a module that begins with blocks", () => {
  it("keeps its heap where the allocator is known by its shape alone: releases of those blocks are no evidence against it", () => {
    const original = frozen(
      programBytes("allocation/preinitialized.stripped"),
      ({ _initialize, initialize }) => {
        _initialize();
        initialize();
      },
    );
    const { run } = profiled(original, (exports) => exports.run());
    expect(run.modules[0].allocator).toMatchObject({ how: "structure", confirmed: true });
    expect(run.heap).toMatchObject({ allocations: 500, frees: 400, liveBlocks: 100 });
    // Every fifth block goes into a table of 64 entries; later blocks overwrite the entries of 36 of the 100.
    expect(run.heap?.reach).toMatchObject({ lostBlocks: 36, stillReachableBlocks: 64 });
    // Blocks of this dlmalloc have 12, 28, 44 … bytes.
    const sizes = Array.from({ length: 64 }, (_, i) => Math.ceil((64 + i + 4) / 16) * 16 - 4);
    const bytes = sizes.reduce((sum, size) => sum + size).toLocaleString("en");
    expect(run.heap?.notTracked).toContain(
      `64 blocks were freed that were allocated before the start (${bytes} B by the allocator's own headers): no other figure counts them.`,
    );
  });

  it("has none of them in its figures where the allocator has no headers, and says no size", () => {
    const { run } = profiled(
      wat(`(module (memory (export "memory") 2 2)
        (data (i32.const 1024) "0123456701234567")
        (global $top (mut i32) (i32.const 4096))
        (func $malloc (export "malloc") (param i32) (result i32)
          (global.set $top (i32.add (global.get $top) (i32.const 64)))
          (global.get $top))
        (func $free (export "free") (param i32))
        (func (export "run")
          (call $free (i32.const 1032))
          (call $free (call $malloc (i32.const 8)))
          (call $free (i32.const 2048))))`),
      (exports) => exports.run(),
    );
    expect(run.heap).toMatchObject({ allocations: 1, frees: 1 });
    expect(run.heap?.notTracked).toEqual(
      expect.arrayContaining([
        "1 block was freed that were allocated before the start: no other figure counts them.",
        "1 release named a block whose allocation was not seen.",
      ]),
    );
  });
});
