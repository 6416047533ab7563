import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { KINDS, kindOf } from "../../../src/explain/findings/index.ts";

const SOURCE = fileURLToPath(new URL("../../../src", import.meta.url));
const ROOM = "explain/findings/";
const WORDS = new Set<string>(KINDS.map(({ kind }) => kind));

const textOf = (path: string) => readFileSync(join(SOURCE, path), "utf8");

/** String literals of a file that are finding kinds: compared with a variable `kind`, or cases of a switch over it. */
function kindsDecided(path: string): string[] {
  const file = ts.createSourceFile(path, textOf(path), ts.ScriptTarget.Latest);
  const found: string[] = [];
  const note = (subject: ts.Node, other: ts.Node): void => {
    if (/\bkind$/.test(subject.getText(file)) && ts.isStringLiteralLike(other) && WORDS.has(other.text))
      found.push(`${path}: ${other.text}`);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isBinaryExpression(node)) {
      note(node.left, node.right);
      note(node.right, node.left);
    }
    if (ts.isSwitchStatement(node))
      for (const clause of node.caseBlock.clauses)
        if (ts.isCaseClause(clause)) note(node.expression, clause.expression);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

describe("the kinds of findings", () => {
  it("have a word each", () => {
    expect(WORDS.size).toBe(KINDS.length);
    for (const kind of KINDS) expect(kindOf(kind)).toBe(kind);
  });

  it("are searched for, in the record of the waste tool or elsewhere", () => {
    const searched = KINDS.filter(
      ({ find, waste = {} }) =>
        find !== undefined ||
        ["ofStore", "ofLoad", "ofReallocations", "ofBlocks"].some((one) => one in waste),
    ).map(({ kind }) => kind);
    // One search gives dead and clear.
    expect(KINDS.map(({ kind }) => kind).filter((kind) => !searched.includes(kind))).toEqual(["clear"]);
  });

  it("that judge blocks come one after the other, and begin with leaks", () => {
    for (const kind of KINDS) {
      if (kind.ofBlocks === undefined) continue;
      const way: string[] = [kind.kind];
      for (
        let { after } = kind.ofBlocks;
        after !== undefined;
        after = kindOf({ kind: after }).ofBlocks?.after
      ) {
        expect(way, `${kind.kind} comes after itself`).not.toContain(after);
        expect(WORDS, `no such kind: ${after}`).toContain(after);
        way.push(after);
      }
      expect(way.at(-1)).toBe("leak");
    }
  });

  it("are decided about in their own files alone", () => {
    const others = readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
      .map((path) => path.replaceAll("\\", "/"))
      .filter((path) => path.endsWith(".ts") && !path.startsWith(ROOM))
      .filter((path) => textOf(path).includes("/findings/index.ts"));
    expect(others.length).toBeGreaterThan(1);
    expect(others.flatMap(kindsDecided)).toEqual([]);
    for (const path of others)
      expect(textOf(path), path).not.toMatch(/\bin Finding\["kind"\]|<Finding\["kind"\],/);
    const shared = ["rank.ts", "run-findings.ts", "index.ts", "waste/waste-findings.ts"];
    expect(shared.flatMap((name) => kindsDecided(ROOM + name))).toEqual([]);
  });
});
