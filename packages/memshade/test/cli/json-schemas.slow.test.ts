import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { beforeAll, describe, expect, it } from "vitest";
import { memshade, newFolder } from "./support/command-line.ts";

const SCHEMAS = new URL("../../dist/schemas/", import.meta.url);
const PROGRAM = fileURLToPath(new URL("../fixtures/programs/allocation/lifecycle.wasm", import.meta.url));

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true });
const validators = new Map<string, ValidateFunction>();

/** Compiles a schema that the build has written. */
function validatorOf(name: string): ValidateFunction {
  const known = validators.get(name);
  if (known !== undefined) return known;
  const validator = ajv.compile(JSON.parse(readFileSync(new URL(`${name}.json`, SCHEMAS), "utf8")));
  validators.set(name, validator);
  return validator;
}

/** Returns what is wrong with a document; nothing if it has the form that its schema describes. */
function faults(name: string, document: unknown): string[] {
  const validate = validatorOf(name);
  validate(document);
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

let cwd: string;
beforeAll(async () => {
  cwd = newFolder();
  copyFileSync(PROGRAM, join(cwd, "lifecycle.wasm"));
  for (const out of ["old", "new"]) {
    const words = ["run", "--tool", "heap,waste,workingset", "--objects", "--who", "--locality"];
    const { code, stderr } = await memshade([...words, "--out", out, "lifecycle.wasm"], { cwd });
    expect(`${stderr}${code}`).toMatch(/0$/);
  }
});

async function printed(...words: string[]): Promise<unknown> {
  const { code, stdout, stderr } = await memshade(words, { cwd });
  expect(`${stderr}${code}`).toBe("0");
  return JSON.parse(stdout);
}

describe("JSON Schemas of the package", () => {
  it.each([
    ["memshade-run-report", ["report", "new", "--json"]],
    ["memshade-run-report", ["report", "new", "--json", "--full"]],
    ["memshade-report", ["report", "new", "--tool", "heap", "--json"]],
    ["memshade-report", ["report", "new", "--tool", "heap", "--json", "--full"]],
    ["memshade-waste-report", ["report", "new", "--tool", "waste", "--json", "--full"]],
    ["memshade-working-set-report", ["report", "new", "--tool", "workingset", "--json", "--full"]],
    ["memshade-findings", ["report", "new", "--findings"]],
    ["memshade-source-lines", ["report", "new", "--tool", "heap", "--source", "--json"]],
    ["memshade-top", ["top", "new", "--json"]],
    ["memshade-tree", ["tree", "new", "--json"]],
    ["memshade-retainers-report", ["retainers", "new", "--json"]],
    ["memshade-diff", ["diff", "old", "new", "--by", "bytes", "--json"]],
    ["memshade-run-diff", ["diff", "old", "new", "--json"]],
    ["memshade-check", ["check", "new", "--limit", "peak<=1GB", "--format", "json"]],
    ["memshade-measures", ["check", "--list", "--format", "json"]],
  ])("%s describes what memshade %j prints", async (name, words) => {
    expect(faults(name, await printed(...words))).toEqual([]);
  });

  it("describe the files of a run", () => {
    const names = { "heapintervals.json": "heap-intervals", "workingset.json": "working-set" } as const;
    const files = readdirSync(join(cwd, "new")).filter((name) => name.endsWith(".json"));
    const described = files.filter((file) => readdirSync(SCHEMAS).includes(`${schemaOf(file)}.json`));
    expect(described).toEqual(expect.arrayContaining(["run.json", ...Object.keys(names), "waste.json"]));
    for (const file of described)
      expect([
        file,
        ...faults(schemaOf(file), JSON.parse(readFileSync(join(cwd, "new", file), "utf8"))),
      ]).toEqual([file]);

    function schemaOf(file: string): string {
      const other = (names as Readonly<Record<string, string>>)[file];
      return `memshade-${other ?? file.replace(/\.json$/, "")}`;
    }
  });

  it("refuse a document that lacks a member or has one of another type", async () => {
    const report = (await printed("report", "new", "--tool", "heap", "--json")) as Record<string, unknown>;
    const { totals: _, ...withoutTotals } = report;
    expect(faults("memshade-report", withoutTotals)).toEqual([" must have required property 'totals'"]);
    expect(faults("memshade-report", { ...report, input: 7 })).toEqual(["/input must be string"]);
  });
});
