import { type ChildProcessByStdio, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { attempt } from "../../../../../ground/bytes/dispensable.ts";
import { PAGE_BYTES } from "../../../../../ground/bytes/sizes.ts";
import type { SnapshotRecord } from "../../../../../profile/model/working-set/working-set-series.ts";
import type { AttributionEntry } from "../../../../tools/working-set/attribution/read/open-attribution.ts";
import type { AttributedPlace } from "../../../../tools/working-set/attribution/read/read-attribution.ts";
import { cachedFile } from "../../../tables/kept.ts";
import { TableCache } from "../../../tables/tables-file.ts";
import { markReaderProgram } from "../mark-reader-program.ts";
import { type AddressRange, mappedFiles, regionOf, threadStacks } from "./address-regions.ts";
import { type MarkListener, MarkStream, type SnapshotTaken } from "./mark-stream.ts";
import { LineOwners, MarkedLines, type Region } from "./marked-lines.ts";

export interface MarkedProcess {
  pid: number;
  marks: string;
  /** Start of the process, ns of the monotonic clock. */
  start(): number;
  /** Address near the upper end of the first stack; 0 if unknown. */
  stackTop(): number;
  /** Content of `/proc/PID/maps` when the process exited; empty before. */
  maps(): string;
  /** Mapped objects by path; the program's own path is empty. */
  objects(): readonly (AddressRange & { name: string })[];
}

/** Address ranges of objects, stacks and mapped files, refreshed at each snapshot. */
interface Ranges {
  objects: ReturnType<MarkedProcess["objects"]>;
  stacks: readonly AddressRange[];
  files: ReturnType<typeof mappedFiles>;
  stackTop: number;
}

const LOOK_MS = 5;
const NS_PER_MS = 1e6;
const NS_PER_TICK = 1e7;
const SHORTEST_PAUSE_MS = 1;

/** Records the intervals of a running process: takes a snapshot whenever an interval is due. */
export class NativeWorkingSetSession {
  records: IntervalRecords | undefined;
  readonly lines: MarkedLines;
  readonly timing: NativeIntervals;
  readonly unowned = new UnownedPlaces();
  refused = 0;
  /** True once the program counts accesses without a reader that ends intervals. */
  isAlone = false;
  readonly #process: () => MarkedProcess | undefined;
  readonly #folder: string;
  #markedProcess: MarkedProcess | undefined;
  #reader: MarkReader | undefined;
  #timer: NodeJS.Timeout | undefined;
  #open: Promise<void> = Promise.resolve();
  #hasEnded = false;
  /** The memory of the process is closed then, but the reader may still send lines. */
  #isDropped = false;
  /** Time at which the end of the process was noticed, ns of the monotonic clock. */
  #ending = Number.POSITIVE_INFINITY;
  /** True once all marks were taken after the end. */
  #isWhole = false;
  #ranges: Ranges | undefined;
  /** Cache: lines arrive in order, and a whole page has the same key. */
  #lastPlace: { page: number; key: number } | undefined;
  #maps = "";

  /**
   * @param options `folder`: folder in which programs can be executed; `owners`: record the owners of lines
   * @param process returns undefined until the process has begun
   */
  constructor(
    timing: NativeIntervals,
    { folder, owners }: { folder: string; owners: boolean },
    process: () => MarkedProcess | undefined,
  ) {
    this.timing = timing;
    this.#folder = folder;
    this.#process = process;
    this.lines = new MarkedLines(
      (address) => this.#regionOf(address),
      owners ? new LineOwners((address) => this.#placeOf(address)) : undefined,
    );
    this.#wait(LOOK_MS);
  }

  #wait(ms: number): void {
    if (this.#hasEnded) return;
    this.#timer = setTimeout(() => {
      this.#open = this.#poll();
    }, ms);
  }

  async #poll(): Promise<void> {
    if (!this.#begin()) return this.#wait(LOOK_MS);
    const records = this.records as IntervalRecords;
    const now = this.#now(records);
    // The reader ends intervals in accesses by itself.
    if (this.timing.unit === "accesses") return;
    if (now >= records.due) await this.#snapshot();
    if (this.#reader === undefined || this.#isWhole) return;
    const remaining = (records.due - this.#now(records)) / NS_PER_MS;
    this.#wait(Math.max(SHORTEST_PAUSE_MS, remaining));
  }

  #begin(): boolean {
    if (this.#reader !== undefined) return true;
    const markedProcess = this.#process();
    if (markedProcess === undefined || !existsSync(markedProcess.marks)) return false;
    this.#markedProcess = markedProcess;
    this.records = new IntervalRecords(this.lines, this.timing, markedProcess.start());
    // The process may have ended when the first lines arrive.
    this.#maps = mapsOf(markedProcess.pid);
    const listener: MarkListener = {
      piece: (at, marks, owners) => this.#isDropped || this.lines.piece(at, marks, owners),
      endSnapshot: (snapshot) => this.#isDropped || this.#end(snapshot),
    };
    const accesses = this.timing.unit === "accesses" ? this.timing : undefined;
    const owners = this.lines.owners !== undefined;
    this.#reader = new MarkReader(this.#folder, markedProcess.marks, markedProcess.pid, listener, {
      accesses,
      owners,
    });
    return true;
  }

  #now(records: IntervalRecords): number {
    const cpu = this.timing.unit === "cpu" ? cpuTime(this.#markedProcess!.pid) : 0;
    return records.timeOf({ now: Number(process.hrtime.bigint()), cpu, accesses: 0 });
  }

  async #snapshot(): Promise<void> {
    if ((await this.#reader!.take()) === undefined) this.#reader = undefined;
  }

  #end(snapshot: SnapshotTaken): void {
    this.#ranges = undefined;
    this.#lastPlace = undefined;
    this.refused = snapshot.refused;
    this.isAlone = snapshot.isAlone;
    // All marks were set before the process ended.
    this.#isWhole = snapshot.cpu === 0;
    this.records!.end(
      { ...snapshot, now: Math.min(snapshot.now, this.#ending) },
      this.#isWhole || this.#hasEnded,
    );
  }

  /** Takes the remaining marks after the process has ended. @param ending its end, ns of the monotonic clock */
  async finish(ending: number): Promise<void> {
    this.#hasEnded = true;
    this.#ending = ending;
    clearTimeout(this.#timer);
    await this.#open;
    if (!this.#begin()) return;
    if (this.timing.unit !== "accesses" && !this.#isWhole) await this.#snapshot();
    await this.#reader?.close();
  }

  /** Ends the session of a program that has replaced itself by another one. Its intervals are dropped. */
  drop(): void {
    this.#hasEnded = true;
    this.#isDropped = true;
    clearTimeout(this.#timer);
    this.#open.then(() => this.#reader?.close()).catch(() => undefined);
  }

  #regionOf(address: number): ReturnType<typeof regionOf> {
    this.#ranges ??= this.#findRanges();
    return regionOf(address, this.#ranges);
  }

  #placeOf(address: number): number {
    const page = Math.floor(address / PAGE_BYTES);
    if (this.#lastPlace?.page === page) return this.#lastPlace.key;
    this.#ranges ??= this.#findRanges();
    const { objects, files } = this.#ranges;
    const key = this.unowned.keyOf(regionOf(address, this.#ranges), address, objects, files);
    this.#lastPlace = { page, key };
    return key;
  }

  #findRanges(): Ranges {
    const markedProcess = this.#markedProcess!;
    this.#maps = mapsOf(markedProcess.pid) || markedProcess.maps() || this.#maps;
    return {
      objects: markedProcess.objects(),
      stackTop: markedProcess.stackTop(),
      stacks: threadStacks(this.#maps),
      files: mappedFiles(this.#maps, dirname(markedProcess.marks)),
    };
  }
}

function mapsOf(pid: number): string {
  return attempt(() => readFileSync(`/proc/${pid}/maps`, "latin1"), "");
}

/** Returns ns in steps of 10 ms; 0 if the process has ended. */
function cpuTime(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const [user, system] = text.slice(text.lastIndexOf(")")).split(" ").slice(12, 14).map(Number);
    return (user + system) * NS_PER_TICK;
  } catch {
    return 0;
  }
}

export interface NativeIntervals {
  /** Nanoseconds, or accesses. */
  interval: number;
  /** An even number. */
  maxIntervals: number;
  unit: "wall" | "cpu" | "accesses";
  /** Lengthens intervals if snapshots would take more than a small share of the run. */
  adaptive: boolean;
}

/** Limit of the time for snapshots in adaptive mode: one part in this many of the run. */
const LEAST_TIME_PER_WORK = 50;
/**
 * Cost of a snapshot, and of a piece, ns. Estimates are used because clocks would include time in which other processes
 * run.
 */
const SNAPSHOT_NS = 200_000;
const PIECE_NS = 8_000;
/** Cost of the owners of a line, ns. */
const OWNED_LINE_NS = 80;

export class IntervalRecords {
  readonly records: SnapshotRecord[] = [];
  /** End of each record, ns of the monotonic clock. */
  readonly moments: number[] = [];
  /** Owners of the lines of each record, if recorded. */
  readonly shares: AttributionEntry[][] = [];
  scale = 0;
  readonly #lines: MarkedLines;
  readonly #timing: NativeIntervals;
  readonly #begin: number;
  #start = 0;
  #work = 0;

  /** @param begin start of the process, ns of the monotonic clock */
  constructor(lines: MarkedLines, timing: NativeIntervals, begin: number) {
    this.#lines = lines;
    this.#timing = timing;
    this.#begin = begin;
  }

  /** Returns the time since the start, in the unit of the intervals. */
  timeOf({ now, cpu, accesses }: Pick<SnapshotTaken, "now" | "cpu" | "accesses">): number {
    if (this.#timing.unit === "accesses") return Math.max(accesses, this.#start);
    // The CPU clock of an ended process is gone.
    if (this.#timing.unit === "cpu") return Math.max(cpu, this.#start);
    return Math.max(now - this.#begin, this.#start);
  }

  get due(): number {
    const period = this.period;
    return (Math.floor(this.#start / period) + 1) * period;
  }

  get period(): number {
    return this.#timing.interval * 2 ** this.scale;
  }

  /** Ends the open interval. `isLast`: the process has ended. */
  end(snapshot: SnapshotTaken, isLast = false): void {
    const { interval, owners } = this.#lines;
    if (isLast && this.#lines.lines === 0 && this.records.length > 0) {
      const before = this.records[this.records.length - 1];
      // The rest is only the delay until the end of the process was noticed. It extends the last interval.
      before.end += Math.min(this.timeOf(snapshot) - this.#start, this.period);
      this.moments[this.moments.length - 1] = snapshot.now;
      return;
    }
    this.#work += SNAPSHOT_NS + PIECE_NS * this.#lines.pieces;
    if (owners !== undefined) {
      this.#work += OWNED_LINE_NS * this.#lines.lines;
      this.shares.push(owners.end());
    }
    const now = this.timeOf(snapshot);
    this.records.push({
      scale: this.scale,
      interval,
      start: this.#start,
      end: now,
      counts: this.#lines.end(),
    });
    this.moments.push(snapshot.now);
    this.#start = now;
    const isDear = this.#timing.adaptive && this.#work * LEAST_TIME_PER_WORK > now;
    if (interval + 1 < this.#timing.maxIntervals && !(isDear && (interval & 1) === 1)) return;
    this.#lines.mergeNeighbours();
    this.scale++;
  }
}

const EXECUTABLE = 0o755;

interface MarkReaderOptions {
  accesses?: { interval: number; maxIntervals: number } | undefined;
  owners?: boolean | undefined;
}

/** Mark reader of a process, which runs as a process of its own. */
export class MarkReader {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  #closed: () => void = () => undefined;
  #hasEnded = false;
  #waiting: ((snapshot: SnapshotTaken | undefined) => void) | undefined;

  /**
   * @param folder folder in which programs can be executed
   * @param listener receives snapshots: requested ones and those of intervals in accesses
   * @param options `accesses`: length of intervals, and number of intervals after which they double; undefined if
   * accesses are not counted. `owners`: record the owners of lines
   */
  constructor(
    folder: string,
    file: string,
    pid: number,
    listener: MarkListener,
    { accesses, owners = false }: MarkReaderOptions = {},
  ) {
    const program = join(folder, "mark-reader");
    const code = cachedFile(new TableCache(folder).folder, "mark-reader", markReaderProgram);
    // The reader of an earlier program of the process may still run, and its file must not be written then.
    if (!existsSync(program)) writeFileSync(program, code, { mode: EXECUTABLE });
    const { interval, maxIntervals } = accesses ?? { interval: 0, maxIntervals: 0 };
    const args = [file, pid, interval, maxIntervals, owners ? 1 : 0].map(String);
    this.#child = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"] });
    const stream = new MarkStream(
      {
        piece: (at, marks, owners) => listener.piece(at, marks, owners),
        endSnapshot: (snapshot) => {
          listener.endSnapshot(snapshot);
          this.#resolveWaiting(snapshot);
        },
      },
      owners,
    );
    this.#child.stdout.on("data", (bytes: Buffer) => stream.add(bytes));
    const end = () => {
      this.#hasEnded = true;
      this.#resolveWaiting(undefined);
      this.#closed();
    };
    this.#child.on("error", end);
    this.#child.on("close", end);
    // A write fails if the reader is gone; `close` reports its end.
    this.#child.stdin.on("error", () => undefined);
  }

  #resolveWaiting(snapshot: SnapshotTaken | undefined): void {
    this.#waiting?.(snapshot);
    this.#waiting = undefined;
  }

  /** Requests a snapshot of all marks, one at a time. Resolves to undefined if the reader has ended. */
  take(): Promise<SnapshotTaken | undefined> {
    if (this.#hasEnded) return Promise.resolve(undefined);
    return new Promise((done) => {
      this.#waiting = done;
      this.#child.stdin.write("s");
    });
  }

  /** Closes the reader. If accesses are counted, it sends a last snapshot. */
  close(): Promise<void> {
    this.#child.stdin.end();
    return this.#hasEnded ? Promise.resolve() : new Promise((done) => (this.#closed = done));
  }
}

interface NamedRange extends AddressRange {
  name: string;
}

/** Regions without blocks: stacks, static data by object, mapped files. Each has a key below 0. */
export class UnownedPlaces {
  readonly places = new Map<number, AttributedPlace>();
  readonly #keys = new Map<string, number>();

  /** Returns the key of an address. `objects` and `files`: named ranges that may contain it. */
  keyOf(
    region: Region,
    address: number,
    objects: readonly NamedRange[],
    files: readonly NamedRange[],
  ): number {
    const holds = ({ start, end }: AddressRange): boolean => address >= start && address < end;
    if (region === "static") return this.#key("static", objects.find(holds)?.name);
    const file = region === "heap" ? files.find(holds)?.name : undefined;
    return file === undefined ? this.#key(region) : this.#key("mapping", file);
  }

  #key(kind: AttributedPlace["kind"], holder?: string): number {
    const name = `${kind} ${holder}`;
    let key = this.#keys.get(name);
    if (key === undefined) {
      key = -1 - this.#keys.size;
      this.#keys.set(name, key);
      this.places.set(key, { kind, path: [], of: holder });
    }
    return key;
  }
}
