import { entryOf } from "../../ground/bytes/entries.ts";
import { FormatError } from "../../ground/bytes/errors.ts";
import type { HeapProfile, ResolvedFrame } from "../model/heap-profile.ts";
import { assertHolds, type ImportedContext, importedHeapProfile } from "../model/imported-heap.ts";
import { FrameModules } from "./frame-modules.ts";

const CONSTRUCT = "heaptrack recording";
const VERSIONS = [2, 3];
const START = /^v [0-9a-f]+ [0-9a-f]+\s*$/m;

export function isHeaptrack(start: string): boolean {
  return START.test(start.slice(0, start.indexOf("\n") + 1));
}

const LINE_FEED = 0x0a;
const PLUS = 0x2b;
const MINUS = 0x2d;

/**
 * Reads the heap profile in the output of `heaptrack_interpret`, version 2 or 3.
 *
 * @throws FormatError for other versions, raw files that were not interpreted, and malformed lines
 */
export function readHeaptrack(bytes: Uint8Array): HeapProfile {
  return new HeaptrackReader(bytes).read();
}

interface Allocation {
  readonly size: number;
  readonly trace: number;
}

interface Trace {
  readonly place: number;
  readonly caller: number;
  readonly depth: number;
}

class TraceSums {
  blocks = 0;
  bytes = 0;
  liveBlocks = 0;
  liveBytes = 0;
  peakBlocks = 0;
  peakBytes = 0;
  temporary = 0;
  least = Number.POSITIVE_INFINITY;
  most = 0;
}

class HeaptrackReader {
  readonly #bytes: Uint8Array;
  readonly #utf8 = new TextDecoder();
  readonly #modules = new FrameModules();
  readonly #strings: string[] = [""];
  /** Frames by number of the instruction pointer (from 1), innermost first. */
  readonly #places: ResolvedFrame[][] = [[]];
  /** Traces by number (from 1): instruction pointer, calling trace, and number of frames. */
  readonly #traces: Trace[] = [{ place: 0, caller: 0, depth: 0 }];
  readonly #allocations: Allocation[] = [];
  readonly #sums = new Map<number, TraceSums>();
  /** Traces whose live blocks have changed since the last peak. */
  readonly #changed = new Set<TraceSums>();
  #command = "";
  #isInterpreted = false;
  #isAttached = false;
  #version = 0;
  #offset = 0;
  #live = 0;
  #liveBlocks = 0;
  #peak = { blocks: 0, bytes: 0 };
  #last = -1;
  #isAtPeak = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  read(): HeapProfile {
    const { length } = this.#bytes;
    while (this.#offset < length) {
      const end = this.#bytes.indexOf(LINE_FEED, this.#offset);
      // A complete file ends with a line end.
      if (end < 0) throw new FormatError("truncated", this.#offset, CONSTRUCT, "the last line is cut off");
      const first = this.#bytes[this.#offset];
      if (first === PLUS || first === MINUS) this.#event(first === PLUS, end);
      else this.#line(this.#utf8.decode(this.#bytes.subarray(this.#offset, end)));
      this.#offset = end + 1;
    }
    if (this.#version === 0) this.#fail("it has no version");
    if (!this.#isInterpreted && this.#places.length === 1) this.#fail("it has no call paths");
    this.#keepPeak();
    const frames = [...this.#sums.keys()].reduce((sum, trace) => sum + this.#traces[trace]!.depth, 0);
    assertHolds(frames, length, CONSTRUCT);
    return importedHeapProfile({
      contexts: [...this.#sums].map(([trace, sums]) => this.#context(trace, sums)),
      modules: this.#modules.list,
      program: this.#program(),
      command: this.#command === "" ? undefined : this.#command.split(" "),
      clock: { kind: "wall", unit: "ms" },
      peak: this.#peak,
      format: "heaptrack",
      version: this.#version,
      notTracked: [
        "heaptrack records no lifetimes and accesses. Blocks count as short-lived if they are freed before the next allocation.",
        ...(this.#isAttached
          ? ["heaptrack was attached to the running program: earlier allocations are missing."]
          : []),
      ],
    });
  }

  #line(line: string): void {
    const key = line[0];
    if (key === undefined || key === "#" || key === "I" || key === "R" || key === "S" || key === "c") return;
    if (key === "v") this.#readVersion(line);
    else if (this.#version === 0) this.#fail("its first line is not its version", "bad-magic");
    else if (key === "X") this.#command = line.slice(2);
    else if (key === "A") this.#isAttached = true;
    else if (key === "s") this.#strings.push(this.#string(line));
    else if (key === "i") this.#places.push(this.#place(this.#numbers(line)));
    else if (key === "t") this.#trace(this.#numbers(line));
    else if (key === "a") this.#allocation(this.#numbers(line));
    else if (key === "x" || key === "m")
      throw new FormatError(
        "unsupported",
        this.#offset,
        CONSTRUCT,
        "it is as heaptrack --raw writes it: heaptrack_interpret, which lies beside heaptrack, has to read it first (heaptrack prints the command)",
      );
    else this.#fail(`"${line.slice(0, 20)}" is no line of it`);
  }

  /** Reads an event such as `+ 1f`. Most lines are events, so this path avoids strings. */
  #event(isAllocation: boolean, end: number): void {
    let index = 0;
    for (let at = this.#offset + 2; at < end; at++) {
      const digit = hexDigit(this.#bytes[at]!);
      if (digit < 0) this.#fail("an event has no hexadecimal number");
      index = index * 16 + digit;
    }
    if (end < this.#offset + 3) this.#fail("an event has no number");
    if (isAllocation) this.#allocate(index);
    else this.#free(index);
  }

  #readVersion(line: string): void {
    const version = Number.parseInt(line.split(" ")[2] ?? "", 16);
    if (!VERSIONS.includes(version))
      throw new FormatError(
        "unsupported-version",
        this.#offset,
        CONSTRUCT,
        `version ${Number.isNaN(version) ? "unknown" : version}, not ${VERSIONS.join(" or ")}`,
      );
    this.#version = version;
  }

  /** Returns the text of a string line. Since version 3 the length stands before the text. */
  #string(line: string): string {
    if (this.#version < 3) return line.slice(2);
    const space = line.indexOf(" ", 2);
    return space < 0 ? "" : line.slice(space + 1);
  }

  #numbers(line: string): number[] {
    return line
      .slice(2)
      .split(" ")
      .map((word) => {
        const number = /^[0-9a-f]{1,16}$/.test(word) ? Number.parseInt(word, 16) : Number.NaN;
        return Number.isNaN(number) ? this.#fail(`"${word}" is no hexadecimal number`) : number;
      });
  }

  /** Reads an address, its module, and the name, file and line of each function there, innermost first. */
  #place([address, module = 0, ...rest]: number[]): ResolvedFrame[] {
    this.#isInterpreted = true;
    const path = module === 0 ? undefined : this.#named(module);
    const common = { module: this.#modules.indexOf(path ?? "unknown code", path), offset: address ?? 0 };
    const frames: ResolvedFrame[] = [];
    for (let at = 0; at < rest.length; at += 3) {
      const [name = 0, file = 0, line = 0] = rest.slice(at, at + 3);
      frames.push({
        ...common,
        name: name === 0 ? undefined : this.#named(name),
        file: file === 0 ? undefined : this.#named(file),
        line: line === 0 ? undefined : line,
        inlined: at + 3 < rest.length,
      });
    }
    return frames.length === 0 ? [common] : frames;
  }

  #named(index: number): string {
    return this.#strings[index] ?? this.#fail(`string ${index} is not there`);
  }

  #trace([place = 0, caller = 0]: number[]): void {
    if (place >= this.#places.length || caller >= this.#traces.length)
      this.#fail("a call path names what is not there");
    const depth = this.#places[place]!.length + this.#traces[caller]!.depth;
    this.#traces.push({ place, caller, depth });
  }

  #allocation([size = 0, trace = 0]: number[]): void {
    if (trace >= this.#traces.length) this.#fail(`call path ${trace} is not there`);
    this.#allocations.push({ size, trace });
  }

  #allocate(index: number): void {
    const { size, sums } = this.#allocationAt(index);
    sums.blocks++;
    sums.bytes += size;
    sums.liveBlocks++;
    sums.liveBytes += size;
    if (size < sums.least) sums.least = size;
    if (size > sums.most) sums.most = size;
    this.#changed.add(sums);
    this.#live += size;
    this.#liveBlocks++;
    this.#last = index;
    // A block of zero bytes, allocated at the peak, belongs to the peak.
    if (this.#live < this.#peak.bytes || (this.#live === this.#peak.bytes && !this.#isAtPeak)) return;
    this.#peak = { blocks: this.#liveBlocks, bytes: this.#live };
    this.#isAtPeak = true;
  }

  #free(index: number): void {
    const { size, sums } = this.#allocationAt(index);
    if (sums.liveBlocks === 0) this.#fail("more blocks are freed than were allocated");
    this.#keepPeak();
    sums.liveBlocks--;
    sums.liveBytes -= size;
    this.#changed.add(sums);
    this.#live -= size;
    this.#liveBlocks--;
    if (this.#last === index) sums.temporary++;
    this.#last = -1;
  }

  #allocationAt(index: number): { size: number; sums: TraceSums } {
    const { size, trace } = this.#allocations[index] ?? this.#fail(`allocation ${index} is not there`);
    const sums = entryOf(this.#sums, trace, () => new TraceSums());
    return { size, sums };
  }

  /** Records the live blocks as those of the peak, before the first change that reduces them. */
  #keepPeak(): void {
    if (!this.#isAtPeak) return;
    this.#isAtPeak = false;
    for (const sums of this.#changed) {
      sums.peakBlocks = sums.liveBlocks;
      sums.peakBytes = sums.liveBytes;
    }
    this.#changed.clear();
  }

  #context(trace: number, sums: TraceSums): ImportedContext {
    const frames: ResolvedFrame[] = [];
    for (let at = trace; at !== 0; at = this.#traces[at]!.caller)
      frames.push(...this.#places[this.#traces[at]!.place]!);
    return {
      frames,
      allocated: { blocks: sums.blocks, bytes: sums.bytes },
      sizes: { least: sums.least, most: sums.most },
      peak: { blocks: sums.peakBlocks, bytes: sums.peakBytes },
      live: { blocks: sums.liveBlocks, bytes: sums.liveBytes },
      temporary: sums.temporary,
    };
  }

  #program(): string | undefined {
    const [first = ""] = this.#command.split(" ");
    return first.slice(first.lastIndexOf("/") + 1) || undefined;
  }

  #fail(fault: string, kind: "malformed" | "bad-magic" = "malformed"): never {
    throw new FormatError(kind, this.#offset, CONSTRUCT, fault);
  }
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  return code >= 0x61 && code <= 0x66 ? code - 0x57 : -1;
}
