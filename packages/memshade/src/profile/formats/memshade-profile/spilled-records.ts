import { ByteWriter } from "../../../ground/bytes/writer.ts";
import { isUnresolved, type SpilledProfile, type SpillFile } from "../../model/memprof/index.ts";
import { PIECE_BYTES } from "./layout.ts";
import { type RecordSource, type StoredCallSite, writeCallSites } from "./record-chunks.ts";

/** So much of a record is in memory; what is before goes to a file. */
const PART_BYTES = 1 << 13;

/** The alloc sites of one function, as they are stored. */
interface Sites {
  readonly writer: ByteWriter;
  count: number;
  lastStack: number;
  lastBlock: number;
  /** What is in the file already: offset and length in turn. */
  readonly parts: number[];
}

/** The records of all functions, collected while contexts come in order. */
export class SpilledRecords implements RecordSource {
  readonly #profile: SpilledProfile;
  readonly #file: SpillFile;
  readonly #isPlace: Uint8Array;
  readonly #byFunction = new Map<bigint, Sites>();
  /** By frame: the sites of its function. */
  readonly #byFrame: (Sites | undefined)[] = [];
  readonly #numbers = new Map<number, number>();
  #guidsOfRows: readonly bigint[] | undefined;

  constructor(profile: SpilledProfile, file: SpillFile) {
    const { source, length } = profile.frames;
    this.#profile = profile;
    this.#file = file;
    const isPlaceName = source?.strings.map(isUnresolved) ?? [];
    this.#isPlace = Uint8Array.from({ length }, (_, frame) => (isPlaceName[source!.name[frame]!] ? 1 : 0));
  }

  /** Ascending. Nothing can be added any more. */
  get guids(): readonly bigint[] {
    if (this.#guidsOfRows === undefined) {
      const guids = new Set([...this.#byFunction.keys(), ...this.#profile.callSites.functions()]);
      this.#guidsOfRows = [...guids].sort((a, b) => (a < b ? -1 : 1));
    }
    return this.#guidsOfRows;
  }

  /** Adds the number of the next stack that is that of a call site. */
  addCallStack(stack: number): void {
    const { callStacks } = this.#profile;
    this.#numbers.set(callStacks[this.#numbers.size]!, stack);
  }

  /**
   * Adds a context to the records of the functions in its innermost inline chain, and of others.
   *
   * @param frames by depth, outermost first; those up to `depth` are those of the context
   */
  addContext(
    frames: readonly number[],
    depth: number,
    stack: number,
    block: number,
    others: ReadonlySet<bigint>,
  ): void {
    const { inline } = this.#profile.frames;
    const seen: Sites[] = [];
    const note = (sites: Sites) => {
      if (!seen.includes(sites)) seen.push(sites);
    };
    let innermost = depth;
    while (innermost > 0 && this.#isPlace[frames[innermost]!] === 1) innermost--;
    for (let at = innermost === 0 ? depth : innermost; at > 0; at--) {
      note(this.#sitesOfFrame(frames[at]!));
      if (inline[frames[at]!] === 0) break;
    }
    for (const guid of others) note(this.#sitesOf(guid));
    for (const sites of seen) this.#add(sites, stack, block);
  }

  *write(writer: ByteWriter, row: number): Generator<void, void, undefined> {
    const guid = this.guids[row]!;
    const sites = this.#byFunction.get(guid);
    writer.u32Leb(sites?.count ?? 0);
    if (sites !== undefined) {
      const { parts } = sites;
      for (let index = 0; index < parts.length; index += 2) {
        const part = new Uint8Array(parts[index + 1]!);
        this.#file.read(parts[index]!, part);
        writer.bytes(part);
        if (writer.length >= PIECE_BYTES) yield;
      }
      writer.bytes(sites.writer.view());
    }
    yield* writeCallSites(writer, this.#callSitesOf(guid));
  }

  #callSitesOf(guid: bigint): StoredCallSite[] {
    const { callSites } = this.#profile;
    return callSites
      .stacksOf(guid)
      .map((stack) => ({ stack: this.#numbers.get(stack)!, callees: callSites.calleesOf(guid, stack) }))
      .sort((a, b) => a.stack - b.stack);
  }

  #sitesOfFrame(frame: number): Sites {
    let sites = this.#byFrame[frame];
    if (sites === undefined) {
      sites = this.#sitesOf(this.#profile.frames.guid[frame]!);
      this.#byFrame[frame] = sites;
    }
    return sites;
  }

  #sitesOf(guid: bigint): Sites {
    let sites = this.#byFunction.get(guid);
    if (sites === undefined) {
      sites = { writer: new ByteWriter(16), count: 0, lastStack: 0, lastBlock: 0, parts: [] };
      this.#byFunction.set(guid, sites);
    }
    return sites;
  }

  #add(sites: Sites, stack: number, block: number): void {
    const { writer, parts } = sites;
    writer.s64Leb(stack - sites.lastStack).s64Leb(block - sites.lastBlock);
    sites.count++;
    sites.lastStack = stack;
    sites.lastBlock = block;
    if (writer.length < PART_BYTES) return;
    parts.push(this.#file.size, writer.length);
    this.#file.append(writer.view());
    writer.clear();
  }
}
