import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readGlueNames } from "../../../src/allocator/find/glue-names.ts";

describe("allocator names in JavaScript glue", () => {
  it.each([
    ["minified", "da=k._malloc=c.Ia;ea=k._free=c.Ja;", "Ia", "Ja"],
    ["minified, one statement", "n._malloc=e.v,n._free=e.M,n._run=e.x;", "v", "M"],
    [
      "current",
      `var _malloc = Module["_malloc"] = wasmExports["malloc"];\nvar _free = Module["_free"] = wasmExports["free"];`,
      "malloc",
      "free",
    ],
    [
      "lazy",
      "var _malloc = (Module['_malloc'] = (a0) => (_malloc = Module['_malloc'] = wasmExports['s'])(a0));" +
        "var _free = (Module['_free'] = (a0) => (_free = Module['_free'] = wasmExports['t'])(a0));",
      "s",
      "t",
    ],
    [
      "old",
      `var _malloc=Module["_malloc"]=function(){return(_malloc=Module["_malloc"]=Module["asm"]["f"]).apply(null,arguments)};` +
        `var _free=Module["_free"]=function(){return(_free=Module["_free"]=Module["asm"]["g"]).apply(null,arguments)};`,
      "f",
      "g",
    ],
    [
      "with assertions",
      `_malloc=Module["_malloc"]=createExportWrapper("malloc",1);_free = Module['_free'] = createExportWrapper('free', wasmExports['free'], 1);`,
      "malloc",
      "free",
    ],
  ])("%s Emscripten glue", (_, source, malloc, free) => {
    const names = readGlueNames(source);
    expect(names.get("malloc")).toContain(malloc);
    expect(names.get("free")).toContain(free);
    expect(names.get("free")).not.toContain(malloc);
  });

  it("does not take other functions for malloc and free", () => {
    const names = readGlueNames(
      `k._sqlite3_malloc=c.Aa;k._sqlite3_free=c.R;if(_malloc==c.Q||x._free===c.S){}`,
    );
    expect([...names]).toEqual([]);
  });

  it("reads what wasm-bindgen passes on", () => {
    const names = readGlueNames(`
      const ptr0 = passStringToWasm0(name, wasm.__wbindgen_export_1, wasm.__wbindgen_export_2);
      const ptr1 = passArray8ToWasm0(bytes, wasm.__wbindgen_export_1);
      wasm.__wbindgen_export_3(r0, r1 * 4, 4);
    `);
    expect(names.get("wbindgen_malloc")).toEqual(["__wbindgen_export_1"]);
    expect(names.get("wbindgen_realloc")).toEqual(["__wbindgen_export_2"]);
    expect(names.get("wbindgen_free")).toEqual(["__wbindgen_export_3"]);
  });

  it("reads any text", () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom("_malloc", "=", ".", "['", "(", ",", "createExportWrapper(", "ToWasm0("),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        for (const names of readGlueNames(pieces.join("")).values())
          expect(new Set(names).size).toBe(names.length);
      }),
    );
  });
});
