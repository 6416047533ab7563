/**
 * Measures whole commands: `memshade node script.js` over `node script.js`, processor time (user and system, with children) and
 * the largest process. Runs alternate, each in a new folder. Needs `/usr/bin/time` (GNU).
 * node bench/first-run/run.ts [--pairs 5] [--against CHECKOUT] [--write] [SCRIPT]…
 * Without scripts, it takes those next to this file. `--write` puts the table into FIRST-RUN.md here and into the project's README.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { groupDigits } from "../../packages/memshade/src/profile/model/counted.ts";
import { machine } from "../harness/machine.ts";
import { median } from "../harness/statistics.ts";
import { type Cost, costOf } from "../harness/whole-command.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PROGRAMS = ["box2d.mjs", "sqljs.mjs", "rapier.mjs", "mupdf.mjs"];
const TOOLS = [["heap"], ["waste"], ["workingset"], ["heap", "waste", "workingset"]];

interface Measured {
  ratio: number;
  mebibytes: number;
}

interface Row {
  name: string;
  plain: Cost;
  /** Measurements by checkout, then by `TOOLS`. */
  tools: Measured[][];
}

function measure(script: string, checkouts: readonly string[], pairs: number): Row {
  const plain: Cost[] = [];
  const profiled = checkouts.map(() => TOOLS.map((): Cost[] => []));
  for (let pair = 0; pair < pairs; pair++) {
    plain.push(costOf([process.execPath, script]));
    checkouts.forEach((checkout, c) => {
      const memshade = join(checkout, "packages/memshade/bin/memshade.js");
      TOOLS.forEach((tools, t) => {
        const flags = tools.flatMap((tool) => ["--tool", tool]);
        const cost = costOf([process.execPath, memshade, "node", "--out", "run", ...flags, script]);
        if (cost.output !== plain[0].output)
          throw new Error(`${script}: other output with ${tools.join(", ")}`);
        profiled[c][t].push(cost);
      });
    });
  }
  const middle = (costs: readonly Cost[], of: (cost: Cost, pair: number) => number) => median(costs.map(of));
  return {
    name: basename(script).replace(/\.\w+$/, ""),
    plain: {
      seconds: middle(plain, ({ seconds }) => seconds),
      mebibytes: middle(plain, ({ mebibytes }) => mebibytes),
      output: "",
    },
    tools: profiled.map((byTool) =>
      byTool.map((costs) => ({
        ratio: middle(costs, ({ seconds }, pair) => seconds / plain[pair].seconds),
        mebibytes: middle(costs, ({ mebibytes }) => mebibytes),
      })),
    ),
  };
}

function table(rows: readonly Row[]): string {
  const cell = (row: Row, tool: number): string => {
    const [now, before] = row.tools.map((byTool) => {
      const { ratio, mebibytes } = byTool[tool];
      return `${ratio.toFixed(1)}x, ${groupDigits(mebibytes)} MiB`;
    });
    return before === undefined ? now : `${now} (${before})`;
  };
  const lines = rows.map((row) => {
    const { seconds, mebibytes } = row.plain;
    const cells = TOOLS.map((_, tool) => cell(row, tool));
    return `| ${[row.name, `${seconds.toFixed(2)} s, ${groupDigits(mebibytes)} MiB`, ...cells].join(" | ")} |`;
  });
  return [
    "| script | without memshade | heap | waste | working set | all three |",
    "|---|--:|--:|--:|--:|--:|",
    ...lines,
  ].join("\n");
}

/** Puts a table between its marks in README.md. */
function writeToReadme(text: string): void {
  const path = join(ROOT, "README.md");
  const [begin, end] = ["<!-- first run -->", "<!-- first run ends -->"];
  const parts = readFileSync(path, "utf8").split(new RegExp(`(?<=${begin}\n)[^]*(?=${end})`));
  if (parts.length !== 2) throw new Error(`README.md has no ${begin} … ${end}`);
  writeFileSync(path, parts.join(`\n${text}\n\n`));
}

const { values, positionals } = parseArgs({
  options: {
    pairs: { type: "string", default: "5" },
    against: { type: "string" },
    write: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
const scripts =
  positionals.length > 0 ? positionals : PROGRAMS.map((name) => join(import.meta.dirname, name));
const checkouts = [ROOT, ...(values.against === undefined ? [] : [resolve(values.against)])];
const rows: Row[] = [];
for (const script of scripts) {
  console.error(`first-run: ${script}`);
  rows.push(measure(resolve(script), checkouts, Number(values.pairs)));
}
const text = table(rows);
console.log(text);
if (values.write) {
  writeToReadme(text);
  const report = `# First runs

${machine()}

Processor time of the whole command \`memshade node\` over that of \`node\`, and the largest process of each: medians of ${values.pairs} pairs in
alternation. The scripts and the command are in [first-run](first-run/run.ts).

${text}
`;
  writeFileSync(join(ROOT, "bench/FIRST-RUN.md"), report);
}
