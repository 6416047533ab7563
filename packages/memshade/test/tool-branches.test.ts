import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const SOURCE = fileURLToPath(new URL("../src", import.meta.url));

/** Allowed number of branches outside. */
const FEWER_THAN = 10;

/** Files that may name a tool: the tables of shelves, their entries, and the tools' own folders and files. */
const OWN = [
  // Tables by tool name.
  /^runs\/shelves\.ts$/,
  /^explain\/measures\/tools\.ts$/,
  /^show\/exports\/tool-exports\.ts$/,
  /^runs\/report\/report-parts\.ts$/,
  // Entries of the tables.
  /^runs\/(heap|waste|working-set|objects|cpu|statics)\.ts$/,
  /^explain\/measures\/(heap|waste|working-set|objects|statics)\.ts$/,
  // Folders of tools.
  /^record\/tools\/(heap|waste|working-set|objects)\//,
  /^record\/native\/tools\/(heap|waste|working-set)\//,
  /^record\/tools\/alloc\.ts$/,
  /^explain\/findings\/waste\//,
  /^show\/report\/terminal\/(heap|objects)\//,
];

/** The same words with another meaning. */
const NO_TOOLS = [
  // A line of a text file of gperftools.
  { file: "profile/formats/heap-text/read-heap-text.ts", text: 'kind === "heap"' },
];

const NAME = '"(?:heap|alloc|waste|workingset|working-set|objects|statics|cpu)"';
const BRANCH = new RegExp(
  `[!=]== ${NAME}|${NAME} [!=]==|case ${NAME}|${NAME} in |includes\\(${NAME}\\)`,
  "g",
);

function branches(): string[] {
  return readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".ts") && !/(^|\/)assembly\/|\.generated\.ts$/.test(path))
    .filter((path) => !OWN.some((own) => own.test(path)))
    .flatMap((path) =>
      readFileSync(join(SOURCE, path), "utf8")
        .split("\n")
        .filter((line) => !NO_TOOLS.some(({ file, text }) => file === path && line.includes(text)))
        .flatMap((line) => (line.match(BRANCH) ?? []).map((found) => `${path}: ${found.trim()}`)),
    );
}

describe("branches on a tool's name", () => {
  it("are found", () => {
    expect(
      'if (tool === "waste" || "heap" !== tool) {} case "cpu": "objects" in run; of.includes("heap")'.match(
        BRANCH,
      ),
    ).toHaveLength(5);
  });

  it(`are fewer than ${FEWER_THAN} outside of shelves and tools' folders`, () => {
    const found = branches();
    expect(found.length, found.join("\n")).toBeLessThan(FEWER_THAN);
  });

  it("are no tools' where that is said", () => {
    for (const { file, text } of NO_TOOLS) expect(readFileSync(join(SOURCE, file), "utf8")).toContain(text);
  });
});
