import { type ChildProcessByStdio, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import type { SnapshotRecord } from "../../../../../profile/model/working-set/working-set-series.ts";
import type { AttributionEntry } from "../../../../tools/working-set/attribution/read/open-attribution.ts";
import type { AttributedPlace } from "../../../../tools/working-set/attribution/read/read-attribution.ts";
import { cachedFile } from "../../../tables/kept.ts";
import { TableCache } from "../../../tables/tables-file.ts";
import { markReaderProgram } from "../mark-reader-program.ts";
import { type AddressRange, mappedFiles, regionOf, threadStacks } from "./address-regions.ts";
import { type MarkListener, MarkStream, type SnapshotTaken } from "./mark-stream.ts";
import { LineOwners, MarkedLines, type Region } from "./marked-lines.ts";

/** What is known of the process from elsewhere. */
export interface MarkedProcess {
  pid: number;
  /** Path of the file that it shares its marks by. */
  marks: string;
  /** nanoseconds of the monotonic clock */
  start(): number;
  /** Address near the upper end of its first stack; 0: not known. */
  stackTop(): number;
  /** What it had mapped when it exited, as the kernel tells it; empty before. */
  maps(): string;
  /** Where objects are mapped, by their paths; the program's own is empty. */
  objects(): readonly (AddressRange & { name: string })[];
}

/** Where what lies, while nobody looks again. */
interface Ranges {
  objects: ReturnType<MarkedProcess["objects"]>;
  stacks: readonly AddressRange[];
  files: ReturnType<typeof mappedFiles>;
  stackTop: number;
}

const LOOK_MS = 5;
const NS_PER_MS = 1e6;
const NS_PER_TICK = 1e7;
const PAGE_BYTES = 4096;
const SHORTEST_PAUSE_MS = 1;

/** The intervals of one process, while it runs: ends each when it is due. */
export class NativeWorkingSetSession {
  records: IntervalRecords | undefined;
  readonly lines: MarkedLines;
  readonly how: NativeIntervals;
  /** What lies where no block is. */
  readonly unowned = new UnownedPlaces();
  refused = 0;
  /** The program has counted accesses on without anybody who ended intervals. */
  isAlone = false;
  readonly #process: () => MarkedProcess | undefined;
  readonly #folder: string;
  #known: MarkedProcess | undefined;
  #reader: MarkReader | undefined;
  #timer: NodeJS.Timeout | undefined;
  #open: Promise<void> = Promise.resolve();
  #hasEnded = false;
  /** Nanoseconds of the monotonic clock: when somebody has seen that the process has ended. */
  #ending = Number.POSITIVE_INFINITY;
  /** All marks were taken since. */
  #isWhole = false;
  #ranges: Ranges | undefined;
  /** Lines come in order, and all of a page are the same's. */
  #lastPlace: { page: number; key: number } | undefined;
  /** What the process had mapped when somebody looked last. */
  #maps = "";

  /**
   * @param options `folder`: where programs may lie; `owners`: whose lines are is asked for
   * @param process undefined while it has not begun
   */
  constructor(
    how: NativeIntervals,
    { folder, owners }: { folder: string; owners: boolean },
    process: () => MarkedProcess | undefined,
  ) {
    this.how = how;
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
      this.#open = this.#look();
    }, ms);
  }

  async #look(): Promise<void> {
    if (!this.#begin()) return this.#wait(LOOK_MS);
    const records = this.records as IntervalRecords;
    const now = this.#now(records);
    // Intervals in accesses end without being asked for.
    if (this.how.unit === "accesses") return;
    if (now >= records.due) await this.#snapshot();
    if (this.#reader === undefined || this.#isWhole) return;
    const left = (records.due - this.#now(records)) / NS_PER_MS;
    this.#wait(Math.max(SHORTEST_PAUSE_MS, left));
  }

  #begin(): boolean {
    if (this.#reader !== undefined) return true;
    const known = this.#process();
    if (known === undefined || !existsSync(known.marks)) return false;
    this.#known = known;
    this.records = new IntervalRecords(this.lines, this.how, known.start());
    // It may have ended when the first lines come.
    this.#maps = mapsOf(known.pid);
    const listener: MarkListener = {
      piece: (at, marks, owners) => this.lines.piece(at, marks, owners),
      taken: (snapshot) => this.#end(snapshot),
    };
    const accesses = this.how.unit === "accesses" ? this.how : undefined;
    const owners = this.lines.owners !== undefined;
    this.#reader = new MarkReader(this.#folder, known.marks, known.pid, listener, { accesses, owners });
    return true;
  }

  #now(records: IntervalRecords): number {
    const cpu = this.how.unit === "cpu" ? cpuTime(this.#known!.pid) : 0;
    return records.timeOf({ now: Number(process.hrtime.bigint()), cpu, accesses: 0 });
  }

  async #snapshot(): Promise<void> {
    if ((await this.#reader!.take()) === undefined) this.#reader = undefined;
  }

  #end(taken: SnapshotTaken): void {
    this.#ranges = undefined;
    this.#lastPlace = undefined;
    this.refused = taken.refused;
    this.isAlone = taken.isAlone;
    // What is marked was touched before the end.
    this.#isWhole = taken.cpu === 0;
    this.records!.end({ ...taken, now: Math.min(taken.now, this.#ending) }, this.#isWhole || this.#hasEnded);
  }

  /** Takes what is left when the process has ended. @param ending nanoseconds of the monotonic clock, when it had */
  async finish(ending: number): Promise<void> {
    this.#hasEnded = true;
    this.#ending = ending;
    clearTimeout(this.#timer);
    await this.#open;
    if (!this.#begin()) return;
    if (this.how.unit !== "accesses" && !this.#isWhole) await this.#snapshot();
    await this.#reader?.close();
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
    const known = this.#known!;
    this.#maps = mapsOf(known.pid) || known.maps() || this.#maps;
    return {
      objects: known.objects(),
      stackTop: known.stackTop(),
      stacks: threadStacks(this.#maps),
      files: mappedFiles(this.#maps, dirname(known.marks)),
    };
  }
}

/** Empty where it has ended. */
function mapsOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/maps`, "latin1");
  } catch {
    return "";
  }
}

/** Nanoseconds, in steps of 10 ms; 0 where the process is gone. */
function cpuTime(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const [user, system] = text.slice(text.lastIndexOf(")")).split(" ").slice(12, 14).map(Number);
    return (user + system) * NS_PER_TICK;
  } catch {
    return 0;
  }
}

/** How intervals are measured. */
export interface NativeIntervals {
  /** nanoseconds, or accesses */
  interval: number;
  /** even */
  maxIntervals: number;
  unit: "wall" | "cpu" | "accesses";
  /** Intervals become longer where looking at the lines would cost more than a small part of the run. */
  adaptive: boolean;
}

/** With intervals of its own choice the tool looks at lines for at most one part in so many of the time. */
const LEAST_TIME_PER_WORK = 50;
/** What a snapshot takes, and a piece of it, nanoseconds; clocks would have the times in, too, in which others have the processor. */
const SNAPSHOT_NS = 200_000;
const PIECE_NS = 8_000;
/** What it takes to find out whose a line is. */
const OWNED_LINE_NS = 80;

/** The intervals of a process, one snapshot after the other. */
export class IntervalRecords {
  readonly records: SnapshotRecord[] = [];
  /** Nanoseconds of the monotonic clock at which each record ended. */
  readonly moments: number[] = [];
  /** Whose the lines of each record are, where that is asked for. */
  readonly shares: AttributionEntry[][] = [];
  scale = 0;
  readonly #lines: MarkedLines;
  readonly #how: NativeIntervals;
  readonly #begin: number;
  #start = 0;
  #work = 0;

  /** @param begin nanoseconds of the monotonic clock when the process began */
  constructor(lines: MarkedLines, how: NativeIntervals, begin: number) {
    this.#lines = lines;
    this.#how = how;
    this.#begin = begin;
  }

  /** Time that has passed for the process, in the unit of its intervals. */
  timeOf({ now, cpu, accesses }: Pick<SnapshotTaken, "now" | "cpu" | "accesses">): number {
    if (this.#how.unit === "accesses") return Math.max(accesses, this.#start);
    // A process that has ended has no clock any more.
    if (this.#how.unit === "cpu") return Math.max(cpu, this.#start);
    return Math.max(now - this.#begin, this.#start);
  }

  /** When the open interval is due. */
  get due(): number {
    const period = this.period;
    return (Math.floor(this.#start / period) + 1) * period;
  }

  get period(): number {
    return this.#how.interval * 2 ** this.scale;
  }

  /** Ends the open interval. `isLast`: the process has ended. */
  end(taken: SnapshotTaken, isLast = false): void {
    const { interval, owners } = this.#lines;
    if (isLast && this.#lines.lines === 0 && this.records.length > 0) {
      const before = this.records[this.records.length - 1];
      // The system takes a while to end a process, and others to see that: this is no interval of the program's.
      before.end += Math.min(this.timeOf(taken) - this.#start, this.period);
      this.moments[this.moments.length - 1] = taken.now;
      return;
    }
    this.#work += SNAPSHOT_NS + PIECE_NS * this.#lines.pieces;
    if (owners !== undefined) {
      this.#work += OWNED_LINE_NS * this.#lines.lines;
      this.shares.push(owners.end());
    }
    const now = this.timeOf(taken);
    this.records.push({
      scale: this.scale,
      interval,
      start: this.#start,
      end: now,
      counts: this.#lines.end(),
    });
    this.moments.push(taken.now);
    this.#start = now;
    const isDear = this.#how.adaptive && this.#work * LEAST_TIME_PER_WORK > now;
    if (interval + 1 < this.#how.maxIntervals && !(isDear && (interval & 1) === 1)) return;
    this.#lines.mergeNeighbours();
    this.scale++;
  }
}

const EXECUTABLE = 0o755;

interface MarkReaderOptions {
  accesses?: { interval: number; maxIntervals: number } | undefined;
  owners?: boolean | undefined;
}

/** The process that takes marks out of the file that a program shares. */
export class MarkReader {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  #closed: () => void = () => undefined;
  #hasEnded = false;
  #waiting: ((taken: SnapshotTaken | undefined) => void) | undefined;

  /**
   * @param folder where programs may lie, for the time of the run
   * @param listener is given snapshots, those that are asked for and those of intervals in accesses
   * @param options `accesses`: how long intervals are, and after how many they become twice as long; undefined: they are not counted;
   * `owners`: whose lines are is asked for
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
    writeFileSync(program, code, { mode: EXECUTABLE });
    const { interval, maxIntervals } = accesses ?? { interval: 0, maxIntervals: 0 };
    const args = [file, pid, interval, maxIntervals, owners ? 1 : 0].map(String);
    this.#child = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"] });
    const stream = new MarkStream(
      {
        piece: (at, marks, owners) => listener.piece(at, marks, owners),
        taken: (snapshot) => {
          listener.taken(snapshot);
          this.#answer(snapshot);
        },
      },
      owners,
    );
    this.#child.stdout.on("data", (bytes: Buffer) => stream.add(bytes));
    const end = () => {
      this.#hasEnded = true;
      this.#answer(undefined);
      this.#closed();
    };
    this.#child.on("error", end);
    this.#child.on("close", end);
    // It may be gone, and then says so by that.
    this.#child.stdin.on("error", () => undefined);
  }

  #answer(snapshot: SnapshotTaken | undefined): void {
    this.#waiting?.(snapshot);
    this.#waiting = undefined;
  }

  /** Takes all marks that there are. One at a time. Undefined where the process is gone. */
  take(): Promise<SnapshotTaken | undefined> {
    if (this.#hasEnded) return Promise.resolve(undefined);
    return new Promise((done) => {
      this.#waiting = done;
      this.#child.stdin.write("s");
    });
  }

  /** Where accesses are counted, there is a last snapshot then. */
  close(): Promise<void> {
    this.#child.stdin.end();
    return this.#hasEnded ? Promise.resolve() : new Promise((done) => (this.#closed = done));
  }
}

interface NamedRange extends AddressRange {
  name: string;
}

/** What lies where no block is: the stack, static data by object, mapped files. Each has a key below 0. */
export class UnownedPlaces {
  /** By key. */
  readonly places = new Map<number, AttributedPlace>();
  readonly #keys = new Map<string, number>();

  /** @param of where the address is among `objects` and `files`, if it is in any */
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

  #key(kind: AttributedPlace["kind"], of?: string): number {
    const name = `${kind} ${of}`;
    let key = this.#keys.get(name);
    if (key === undefined) {
      key = -1 - this.#keys.size;
      this.#keys.set(name, key);
      this.places.set(key, { kind, path: [], of });
    }
    return key;
  }
}
