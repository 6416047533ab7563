import {
  firstOfTool,
  knownMeasures,
  measuresOfTool,
  placedMeasures,
  recordedWith,
  sampleUnit,
} from "../../../../explain/measures/index.ts";
import type { Measure, MeasuredProfiles, MeasureUnit } from "../../../../explain/measures/measure.ts";
import type { Column, MeasuredFrame, MeasuredStacks } from "../../../../explain/measures/measured-stacks.ts";
import { NONE } from "../../../../profile/model/indices.ts";
import type { PageBuilder, WeightKind } from "./page-builder.ts";
import { FRAME_FLAGS, type PageRatio, type PageUnit } from "./page-data.ts";

/** Frame of rows without a known call path. */
const NO_PATH = { function: "[no call path]", flags: FRAME_FLAGS.notCode };

/** Units of measures that have another name on the page. */
const UNITS: Readonly<Partial<Record<MeasureUnit, PageUnit>>> = {
  misses: "accesses",
  references: "accesses",
  objects: "count",
  intervals: "count",
  accessesPerByte: "count",
};

function pageUnit(unit: MeasureUnit): PageUnit {
  return UNITS[unit] ?? (unit as PageUnit);
}

function clockOf({ unit }: Measure, { clock }: MeasuredStacks): { clock?: string } {
  return unit === "clock" && clock !== undefined ? { clock: clock.unit } : {};
}

/**
 * Adds modules, frames, contexts and weights of a tool to a page.
 * @returns the page context of each row
 */
export function addStacks(
  builder: PageBuilder,
  measured: MeasuredStacks,
  profiles: MeasuredProfiles,
): Int32Array {
  const { tool, modules, stacks, rows, sites } = measured;
  for (const { index, name, path, buildId, knows } of modules)
    builder.module(index, {
      name,
      ...(path === undefined ? {} : { path }),
      ...(buildId === undefined ? {} : { buildId }),
      ...(knows === undefined ? {} : { knows }),
    });
  const frames = stacks.frames.map((frame) => frameOf(builder, measured, frame));
  const ofStack = new Int32Array(stacks.frame.length);
  for (let stack = 0; stack < ofStack.length; stack++) {
    const caller = stacks.prefix[stack]!;
    ofStack[stack] = builder.context(caller === NONE ? -1 : ofStack[caller]!, frames[stacks.frame[stack]!]!);
  }
  const noPath = () => builder.context(-1, builder.frame(NO_PATH));
  const contextOf = Int32Array.from({ length: rows.length }, (_, row) => {
    const [stack, site] = [rows[row]!, sites[row]!];
    if (stack === NONE) return noPath();
    if (site !== NONE) builder.setSite(ofStack[stack]!, ofStack[site]!);
    return ofStack[stack]!;
  });
  const first = firstOfTool(tool);
  const measuresOfTool = placedMeasures(tool, profiles);
  const measures = [
    ...measuresOfTool.filter(({ id }) => first[0] === id),
    ...measuresOfTool.filter(({ id }) => first[0] !== id),
  ];
  for (const one of measures) {
    const column = one.column(profiles)!;
    const { id, title: label, explainedBy: word } = one;
    const values = Float64Array.from(column.amounts as ArrayLike<number | bigint>, Number);
    const varianceIn = one.unit === "clock" ? undefined : measured.varianceIn?.(column, sampleUnit(one));
    const variances = varianceIn && values.map((_, row) => varianceIn(row));
    const isEstimated = variances?.some((variance) => variance > 0) === true;
    const cautions = cautionsOf(one, column, profiles, isEstimated);
    const kind: WeightKind = {
      id,
      label,
      word,
      unit: pageUnit(one.unit),
      tool: recordedWith(one.tool),
      ...clockOf(one, measured),
      ...(cautions.length === 0 ? {} : { caution: cautions.join(" ") }),
    };
    builder.addWeight(kind, contextOf, values);
    if (isEstimated) builder.addVariances(id, contextOf, variances!);
    if ((column.rest ?? 0) > 0) builder.addTo(id, [noPath()], [column.rest!]);
  }
  return contextOf;
}

function frameOf(builder: PageBuilder, { modules }: MeasuredStacks, frame: MeasuredFrame): number {
  const { function: name, file, line, column, offset, library, language, isWord } = frame;
  const module = frame.moduleIndex === undefined ? undefined : modules[frame.moduleIndex]?.index;
  const moduleName = frame.moduleIndex === undefined ? undefined : modules[frame.moduleIndex]?.name;
  const unnamed = `[${moduleName ?? "unknown code"}]+0x${(offset ?? 0).toString(16)}`;
  const flags =
    (frame.isInlined ? FRAME_FLAGS.inlined : 0) |
    (frame.isFromHost ? FRAME_FLAGS.fromHost : 0) |
    (language === undefined ? 0 : FRAME_FLAGS.script) |
    (isWord ? FRAME_FLAGS.notCode : 0);
  return builder.frame({
    function: isWord ? `[${name}]` : (name ?? unnamed),
    module,
    file,
    line,
    column,
    flags,
    library,
    // Scripts have only a column number, and profiles with names only have offset 0.
    address: language === undefined && offset !== undefined && offset > 0 ? offset : undefined,
  });
}

function cautionsOf(
  measure: Measure,
  column: Column,
  profiles: MeasuredProfiles,
  isEstimated: boolean,
): string[] {
  const remark = measure.remark?.(profiles);
  return [
    ...(column.isLowerBound === true ? ["This is a lower bound."] : []),
    ...(isEstimated
      ? ["JavaScript callers were sampled: each site shows its margin of error, ± at 95 % confidence."]
      : []),
    ...(remark === undefined ? [] : [remark]),
  ];
}

/** Returns the ratios of two measures that a tool recorded. */
export function ratiosOf(measured: MeasuredStacks, profiles: MeasuredProfiles): PageRatio[] {
  const { tool } = measured;
  const recorded = new Set(knownMeasures(tool, profiles));
  return measuresOfTool(tool).flatMap((measure): PageRatio[] => {
    const { id, title: label, explainedBy: word, unit, combine } = measure;
    if (typeof combine === "string" || !recorded.has(measure)) return [];
    return [{ id, label, word, unit: pageUnit(unit), ...clockOf(measure, measured), ...combine }];
  });
}
