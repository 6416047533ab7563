import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";

const SOURCE = fileURLToPath(new URL("../src", import.meta.url));

const ENTRIES: Readonly<Record<string, string>> = {
  memshade: "index.ts",
  "memshade/unwind": "unwinding.ts",
  "memshade/testing": "testing/index.ts",
};

interface Example {
  /** File below src/ and the line of its `@example`. */
  readonly place: string;
  readonly code: string;
}

function examplesOf(path: string): Example[] {
  const text = readFileSync(join(SOURCE, path), "utf8");
  return [...text.matchAll(/^ *\* @example\n *\* ```ts\n((?: *\*.*\n)*?) *\* ```$/gm)].map((match) => ({
    place: `${path}:${text.slice(0, match.index).split("\n").length}`,
    code: match[1]!.replaceAll(/^ *\* ?/gm, ""),
  }));
}

const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((path) =>
  path.endsWith(".ts"),
);
const examples = files.flatMap(examplesOf);
const folder = mkdtempSync(join(tmpdir(), "memshade-examples-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("examples in doc comments", () => {
  it("are all found", () => {
    const marked = files.flatMap((path) => readFileSync(join(SOURCE, path), "utf8").match(/@example/g) ?? []);
    expect(examples).toHaveLength(marked.length);
    expect(examples.length).toBeGreaterThan(0);
  });

  it.each(examples)("$place runs, and its assertions hold", async ({ place, code }) => {
    // An example without an assertion proves nothing.
    expect(code).toContain("assert");
    const resolved = code.replaceAll(/from "(memshade[^"]*)"/g, (_, name: string) => {
      expect(Object.keys(ENTRIES), place).toContain(name);
      return `from "${pathToFileURL(join(SOURCE, ENTRIES[name]!)).href}"`;
    });
    const file = join(folder, `${place.replaceAll(/\W/g, "-")}.mts`);
    writeFileSync(file, resolved);
    await import(/* @vite-ignore */ pathToFileURL(file).href);
  });
});
