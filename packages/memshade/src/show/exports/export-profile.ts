import { openObject } from "../../code/objects/index.ts";
import { FrameRules } from "../../explain/analyses/frames/frame-rules.ts";
import {
  markObjects,
  markWaste,
  markWorkingSet,
  withOwnSites,
} from "../../explain/analyses/frames/mark-frames.ts";
import { withEstimatedCallers } from "../../explain/analyses/host-stacks.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { loadDemangler } from "../../names/load/demangler.ts";
import {
  readableObjects,
  readableWaste,
  readableWorkingSet,
} from "../../names/symbolize/readable-profiles.ts";
import { createRunSymbolizer } from "../../names/symbolize/run-functions.ts";
import { withLines } from "../../names/symbolize/run-lines.ts";
import { Symbolizer } from "../../names/symbolize/symbolizer.ts";
import { heapProfileFromRaw, readRaw } from "../../profile/formats/memprof-raw/index.ts";
import { readObjects } from "../../profile/model/objects/read-objects.ts";
import { readHeapIntervals } from "../../profile/model/over-time/read-heap-intervals.ts";
import { readWaste } from "../../profile/model/waste/read-waste.ts";
import { readWorkingSet } from "../../profile/model/working-set/read-working-set.ts";
import type { Profile } from "../../record/host/run/recorder.ts";
import { chooseWeight } from "./choose-weight.ts";
import {
  EXPORT_FORMATS,
  type ExportFormat,
  exportedTool,
  FORMAT_NAMES,
  noTimeline,
  type OverTime,
  type ToolProfile,
  writeCsv,
  writeStacks,
  writeTrace,
} from "./export-formats.ts";

export interface ExportProfileOptions {
  /**
   * What of the profile is written. If nothing is said, the heap; of what is over time, all in a chrome-trace, and in a csv the working
   * set where it was recorded.
   */
  tool?: "heap" | "waste" | "workingset" | "objects";
  /** The weight that is shown first, or that is the only one: `peak`, `dead`; docs/exporting.md lists them. */
  by?: string;
  /** Bytes of the profiled module: stacks of the heap get the lines that its debug information has. */
  module?: Uint8Array;
}

/**
 * What was recorded as the content of a file for another viewer; `memshade export` writes the same of a run.
 *
 * @throws UserError for a format, tool or weight that there is not, or that the profile does not have
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { exportProfile, profile } from "memshade";
 *
 * const empty = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
 * const recorded = await profile(empty, async (instantiate) => void (await instantiate()));
 * assert.equal(new TextDecoder().decode(exportProfile(recorded, "folded")), "");
 * ```
 */
export function exportProfile(
  profile: Profile,
  format: ExportFormat,
  { tool, by, module }: ExportProfileOptions = {},
): Uint8Array {
  if (!FORMAT_NAMES.includes(format))
    throw new UserError(`the format is one of ${FORMAT_NAMES.join(", ")}, not "${format}"`);
  if (!EXPORT_FORMATS[format].isOverTime) {
    const recorded = recordedBy(profile, tool ?? "heap", module);
    const exported = exportedTool(recorded);
    const input = `the profile of ${profile.run.program}`;
    const shown = chooseWeight(format, recorded, exported, { by, option: "by", input });
    return contentOf(writeStacks(format as StackFormat, recorded, exported, shown));
  }
  if (by !== undefined) throw new UserError(`${format} files have no stacks: leave out by`);
  if (tool === "waste" || tool === "objects") throw noTimeline(format, tool);
  const tools = tool === undefined ? toolsOverTime(profile) : [tool];
  const recorded = tools.map((one) => recordedBy(profile, one, module) as OverTime);
  return contentOf(format === "csv" ? writeCsv(recorded.at(-1)!) : writeTrace(profile.run.program, recorded));
}

function toolsOverTime({ run }: Profile): OverTime["tool"][] {
  const tools = (["heap", "workingset"] as const).filter((tool) => run.files[tool] !== undefined);
  return tools.length === 0 ? ["heap"] : tools;
}

type StackFormat = Parameters<typeof writeStacks>[0];

function contentOf(pieces: Iterable<string | Uint8Array>): Uint8Array {
  const encoder = new TextEncoder();
  const parts = Array.from(pieces, (piece) => (typeof piece === "string" ? encoder.encode(piece) : piece));
  const content = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    content.set(part, at);
    at += part.length;
  }
  return content;
}

function recordedBy(
  { run, raw, toolFiles }: Profile,
  tool: "heap" | "waste" | "workingset" | "objects",
  module: Uint8Array | undefined,
): ToolProfile {
  const textOf = (name: string | undefined): string | undefined => {
    const contents = toolFiles.find((file) => file.name === name)?.contents;
    return contents instanceof Uint8Array ? new TextDecoder().decode(contents) : contents;
  };
  const rules = new FrameRules();
  const demangle = loadDemangler();
  const missing = new UserError(`the profile has no ${tool}: it was recorded without that tool`);
  if (tool === "heap") {
    if (run.files.heap === undefined) throw missing;
    const symbolizer = module && new Symbolizer(openObject(module), { demangle, starts: false });
    const heap = heapProfileFromRaw(readRaw(raw), run, (modules) =>
      withLines(createRunSymbolizer(modules, run, demangle), modules, () => symbolizer),
    );
    const intervals = textOf(run.files.heapIntervals);
    const overTime = intervals === undefined ? undefined : readHeapIntervals(intervals);
    return { tool, profile: withOwnSites({ ...withEstimatedCallers(heap), overTime }, rules) };
  }
  const text = textOf(run.files[tool]);
  if (text === undefined) throw missing;
  if (tool === "waste") {
    const profile = readableWaste(readWaste(text), demangle);
    markWaste(profile, rules);
    return { tool, profile };
  }
  if (tool === "objects") {
    const profile = readableObjects(readObjects(text), demangle);
    markObjects(profile, rules, run.modules);
    return { tool, profile };
  }
  const profile = readableWorkingSet(readWorkingSet(text), demangle);
  markWorkingSet(profile, rules, run.modules);
  return { tool, profile };
}
