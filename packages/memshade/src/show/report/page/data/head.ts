import { whyHeapUnknown } from "../../../../explain/analyses/heap.ts";
import { objectTotals, wholeSurvival } from "../../../../explain/analyses/objects.ts";
import { heapTotals } from "../../../../explain/analyses/totals.ts";
import { neverAccessed, writtenNeverRead } from "../../../../explain/analyses/unused-blocks.ts";
import { gapsOf } from "../../../../explain/measures/gaps.ts";
import { measure } from "../../../../explain/measures/index.ts";
import { CPU_VALUES, type CpuProfile } from "../../../../profile/model/cpu.ts";
import { formatBlocks, formatBytes, formatPercent, plural } from "../../../../profile/model/format.ts";
import type { HeapProfile } from "../../../../profile/model/heap-profile.ts";
import { type IndexIntoContextTable, NONE } from "../../../../profile/model/indices.ts";
import { isOfNativeProgram, knowsField } from "../../../../profile/model/known-fields.ts";
import type { ObjectsProfile } from "../../../../profile/model/objects.ts";
import type { Presence } from "../../../../profile/model/run.ts";
import { commandLine } from "../../../../profile/model/shell-words.ts";
import { siteFrameOfContext } from "../../../../profile/model/site-frame.ts";
import { MEMSHADE_VERSION } from "../../../../profile/model/version.ts";
import type { WasteFile } from "../../../../profile/model/waste.ts";
import type { WorkingSetProfile } from "../../../../profile/model/working-set/working-set.ts";
import {
  endInWords,
  type HeadFact,
  heapFacts,
  isOfNativeRun,
  presenceInWords,
} from "../../terminal/common/header.ts";
import { createPaint } from "../../terminal/common/paint.ts";
import { Screen } from "../../terminal/common/screen.ts";
import { cpuFacts } from "../../terminal/cpu.ts";
import { sizesInWords } from "../../terminal/objects/objects-report.ts";
import { wasteFacts } from "../../terminal/waste.ts";
import { lengthInWords } from "../../terminal/working-set.ts";
import type { PageHead, PageKey } from "./page-data.ts";

/** Sources of a page's head. */
export interface HeadOf {
  readonly heap?: HeapProfile | undefined;
  readonly waste?: WasteFile | undefined;
  readonly workingset?: WorkingSetProfile | undefined;
  readonly objects?: ObjectsProfile | undefined;
  readonly cpu?: CpuProfile | undefined;
  readonly presence?: Presence | undefined;
  /** Name of the input as the user typed it. */
  readonly input: string;
}

/** Content that the profile of one tool adds to the head. */
interface ToolHead {
  readonly program?: string | undefined;
  /** The command line, by its words. */
  readonly words?: readonly string[] | undefined;
  readonly notTracked: readonly string[];
  readonly facts: readonly HeadFact[];
  readonly keys: readonly PageKey[];
}

type HeadTool = "heap" | "waste" | "workingset" | "objects" | "cpu";

/** The heads of tools, in the order of the page. */
const HEADS: {
  readonly [Tool in HeadTool]: (profile: NonNullable<HeadOf[Tool]>, screen: Screen) => ToolHead;
} = {
  heap: (heap, screen) => ({
    program: heap.description.program,
    words: heap.description.command,
    notTracked: gapsOf(heap),
    facts: heapFacts(screen, heap),
    keys: heapKeys(heap),
  }),
  waste: (waste) => ({ notTracked: waste.notTracked, facts: wasteFacts(waste), keys: wasteKeys(waste) }),
  workingset: (workingset) => ({
    program: workingset.program,
    words: workingset.command,
    notTracked: workingset.notTracked,
    facts: workingset.instances.map((instance) => ["Working set", lengthInWords(workingset, instance)]),
    keys: workingSetKeys(workingset),
  }),
  objects: (objects) => ({
    program: objects.program,
    words: objects.command,
    notTracked: objects.notTracked,
    facts: [["Objects", sizesInWords(objects)]],
    keys: objectKeys(objects),
  }),
  cpu: (cpu) => ({
    program: cpu.program,
    words: cpu.command,
    notTracked: cpu.notTracked,
    facts: cpuFacts(cpu),
    keys: cpuKeys(cpu),
  }),
};

export function headOfRun(run: HeadOf): PageHead {
  const screen = new Screen({ paint: createPaint(false), width: 80, isWide: true });
  const headOf = <Tool extends HeadTool>(tool: Tool): ToolHead | undefined =>
    run[tool] && HEADS[tool](run[tool], screen);
  const heads = (Object.keys(HEADS) as HeadTool[]).flatMap((tool) => headOf(tool) ?? []);
  const { heap, waste, input } = run;
  const words = heads.find((head) => head.words !== undefined)?.words;
  const command = words === undefined ? waste?.command : commandLine(words);
  const end = heap?.description.end;
  // The first hint says these sentences.
  const reason = whyHeapUnknown({ heap }) ?? "";
  const facts = [
    ...heads.flatMap((head) => head.facts),
    ...presenceInWords(screen, run.presence ?? heap?.description.presence),
  ];
  return {
    writtenBy: MEMSHADE_VERSION,
    program: heads.find((head) => head.program !== undefined)?.program ?? waste?.command ?? input,
    ...(command === undefined ? {} : { command }),
    ...(end === undefined
      ? {}
      : { ended: endInWords(end) + (end.message === undefined ? "" : `: ${end.message}`) }),
    facts: facts.map(([label, value]) => ({ label, value })),
    keys: heads.flatMap(({ keys }) => keys),
    notTracked: [...new Set([...heads.flatMap(({ notTracked }) => notTracked), ...notRecorded(run)])].filter(
      (sentence) => !reason.includes(sentence),
    ),
    hints: hintsOf(run),
  };
}

function heapKeys(heap: HeapProfile): PageKey[] {
  if (whyHeapUnknown({ heap }) !== undefined) return [];
  const { totals, counters, knownHost } = heap.description;
  const { allocatedBytes, allocations } = heapTotals(heap);
  const keys: PageKey[] = [];
  const add = (
    [label, word, weight]: readonly [label: string, word: string, weight: string],
    value: number | undefined,
    blocks: number | undefined,
    least = "",
  ): void => {
    if (value === undefined) return;
    const note = blocks === undefined ? undefined : `${least}in ${formatBlocks(blocks)}`;
    keys.push({ label, word, value, unit: "bytes", weight, ...(note === undefined ? {} : { note }) });
  };
  add(["peak", "peak", "peak"], totals?.peakBytes, totals?.peakBlocks);
  add(["left", "live", "left"], totals?.liveBytes, totals?.liveBlocks);
  if (keys.length === 0 && knowsField(heap, "totalSize"))
    add(
      ["allocated", "block", "bytes"],
      allocatedBytes,
      knowsField(heap, "allocCount") ? allocations : undefined,
    );
  if (counters === "none") return keys;
  // Unread bytes may be meant for a host whose reads are not recorded.
  const unread = knownHost === true ? writtenNeverRead(heap) : undefined;
  if (unread !== undefined)
    add(["never read", "never-read", "unread"], unread.totalBytes, unread.totalBlocks);
  else if (knowsField(heap, "totalAccessCount")) {
    const unused = neverAccessed(heap);
    const least = unused.isLowerBound ? "or more, " : "";
    add(["never accessed", "unused", "unaccessed"], unused.totalBytes, unused.totalBlocks, least);
  }
  return keys;
}

function wasteKeys(waste: WasteFile): PageKey[] {
  if (waste.totals.bytesWritten === 0) return [];
  const { deadOverwritten, bytesWritten, silentStores, stores } = waste.totals;
  return [
    {
      label: "dead",
      word: "dead",
      value: deadOverwritten / bytesWritten,
      unit: "part",
      weight: "dead",
      note: "of the bytes stored",
    },
    {
      label: "silent",
      word: "silent",
      value: silentStores / Math.max(1, stores),
      unit: "part",
      weight: "silent",
      note: "of the stores",
    },
  ];
}

function workingSetKeys(workingset: WorkingSetProfile): PageKey[] {
  const lines = workingset.instances.map(({ levels }) => levels[0]?.counts.lines ?? []);
  const most = lines.reduce((largest, counts) => Math.max(largest, ...counts), 0);
  if (most === 0) return [];
  const value = most * workingset.lineBytes;
  return [
    { label: "working set", word: "working set", value, unit: "bytes", note: "at most, in an interval" },
  ];
}

function objectKeys(objects: ObjectsProfile): PageKey[] {
  const { bytes, objects: count } = objectTotals(objects);
  const live = objects.parts.flatMap((part) => wholeSurvival(part) ?? []);
  const estimate = live.reduce((sum, survival) => sum + survival.bytes, 0);
  const error = Math.sqrt(live.reduce((sum, survival) => sum + survival.error ** 2, 0));
  const areSettled = objects.parts.every(({ samples }) => samples.site.length === 0 || samples.settled);
  const most = areSettled ? "" : "at most, ";
  return [
    {
      label: "objects",
      word: "object",
      value: bytes,
      unit: "bytes",
      weight: "object-bytes",
      note: `in ${plural(count, "object")}`,
    },
    ...(live.length === 0
      ? []
      : [
          {
            label: "in use",
            word: "in use",
            unit: "bytes" as const,
            weight: "objects-in-use",
            value: estimate,
            note: `${most}± ${formatBytes(error)}, estimated`,
          },
        ]),
  ];
}

function cpuKeys(cpu: CpuProfile): PageKey[] {
  const value = cpu.samples.samples.values[CPU_VALUES.nanoseconds]!.reduce((sum, time) => sum + time, 0);
  const note = `in ${plural(cpu.samples.samples.length, "sample")}`;
  return [{ label: "CPU time", word: "call path", value, unit: "ns", weight: "cpu", note }];
}

/** Returns sentences about views that this run did not record, with the option that records them. */
function notRecorded({ heap, waste, workingset, presence }: HeadOf): string[] {
  if (isOfNativeRun(presence) || whyHeapUnknown({ heap }) !== undefined) return [];
  const hasCells = heap?.contexts.mibs.histogram.some((counts) => counts !== undefined) === true;
  const isRun = heap?.description.recordedBy !== undefined || waste !== undefined;
  const hasCaches = workingset?.instances.some(({ locality }) => locality !== undefined) === true;
  return [
    ...(isRun && !hasCells && waste?.objects === undefined
      ? [
          "Accesses inside blocks were not recorded: use --exact-histogram, or --objects for separate reads and writes.",
        ]
      : []),
    ...(workingset !== undefined && !hasCaches
      ? ["Cache misses were not recorded: use --locality, and --who for the owners of the lines."]
      : []),
  ];
}

/** Returns sentences that explain how to get more data onto the page. */
function hintsOf(run: HeadOf): string[] {
  const { heap, objects, presence } = run;
  // The other tools record linear memory, which such programs do not use.
  if (objects !== undefined && heap === undefined) return [];
  const missing = RECORDED_TOGETHER.filter(([tool]) => run[tool] === undefined);
  const isNative = isOfNativeRun(presence) || (heap !== undefined && isOfNativeProgram(heap));
  const isRecorded =
    heap?.description.recordedBy !== undefined ||
    (heap === undefined && missing.length < RECORDED_TOGETHER.length);
  const hints: string[] = [];
  const unknown = whyHeapUnknown({ heap });
  if (unknown !== undefined) hints.push(unknown.charAt(0).toUpperCase() + unknown.slice(1));
  if (isRecorded && missing.length > 0 && !isNative)
    hints.push(
      `Not recorded: ${missing.map(([, name]) => name).join(" and ")}. --tool heap,waste,workingset records all of it in one run.`,
    );
  const hashed = heap === undefined ? 0 : hashedFrames(heap);
  if (hashed > 0)
    hints.push(
      `${formatPercent(hashed, 1)} of the frames have only a hash of their function's name. --binary-path PROGRAM names them ` +
        "and their lines: the program that was recorded, with its debug information (-g).",
    );
  const nameless = heap === undefined ? undefined : namelessSites(heap);
  if (nameless !== undefined && nameless.part > 0.5)
    hints.push(
      `${formatPercent(nameless.part, 1)} of the ${nameless.of} come from code without names or lines. ` +
        (heap!.description.importedFrom !== undefined
          ? `${DEBUG_SYMBOLS}, or build it with -g, and record it again.`
          : isNative
            ? `${DEBUG_SYMBOLS}, or name a folder with them with --binary-path FOLDER.`
            : "Give the module as it was before its names were stripped with --binary-path FOLDER, or build it with -g."),
    );
  return hints;
}

const DEBUG_SYMBOLS =
  "Install the debug symbols of the program and its libraries (on Debian, packages whose names end in -dbgsym or -dbg)";

/** Tools that one run can record, with the names of their parts. */
const RECORDED_TOGETHER = [
  ["heap", "blocks of the heap"],
  ["waste", "stores and loads in vain"],
  ["workingset", "the working set"],
] as const;

/** Matches a function of an indexed MemProf profile. */
const HASH_FOR_NAME = /^GUID 0x[0-9a-f]+$/;

/** Returns the part of the frames, scripts excluded, that have a hash in place of a name, and no line. */
function hashedFrames(heap: HeapProfile): number {
  let frameCount = 0;
  let found = 0;
  for (let frame = 0; frame < heap.frames.length; frame++) {
    if (heap.frames.host?.[frame] !== undefined) continue;
    frameCount++;
    if (heap.frames.line[frame] === 0 && HASH_FOR_NAME.test(nameOf(heap, frame) ?? "")) found++;
  }
  return frameCount === 0 ? 0 : found / frameCount;
}

/** Returns the part of the bytes (at the peak, if known) whose site has neither a name nor a line. */
function namelessSites(heap: HeapProfile): { readonly part: number; readonly of: string } | undefined {
  const peak = measure("peak").column({ heap });
  const amounts = (peak ?? measure("bytes").column({ heap }))?.amounts;
  if (amounts === undefined) return undefined;
  let [total, found] = [0, 0];
  for (let context = 0; context < heap.contexts.length; context++) {
    const amount = Number(amounts[context]);
    const frame = siteFrameOfContext(heap, context as IndexIntoContextTable);
    total += amount;
    if (frame === undefined || heap.frames.host?.[frame] !== undefined || heap.frames.line[frame] !== 0)
      continue;
    if (nameOf(heap, frame) === undefined) found += amount;
  }
  return { part: total === 0 ? 0 : found / total, of: peak === undefined ? "bytes" : "bytes at the peak" };
}

function nameOf({ frames, functions, strings }: HeapProfile, frame: number): string | undefined {
  const name = functions.name[frames.function[frame]!]!;
  return name === NONE ? undefined : strings[name];
}
