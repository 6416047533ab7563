import { existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { type AddressRange, mappedFiles, regionOf, threadStacks } from "./address-regions.ts";
import { LineOwners } from "./line-owners.ts";
import { MarkReader } from "./mark-reader.ts";
import type { MarkListener, SnapshotTaken } from "./mark-stream.ts";
import { MarkedLines } from "./marked-lines.ts";
import { IntervalRecords, type NativeIntervals } from "./native-intervals.ts";
import { UnownedPlaces } from "./unowned-places.ts";

/** What is known of the process from elsewhere. */
export interface MarkedProcess {
  pid: number;
  /** Path of the file that it shares its marks by. */
  marks: string;
  /** nanoseconds of the monotonic clock */
  start(): number;
  /** Address near the upper end of its first stack; 0: not known. */
  stackTop(): number;
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
    if (this.#reader === undefined) return;
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
    this.records!.end(taken);
  }

  /** Takes what is left when the process has ended. */
  async finish(): Promise<void> {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    await this.#open;
    if (!this.#begin()) return;
    if (this.how.unit !== "accesses") await this.#snapshot();
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
    this.#maps = mapsOf(known.pid) || this.#maps;
    return {
      ...{ objects: known.objects(), stackTop: known.stackTop() },
      ...{ stacks: threadStacks(this.#maps), files: mappedFiles(this.#maps, dirname(known.marks)) },
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
