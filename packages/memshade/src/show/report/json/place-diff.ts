import type { FindingDiff } from "../../../explain/diff/finding-diff.ts";
import type { PlaceChange, PlaceDiff } from "../../../explain/diff/place-diff.ts";
import { measure } from "../../../explain/measures/index.ts";
import type { MeasuredTool, StackFrame } from "../../../explain/measures/measured-stacks.ts";
import { DIFF_SCHEMA, DIFF_VERSION, type DiffInputs, inputsJson } from "./diff.ts";
import { diffRowsJson } from "./diff-rows.ts";
import { findingDiffJson } from "./findings.ts";
import { jsonText } from "./text.ts";

export interface PlaceDiffJsonOptions {
  readonly tool: MeasuredTool;
  readonly inputs: DiffInputs;
  readonly notTracked: { readonly old: readonly string[]; readonly new: readonly string[] };
  readonly rows: number;
  readonly findings?: FindingDiff | undefined;
}

/** A comparison of places as JSON (docs/report-json.md). */
export function placeDiffJson(
  diff: PlaceDiff,
  change: PlaceChange,
  { tool, inputs, notTracked, rows, findings }: PlaceDiffJsonOptions,
): string {
  return jsonText({
    schema: DIFF_SCHEMA,
    version: DIFF_VERSION,
    tool,
    ...inputsJson(inputs),
    by: change.measure.id,
    unit: measure(change.measure.id).unit,
    group: diff.group,
    notTracked,
    ...diffRowsJson({
      pairs: diff.pairs,
      changes: diff.changes,
      by: change,
      most: rows,
      describe: (side, place) => ({ path: diff[side][place]!.path.map(frameJson) }),
    }),
    findings: findings && findingDiffJson(findings),
  });
}

function frameJson({
  function: name,
  module,
  file,
  line,
  startLine,
  inlined,
  address,
  library,
  isWord,
}: StackFrame): StackFrame {
  return { function: name, module, file, line, startLine, inlined, address, library, isWord };
}
