import { UserError } from "../bytes/errors.ts";
import { canBeDhat } from "./dhat.ts";
import { type ExportFormat, fitsFormat, TOOL_WEIGHTS, type ToolProfile } from "./export-formats.ts";
import type { ExportedSamples } from "./exported.ts";

/** What somebody asks for, and how to name that in a sentence. */
export interface WeightChoice {
  /** A key, or a name in files; undefined: what is usually looked at first. */
  readonly by: string | undefined;
  /** What the choice is called: `--by`. */
  readonly option: string;
  /** What the profile is called. */
  readonly input: string;
}

/**
 * Index of the weight that a file shows first, or has alone.
 *
 * @throws UserError for a word that says no weight of the tool, one that was not recorded, or that the format has no room for
 */
export function chooseWeight(
  format: ExportFormat,
  recorded: ToolProfile,
  { weights, shown }: ExportedSamples,
  { by, option, input }: WeightChoice,
): number {
  const { tool } = recorded;
  if (format === "dhat" && tool === "heap" && !canBeDhat({ weights }))
    throw new UserError(`dhat files have blocks and bytes in total, which ${input} does not know`);
  if (format === "dhat" && tool === "heap" && by !== undefined)
    throw new UserError(`dhat files of the heap have all that they can hold: leave out ${option}`);
  const keys = (fitting = weights): string => fitting.map(({ key }) => key).join(", ");
  const isOf = (one: ToolProfile["tool"]) =>
    TOOL_WEIGHTS[one].some(({ key, type }) => by === key || by === type);
  const index = by === undefined ? shown : weights.findIndex(({ key, type }) => by === key || by === type);
  if (index < 0) {
    if (isOf(tool)) throw new UserError(`${input} does not know ${by}: it has ${keys()}`);
    const other = (Object.keys(TOOL_WEIGHTS) as ToolProfile["tool"][]).find(isOf);
    throw new UserError(
      other === undefined
        ? `${option} takes one of ${keys()}, not "${by}"`
        : `${option} ${by} is for --tool ${other}; that of ${tool} takes one of ${keys()}`,
    );
  }
  if (fitsFormat(format, recorded, weights[index]!)) return index;
  const fitting = weights.filter((weight) => fitsFormat(format, recorded, weight));
  if (fitting.length === 0)
    throw new UserError(
      `${format} files hold bytes, and samples have none: --format pprof or firefox has them`,
    );
  throw new UserError(
    `${format} files hold bytes: ${option} takes one of ${keys(fitting)} with it, not "${weights[index]!.key}"`,
  );
}
