// Generates AssemblyScript constants from the memory layouts of tools. Only `layout.ts`, next to a folder `assembly`, defines the numbers
// of fields and sizes. The TypeScript code that rewrites modules and reads their memories imports it directly. Code that runs in the
// modules imports `assembly/layout.generated.ts`, which has the same names.
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const LARGEST_U32 = 2 ** 32 - 1;
/** A layout of a tool, of code shared by tools, or of code inside native programs. */
const LAYOUT = /^record[\\/](?:tools|contexts|native)[\\/](?:.*[\\/])?layout\.ts$/;

/** The `layout.ts` files below `src` that are next to a folder `assembly`: paths below `src`, in order. */
export function layoutFiles(source: string): string[] {
  return readdirSync(source, { recursive: true, encoding: "utf8" })
    .filter((path) => LAYOUT.test(path))
    .filter((path) => existsSync(join(source, dirname(path), "assembly")))
    .sort();
}

/** Writes `assembly/layout.generated.ts` for each layout, with `head` as the first line. */
export async function writeLayouts(source: string, head: string): Promise<void> {
  for (const path of layoutFiles(source)) {
    const layout: Record<string, unknown> = await import(pathToFileURL(join(source, path)).href);
    const target = join(source, dirname(path), "assembly/layout.generated.ts");
    writeFileSync(target, `${head}\n${assemblyOf(layout)}`);
  }
}

/**
 * Exports of a layout in AssemblyScript. A number becomes a constant, an object of numbers a namespace of constants.
 * @example assemblyOf({ Node: { parent: 0, site: 4 }, NODE_BYTES: 8 })
 * @throws Error for any other value
 */
export function assemblyOf(layout: Readonly<Record<string, unknown>>): string {
  // Node orders a module's exports by name; other runtimes may not.
  return Object.entries(layout)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) =>
      typeof value === "object" && value !== null
        ? `export namespace ${name} {\n${Object.entries(value)
            .map(([field, number]) => `  ${constant(field, number)}`)
            .join("")}}\n`
        : constant(name, value),
    )
    .join("");
}

function constant(name: string, value: unknown): string {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > LARGEST_U32)
    throw new Error(`${name} in a layout is ${value}: neither a number of 32 bits nor a table of them`);
  return `export const ${name}: u32 = ${value};\n`;
}
