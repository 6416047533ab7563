import { describe, expect, it } from "vitest";
import { assertNode, runtimeInWords } from "../../src/cli/other-runtime.ts";

/** Versions as the runtimes report them, with the version of Node that they claim. */
const BUN = { node: "24.3.0", bun: "1.4.5" };
const DENO = { node: "24.14.1", deno: "2.9.6" };

describe("runtimes that are not Node", () => {
  it("are told by name and version, with what records in them", () => {
    expect(() => assertNode("memshade node", ["bun", "deno"], BUN)).toThrow(
      /^this is Bun 1\.4\.5, and memshade node needs Node so far: start it by npx memshade; or profile\(\) and the loader record in it/,
    );
    expect(() => assertNode("memshade node", ["bun", "deno"], DENO)).toThrow(/^this is Deno 2\.9\.6, /);
  });

  it("do what they can", () => {
    expect(() => assertNode("memshade run", ["bun"], DENO)).not.toThrow();
    expect(() => assertNode("memshade node", ["bun", "deno"])).not.toThrow();
  });

  it("as programs are recorded as native ones, which is said", () => {
    expect(runtimeInWords("/opt/bin/bun")).toMatch(
      /^what Bun itself allocates is recorded, and not the memory of WebAssembly modules/,
    );
    expect(["workerd", "deno"].map(runtimeInWords)).toEqual([
      expect.stringContaining("what workerd itself"),
      expect.stringContaining("what Deno itself"),
    ]);
    expect(runtimeInWords("/usr/bin/perl")).toBeUndefined();
  });
});
