import { findMeasure, isMeasured, recordedWith } from "../../explain/measures/index.ts";
import { someMeasures } from "../../explain/measures/some-measures.ts";
import { TOOLS } from "../../explain/measures/tools.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { EXPORTED_TOOLS, type ExportFormat, fitsFormat, weightsOf } from "./export-formats.ts";
import type { ExportedSamples } from "./samples.ts";
import { canBeDhat, type ToolProfile, toolExport } from "./tool-exports.ts";

/** The user's choice of a weight, with words for it in messages. */
export interface WeightChoice {
  /** A key, or a name in files; undefined for the default. */
  readonly by: string | undefined;
  /** Name of the option: `--by`. */
  readonly option: string;
  /** Name of the profile. */
  readonly input: string;
}

/**
 * Returns the index of the weight that a file shows first, or of its only weight.
 *
 * @throws UserError for a word that is no weight of the tool, a weight that was not recorded, or one that the
 * format cannot store
 */
export function chooseWeight(
  format: ExportFormat,
  recorded: ToolProfile,
  { weights, shown }: ExportedSamples,
  { by, option, input }: WeightChoice,
): number {
  const { tool } = recorded;
  const isWhole = format === "dhat" && isMeasured(tool) && toolExport(tool).dhat !== undefined;
  if (isWhole && !canBeDhat({ weights }))
    throw new UserError(`dhat files have blocks and bytes in total, which ${input} does not know`);
  if (isWhole && by !== undefined)
    throw new UserError(
      `dhat files of ${TOOLS[tool].whole} have all that they can hold: leave out ${option}`,
    );
  const keysOf = (fitting = weights) => fitting.toReversed().map(({ key }) => key);
  const keys = (fitting = weights): string => someMeasures(keysOf(fitting), "export");
  const isOf = (candidate: ToolProfile["tool"]) =>
    weightsOf(candidate).some(({ key, type }) => by === type || key === keyOf(by, candidate));
  const word = keyOf(by, tool);
  const index = by === undefined ? shown : weights.findIndex(({ key, type }) => word === key || by === type);
  if (index < 0) {
    if (isOf(tool)) throw new UserError(`${input} does not know ${by}: it has ${keysOf().join(", ")}`);
    const otherTool = EXPORTED_TOOLS.find(isOf);
    throw new UserError(
      otherTool === undefined
        ? `${option} takes one of ${keys()}, not "${by}"`
        : `${option} ${by} is for --tool ${isMeasured(otherTool) ? recordedWith(otherTool) : otherTool}; that of ${tool} takes one of ${keys()}`,
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

/** Returns the key of a tool's weight for any of its names. */
function keyOf(by: string | undefined, tool: ToolProfile["tool"]): string | undefined {
  if (by === undefined || !isMeasured(tool)) return by;
  const found = findMeasure(by, "export", tool);
  return found?.tool === tool ? found.id : by;
}
