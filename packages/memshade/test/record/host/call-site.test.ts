import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isNodeItself, readGlue, scriptsOnStack } from "../../../src/record/host/node/call-site.ts";
import { findModuleFile } from "../../../src/record/host/node/thread-recorder.ts";

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "memshade-glue-"));
  writeFileSync(join(home, "glue.cjs"), "module.exports = (f) => f(); // loads wasm");
  writeFileSync(join(home, "other.cjs"), "module.exports = (f) => f();");
  writeFileSync(join(home, "a.wasm"), "aaa");
  writeFileSync(join(home, "b.wasm"), "bbb");
  writeFileSync(join(home, "copy.wasm"), "bbb");
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

async function call<T>(script: string, f: () => T): Promise<T> {
  const { default: through } = await import(pathToFileURL(join(home, script)).href);
  return through(f);
}

describe("where a module is compiled", () => {
  it("is told by the scripts on the stack, and nothing of that is left behind", async () => {
    const { stackTraceLimit, prepareStackTrace } = Error;
    const scripts = await call("glue.cjs", scriptsOnStack);
    expect(scripts).toContain(join(home, "glue.cjs"));
    expect([Error.stackTraceLimit, Error.prepareStackTrace]).toEqual([stackTraceLimit, prepareStackTrace]);
  });

  it("gives the glue: scripts that speak of WebAssembly", () => {
    const glue = readGlue([
      join(home, "glue.cjs"),
      join(home, "other.cjs"),
      join(home, "gone.js"),
      "evalmachine",
    ]);
    expect(glue).toBe("module.exports = (f) => f(); // loads wasm");
  });

  it("gives the file, found by its contents beside the script", () => {
    const scripts = [join(home, "glue.cjs"), "node:internal/x"];
    const find = (text: string, address?: string, glue = "") =>
      findModuleFile(new TextEncoder().encode(text), scripts, address, glue);
    expect(find("bbb")).toBe(join(home, "b.wasm"));
    expect(find("bbb", undefined, 'locateFile("copy.wasm")')).toBe(join(home, "copy.wasm"));
    expect(find("ccc")).toBe(null);
    expect(find("ccc", "file:///x/c.wasm")).toBe("/x/c.wasm");
    // The address is not a path on this system.
    expect(find("ccc", "file:///x%2Fc.wasm")).toBe(null);
  });

  it("may be Node itself", () => {
    expect(isNodeItself(["node:internal/deps/undici/undici", "/app.js"])).toBe(true);
    expect(isNodeItself(["/app.js", "node:internal/deps/undici/undici"])).toBe(false);
    expect(isNodeItself([])).toBe(false);
  });
});
