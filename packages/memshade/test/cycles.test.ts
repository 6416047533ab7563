import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const SOURCE = fileURLToPath(new URL("../src", import.meta.url));

const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => path.endsWith(".ts"));

/** Imports of AssemblyScript name files without their extension. */
function importsOf(path: string): string[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(join(SOURCE, path), "utf8"), true, true);
  return importedFiles
    .map(({ fileName }) => fileName)
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => join(dirname(path), specifier).replaceAll("\\", "/"))
    .map((target) => (target.endsWith(".ts") ? target : `${target}.ts`));
}

const imports = new Map(files.map((path) => [path, importsOf(path)]));

/** Groups of files that import each other in a cycle (Tarjan's strongly connected components of more than one file). */
function cycles(): string[][] {
  const found: string[][] = [];
  const order = new Map<string, number>();
  const open: string[] = [];
  const visit = (path: string): number => {
    const number = order.size;
    order.set(path, number);
    let low = number;
    open.push(path);
    for (const target of imports.get(path) ?? [])
      if (!order.has(target)) low = Math.min(low, visit(target));
      else if (open.includes(target)) low = Math.min(low, order.get(target)!);
    if (low === number) {
      const group = open.splice(open.indexOf(path));
      if (group.length > 1) found.push(group.sort());
    }
    return low;
  };
  for (const path of files) if (!order.has(path)) visit(path);
  return found;
}

describe("imports of files", () => {
  it("are found", () => {
    expect(imports.get("code/dwarf/lines/line-table.ts")).toContain("code/dwarf/cursor.ts");
    expect(imports.get("record/tools/heap/assembly/shapes.ts")).toContain(
      "record/tools/heap/assembly/live.ts",
    );
  });

  it("never lead back to where they began, types included", () => {
    expect(cycles()).toEqual([]);
  });
});
