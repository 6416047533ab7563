import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, it } from "vitest";

const SOURCE = fileURLToPath(new URL("../src", import.meta.url));
const MOST_PARAMETERS = 6;

/**
 * AssemblyScript may have more parameters: without an allocator, operands are the only way to pass several values, and code that
 * passes write calls some of these functions.
 */
const isAssemblyScript = (file: string) => file.split(sep).includes("assembly");

function crowdedFunctions(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(join(SOURCE, file), "utf8"), ts.ScriptTarget.Latest);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body && node.parameters.length > MOST_PARAMETERS) {
      const { line } = source.getLineAndCharacterOfPosition(node.pos);
      found.push(
        `${file}:${line + 1} ${node.name === undefined ? "" : ts.idText(node.name as ts.Identifier)}`,
      );
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

it("no function takes more than six positional parameters", () => {
  const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && !file.endsWith(".generated.ts") && !isAssemblyScript(file),
  );
  expect(files.length).toBeGreaterThan(100);
  expect(files.flatMap(crowdedFunctions)).toEqual([]);
});
