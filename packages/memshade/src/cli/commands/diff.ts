import type { Command } from "commander";
import { exceededTotals, type GrowthLimit, parseGrowthLimit } from "../../analyses/diff/growth-limit.ts";
import { diffHeaps, type HeapDiff } from "../../analyses/diff/heap-diff.ts";
import { GROUPINGS, type GroupBy } from "../../analyses/groups.ts";
import { METRICS, type MetricKey } from "../../analyses/metrics.ts";
import { UserError } from "../../bytes/errors.ts";
import { say } from "../../host/run/terminal-line.ts";
import type { Clock } from "../../model/run.ts";
import { diffJson } from "../../report/json/diff.ts";
import { formatterOf } from "../../report/terminal/common/metric-format.ts";
import type { ColorChoice } from "../../report/terminal/common/paint.ts";
import { diffTable } from "../../report/terminal/heap/diff-table.ts";
import { collect } from "../collect.ts";
import { chosenPair } from "../load/chosen-run.ts";
import { loadHeap } from "../load/heap.ts";
import { loadSuppressions } from "../load/suppressions.ts";
import {
  ALL_FRAMES_OPTION,
  type FrameFlags,
  frameRules,
  isOtherWord,
  LIBRARY_OPTION,
  LINES_OPTION,
  OTHER_WORDS,
  OWN_OPTION,
  parseChoice,
  parseColor,
  parseRows,
  SUPPRESSIONS_OPTION,
  screenOptions,
  standardOutput,
  type Terminal,
  WIDE_OPTION,
} from "./report-options.ts";

const USUAL_ROWS = 20;
const KEYS = METRICS.map(({ key }) => key);
/** A limit was exceeded. */
const LIMIT_EXCEEDED = 1;

export interface DiffOptions extends FrameFlags {
  readonly by: MetricKey;
  readonly group: GroupBy;
  readonly rows: number;
  readonly wide?: boolean | undefined;
  readonly lines?: number | undefined;
  readonly json?: boolean | undefined;
  readonly color: ColorChoice;
  readonly binaryPath?: readonly string[] | undefined;
  readonly suppressions?: readonly string[] | undefined;
  readonly failOn?: readonly GrowthLimit[] | undefined;
}

const EXAMPLES = `
Examples:
  memshade diff                          the two newest runs of one program
  memshade diff before.memprofraw after.memprofraw --binary-path ./bin
  memshade diff memshade.out/app.4711 memshade.out/app.4812 --by peak
  memshade diff old.memshade new.memshade --group path -n 5
  memshade diff old.memshade new.memshade --fail-on bytes+5% --fail-on live+0

A site is the same in both if function, file, line and column are; sites that a
change of the source moved are told by their order in the function, where it has
as many as before. With --fail-on the exit code is 1 if a total grew by more.`;

/** Adds `memshade diff` to the program. Its action throws UserError for mistakes of the user. */
export function addDiffCommand(program: Command): void {
  program
    .command("diff")
    .summary("compare two heap profiles, site by site")
    .description(
      "Compares two heap profiles of a program: which allocation sites grew, shrank, came or went.",
    )
    .argument(
      "[old]",
      "directory of a run, or a MemProf file (raw, indexed, YAML, memshade) (default: the two newest runs of one program in memshade.out)",
    )
    .argument("[new]", "what to compare with it: also of another kind")
    .option("--by <key>", KEYS.join(", "), parseKey, "bytes")
    .option("--group <what>", GROUPINGS.join(", "), (text) => parseChoice("--group", GROUPINGS, text), "site")
    .option("-n, --rows <N>", "rows to show", parseRows, USUAL_ROWS)
    .option(
      "--fail-on <limit>",
      "end with exit code 1 if a total grew by more: bytes+10%, peak+1MiB, count+0; can be repeated",
      (text: string, previous: GrowthLimit[] = []) => [...previous, parseGrowthLimit(text)],
    )
    .addOption(WIDE_OPTION)
    .addOption(LINES_OPTION)
    .addOption(ALL_FRAMES_OPTION)
    .addOption(OWN_OPTION)
    .addOption(LIBRARY_OPTION)
    .addOption(SUPPRESSIONS_OPTION)
    .option("--json", "write JSON (docs/report-json.md) instead of text")
    .option(
      "--binary-path <dir>",
      "folder or file of original modules or native programs, looked at first; can be repeated",
      collect,
    )
    .option("--color <when>", "auto, always or never", parseColor, "auto")
    .addHelpText("after", EXAMPLES)
    .action(async (old: string | undefined, compared: string | undefined, options: DiffOptions) => {
      const [older, newer] = await chosenPair(old, compared);
      const { text, exceeded } = await runDiff(older, newer, options, standardOutput());
      process.stdout.write(text);
      for (const sentence of exceeded) say(sentence);
      if (exceeded.length > 0) process.exitCode = LIMIT_EXCEEDED;
    });
}

function parseKey(text: string): MetricKey {
  return isOtherWord(text) ? OTHER_WORDS[text] : parseChoice("--by", KEYS, text);
}

/** The text that `memshade diff` prints, and a sentence for each limit that is exceeded. */
export async function runDiff(
  older: string,
  newer: string,
  options: DiffOptions,
  terminal: Terminal,
): Promise<{ readonly text: string; readonly exceeded: readonly string[] }> {
  const { by, group, rows, binaryPath: binaryPaths } = options;
  const rules = frameRules(options);
  const suppressions = loadSuppressions(options.suppressions);
  const profiles = {
    old: (await loadHeap(older, { binaryPaths, rules, suppressions })).profile,
    new: (await loadHeap(newer, { binaryPaths, rules, suppressions })).profile,
  };
  const diff = diffHeaps(profiles.old, profiles.new, group);
  const inputs = { old: older, new: newer };
  const text = options.json
    ? diffJson(profiles, diff, { inputs, by, rows })
    : diffTable(profiles, diff, {
        ...screenOptions(options, terminal),
        inputs,
        by,
        rows,
      });
  if (text === undefined) {
    throw new UserError(
      by === "lifetime" || by === "temporary"
        ? `--by ${by} cannot be compared: the two profiles have different clocks`
        : `--by ${by} is not known in both profiles`,
    );
  }
  const { clock } = profiles.new.description;
  return { text, exceeded: (options.failOn ?? []).flatMap((limit) => sentenceOf(diff, limit, clock)) };
}

function sentenceOf(diff: HeapDiff, limit: GrowthLimit, clock: Clock): string[] {
  const totals = exceededTotals(diff, limit);
  if (totals === undefined) return [];
  const format = formatterOf(METRICS.find(({ key }) => key === limit.key)!, clock);
  const percent =
    totals.old === 0 ? "" : ` (+${((100 * (totals.new - totals.old)) / totals.old).toFixed(1)} %)`;
  return [
    `${limit.key} grew from ${format(totals.old)} to ${format(totals.new)}${percent}, more than ${limit.text} allows`,
  ];
}
