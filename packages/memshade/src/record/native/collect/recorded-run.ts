import { UserError } from "../../../ground/bytes/errors.ts";
import {
  BLOCK_FIGURES,
  type Bound,
  boundsMember,
  FIGURES,
  placeBound,
  unseenBounds,
} from "../../../profile/model/bound.ts";
import { counted } from "../../../profile/model/counted.ts";
import { CPU_FILE, type CpuSamples } from "../../../profile/model/cpu/cpu-samples.ts";
import { namedModuleOf } from "../../../profile/model/named-module.ts";
import { RUN_SCHEMA, RUN_VERSION, type Run, type RunEnd } from "../../../profile/model/run.ts";
import { MEMSHADE_VERSION } from "../../../profile/model/version.ts";
import type { ProfileFile } from "../../tools/session.ts";
import { WORKING_SET_FILE } from "../../tools/working-set/read/working-set-session.ts";
import { Header } from "../layout.ts";
import { bytesLeftAlone, namesOf } from "../rewritten/not-counted.ts";
import type { RewrittenFile } from "../rewritten/rewrite-files.ts";
import { nativeTool } from "../tools/index.ts";
import { describeNative } from "../tools/working-set/read/describe-native.ts";
import { filesReadAsData } from "./code-read.ts";
import { contextPath, heapPart } from "./heap-part.ts";
import type { LeftBehind, NativeRecord, RecordedProgram, RecordingOptions } from "./left-behind.ts";
import { readModules } from "./modules.ts";
import { OriginalPlaces } from "./original-places.ts";
import { describeModule, ofCode } from "./run-modules.ts";
import { unsharedMarks } from "./uncounted-accesses.ts";
import { unseen, unseenBlocks } from "./unseen.ts";
import { bytesTaken, wasteRun } from "./waste-run.ts";

/**
 * Makes a run of what a process has left in its memory. Its places in code are the numbers of its sites, so that two runs of one
 * program have the same ones.
 */
export function recordedRun(
  {
    memory,
    counters,
    names = new Map(),
    samples: taken,
    replacedBy,
    workingSet,
    counts,
    maps = "",
  }: LeftBehind,
  program: RecordedProgram,
  end: RunEnd,
  { clock, blocks, mappings, children, rewritten = [], memoryLimit, notCounted = [] }: RecordingOptions,
): NativeRecord {
  const view = new DataView(memory);
  const tool = program.tool && nativeTool(program.tool.name, program.tool.options);
  const header = (field: number): number => view.getUint32(field, true);
  const loaded = readModules(memory, header(Header.modules));
  const places = new OriginalPlaces(loaded, rewritten);
  places.translate(memory);
  const isCounting = header(Header.isCounting) !== 0;
  const readAsData = filesReadAsData(loaded, rewritten, {
    counters: isCounting ? counters : undefined,
    counts: tool?.isWaste === undefined ? undefined : counts,
    lines: workingSet?.lines,
  });
  const changed = readAsData.length === 0 ? [] : [readSentence(readAsData)];
  const samples = taken && places.ofSamples(taken);
  const all = places.modules;
  const ours = all.filter(({ name }) => name === program.image);
  const modules = all
    .filter((module) => !ours.includes(module))
    .map((module) => ofCode(module, program.file));
  const counted =
    tool?.isCounting === true
      ? new Set(rewritten.filter((file) => bytesLeftAlone(file) === 0).map(({ original }) => original))
      : undefined;
  const described = modules.map((module, index) => describeModule(module, index, program.file, counted));
  if (tool?.isWaste !== undefined) {
    if (counts === undefined || header(Header.countersFailure) !== 0) throw new UserError(NOT_SHARED);
    const record = wasteRun({
      counts,
      memory,
      places: modules,
      maps,
      program,
      rewritten,
      modules: described,
      end,
      children,
      memoryLimit,
      stackTop: Number(view.getBigUint64(Header.stackTop, true)),
      unseen: [...changed, ...program.notes, ...unseen(view, replacedBy), ...notCounted],
      bounds: boundsOfProcess(view, replacedBy),
    });
    return { ...record, readAsData };
  }
  const marks = tool?.isMarking === true ? unsharedMarks(view) : [];
  const start = Number(view.getBigUint64(Header.start, true));
  const lines =
    marks.length > 0 || workingSet === undefined
      ? undefined
      : describeNative(
          workingSet,
          {
            ...program,
            modules: described.map(namedModuleOf),
            threads: header(Header.threads),
            pathOf: (context) => contextPath(view, context, ours),
          },
          samples,
          start,
        );
  const isMarked = lines !== undefined;
  const part = blocks
    ? heapPart({
        memory,
        counters,
        names,
        modules,
        ours,
        clock,
        mappings,
        isMarked,
        end,
        isLeftAlone: program.isLeftAlone === true,
      })
    : undefined;
  const isNoneExpected = replacedBy !== undefined || program.notes.length > 0;
  const gaps = [
    ...changed,
    ...marks,
    ...(tool?.isMarking === true && !isMarked && marks.length === 0
      ? [end.kind === "dump" ? NO_LINES_YET : NO_LINES]
      : []),
    ...(blocks ? [...program.notes, ...unseenBlocks(view, isNoneExpected)] : []),
    ...unseen(view, replacedBy),
    ...notCounted,
  ];
  // Nobody asked for samples that are there for the working set alone.
  const cpu = isMarked && samples !== undefined && isEmpty(samples) ? undefined : samples;
  const files: ProfileFile[] = [
    ...(part === undefined ? [] : [part.profile, ...(part.intervals === undefined ? [] : [part.intervals])]),
    ...(cpu === undefined ? [] : [{ name: CPU_FILE, contents: `${JSON.stringify(cpu)}\n` }]),
    ...(isMarked ? [{ name: WORKING_SET_FILE, contents: `${JSON.stringify(lines.profile)}\n` }] : []),
  ];
  const run: Run = {
    schema: RUN_SCHEMA,
    version: RUN_VERSION,
    memshade: MEMSHADE_VERSION,
    command: [...program.command],
    program: program.program,
    tools: {
      heap: part?.tool,
      ...(isMarked ? { workingset: lines.description } : {}),
      ...(cpu === undefined ? {} : { cpu: { hz: cpu.hz } }),
    },
    end,
    modules: described,
    heap: part && { ...part.heap, notTracked: [...part.heap.notTracked, ...gaps] },
    ...(children === undefined ? {} : { children: [...children] }),
    notTracked: part === undefined ? gaps : [],
    ...boundsMember([
      ...(part?.bounds ?? []),
      ...(lines?.bounds ?? []),
      ...boundsOfProcess(view, replacedBy),
    ]),
    presence: {
      modules: 0,
      shadow: part?.heap.profilerBytes ?? (counts === undefined ? 0 : bytesTaken(counts)),
      recorded: files.reduce((sum, { contents }) => sum + contents.length, 0),
      limit: memoryLimit,
    },
    files: {
      heap: part?.profile.name,
      heapIntervals: part?.intervals?.name,
      ...(isMarked ? { workingset: WORKING_SET_FILE } : {}),
      ...(cpu === undefined ? {} : { cpu: CPU_FILE }),
    },
  };
  return { run, files, readAsData };
}

function readSentence(files: readonly RewrittenFile[]): string {
  const names = namesOf(files.map(({ original }) => original));
  return `The program has read its own code as data (${names}), where memshade had put jumps into it: what it made of that may be wrong.`;
}

function isEmpty({ samples, notTracked }: CpuSamples): boolean {
  return samples.ms.length === 0 && notTracked.length === 0;
}

const NOT_SHARED =
  "the program could make no file to share by what it counts: a limit of file sizes, a sandbox, or no room in /dev/shm";

const NO_LINES_YET = "There is no working set yet: the first interval has not ended.";
const NO_LINES = "There is no working set: nobody has seen the marks of lines before the process ended.";

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
