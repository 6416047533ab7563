import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const SOURCE = fileURLToPath(new URL("../src", import.meta.url));

/** Rooms in which no file leads back to itself, neither by what it imports nor by the types. */
const ROOMS = ["bytes", "dwarf", "unwind", "symbolize", "objects", "formats", "model", "wasm"];

const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => path.endsWith(".ts") && !path.split("/").includes("assembly"));

/** Files below src/ that a file imports or re-exports, types included. */
function importsOf(path: string): string[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(join(SOURCE, path), "utf8"), true, true);
  return importedFiles
    .map(({ fileName }) => fileName)
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => join(dirname(path), specifier).replaceAll("\\", "/"));
}

const imports = new Map(files.map((path) => [path, importsOf(path)]));

/** Groups of files that all lead to each other (Tarjan's strongly connected components of more than one file). */
function cycles(): string[][] {
  const found: string[][] = [];
  const order = new Map<string, number>();
  const open: string[] = [];
  const visit = (path: string): number => {
    const number = order.size;
    order.set(path, number);
    let low = number;
    open.push(path);
    for (const target of imports.get(path) ?? []) {
      if (!order.has(target)) low = Math.min(low, visit(target));
      else if (open.includes(target)) low = Math.min(low, order.get(target)!);
    }
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
    expect(imports.get("dwarf/lines/line-table.ts")).toContain("dwarf/cursor.ts");
  });

  it.each(ROOMS)("lead never back in %s/", (room) => {
    const wrong = cycles().filter((group) => group.some((path) => path.startsWith(`${room}/`)));
    expect(wrong).toEqual([]);
  });
});
