import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { KINDS } from "../src/explain/findings/index.ts";
import { DeclaredTypes } from "./declared-types.ts";

const SCHEMAS = new URL("../dist/schemas/", import.meta.url);
const TEMPLATE = new URL("report-json-page.template", import.meta.url);

/** Line of the template that becomes the table of a type: file below `src`, name of the type. */
const DIRECTIVE = /^\{\{(\S+) (\w+)\}\}$/;
const FINDINGS = { file: "explain/findings/index.ts", name: "Finding" };
const FOUND = { file: "explain/findings/finding-kind.ts", name: "Found" };

/**
 * Writes the JSON Schema of each document that the page describes and that names its schema, as dist/schemas/NAME.json.
 * Definitions in a schema have the names of the page's tables.
 */
export function writeJsonSchemas(): void {
  const declared = readFileSync(TEMPLATE, "utf8")
    .split("\n")
    .flatMap((line) => {
      const [, file, name] = DIRECTIVE.exec(line) ?? [];
      return file === undefined || name === undefined ? [] : [{ file, name }];
    });
  const types = new DeclaredTypes(declared.map(({ file }) => file));
  mkdirSync(SCHEMAS, { recursive: true });
  for (const { file, name } of declared) {
    const found = types.schemaOf(file, name);
    if (found !== undefined)
      writeFileSync(new URL(`${found.name}.json`, SCHEMAS), `${JSON.stringify(found.schema)}\n`);
  }
}

/** Returns docs/report-json.md: the template, with tables of the declared types. */
export function reportJsonPage(): string {
  const lines = readFileSync(TEMPLATE, "utf8").split("\n");
  const directives = lines.flatMap((line, index) => {
    const [, file, name] = DIRECTIVE.exec(line) ?? [];
    if (file === undefined || name === undefined) return [];
    const [, marks, heading] = /^(#+) (.*)$/.exec(
      lines.slice(0, index).findLast((each) => each.startsWith("#"))!,
    )!;
    return [{ index, file, name, level: marks!.length, heading: heading! }];
  });
  const types = new DeclaredTypes([...directives.map(({ file }) => file), FINDINGS.file, FOUND.file]);
  for (const { file, name, heading } of directives) types.place(file, name, heading);
  for (const { index, file, name, level } of directives) lines[index] = types.describe(file, name, level);
  return lines.join("\n").replace("{{findings}}", () => findingsTable(types));
}

/** Returns the kinds of findings, each with the members that other kinds lack and the total that its part refers to. */
function findingsTable(types: DeclaredTypes): string {
  const rows = types.variants(FINDINGS, "kind", FOUND).map(({ value, rows: members }) => {
    const kind = KINDS.find((each) => each.kind === value)!;
    const texts = members.map(({ names, meaning }) => `${names.join(", ")}: ${meaning}`);
    const { whole, waste } = kind;
    const ofWaste = waste?.whole === undefined ? "" : `; of tool "waste" ${waste.whole.long}`;
    return `| "${value}" | ${texts.join(" ").replaceAll("|", "\\|")} | ${whole.long}${ofWaste} |`;
  });
  return ["| kind | members | part |", "|---|---|---|", ...new Set(rows)].join("\n");
}
