import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readGlueNames } from "../../../../src/record/allocator/find/glue-names.ts";

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

  it("reads a module of 20 MB in its glue once, not once per character", () => {
    const base64 = "A".repeat(20e6);
    const names = readGlueNames(`
      const binary = "${base64}";
      const ptr0 = passStringToWasm0(name, wasm.M, wasm.R);
      const ptr1 = passArray8ToWasm0(bytes, wasm.B);
      wasm.F(r0, r1 * 4, 4);
      var _malloc = Module["_malloc"] = wasmExports["m"];
    `);
    expect(Object.fromEntries(names)).toEqual({
      malloc: ["_malloc", "m"],
      wbindgen_malloc: ["M", "B"],
      wbindgen_realloc: ["R"],
      wbindgen_free: ["F"],
    });
  });

  // Quadratic work would take half an hour for each of these cases.
  it.each([
    "A",
    "$",
    " ",
    "\n",
    "(",
    "(a",
    "(a,",
    "( ",
    "a.",
    "f.",
    "f.f(",
    "f.f(a,b",
    "f.f(a,b*1",
    "f.f(a,b ",
    "pass",
    "ToWasm",
    "passToWasm",
    "passAToWasm0(a,b.c,",
    "(a,b.c,b.",
    "_malloc",
    "_malloc=",
    "_free=a,",
  ])("reads a megabyte of %j", (piece) => {
    expect(readGlueNames(piece.repeat(1e6 / piece.length)).get("wbindgen_free")).toBeUndefined();
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
