import type { Command } from "commander";
import { type RecordedTools, runFindings } from "../../analyses/findings/run-findings.ts";
import { UserError } from "../../bytes/errors.ts";
import { quoteForShell } from "../../host/run/terminal-line.ts";
import type { ViewContents } from "../../report/terminal/view/view-model.ts";
import type { PathMap } from "../../symbolize/path-map.ts";
import { chosenRun } from "../load/chosen-run.ts";
import { hasNativeStacks } from "../load/kind-of-program.ts";
import { loadTools, type ReportedTool, recordedTools } from "../load/recorded-tools.ts";
import { modulePathsOf } from "../load/run-of-folder.ts";
import { createSourceReader } from "../load/source.ts";
import { stacksOfDump, stacksOfTools } from "../load/stacks.ts";
import { loadSuppressions } from "../load/suppressions.ts";
import { runView } from "../view/run-view.ts";
import {
  ALL_FRAMES_OPTION,
  BINARY_PATH_OPTION,
  type FrameFlags,
  frameRules,
  LIBRARY_OPTION,
  OWN_OPTION,
  PATH_MAP_OPTION,
  parseChoice,
  SUPPRESSIONS_OPTION,
} from "./report-options.ts";

interface ViewOptions extends FrameFlags {
  readonly tool?: ReportedTool | undefined;
  readonly pathMap?: readonly PathMap[] | undefined;
  readonly binaryPath?: readonly string[] | undefined;
  readonly suppressions?: readonly string[] | undefined;
}

const EXAMPLES = `
Examples:
  memshade view                          the newest run in memshade.out
  memshade view memshade.out/app.4711
  memshade view memshade.out/app.4711 --path-map /build/app=.
  memshade view server.memprofdata --binary-path ./server
  memshade view perf.data

Keys are those of less and perf: arrows, PgUp and PgDn move, Enter goes from a
finding to its source line and on to its call tree, / searches, n and N go on, s
weighs by another figure, t shows another tool, i turns the tree around, f shows
the findings, ? says more, q quits.`;

/** Adds `memshade view` to the program. Its action throws UserError for mistakes of the user. */
export function addViewCommand(program: Command): void {
  program
    .command("view")
    .summary("look through a recorded run: findings, source lines and call trees")
    .description(
      "Shows a recorded run in the terminal to look around in: its findings, the source line of each, and the call trees of all tools.",
    )
    .argument(
      "[run]",
      "directory of a run, a MemProf file (raw, indexed, YAML, memshade), a heap profile of DHAT, pprof or heaptrack, a core dump, a minidump or perf.data (default: the newest run in memshade.out)",
    )
    .option("--tool <tool>", "heap, waste or workingset alone (default: what the run has)", (text: string) =>
      parseChoice<ReportedTool>("--tool", ["heap", "waste", "workingset"], text),
    )
    .addOption(PATH_MAP_OPTION)
    .addOption(ALL_FRAMES_OPTION)
    .addOption(OWN_OPTION)
    .addOption(LIBRARY_OPTION)
    .addOption(SUPPRESSIONS_OPTION)
    .addOption(BINARY_PATH_OPTION)
    .addHelpText("after", EXAMPLES)
    .action(async (named: string | undefined, options: ViewOptions) => {
      checkTerminal(named);
      const input = await chosenRun(named);
      process.exitCode = await runView(await loadContents(input, options));
    });
}

/** @throws UserError where nobody can press keys or see screens */
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
    return { input, findings: [], stacks, readSource: createSourceReader(pathMap) };
  }
  const tools: RecordedTools = await loadTools(input, tool === undefined ? recordedTools(input) : [tool], {
    ...{ binaryPaths, rules: frameRules(options) },
    suppressions: loadSuppressions(options.suppressions),
  });
  return {
    ...{ input, readSource: createSourceReader(pathMap, modulePathsOf(input)) },
    findings: runFindings(tools, Number.POSITIVE_INFINITY),
    stacks: stacksOfTools(tools),
  };
}
