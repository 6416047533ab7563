import type { Command } from "commander";
import type { RecordedTools } from "../../explain/analyses/recorded-tools.ts";
import { runFindings } from "../../explain/findings/run-findings.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import type { PathMap } from "../../names/symbolize/path-map.ts";
import { quoteForShell } from "../../profile/model/shell-words.ts";
import { loadTools, recordedTools } from "../../runs/recorded-tools.ts";
import { modulePathsOf } from "../../runs/run-of-folder.ts";
import type { ReportedTool } from "../../runs/shelves.ts";
import { createSourceReader } from "../../runs/source.ts";
import type { ViewContents } from "../../show/report/terminal/view/view-model.ts";
import { chosenRun } from "../chosen-run.ts";
import { hasNativeStacks } from "../kind-of-program.ts";
import { stacksOfDump, stacksOfTools } from "../stacks.ts";
import { runView } from "../view/run-view.ts";
import {
  addShared,
  READ_OPTIONS,
  type ReadFlags,
  RUN_ARGUMENT,
  readOptions,
  toolOption,
} from "./report-options.ts";

interface ViewOptions extends ReadFlags {
  readonly tool?: ReportedTool | undefined;
  readonly pathMap?: readonly PathMap[] | undefined;
}

const EXAMPLES = `
Examples:
  memshade view                          the newest run in memshade.out
  memshade view memshade.out/app.4711
  memshade view memshade.out/app.4711 --path-map /build/app=.
  memshade view server.memprofdata --binary-path ./server
  memshade view perf.data

Keys are those of less and perf: arrows, PgUp and PgDn move, Enter goes from a
finding to its source line and then to its call tree, / searches, n and N repeat
the search, s changes the measure, t the tool, i inverts the tree, f shows the
findings, ? all keys, q quits.`;

export function addViewCommand(program: Command): void {
  const command = program
    .command("view")
    .summary("browse a recorded run: findings, source lines and call trees")
    .description(
      "Opens a recorded run in the terminal for browsing: its findings, the source line of each, and the call trees of all tools.",
    )
    .argument(
      "[run]",
      `${RUN_ARGUMENT}, a core dump, a minidump or perf.data (default: the newest run in memshade.out)`,
    )
    .addOption(toolOption(": show only this tool (default: all that the run has)"));
  addShared(command, "pathMap", ...READ_OPTIONS, "binaryPath")
    .addHelpText("after", EXAMPLES)
    .action(async (named: string | undefined, options: ViewOptions) => {
      checkTerminal(named);
      const input = await chosenRun(named);
      process.exitCode = await runView(await loadContents(input, options));
    });
}

function checkTerminal(named: string | undefined): void {
  if (process.stdin.isTTY && process.stdout.isTTY && process.env.TERM !== "dumb") return;
  const run = named === undefined ? "" : ` ${quoteForShell(named)}`;
  throw new UserError(
    `view needs a terminal to show screens: memshade report${run} and memshade tree${run} print instead`,
  );
}

async function loadContents(input: string, options: ViewOptions): Promise<ViewContents> {
  const { tool, binaryPath: binaryPaths, pathMap = [] } = options;
  if (hasNativeStacks(input)) {
    if (tool !== undefined) throw new UserError(`${input} has stacks of a native program: leave out --tool`);
    const stacks = [await stacksOfDump(input, { binaryPaths })];
    return { input, findings: [], stacks, readSource: createSourceReader(pathMap, { binaryPaths }) };
  }
  const tools: RecordedTools = await loadTools(
    input,
    tool === undefined ? recordedTools(input) : [tool],
    readOptions(options),
  );
  return {
    input,
    readSource: createSourceReader(pathMap, { modules: modulePathsOf(input), binaryPaths }),
    findings: runFindings(tools, Number.POSITIVE_INFINITY),
    stacks: stacksOfTools(tools),
  };
}
