import { FormatError } from "../../../ground/bytes/errors.ts";
import { counted, groupDigits } from "../../model/counted.ts";
import type { HeapProfile, ResolvedFrame } from "../../model/heap-profile.ts";
import {
  assertHolds,
  importedHeapProfile,
  type MappedPart,
  type PlaceNames,
} from "../../model/imported-heap.ts";
import { FrameModules } from "../frame-modules.ts";

const CONSTRUCT = "heap profile in text";
const LINE_FEED = 0x0a;

const JEMALLOC = /^heap_v2\/(\d+)\s*$/;
const GPERFTOOLS = /^heap profile: *\d+: *\d+ *\[ *\d+: *\d+ *\] *@ *([a-z][a-z0-9_]*)(?:\/(\d+))?\s*$/;
/** Live blocks and bytes, then in brackets all allocated blocks and bytes. */
const COUNTS = "(\\d+): *(\\d+) *\\[ *(\\d+): *(\\d+) *\\]";
const ADDRESSES = "((?: +0x[0-9a-f]{1,16})*)";
const STACK = new RegExp(`^@${ADDRESSES}\\s*$`, "i");
const OF_ALL_THREADS = new RegExp(`^ *t\\*: *${COUNTS}\\s*$`);
const OF_THREAD = /^ *t\d+: /;
const COUNTS_AND_STACK = new RegExp(`^ *${COUNTS} *@${ADDRESSES}\\s*$`, "i");
const MAPPED = /^([0-9a-f]{1,16})-([0-9a-f]{1,16}) +\S{4} +([0-9a-f]{1,16}) +\S+ +\d+ +(\S.*)$/;
const LIBRARIES = "MAPPED_LIBRARIES:";
/** Suffix that Linux appends to the path of a removed or replaced file. */
const DELETED = / \(deleted\)$/;
/** Comment line by which Go's runtime names the functions at an address of the stack above it, inlined ones first. */
const NAMED = /^#\t(0x[0-9a-f]{1,16})\t(\S.*?)\+0x[0-9a-f]+\s+(\S.*?):(\d+)\s*$/;

export function isHeapText(start: string): boolean {
  const line = start.slice(0, Math.max(0, start.indexOf("\n")));
  return JEMALLOC.test(line) || GPERFTOOLS.test(line);
}

/**
 * Reads a heap profile in the text format of jemalloc (`heap_v2`), or of gperftools and others (`heap profile:`).
 * Frames are addresses unless `namesOf` resolves them.
 *
 * @throws FormatError for malformed lines, and for profiles of other things than the heap
 */
export function readHeapText(bytes: Uint8Array, namesOf?: PlaceNames): HeapProfile {
  const { isJemalloc, distance, stacks, mapped, names } = readLines(bytes);
  const modules = new FrameModules();
  let nameless = 0;
  const cache = new Map<bigint, readonly ResolvedFrame[]>();
  const framesAt = (returnAddress: bigint): readonly ResolvedFrame[] => {
    let frames = cache.get(returnAddress);
    if (frames !== undefined) return frames;
    // A call returns to the instruction after it.
    const address = returnAddress - 1n;
    const part = mapped.find(({ start, end }) => address >= start && address < end);
    const module = modules.indexOf(part?.path ?? "unknown code", part?.path);
    const named = names.get(address)?.frames ?? (part && namesOf?.(part, address));
    if (named === undefined) nameless++;
    frames = named?.map((frame) => ({ ...frame, module })) ?? [
      { module, offset: Number(part === undefined ? address : address - part.start + part.fileOffset) },
    ];
    cache.set(returnAddress, frames);
    return frames;
  };
  const stackSums = [...stacks.values()];
  const framesOf = ({ addresses }: StackSums): number =>
    addresses.reduce((sum, address) => sum + (names.get(address - 1n)?.frames.length ?? 1), 0);
  assertHolds(
    stackSums.reduce((sum, stack) => sum + framesOf(stack), 0),
    bytes.length,
    CONSTRUCT,
  );
  // jemalloc counts all allocations only with prof_accum; otherwise the count is 0, even if blocks are live.
  const isAccumulated = stackSums.every(
    ({ live, allocated }) => allocated.blocks >= live.blocks && allocated.bytes >= live.bytes,
  );
  const contexts = stackSums.map(({ addresses, live, allocated }) => ({
    frames: addresses.flatMap(framesAt),
    live,
    allocated: isAccumulated ? allocated : undefined,
  }));
  return importedHeapProfile({
    contexts,
    modules: modules.list,
    program: mapped.find(({ path }) => path.startsWith("/"))?.path.replace(/^.*\//, ""),
    clock: { kind: "wall", unit: "ms" },
    end: { kind: "dump" },
    format: isJemalloc ? "jemalloc" : names.size > 0 ? "Go" : "gperftools",
    version: isJemalloc ? 2 : 0,
    notTracked: [
      ...(distance > 1
        ? [
            `The profile is sampled, one sample for ${groupDigits(distance)} bytes on average: its figures are estimates.`,
          ]
        : []),
      ...(isAccumulated
        ? []
        : [
            `Only live blocks were recorded, not the sum of all allocations${isJemalloc ? " (MALLOC_CONF=prof_accum:true records it)" : ""}.`,
          ]),
      "This file format has no peak, lifetimes and accesses.",
      ...(nameless === 0
        ? []
        : [
            `${counted(nameless, "place has no name", "places have no names")}: ${
              mapped.length === 0
                ? `the file lacks ${LIBRARIES.slice(0, -1)}, the list of its modules.`
                : "give the program and its libraries with --binary-path."
            }`,
          ]),
    ],
  });
}

interface Counts {
  readonly blocks: number;
  readonly bytes: number;
}

interface StackSums {
  readonly addresses: readonly bigint[];
  live: Counts;
  allocated: Counts;
}

interface HeapText {
  readonly isJemalloc: boolean;
  /** Mean bytes between samples; 1 if all blocks are counted. */
  readonly distance: number;
  readonly stacks: ReadonlyMap<string, StackSums>;
  readonly mapped: readonly (MappedPart & { readonly end: bigint })[];
  readonly names: ReadonlyMap<bigint, NamedAddress>;
}

/** Names that the text itself gives to an address. */
interface NamedAddress {
  readonly frames: ResolvedFrame[];
  /** Offset of the stack line above these names. Names after other stacks with the same address repeat them. */
  readonly stackAt: number;
}

function readLines(bytes: Uint8Array): HeapText {
  const stacks = new Map<string, StackSums>();
  const mapped: (MappedPart & { end: bigint })[] = [];
  let head: { isJemalloc: boolean; distance: number } | undefined;
  const names = new Map<bigint, NamedAddress>();
  let stackAt = 0;
  let stack: string | undefined;
  let isMapped = false;
  for (const { line, offset } of linesOf(bytes)) {
    const fail = (detail: string): never => {
      throw new FormatError("malformed", offset, CONSTRUCT, detail);
    };
    const add = (path: string, counts: readonly string[]): void => {
      const [blocks, size, allBlocks, allSize] = counts.map((digits) => {
        const number = Number(digits);
        return Number.isSafeInteger(number) ? number : fail(`${digits} is too much`);
      });
      const scaled = (count: number, bytesOf: number) => unbiased(count, bytesOf, head!.distance);
      const [live, allocated] = [scaled(blocks!, size!), scaled(allBlocks!, allSize!)];
      const sums = stacks.get(path);
      if (sums === undefined)
        stacks.set(path, { addresses: path.trim().split(/ +/).filter(Boolean).map(BigInt), live, allocated });
      else {
        sums.live = plus(sums.live, live);
        sums.allocated = plus(sums.allocated, allocated);
      }
    };
    if (head === undefined) {
      head = headOf(line);
      continue;
    }
    if (line.startsWith(LIBRARIES)) isMapped = true;
    else if (isMapped) {
      const [, start, end, fileOffset, path] = MAPPED.exec(line) ?? [];
      if (path !== undefined)
        mapped.push({
          path: path.replace(DELETED, ""),
          buildId: "",
          start: BigInt(`0x${start}`),
          end: BigInt(`0x${end}`),
          fileOffset: BigInt(`0x${fileOffset}`),
        });
    } else if (line.startsWith("#")) addName(names, line, stackAt);
    else if (line.trim() === "" || OF_THREAD.test(line)) continue;
    else if (head.isJemalloc) {
      const counts = OF_ALL_THREADS.exec(line);
      if (counts === null) stack = STACK.exec(line)?.[1] ?? fail(`"${line.slice(0, 20)}" is no line of it`);
      // The totals of all stacks come before the first stack.
      else if (stack !== undefined) add(stack, counts.slice(1));
    } else {
      const found = COUNTS_AND_STACK.exec(line) ?? fail(`"${line.slice(0, 20)}" is no line of it`);
      add(found[5]!, found.slice(1, 5));
      stackAt = offset;
    }
  }
  return { ...head!, stacks, mapped, names };
}

function addName(names: Map<bigint, NamedAddress>, line: string, stackAt: number): void {
  const [, digits, name, file, number] = NAMED.exec(line) ?? [];
  if (digits === undefined) return;
  const address = BigInt(digits);
  const existing = names.get(address);
  if (existing === undefined)
    names.set(address, { stackAt, frames: [{ offset: Number(address), name, file, line: Number(number) }] });
  else if (existing.stackAt === stackAt) {
    const inner = existing.frames.at(-1)!;
    existing.frames[existing.frames.length - 1] = { ...inner, inlined: true };
    existing.frames.push({ offset: Number(address), name, file, line: Number(number) });
  }
}

/** Yields the lines of a text without their line ends. In a complete file the last line has a line end too. */
function* linesOf(bytes: Uint8Array): Generator<{ line: string; offset: number }> {
  const utf8 = new TextDecoder();
  for (let offset = 0; offset < bytes.length; ) {
    const end = bytes.indexOf(LINE_FEED, offset);
    if (end < 0) throw new FormatError("truncated", offset, CONSTRUCT, "the last line is cut off");
    yield { line: utf8.decode(bytes.subarray(offset, end)), offset };
    offset = end + 1;
  }
}

/** Parses the first line. @throws FormatError for other kinds of profiles, and for lines that are no header */
function headOf(line: string): { isJemalloc: boolean; distance: number } {
  const jemalloc = JEMALLOC.exec(line);
  if (jemalloc !== null) return { isJemalloc: true, distance: Number(jemalloc[1]) };
  const [found, kind = "", digits = "1"] = GPERFTOOLS.exec(line) ?? [];
  if (found === undefined) throw new FormatError("bad-magic", 0, CONSTRUCT, "its first line is another");
  const distance = Number(digits);
  if (kind === "heapprofile") return { isJemalloc: false, distance: 1 };
  if (kind === "heap_v2" || kind === "heapz_v2") return { isJemalloc: false, distance };
  // Go's runtime writes twice its sampling distance.
  if (kind === "heap") return { isJemalloc: false, distance: distance / 2 };
  throw new FormatError("unsupported", 0, CONSTRUCT, `it is no profile of a heap, but of the kind ${kind}`);
}

/**
 * Scales sampled counts up. A block of n bytes is sampled with the probability 1 − e^(−n / distance). Like jeprof and
 * pprof, the formula gives all blocks of a call path their mean size.
 */
function unbiased(blocks: number, bytes: number, distance: number): Counts {
  if (distance <= 1 || blocks === 0 || bytes === 0) return { blocks, bytes };
  const scale = 1 / -Math.expm1(-bytes / blocks / distance);
  return { blocks: Math.round(blocks * scale), bytes: Math.round(bytes * scale) };
}

function plus(a: Counts, b: Counts): Counts {
  return { blocks: a.blocks + b.blocks, bytes: a.bytes + b.bytes };
}
