import { describe, expect, it } from "vitest";
import { distinctNames, tellingExports } from "../../../src/record/tools/module-names.ts";
import { wat } from "../../support/assemble.ts";

describe("the modules of a run", () => {
  it("keep names that only one of them has, and get build ids where several have one", () => {
    const modules = [
      { name: "index.wasm", buildId: "aabbccdd" },
      { name: "other.wasm", buildId: "11223344" },
      { name: "index.wasm", buildId: "99887766" },
    ];
    expect(distinctNames(modules)).toEqual(["index.wasm#aabbcc", "other.wasm", "index.wasm#998877"]);
  });

  it("are recognized by functions that they export, without those of toolchains", () => {
    const module =
      wat(`(module (memory (export "memory") 1) (func (export "_start")) (func (export "__wbindgen_malloc"))
      (func (export "compress")) (func (export "decompress")))`);
    expect(tellingExports(module)).toEqual(["compress", "decompress"]);
  });
});
