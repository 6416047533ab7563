import { describe, expect, it } from "vitest";
import { guardHostFunctions } from "../../../../../src/record/host/loader.ts";
import { instrument } from "../../../../../src/record/tools/index.ts";
import { wat } from "../../../../support/assemble.ts";

const original = wat(`(module (import "env" "memory" (memory 1 65536))
  (func (export "f") (i32.store (i32.const 8) (i32.const 1))))`);

describe("an import in the place of the memory that is to be held", () => {
  const { bytes } = instrument(original, { tools: ["waste"] });
  const module = new WebAssembly.Module(bytes as BufferSource);
  const linking = (memory: unknown) => () => {
    const imports = { env: { memory: memory as WebAssembly.Memory } };
    const guarded = guardHostFunctions(imports, module);
    return new WebAssembly.Instance(module, guarded?.imports ?? imports);
  };

  it.each([
    ["a table, which grows too", new WebAssembly.Table({ element: "anyfunc", initial: 1 })],
    ["an object that looks like one", { grow: () => 0, buffer: new ArrayBuffer(65_536) }],
    ["one that says it is", { [Symbol.toStringTag]: "WebAssembly.Memory", grow: () => 0 }],
    ["nothing", undefined],
  ])("is refused in the engine's own words: %s", (_, given) => {
    expect(linking(given)).toThrow(WebAssembly.LinkError);
  });

  it("is held if it is one", () => {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 65_536 });
    expect(linking(memory)).not.toThrow();
    expect(() => memory.grow(65_000)).toThrow(RangeError);
  });
});
