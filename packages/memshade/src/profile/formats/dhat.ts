import { FormatError, UserError } from "../../ground/bytes/errors.ts";
import { type Check, count, each, flag, integer, list, optional, record, text } from "../model/check.ts";
import type { HeapProfile, ResolvedFrame } from "../model/heap-profile.ts";
import { type ImportedContext, importedHeapProfile, MOST_FRAMES } from "../model/imported-heap.ts";
import type { Clock } from "../model/run.ts";
import { framesOfSampleStack, type SampleFrame, type SampleProfile } from "../model/sample-profile.ts";
import { exactAmount } from "./amounts.ts";
import { FrameModules } from "./frame-modules.ts";
import { jsonArray, jsonObject } from "./json-pieces.ts";

const DHAT_FILE_VERSION = 2;

/** Amounts of a program point, one value per sample, under their names in the file. */
export interface DhatColumns {
  /** Bytes (`tb`) and blocks (`tbk`) in total. */
  readonly tb: readonly number[];
  readonly tbk: readonly number[];
  /** Lifetimes and maxima; absent if the profile did not record them. */
  readonly lives?: DhatLives | undefined;
  /** Bytes read from the blocks and written to them; absent if the profile does not separate reads from writes. */
  readonly accesses?: DhatAccesses | undefined;
}

interface DhatAccesses {
  readonly rb: readonly number[];
  readonly wb: readonly number[];
}

export interface DhatLives {
  readonly tl: readonly number[];
  readonly mb: readonly number[];
  readonly mbk: readonly number[];
  /** Bytes and blocks at the peak of all points together. */
  readonly gb: readonly number[];
  readonly gbk: readonly number[];
  readonly eb: readonly number[];
  readonly ebk: readonly number[];
}

export interface DhatHeader {
  /** Kind of profile, shown at the top; some readers accept only "heap". */
  readonly mode: string;
  /** Sentences that explain the numbers; no reader shows them. */
  readonly notes: readonly string[];
  /** Verb of the total, as in "Allocated at {". */
  readonly verb: string;
  readonly command: string;
  readonly units: { readonly byte: string; readonly bytes: string; readonly blocks: string };
  /** Clock: its unit, a million of that unit, and its readings. */
  readonly time: {
    readonly unit: string;
    readonly million: string;
    readonly end: number;
    /** Time of the peak of all points together. */
    readonly peak: number;
    /** Longest mean lifetime that counts as short. */
    readonly short: number;
  };
}

/**
 * Writes a DHAT file, version 2, without accesses per offset. Samples with equal frames become one point, because
 * readers reject duplicates.
 *
 * @throws UserError if a sum is negative or above 2^53
 */
export function* writeDhat(
  profile: SampleProfile,
  { mode, verb, command, units, time, notes }: DhatHeader,
  columns: DhatColumns,
): Generator<string> {
  const { texts, points } = pointsOf(profile, columns);
  yield* jsonObject({
    dhatFileVersion: DHAT_FILE_VERSION,
    mode,
    verb,
    bklt: columns.lives !== undefined,
    bkacc: columns.accesses !== undefined,
    bu: units.byte,
    bsu: units.bytes,
    bksu: units.blocks,
    tu: time.unit,
    Mtu: time.million,
    ...(columns.lives && { tuth: time.short }),
    cmd: command,
    pid: 0,
    te: exactAmount(time.end, "te"),
    ...(columns.lives && { tg: exactAmount(time.peak, "tg") }),
    notes,
    pps: jsonArray(points),
    ftbl: jsonArray(texts),
  });
  yield "\n";
}

interface Point extends Amounts {
  fs: readonly number[];
}

type Amounts = { tb: number; tbk: number } & { [Name in keyof DhatLives | keyof DhatAccesses]?: number };

function pointsOf(profile: SampleProfile, { tb, tbk, lives, accesses }: DhatColumns) {
  const texts = ["[root]"];
  const textIndex = new Map<string, number>();
  const indexOf = profile.frames.map((frame) => {
    const text = textOf(frame);
    const existing = textIndex.get(text);
    if (existing !== undefined) return existing;
    textIndex.set(text, texts.length);
    return texts.push(text) - 1;
  });
  const columns = Object.entries({ tb, tbk, ...lives, ...accesses });
  const points = new Map<string, Point>();
  for (let row = 0; row < profile.samples.length; row++) {
    const fs = framesOfSampleStack(profile, profile.samples.stack[row]!).map((frame) => indexOf[frame]!);
    const amounts = Object.fromEntries(columns.map(([name, column]) => [name, column[row]!]));
    const existing = points.get(fs.join());
    points.set(fs.join(), { ...together(amounts as Amounts, existing), fs });
  }
  for (const { fs: _, ...amounts } of points.values())
    for (const [name, value] of Object.entries(amounts)) exactAmount(value, name);
  return { texts, points: points.values() };
}

/** Adds the amounts of two samples. `mb` and `mbk` take the larger value: maxima of different times do not add up. */
function together(a: Amounts, b: Amounts | undefined): Amounts {
  if (b === undefined) return a;
  const sum = (name: keyof Amounts) => (a[name] ?? 0) + (b[name] ?? 0);
  const accesses = a.rb === undefined ? {} : { rb: sum("rb"), wb: sum("wb") };
  const total = { tb: sum("tb"), tbk: sum("tbk"), ...accesses };
  if (a.tl === undefined) return total;
  const most = (name: "mb" | "mbk") => Math.max(a[name] ?? 0, b[name] ?? 0);
  const [gb, gbk, eb, ebk] = [sum("gb"), sum("gbk"), sum("eb"), sum("ebk")];
  return {
    ...total,
    tl: sum("tl"),
    gb,
    gbk,
    eb,
    ebk,
    mb: Math.max(most("mb"), gb, eb),
    mbk: Math.max(most("mbk"), gbk, ebk),
  };
}

/** Formats a frame as readers parse it: `0x1a2: parse (src/parse.c:88:5)`. */
function textOf({ function: name, address = 0, file, line, column }: SampleFrame): string {
  const place = [file, line || undefined, line ? column || undefined : undefined].filter(
    (part) => part !== undefined,
  );
  const position = file === undefined ? "" : ` (${place.join(":")})`;
  return `0x${address.toString(16).toUpperCase()}: ${name}${position}`;
}

const VERSION = 2;
const CONSTRUCT = "DHAT profile";
/** First key of a DHAT file, though the order of keys may vary. */
const KEY = '"dhatFileVersion"';
const START_CHARACTERS = 4096;

interface DhatPoint {
  tb: number;
  tbk: number;
  tl?: number | undefined;
  mb?: number | undefined;
  mbk?: number | undefined;
  gb?: number | undefined;
  gbk?: number | undefined;
  eb?: number | undefined;
  ebk?: number | undefined;
  rb?: number | undefined;
  wb?: number | undefined;
  fs: number[];
}

interface DhatFile {
  mode: string;
  bklt: boolean;
  bkacc: boolean;
  tu: string;
  cmd: string;
  pps: DhatPoint[];
  ftbl: string[];
}

const point = record<DhatPoint>({
  tb: count,
  tbk: count,
  ...each(optional(count), "tl", "mb", "mbk", "gb", "gbk", "eb", "ebk", "rb", "wb"),
  fs: list(count),
});

const dhat: Check<DhatFile> = record<DhatFile>({
  ...each(text, "mode", "tu", "cmd"),
  bklt: flag,
  bkacc: flag,
  pps: list(point),
  ftbl: list(text),
});

export function isDhat(start: string): boolean {
  return start.trimStart().startsWith("{") && start.slice(0, START_CHARACTERS).includes(KEY);
}

/**
 * Reads a file of Valgrind's DHAT, or of a library that writes the same format.
 *
 * @throws FormatError for other versions and modes, and for incomplete files
 */
export function readDhat(json: string): HeapProfile {
  const file = checked(parsed(json));
  const modules = new FrameModules();
  const program = programOf(file.cmd);
  const frames = file.ftbl.map((entry) => frameOf(entry, modules, program));
  const contexts = file.pps.map((each, index): ImportedContext => {
    const { tb, tbk, tl, gb, gbk, eb, ebk, rb, wb, fs } = each;
    return {
      frames: withoutRuntime(fs.slice(0, 2 * MOST_FRAMES).map((entry) => frames[entry] ?? outside(index))),
      allocated: { bytes: tb, blocks: tbk },
      ...(file.bklt
        ? {
            totalLifetime: required(tl, index, "tl"),
            peak: { bytes: required(gb, index, "gb"), blocks: required(gbk, index, "gbk") },
            live: { bytes: required(eb, index, "eb"), blocks: required(ebk, index, "ebk") },
          }
        : {}),
      ...(file.bkacc
        ? { accessed: { read: required(rb, index, "rb"), written: required(wb, index, "wb") } }
        : {}),
    };
  });
  return importedHeapProfile({
    contexts,
    modules: modules.list,
    program,
    command: file.cmd === "" ? undefined : file.cmd.split(" "),
    clock: clockOf(file.tu),
    format: "DHAT",
    version: VERSION,
    readsAreKnown: file.bkacc,
    notTracked: [
      file.bkacc
        ? "DHAT counts bytes read and written, not accesses: blocks are reported as never read only if their whole call path read nothing."
        : "Accesses were not recorded.",
      ...(file.bklt ? [] : ["Lifetimes, the peak and what was live at the end were not recorded."]),
    ],
  });
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    const message = (error as Error).message;
    const found = /position (\d+)/.exec(message)?.[1];
    const isCut =
      found === undefined ||
      Number(found) >= json.length ||
      /Unterminated/.test(message) ||
      !/\}\s*$/.test(json.slice(-64));
    const at = isCut ? json.length : Number(found);
    throw new FormatError(
      isCut ? "truncated" : "malformed",
      at,
      CONSTRUCT,
      isCut ? "the file ends inside of its JSON" : "it is not JSON",
    );
  }
}

function checked(value: unknown): DhatFile {
  try {
    const { dhatFileVersion } = record<{ dhatFileVersion: number }>({ dhatFileVersion: integer })(value);
    if (dhatFileVersion !== VERSION)
      throw new FormatError(
        "unsupported-version",
        0,
        CONSTRUCT,
        `version ${dhatFileVersion}, not ${VERSION}`,
      );
    const file = dhat(value);
    if (!HEAP_MODE.test(file.mode))
      throw new FormatError(
        "unsupported",
        0,
        CONSTRUCT,
        `it has no heap: it was made in the mode ${JSON.stringify(file.mode)}`,
      );
    return file;
  } catch (error) {
    throw error instanceof UserError ? new FormatError("malformed", 0, CONSTRUCT, error.message) : error;
  }
}

function required(value: number | undefined, index: number, key: string): number {
  if (value !== undefined) return value;
  throw new FormatError("malformed", 0, CONSTRUCT, `pps[${index}].${key} is missing`);
}

function outside(index: number): never {
  throw new FormatError("malformed", 0, CONSTRUCT, `pps[${index}].fs names a frame that is not in ftbl`);
}

function programOf(command: string): string | undefined {
  const [first = ""] = command.trim().split(/\s+/);
  const name = first.slice(first.lastIndexOf("/") + 1);
  return name === "" ? undefined : name;
}

/** Modes of Valgrind, of the crate dhat, and of memshade's exports, which append more text. */
const HEAP_MODE = /^(?:rust-)?heap\b/;

const REAL_UNITS = ["ns", "µs", "us", "ms", "s"];

function clockOf(unit: string): Clock {
  if (REAL_UNITS.includes(unit)) return { kind: "wall", unit };
  return { kind: "virtual", unit: unit === "instrs" ? "instructions" : unit };
}

/** Forms of a frame: `0x10919D: leak (small.c:6)`, `0x48417B4: malloc (in /usr/lib/libc.so.6)`, or any text. */
const FRAME = /^(?:0x([0-9A-Fa-f]{1,16}): )?(.*?)$/s;
const PLACE = /^(.*) \((?:in (.+)|(.+?):(\d+)(?::(\d+))?)\)$/s;

/** Frame of the table. All paths share its two forms, because a file may have millions of paths. */
interface DhatFrame {
  readonly called: ResolvedFrame;
  readonly inlined: ResolvedFrame;
  /** True if the function belongs to the profiler, which replaces malloc. */
  readonly isRuntime: boolean;
}

function frameOf(entry: string, modules: FrameModules, program: string | undefined): DhatFrame {
  const [, address, rest = ""] = FRAME.exec(entry) ?? [];
  const [, name = rest, object, file, line, column] = PLACE.exec(rest) ?? [];
  const called = {
    module: modules.indexOf(object ?? program ?? "the program", object),
    name: name === "???" ? undefined : name,
    offset: address === undefined ? 0 : Number(BigInt(`0x${address}`)),
    file,
    line: line === undefined ? undefined : Number(line),
    column: column === undefined ? undefined : Number(column),
    inlined: false,
  };
  const isRuntime = /vgpreload_/.test(object ?? "") || /vg_replace_malloc\.c$/.test(file ?? "");
  return { called, inlined: { ...called, inlined: true }, isRuntime };
}

/** Drops the profiler's own functions from the innermost end. A frame at the same address as its caller is inlined. */
function withoutRuntime(frames: readonly DhatFrame[]): ResolvedFrame[] {
  const first = frames.findIndex(({ isRuntime }) => !isRuntime);
  const programFrames = first <= 0 ? frames : frames.slice(first);
  return programFrames.map(({ called, inlined }, depth) =>
    called.offset !== 0 && called.offset === programFrames[depth + 1]?.called.offset ? inlined : called,
  );
}
