import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { assemblyDigest } from "../scripts/assembly-sources.ts";
import { assemblyOf, layoutFiles, writeLayouts } from "../scripts/build-layouts.ts";
import * as contexts from "../src/record/contexts/layout.ts";
import * as heap from "../src/record/tools/heap/layout.ts";

describe("the layout of a tool's memory", () => {
  let folder: string;
  const write = (path: string, text: string): void => {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), text);
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "memshade-layout-"));
    write("scripts/build-shadow-runtime.ts", "");
    write("scripts/build-layouts.ts", "");
    write("src/code/wasm/opcodes.ts", "");
    write("src/wide.ts", "export const WIDE = 4;");
    write("src/record/tools/some/assembly/code.ts", "");
    write(
      "src/record/tools/some/layout.ts",
      'export { WIDE } from "../../../wide.ts";\nexport const Node = { parent: 0, site: 4 };\n',
    );
    write("src/record/tools/other/layout.ts", "export const ALONE = {};");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("is written for the AssemblyScript beside it, with the same names", async () => {
    expect(layoutFiles(join(folder, "src"))).toEqual([join("record", "tools", "some", "layout.ts")]);
    await writeLayouts(join(folder, "src"), "// Head.");
    expect(
      readFileSync(join(folder, "src/record/tools/some/assembly/layout.generated.ts"), "utf8"),
    ).toBe(`// Head.
export namespace Node {
  export const parent: u32 = 0;
  export const site: u32 = 4;
}
export const WIDE: u32 = 4;
`);
  });

  it("makes generated files stale when it changes, and when what it imports does", () => {
    const digests = [assemblyDigest(folder)];
    write("src/record/tools/some/layout.ts", 'export { WIDE } from "../../../wide.ts";\n');
    digests.push(assemblyDigest(folder));
    write("src/wide.ts", "export const WIDE = 8;");
    digests.push(assemblyDigest(folder));
    write("src/record/tools/other/layout.ts", "");
    expect(new Set(digests).size).toBe(3);
    expect(assemblyDigest(folder)).toBe(digests[2]);
  });

  it("is numbers of 32 bits and tables of them, and nothing else", () => {
    for (const wrong of [-1, 0.5, 2 ** 32, "4", 4n, null])
      expect(() => assemblyOf({ Node: { parent: wrong } })).toThrow("parent in a layout");
    expect(() => assemblyOf({ plan: () => 0 })).toThrow("plan in a layout");
  });

  it("has no two fields of a table in one place", () => {
    // Bits and numbers, not offsets.
    const others = ["Tag", "HostSite"];
    // Field of native programs only, whose records have no owner.
    const instead = ["addressHigh"];
    for (const [name, table] of [...Object.entries(contexts), ...Object.entries(heap)]) {
      if (typeof table === "number" || others.includes(name)) continue;
      const places = Object.keys(table)
        .filter((field) => !instead.includes(field))
        .map((field) => (table as Record<string, number>)[field]);
      expect(new Set(places).size, name).toBe(places.length);
    }
  });
});
