import { FormatError, UserError } from "../../../ground/bytes/errors.ts";
import { type Check, count, flag, integer, list, optional, record, text } from "../../model/check.ts";
import type { HeapProfile, ResolvedFrame } from "../../model/heap-profile.ts";
import { type ImportedContext, importedHeapProfile, MOST_FRAMES } from "../../model/imported-heap.ts";
import type { Clock } from "../../model/run.ts";
import { FrameModules } from "../frame-modules.ts";

/** The version of the file that is read here. */
const VERSION = 2;
const CONSTRUCT = "DHAT profile";
/** The key that a file of DHAT begins with, give or take the order of keys. */
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
  tl: optional(count),
  mb: optional(count),
  mbk: optional(count),
  gb: optional(count),
  gbk: optional(count),
  eb: optional(count),
  ebk: optional(count),
  rb: optional(count),
  wb: optional(count),
  fs: list(count),
});

const dhat: Check<DhatFile> = record<DhatFile>({
  mode: text,
  bklt: flag,
  bkacc: flag,
  tu: text,
  cmd: text,
  pps: list(point),
  ftbl: list(text),
});

/** Whether a text may be a file of DHAT, by its first characters. */
export function isDhat(start: string): boolean {
  return start.trimStart().startsWith("{") && start.slice(0, START_CHARACTERS).includes(KEY);
}

/**
 * The heap profile that Valgrind's DHAT, or a library that writes its files, has made.
 *
 * @throws FormatError for other versions and modes, and for what is no whole file
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
            totalLifetime: given(tl, index, "tl"),
            peak: { bytes: given(gb, index, "gb"), blocks: given(gbk, index, "gbk") },
            live: { bytes: given(eb, index, "eb"), blocks: given(ebk, index, "ebk") },
          }
        : {}),
      ...(file.bkacc ? { accessed: { read: given(rb, index, "rb"), written: given(wb, index, "wb") } } : {}),
    };
  });
  return importedHeapProfile({
    contexts,
    modules: modules.all,
    program,
    command: file.cmd === "" ? undefined : file.cmd.split(" "),
    clock: clockOf(file.tu),
    format: "DHAT",
    version: VERSION,
    readsAreKnown: file.bkacc,
    notTracked: [
      file.bkacc
        ? "DHAT counts the bytes that were read and written, and not the accesses; which blocks nobody read is known only of call paths that read nothing at all."
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

function given(value: number | undefined, index: number, key: string): number {
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

/** Of Valgrind, of the crate dhat, and of memshade's exports, which say more behind it. */
const HEAP_MODE = /^(?:rust-)?heap\b/;

const REAL_UNITS = ["ns", "µs", "us", "ms", "s"];

function clockOf(unit: string): Clock {
  if (REAL_UNITS.includes(unit)) return { kind: "wall", unit };
  return { kind: "virtual", unit: unit === "instrs" ? "instructions" : unit };
}

/** `0x10919D: leak (small.c:6)`, `0x48417B4: malloc (in /usr/lib/libc.so.6)`, or any text. */
const FRAME = /^(?:0x([0-9A-Fa-f]{1,16}): )?(.*?)$/s;
const PLACE = /^(.*) \((?:in (.+)|(.+?):(\d+)(?::(\d+))?)\)$/s;

/** A frame of the table. All paths share its two forms: a file may have millions of paths. */
interface DhatFrame {
  readonly called: ResolvedFrame;
  readonly inlined: ResolvedFrame;
  /** Its function belongs to the profiler, which has taken the place of malloc. */
  readonly isRuntime: boolean;
}

function frameOf(entry: string, modules: FrameModules, program: string | undefined): DhatFrame {
  const [, address, rest = ""] = FRAME.exec(entry) ?? [];
  const [, name = rest, object, file, line, column] = PLACE.exec(rest) ?? [];
  const called = {
    module: modules.of(object ?? program ?? "the program", object),
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

/** A path without the functions of the profiler in front; those that share an address are inlined. */
function withoutRuntime(frames: readonly DhatFrame[]): ResolvedFrame[] {
  const first = frames.findIndex(({ isRuntime }) => !isRuntime);
  const kept = first <= 0 ? frames : frames.slice(first);
  return kept.map(({ called, inlined }, depth) =>
    called.offset !== 0 && called.offset === kept[depth + 1]?.called.offset ? inlined : called,
  );
}
