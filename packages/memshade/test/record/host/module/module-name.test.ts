import { describe, expect, it } from "vitest";
import { moduleName } from "../../../../src/record/host/module/module-name.ts";
import { wat } from "../../../support/assemble.ts";

const PLAIN = wat(`(module (func (export "a")))`);
const OTHER = wat(`(module (func (export "b")))`);
const NAMED = wat(`(module $draw.wasm (func (export "a")))`);

describe("the name of a module", () => {
  it("is that of its file, else the last part of its address", () => {
    expect(moduleName(PLAIN, { path: "/app/lib/zip.wasm", address: "https://x.org/y.wasm" })).toBe(
      "zip.wasm",
    );
    expect(moduleName(PLAIN, { address: "https://x.org/lib/y.wasm?v=3" })).toBe("y.wasm");
  });

  it("is made of the package or script that compiled its bytes, and of its build id", () => {
    const scripts = ["node:internal/x", "/app/node_modules/hash-wasm/dist/index.js", "/app/main.js"];
    expect(moduleName(PLAIN, { scripts })).toMatch(/^hash-wasm#[0-9a-f]{6}$/);
    expect(moduleName(PLAIN, { scripts: ["/a/node_modules/@x/y/z.js"] })).toMatch(/^y#/);
    expect(moduleName(PLAIN, { scripts: ["/app/worker.mjs"] })).toMatch(/^worker#/);
    expect(moduleName(PLAIN, { address: "data:application/wasm;base64,AGFzbQ" })).toMatch(/^module#/);
  });

  it("is the module's own where it has one", () => {
    expect(moduleName(NAMED, { scripts: ["/app/worker.mjs"] })).toMatch(/^draw#[0-9a-f]{6}$/);
  });

  it("is the same in every run, another one for other bytes, and short", () => {
    expect(moduleName(PLAIN, {})).toBe(moduleName(PLAIN.slice(), {}));
    expect(moduleName(PLAIN, {})).not.toBe(moduleName(OTHER, {}));
    const scripts = [`/app/node_modules/${"long".repeat(20)}/index.js`];
    expect(moduleName(PLAIN, { scripts }).length).toBeLessThan(30);
  });
});
