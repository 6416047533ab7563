import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { memshade, newFolder } from "./support/command-line.ts";

const PROGRAM = fileURLToPath(new URL("../fixtures/programs/kernels/hashmap.wasm", import.meta.url));
const DOCUMENTATION = new URL("../../../../docs/report-json.md", import.meta.url);

let cwd: string;
beforeAll(async () => {
  cwd = newFolder();
  copyFileSync(PROGRAM, join(cwd, "hashmap.wasm"));
  const words = [
    "run",
    "--tool",
    "heap,workingset",
    "--who",
    "--locality",
    "--locality-rate=1",
    "--interval",
    "100000acc",
  ];
  const { code } = await memshade([...words, "--out", "all", "hashmap.wasm", "3000"], { cwd });
  expect(code).toBe(0);
});

async function report(...forms: string[]): Promise<string> {
  const { code, stdout } = await memshade(["report", "--tool", "workingset", ...forms, "all"], { cwd });
  expect(code).toBe(0);
  return stdout;
}

const text = readFileSync(DOCUMENTATION, "utf8");

/** The part of the documentation below a heading of the second level. */
function section(heading: string): string {
  const found = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  if (found === undefined) throw new Error(`there is no "${heading}"`);
  return found;
}

function codeWords(text: string): Set<string> {
  return new Set([...text.matchAll(/`([^`]+)`/g)].flatMap(([, code]) => code.split(/[^\w]+/)));
}

function keysOf(value: unknown, found = new Set<string>()): Set<string> {
  if (Array.isArray(value)) for (const element of value) keysOf(element, found);
  else if (typeof value === "object" && value !== null)
    for (const [key, inside] of Object.entries(value)) keysOf(inside, found.add(key));
  return found;
}

describe("what report writes of a working set with everything in it", () => {
  it("has the columns that the documentation lists, in the same order", async () => {
    const tables = (await report("--csv")).split("\n\n").map((table) => table.split("\n", 1)[0].split(","));
    const documented = section("Working set")
      .split(/^#### /m)
      .slice(1)
      .map((part) => [...part.matchAll(/^\| `(.+?)` \|/gm)].flatMap(([, words]) => words.split("`, `")));
    expect(tables).toEqual(documented);
  });

  it("has no key in JSON that the documentation does not name", async () => {
    const words = codeWords(
      text
        .split("\n")
        .filter((line) => line.startsWith("| `"))
        .join("\n"),
    );
    const keys = [...keysOf(JSON.parse(await report("--json", "--full")))];
    expect(keys).toContain("missRatio");
    expect(keys.filter((key) => !words.has(key))).toEqual([]);
  });
});
