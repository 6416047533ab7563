import {
  BLOCK_FIGURES,
  type Bound,
  FIGURES,
  placeBound,
  unseenBounds,
} from "../../../profile/model/bound.ts";
import { counted } from "../../../profile/model/counted.ts";
import { CPU_FILE, type CpuSamples } from "../../../profile/model/cpu.ts";
import type { RunEnd, RunHeap } from "../../../profile/model/run.ts";
import { MEASURED_FILE, measuredFile } from "../../host/run/measured.ts";
import { assembleRun, filesOfParts, type RunPart } from "../../tools/assemble-run.ts";
import { Header } from "../layout.ts";
import type { NativeToolName } from "../native-tool.ts";
import { bytesLeftAlone, namesOf } from "../rewritten/not-counted.ts";
import type { RewrittenFile } from "../rewritten/rewrite-files.ts";
import { filesReadAsData } from "./code-read.ts";
import { type HeapPart, heapPart } from "./heap-part.ts";
import type { LeftBehind, NativeRecord, RecordedProgram, RecordingOptions } from "./left-behind.ts";
import { readModules } from "./modules.ts";
import { OriginalPlaces } from "./original-places.ts";
import { processMemory } from "./process-memory.ts";
import { describeModule, ofCode } from "./run-modules.ts";
import type { ToolReader } from "./tool-reader.ts";
import { unseen, unseenBlocks } from "./unseen.ts";
import { WASTE_READER } from "./waste-part.ts";
import { WORKING_SET_READER } from "./working-set-part.ts";

const READERS: Readonly<Record<NativeToolName, ToolReader>> = {
  heap: { countsAccesses: true },
  waste: WASTE_READER,
  "working-set": WORKING_SET_READER,
};

const NOT_ASKED = { unknown: "--no-reach was given" };

/**
 * Makes a run of what a process has left in its memory. Its places in code are the numbers of its sites, so that two runs of one
 * program have the same ones.
 */
export function recordedRun(
  found: LeftBehind,
  program: RecordedProgram,
  end: RunEnd,
  {
    clock,
    blocks,
    mappings,
    children,
    rewritten = [],
    memoryLimit,
    noReach,
    notCounted = [],
  }: RecordingOptions,
): NativeRecord {
  const { memory, counters, names = new Map(), replacedBy, workingSet, counts, status } = found;
  const view = new DataView(memory);
  const reader = program.tool && READERS[program.tool.name];
  const loaded = readModules(memory, view.getUint32(Header.modules, true));
  const places = new OriginalPlaces(loaded, rewritten);
  places.translate(memory);
  const isCounting = view.getUint32(Header.isCounting, true) !== 0;
  const readAsData = filesReadAsData(loaded, rewritten, {
    counters: isCounting ? counters : undefined,
    counts: reader?.hasCounts === true ? counts : undefined,
    lines: workingSet?.lines,
  });
  const samples = found.samples && places.ofSamples(found.samples);
  const all = places.modules;
  const ours = all.filter(({ name }) => name === program.image);
  const modules = all
    .filter((module) => !ours.includes(module))
    .map((module) => ofCode(module, program.file));
  const isWhole = (file: RewrittenFile): boolean => bytesLeftAlone(file) === 0;
  const whole =
    reader?.countsAccesses === true
      ? new Set(rewritten.filter(isWhole).map(({ original }) => original))
      : undefined;
  const described = modules.map((module, index) => describeModule(module, index, program.file, whole));
  const ofTool = reader?.read?.({
    left: { ...found, samples },
    view,
    program,
    modules,
    described,
    ours,
    rewritten,
    originalOf: (site) => places.of(site),
    isRunning: end.kind === "dump",
  });
  const heap =
    blocks && reader?.withoutBlocks !== true
      ? heapPart({
          memory,
          counters,
          names,
          modules,
          ours,
          clock,
          mappings,
          isMarked: ofTool?.part?.tools.workingset !== undefined,
          end,
          isLeftAlone: program.isLeftAlone === true,
          reach: found.reach ?? (noReach === true ? NOT_ASKED : undefined),
        })
      : undefined;
  const isNoneExpected = replacedBy !== undefined || program.notes.length > 0;
  const gaps = [
    ...(readAsData.length === 0 ? [] : [readSentence(readAsData)]),
    ...(ofTool?.gaps ?? []),
    ...(blocks || reader?.withoutBlocks === true ? program.notes : []),
    ...(heap === undefined ? [] : unseenBlocks(view, isNoneExpected)),
    ...unseen(view, replacedBy),
    ...notCounted,
  ];
  // Nobody asked for samples that are there for a tool alone.
  const hasCpu = samples !== undefined && !(ofTool?.part !== undefined && isEmpty(samples));
  const parts: RunPart[] = [
    ...(heap === undefined ? [] : [{ ...heap.part, heap: { heap: withGaps(heap.heap, gaps) } }]),
    ...(ofTool?.part === undefined ? [] : [ofTool.part]),
    ...(hasCpu ? [cpuPart(samples)] : []),
  ];
  const run = assembleRun(
    {
      command: [...program.command],
      program: program.program,
      end,
      modules: [...(ofTool?.modules ?? described)],
      children: children && [...children],
      notTracked: heap === undefined ? gaps : [],
      bounds: boundsOfProcess(view, replacedBy),
      rewrittenBytes: 0,
      memoryLimit,
    },
    parts,
  );
  const measured = replacedBy === undefined ? processMemory(view, status) : undefined;
  if (measured === undefined) return { run, files: filesOfParts(parts), readAsData };
  run.files.measured = MEASURED_FILE;
  return { run, files: [measuredFile({ memory: measured }), ...filesOfParts(parts)], readAsData };
}

function withGaps(heap: HeapPart["heap"], gaps: readonly string[]): RunHeap {
  return { ...heap, notTracked: [...heap.notTracked, ...gaps] };
}

function cpuPart(samples: CpuSamples): RunPart {
  const contents = `${JSON.stringify(samples)}\n`;
  return {
    tools: { cpu: { hz: samples.hz } },
    files: [{ member: "cpu", name: CPU_FILE, contents }],
    shadowBytes: 0,
    bounds: [],
  };
}

function readSentence(files: readonly RewrittenFile[]): string {
  const names = namesOf(files.map(({ original }) => original));
  return `The program has read its own code as data (${names}), where memshade had put jumps into it: what it made of that may be wrong.`;
}

function isEmpty({ samples, notTracked }: CpuSamples): boolean {
  return samples.ms.length === 0 && notTracked.length === 0;
}

/**
 * Which figures of a process are no exact counts for want of what was not seen of it.
 *
 * @param replacedBy path of the program that the process has replaced itself by
 */
export function boundsOfProcess(view: DataView, replacedBy?: string): Bound[] {
  const count = (field: number): number => Number(view.getBigUint64(field, true));
  const [early, unrecorded] = [count(Header.early), count(Header.unrecorded)];
  const refused = view.getUint32(Header.threadsRefused, true);
  const folded = view.getUint32(Header.foldedCalls, true);
  const [lost, cut] = [count(Header.lostStacks), count(Header.cutStacks)];
  const hasThreads = view.getUint32(Header.threads, true) > 1;
  const isUnshared = view.getUint32(Header.countersFailure, true) !== 0;
  const some = (number: number, bounds: (calls: string) => Bound[], one: string, many: string): Bound[] =>
    number === 0 ? [] : bounds(counted(number, one, many));
  const byPlace = (because: string): Bound[] => [placeBound(FIGURES, because)];
  const unseen = (because: string): Bound[] => unseenBounds(because, BLOCK_FIGURES);
  return [
    ...(replacedBy === undefined ? [] : unseenBounds(`the program has replaced itself by ${replacedBy}`)),
    ...some(early, unseen, "call of the allocator came", "calls of the allocator came").map(
      (bound): Bound => ({ ...bound, because: `${bound.because} before anything could be recorded` }),
    ),
    ...some(
      unrecorded,
      unseen,
      "call of the allocator was not recorded",
      "calls of the allocator were not recorded",
    ),
    ...some(refused, unseen, "thread was not recorded", "threads were not recorded"),
    ...some(folded, byPlace, "call of recursion was left out", "calls of recursion were left out"),
    ...some(lost, byPlace, "stack ended early", "stacks ended early"),
    ...some(cut, byPlace, "stack was deeper than is kept", "stacks were deeper than is kept"),
    ...(hasThreads
      ? [
          {
            figures: ["accesses", "written"] as const,
            are: "least" as const,
            because: "threads lose counts of accesses that they make to the same bytes at the same time",
          },
        ]
      : []),
    ...(isUnshared
      ? unseenBounds("the counters of accesses found no room outside of the program", ["accesses", "unused"])
      : []),
  ];
}
