import { existsSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { AttributedPlace } from "../../../../tools/working-set/attribution/read/read-attribution.ts";
import { type AddressRange, mappedFiles, regionOf, threadStacks } from "./address-regions.ts";
import { LineOwners } from "./line-owners.ts";
import { MarkReader } from "./mark-reader.ts";
import type { MarkListener, SnapshotTaken } from "./mark-stream.ts";
import { MarkedLines, type Region } from "./marked-lines.ts";
import { IntervalRecords, type NativeIntervals } from "./native-intervals.ts";

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
