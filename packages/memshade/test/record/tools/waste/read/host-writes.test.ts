import { describe, expect, it } from "vitest";
import { instrument, type WasteOptions } from "../../../../../src/record/tools/index.ts";
import { observeImports } from "../../../../../src/record/tools/waste/read/wasi-ranges.ts";
import { wat } from "../../../../support/assemble.ts";
import { wasteReader } from "../../../../support/waste-reader.ts";

/** Reads 5,000 bytes to 1024 four times. Before the second read the program has changed none of them, later one. */
const MODULE = wat(`(module
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1 8)
  (data (i32.const 0) "\\00\\04\\00\\00\\88\\13\\00\\00")
  (func $read (drop (call $fd_read (i32.const 3) (i32.const 0) (i32.const 1) (i32.const 16))))
  (func (export "_start")
    (call $read) (call $read)
    (i32.store8 (i32.const 6000) (i32.const 77))
    (call $read) (call $read)))`);

function wasteOfReads(waste: WasteOptions, fill: (call: number) => number) {
  const { bytes, info } = instrument(MODULE, { tools: ["waste"], waste, name: "reads" });
  let calls = 0;
  let memory: WebAssembly.Memory | undefined;
  const given = {
    wasi_snapshot_preview1: {
      fd_read(_fd: number, _vectors: number, _count: number, done: number) {
        const view = new DataView((memory as WebAssembly.Memory).buffer);
        new Uint8Array(view.buffer, 1024, 5000).fill(fill(calls++));
        view.setUint32(done, 5000, true);
        return 0;
      },
    },
  };
  const observed = observeImports(given, info);
  const instance = new WebAssembly.Instance(
    new WebAssembly.Module(bytes as BufferSource),
    observed?.imports as WebAssembly.Imports,
  );
  memory = instance.exports.memory as WebAssembly.Memory;
  observed?.connect(instance.exports);
  (instance.exports._start as () => void)();
  const reader = wasteReader(instance.exports, info);
  const host = reader.read(false).stores.filter(({ siteClass }) => siteClass === "host");
  const sum = (figure: "stores" | "written" | "silent" | "same") =>
    host.reduce((total, store) => total + store[figure], 0);
  return { stores: sum("stores"), written: sum("written"), silent: sum("silent"), same: sum("same") };
}

describe("what the host writes", () => {
  for (const waste of [{}, { contexts: true }, { pairs: true }, { pairs: true, contexts: true }])
    it(`is compared with what was there, ${JSON.stringify(waste)}`, () => {
      // Each call writes the buffer and the number of bytes read: 4 and 4. The first call stores sevens over zeros.
      const sevens = wasteOfReads(waste, () => 7);
      expect(sevens).toMatchObject({ stores: 8, written: 4 * 5004 });
      // Silent stores: the second and the fourth call, whose buffers are unchanged; three times the number of bytes.
      expect(sevens.silent).toBe(5);
      if ("pairs" in waste)
        // 2 of the number's bytes are zero from the start.
        expect(sevens.same).toBe(5000 + 4999 + 5000 + 3 * 4 + 2);
      expect(wasteOfReads(waste, (call) => call).silent).toBe(4);
    });

  it("is not, as the tool deadstores counts", () => {
    expect(wasteOfReads({ compat: "deadstores" }, () => 7)).toMatchObject({ stores: 8, silent: 0 });
  });
});
