import { openObject } from "../../code/objects/index.ts";
import { FrameRules } from "../../explain/analyses/frames/frame-rules.ts";
import {
  markObjects,
  markWaste,
  markWorkingSet,
  withOwnSites,
} from "../../explain/analyses/frames/mark-frames.ts";
import { withEstimatedCallers } from "../../explain/analyses/host-stacks.ts";
import type { RecordingTool } from "../../explain/measures/measured-stacks.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { concatenated } from "../../ground/bytes/file-piece.ts";
import { loadDemangler } from "../../names/load/demangler.ts";
import type { Demangle } from "../../names/symbolize/demangle.ts";
import {
  readableObjects,
  readableWaste,
  readableWorkingSet,
} from "../../names/symbolize/readable-profiles.ts";
import { createRunSymbolizer } from "../../names/symbolize/run-functions.ts";
import { withLines } from "../../names/symbolize/run-lines.ts";
import { Symbolizer } from "../../names/symbolize/symbolizer.ts";
import { heapProfileFromRaw, readRaw } from "../../profile/formats/memprof-raw/index.ts";
import { readObjects } from "../../profile/model/objects.ts";
import { readHeapIntervals } from "../../profile/model/over-time/read-heap-intervals.ts";
import { readWaste } from "../../profile/model/waste.ts";
import { readWorkingSet } from "../../profile/model/working-set/read-working-set.ts";
import type { Profile } from "../../record/host/run/recorder.ts";
import { chooseWeight } from "./choose-weight.ts";
import {
  EXPORT_FORMATS,
  type ExportFormat,
  exportedTool,
  FORMAT_NAMES,
  writeCsv,
  writeStacks,
  writeTrace,
} from "./export-formats.ts";
import { isOverTime, noTimeline, type ToolProfile } from "./tool-exports.ts";

export interface ExportProfileOptions {
  /**
   * Tool whose record is written. Default: the heap; for records over time, all of them in a chrome-trace,
   * and in a csv the working set if it was recorded.
   */
  tool?: RecordingTool;
  /** Weight that is shown first, or the only one: `peak`, `dead`; docs/exporting.md lists them. */
  by?: string;
  /** Bytes of the profiled module: call stacks of the heap get source lines from its debug information. */
  module?: Uint8Array;
}

/**
 * Returns a profile as the content of a file for another viewer. `memshade export` writes the same for a run.
 *
 * @throws UserError for an unknown format, tool or weight, or for one that the profile lacks
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
  if (tool !== undefined && !isOverTime(tool)) throw noTimeline(format, tool);
  const tools = tool === undefined ? toolsOverTime(profile) : [tool];
  const recorded = tools.map((recordedTool) => recordedBy(profile, recordedTool, module));
  return contentOf(format === "csv" ? writeCsv(recorded.at(-1)!) : writeTrace(profile.run.program, recorded));
}

function toolsOverTime({ run }: Profile): RecordingTool[] {
  const tools = (Object.keys(READERS) as RecordingTool[]).filter(
    (tool) => isOverTime(tool) && run.files[tool] !== undefined,
  );
  return tools.length === 0 ? ["heap"] : tools;
}

type StackFormat = Parameters<typeof writeStacks>[0];

function contentOf(pieces: Iterable<string | Uint8Array>): Uint8Array {
  const encoder = new TextEncoder();
  return concatenated(
    Array.from(pieces, (piece) => (typeof piece === "string" ? encoder.encode(piece) : piece)),
  );
}

function recordedBy(profile: Profile, tool: RecordingTool, module: Uint8Array | undefined): ToolProfile {
  const { run, toolFiles } = profile;
  const missing = new UserError(`the profile has no ${tool}: it was recorded without that tool`);
  const textOf = (name: string | undefined): string => {
    const contents = toolFiles.find((file) => file.name === name)?.contents;
    if (contents === undefined) throw missing;
    return contents instanceof Uint8Array ? new TextDecoder().decode(contents) : contents;
  };
  if (run.files[tool] === undefined) throw missing;
  const read = READERS[tool](profile, { textOf, module, rules: new FrameRules(), demangle: loadDemangler() });
  return { tool, profile: read } as ToolProfile;
}

interface Reading {
  /** @throws UserError if there is no such file */
  readonly textOf: (name: string | undefined) => string;
  readonly module: Uint8Array | undefined;
  readonly rules: FrameRules;
  readonly demangle: Demangle;
}

/** Reads each tool's record, with demangled names and the library of each frame. */
const READERS: Readonly<Record<RecordingTool, (profile: Profile, reading: Reading) => object>> = {
  heap({ run, raw }, { textOf, module, rules, demangle }) {
    const symbolizer = module && new Symbolizer(openObject(module), { demangle, starts: false });
    const heap = heapProfileFromRaw(readRaw(raw), run, (modules) =>
      withLines(createRunSymbolizer(modules, run, demangle), modules, () => symbolizer),
    );
    const { heapIntervals } = run.files;
    const overTime = heapIntervals === undefined ? undefined : readHeapIntervals(textOf(heapIntervals));
    return withOwnSites({ ...withEstimatedCallers(heap), overTime }, rules);
  },
  waste({ run }, { textOf, rules, demangle }) {
    const waste = readableWaste(readWaste(textOf(run.files.waste)), demangle);
    markWaste(waste, rules);
    return waste;
  },
  workingset({ run }, { textOf, rules, demangle }) {
    const workingSet = readableWorkingSet(readWorkingSet(textOf(run.files.workingset)), demangle);
    markWorkingSet(workingSet, rules, run.modules);
    return workingSet;
  },
  objects({ run }, { textOf, rules, demangle }) {
    const objects = readableObjects(readObjects(textOf(run.files.objects)), demangle);
    markObjects(objects, rules, run.modules);
    return objects;
  },
};
