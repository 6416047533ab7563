import { readFileSync } from "node:fs";
import { Digest, packageFile, requireAnew, runAsScript, sequence, type Workload } from "./workload.ts";

function sourceText(functions: number): string {
  const next = sequence(3);
  const parts: string[] = ["import { thing } from 'somewhere';"];
  for (let i = 0; i < functions; i++)
    parts.push(`
/** Function number ${i}. */
export async function work${i}(first, { second = ${next(100)}, ...rest }, [third]) {
  const table = new Map([["a", ${next(9)}], ["b", \`text \${first + ${i}}\`]]);
  for (const [key, value] of table) if (key !== "${next(2) ? "a" : "b"}") continue; else rest[key] = value?.length ?? ${next(50)};
  class Inner${i} extends thing.Base { #hidden = /[a-z]+${i}/g; static of(x) { return x => x * (${next(7)} + this.y); } }
  try { await new Inner${i}().run(...third, second); } catch { return { first, ["k" + ${i}]: [1, 2, , 3], fn() { yield_: while (true) break yield_; } }; }
  return first ? second : rest.a && rest.b || ~third;
}`);
  return parts.join("\n");
}

// biome-ignore lint/suspicious/noExplicitAny: the cursor of a package loaded at run time
function walk(cursor: any, digest: Digest): number {
  let nodes = 0;
  for (let entering = true; ; ) {
    if (entering) {
      nodes++;
      if (nodes % 16 === 0) digest.add([cursor.nodeType, cursor.startIndex, cursor.endIndex]);
    }
    if (entering && cursor.gotoFirstChild()) continue;
    if (cursor.gotoNextSibling()) entering = true;
    else if (cursor.gotoParent()) entering = false;
    else return nodes;
  }
}

/** web-tree-sitter: a parser whose grammar is a side module sharing its memory and table; parse, edit, parse again. */
export const treeSitter: Workload = {
  name: "web-tree-sitter",
  files: () => [
    {
      wasm: packageFile("web-tree-sitter", "web-tree-sitter.wasm"),
      glue: packageFile("web-tree-sitter", "web-tree-sitter.cjs"),
    },
    { wasm: packageFile("@vscode/tree-sitter-wasm", "wasm/tree-sitter-javascript.wasm") },
  ],
  load: async () => {
    const { Parser, Language, Query } = requireAnew("web-tree-sitter");
    await Parser.init();
    const language = await Language.load(
      readFileSync(packageFile("@vscode/tree-sitter-wasm", "wasm/tree-sitter-javascript.wasm")),
    );
    return {
      run: (scale) => {
        const digest = new Digest();
        const text = sourceText(scale === "full" ? 250 : 8);
        const parser = new Parser();
        parser.setLanguage(language);
        let tree = parser.parse(text);
        let nodes = walk(tree.walk(), digest);
        const edited = text.replace("Function number 5.", "Function number five.");
        const at = text.indexOf("Function number 5.");
        const lines = text.slice(0, at).split("\n");
        const row = lines.length - 1;
        const column = (lines[row] as string).length;
        tree.edit({
          startIndex: at,
          oldEndIndex: at + 18,
          newEndIndex: at + 21,
          startPosition: { row, column },
          oldEndPosition: { row, column: column + 18 },
          newEndPosition: { row, column: column + 21 },
        });
        const before = tree;
        tree = parser.parse(edited, tree);
        before.delete();
        nodes += walk(tree.walk(), digest);
        const query = new Query(
          language,
          "(function_declaration name: (identifier) @name) (call_expression) @call",
        );
        const captures = query.captures(tree.rootNode);
        digest.add(captures.map((capture: { node: { startIndex: number } }) => capture.node.startIndex));
        query.delete();
        tree.delete();
        parser.delete();
        return digest.finish(`${nodes} nodes, ${captures.length} captures`);
      },
    };
  },
};

if (import.meta.main) await runAsScript(treeSitter);
