import { copyFileSync, cpSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { unreadFields } from "../../../../src/explain/analyses/objects.ts";
import type { ObjectsProfile } from "../../../../src/profile/model/objects.ts";
import { OBJECTS_FILE } from "../../../../src/runs/objects.ts";
import { memshade, newFolder, startNode } from "../../../cli/support/command-line.ts";

const PROGRAMS = fileURLToPath(new URL("../../../fixtures/programs/objects/", import.meta.url));

function formatterFolder(): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve("@wasm-fmt/dart_fmt/package.json"));
  } catch {
    console.warn("SKIPPED: @wasm-fmt/dart_fmt is not installed, no program of the Dart compiler is profiled");
    return undefined;
  }
}

const DART_FMT = formatterFolder();

/** Formats classes, and prints the length of their text. Random numbers are fixed because Dart uses them as object hashes. */
const FORMAT = `Math.random = () => 0.5;
const { format } = await import("./fmt/dart_fmt_node.js");
const source = Array.from({ length: 40 }, (_, n) =>
  \`class  Book\${n}{final String title;Book\${n}(this.title);List<String> words(){return title.split(' ').where((w)=>w.length>\${n}).toList();}}\`,
).join("\\n");
console.log(format(source).length);
`;

/** The formatter with function names; its package has this build besides the usual one. */
function formatter(): string {
  const cwd = newFolder();
  cpSync(DART_FMT!, join(cwd, "fmt"), { recursive: true });
  for (const end of ["", ".map"])
    renameSync(join(cwd, "fmt", `dart_fmt.unopt.wasm${end}`), join(cwd, "fmt", `dart_fmt.wasm${end}`));
  writeFileSync(join(cwd, "format.mjs"), FORMAT);
  return cwd;
}

function siteOf(
  { parts: [part] }: ObjectsProfile,
  file: string,
): { name?: string | undefined; line?: number | undefined }[] {
  return part!.sites.flatMap(({ frame }) => (frame?.file?.endsWith(file) === true ? [frame] : []));
}

describe.skipIf(DART_FMT === undefined)("a program of the Dart compiler: dart_fmt", () => {
  it("prints the same, and its objects have the names and lines of Dart", async () => {
    const cwd = formatter();
    const plain = await startNode(["format.mjs"], { cwd }).ended;
    const profiled = await memshade(["node", "--out", "run", "format.mjs"], { cwd });
    expect({ ...profiled, stderr: "" }).toEqual({ ...plain, stderr: "" });
    expect(profiled.stderr).toContain("it is recorded with the tool objects");
    const objects = OBJECTS_FILE.load(join(cwd, "run"));
    const boxed = objects.parts[0]!.types.find(({ name }) => name === "BoxedInt")!;
    expect(boxed.objects).toBeGreaterThan(100_000);
    const made = objects.parts[0]!.sites.filter(({ type }) => type === boxed.index);
    expect(made.reduce((sum, site) => sum + site.objects, 0) + boxed.constant).toBe(boxed.objects);
    expect(siteOf(objects, "/lib/src/back_end/solver.dart").length).toBeGreaterThan(0);
    expect(unreadFields(objects).map(({ name }) => name)).toContain("CharacterLocation.columnNumber");
  });

  it("gives the same exact counts in two runs", async () => {
    const cwd = formatter();
    for (const out of ["one", "two"])
      await memshade(["node", "--tool", "objects", "--sample-bytes", "0", "--out", out, "format.mjs"], {
        cwd,
      });
    const [one, two] = ["one", "two"].map((out) => readFileSync(join(cwd, out, "objects.json"), "utf8"));
    expect(one === two).toBe(true);
  });
});

describe("a program of the Kotlin compiler", () => {
  it("prints the same as WASI program, with lines of its source map, and a field that is only written", async () => {
    const cwd = newFolder();
    for (const name of ["library.wasm", "library.wasm.map", "library.kt"])
      copyFileSync(join(PROGRAMS, name), join(cwd, name));
    const { stdout, stderr } = await memshade(["run", "--out", "run", "library.wasm"], { cwd });
    expect(stdout).toBe("found 74556, lent 600, on shelf 3: 177\n");
    expect(stderr).toContain("it is recorded with the tool objects");
    const objects = OBJECTS_FILE.load(join(cwd, "run"));
    const book = objects.parts[0]!.types.find(({ name }) => name === "Book")!;
    expect(book.objects).toBe(3000);
    expect(siteOf(objects, "library.kt").some(({ name }) => name === "Book.<init>")).toBe(true);
    // The compiler's marker for code without source is not a source position.
    expect(siteOf(objects, "NATIVE_IMPLEMENTATIONS.kt")).toEqual([]);
    expect(unreadFields(objects)).toContainEqual(
      expect.objectContaining({ name: "Book.debugName", objects: 3000, written: true, isOfLanguage: false }),
    );
    expect(unreadFields(objects)).toContainEqual(
      expect.objectContaining({ name: "kotlin.Any.rtti", isOfLanguage: true }),
    );
    const shown = await memshade(["report", "--source", "run"], { cwd });
    expect(shown.stdout).toMatch(/3,000 +\d+ │ class Book/);
  });

  it("says which source map is missing", async () => {
    const cwd = newFolder();
    copyFileSync(join(PROGRAMS, "library.wasm"), join(cwd, "library.wasm"));
    await memshade(["run", "--out", "run", "library.wasm"], { cwd });
    expect(OBJECTS_FILE.load(join(cwd, "run")).notTracked.join()).toContain(
      "library.wasm has its source map in library.wasm.map, which was not found",
    );
    expect(existsSync(join(cwd, "run", "objects.json"))).toBe(true);
  });
});

describe("a program of the MoonBit compiler", () => {
  it("has the lines of its source map, and readable names", async () => {
    const cwd = newFolder();
    for (const name of ["words.wasm", "main.wasm.map"]) copyFileSync(join(PROGRAMS, name), join(cwd, name));
    writeFileSync(
      join(cwd, "words.mjs"),
      `import { readFileSync } from "node:fs";
const { instance } = await WebAssembly.instantiate(readFileSync("words.wasm"));
console.log(instance.exports.run(5000));`,
    );
    await memshade(["node", "--out", "run", "words.mjs"], { cwd });
    const objects = OBJECTS_FILE.load(join(cwd, "run"));
    expect(objects.parts[0]!.types.map(({ name }) => name)).toContain("@lib.Entry");
    const lines = siteOf(objects, "words.mbt").map(({ name, line }) => `${name}:${line}`);
    expect(lines.some((line) => line.startsWith("@lib.insert:"))).toBe(true);
  });
});
