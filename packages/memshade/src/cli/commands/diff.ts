import type { Command } from "commander";
import { GROUPINGS } from "../../explain/analyses/groups.ts";
import { type GrowthLimit, parseGrowthLimit } from "../../explain/diff/growth-limit.ts";
import { measureOfWord } from "../../explain/measures/index.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { say } from "../../record/host/run/terminal-line.ts";
import { pagePath } from "../../runs/page/page-file.ts";
import { pageOf } from "../../runs/page/run-page.ts";
import { diffPage } from "../../show/report/page/data/diff-page.ts";
import type { PageData } from "../../show/report/page/data/page-data.ts";
import type { SourcesKept } from "../../show/report/page/data/sources.ts";
import { chosenSides } from "../chosen-run.ts";
import type { Compared } from "../diff/run-diff.ts";
import { type DiffOptions, isCompared, runDiff } from "../diff/run-diff.ts";
import { print } from "../line-input.ts";
import { requestedPage } from "../report/html-options.ts";
import { writePage } from "../report/write-page.ts";
import {
  addShared,
  measuresByTool,
  PAGE_OPTIONS,
  parseChoice,
  parseRows,
  READ_OPTIONS,
  RUN_ARGUMENT,
  standardOutput,
  toolOption,
} from "./report-options.ts";

const USUAL_ROWS = 20;
const LIMIT_EXCEEDED = 1;

const EXAMPLES = `
Examples:
  memshade diff                          the two newest runs of one program
  memshade diff before.memprofraw after.memprofraw --binary-path ./bin
  memshade diff memshade.out/app.4711 memshade.out/app.4812 --by peak
  memshade diff old.memshade new.memshade --group path -n 5
  memshade diff old.memshade new.memshade --fail-on bytes+5% --fail-on left+0
  memshade diff a1,a2,a3 b1,b2,b3        medians of several runs, with spread
  memshade diff --html --open            the same as a page, in the browser
  memshade diff memshade.out/app.4711 memshade.out/app.4812 --by dead
      dead stores (runs with --tool waste)
  memshade diff memshade.out/app.4711 memshade.out/app.4812 --by new
      new cache lines (runs with --tool workingset)

Two sites match if they have the same function and the same line within it, so
functions that moved to another place or file still match. A function counts as
renamed if its file, callers and lines match. Without --tool and --by, all that
both runs have is compared. JavaScript callers count only if all runs have them.
With several runs a side, ~ marks differences within their spread. With
--fail-on, the exit code is 1 if a total grew by more.`;

export function addDiffCommand(program: Command): void {
  const command = program
    .command("diff")
    .summary("compare two runs or heap profiles, site by site")
    .description(
      "Compares two runs of a program: which allocation sites grew, shrank, are new or gone, and which findings. Runs with --tool waste or workingset: also where more bytes are wasted or touched.",
    )
    .argument(
      "[old]",
      `${RUN_ARGUMENT}; several separated by commas (default: the two newest runs of one program in memshade.out)`,
    )
    .argument("[new]", "run or profile to compare with it; may be of another format, or several")
    .option("--by <key>", measuresByTool(isCompared, "diff").join("; "), (text: string) =>
      measureOfWord(text, "diff", { isOffered: isCompared }),
    )
    .addOption(toolOption(" (default: all that both runs have)"))
    .option("--group <what>", GROUPINGS.join(", "), (text) => parseChoice("--group", GROUPINGS, text), "site")
    .option("-n, --rows <N>", "rows to show", parseRows, USUAL_ROWS)
    .option(
      "--fail-on <limit>",
      "end with exit code 1 if a total grew by more: bytes+10%, peak+1MiB, blocks+0; can be repeated",
      (text: string, previous: GrowthLimit[] = []) => [...previous, parseGrowthLimit(text)],
    );
  addShared(command, "wide", "lines", ...READ_OPTIONS, "json", ...PAGE_OPTIONS, "binaryPath", "color")
    .addHelpText("after", EXAMPLES)
    .action(async (old: string | undefined, compared: string | undefined, options: DiffOptions) => {
      const html = requestedPage(options);
      if (html !== undefined && options.json === true)
        throw new UserError("--html writes a page and --json prints: give one of them");
      const inputs = await chosenSides(old, compared);
      if (html !== undefined && inputs.old.length + inputs.new.length > 2)
        throw new UserError("--html compares one run with another: name one of each side");
      const plain = { ...options, color: "never", wide: false, lines: undefined } as const;
      const diffOptions = html === undefined ? options : plain;
      const { text, exceeded, compared: comparison } = await runDiff(inputs, diffOptions, standardOutput());
      if (html === undefined) print(text);
      else {
        const file = pagePath(html, inputs.new[0]!, "diff");
        await writePage(
          pageOfDiff(comparison, { sources: options.htmlSources, binaryPaths: options.binaryPath }),
          text,
          {
            file,
            inputs: [...inputs.old, ...inputs.new],
            open: options.open,
          },
        );
      }
      for (const sentence of exceeded) say(sentence);
      if (exceeded.length > 0) process.exitCode = LIMIT_EXCEEDED;
    });
}

/** Builds the page of a comparison. It has the current sources, which match the newer run better. */
function pageOfDiff(
  { inputs, old, new: now, found, findings, gaps }: Compared,
  {
    sources,
    binaryPaths,
  }: { readonly sources: SourcesKept | undefined; readonly binaryPaths: readonly string[] | undefined },
): PageData {
  const page = diffPage(
    {
      page: pageOf(old[0]!, inputs.old[0]!, found.old, { sources: "none", binaryPaths }),
      findings: found.old,
    },
    { page: pageOf(now[0]!, inputs.new[0]!, found.new, { sources, binaryPaths }), findings: found.new },
    findings,
  );
  return { ...page, head: { ...page.head, notTracked: [...gaps, ...page.head.notTracked] } };
}
