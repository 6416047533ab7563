import { ACCESS_KIND, AccessKind, opcodeId, type ValType } from "../../wasm/index.ts";
import type { LinearForm } from "../insertions.ts";
import { isZero, LoopProgressions, type Progression } from "../loop-progressions.ts";
import type { SnippetSink } from "../snippet-sink.ts";
import { extraLocal } from "../temporaries.ts";
import type { WalkState } from "../tool-pass.ts";
import { CONSTANT } from "../value-numbers.ts";
import type { Place } from "./brief-snippets.ts";
import type { NestTargets } from "./loop-nests.ts";
import type { SiteRecords } from "./site-records.ts";
import { unitsOf } from "./stream-units.ts";

const I32: ValType = 0x7f;
const I64: ValType = 0x7e;
const LOCAL_GET = opcodeId("local.get");
const CALL = opcodeId("call");
const I32_ADD = opcodeId("i32.add");
const I32_MUL = opcodeId("i32.mul");
const I32_STORE = opcodeId("i32.store");

/** As many accesses of one loop has the runtime room for; see `runtime/shadow/assembly/waste/stream-table.ts`. */
const MOST_STREAMS = 12;
/** Bytes of a stream's descriptor: end, stride, what it is, and room for the runtime's own. */
export const STREAM_BYTES = 32;
const STORE_BIT = 32;
const UNIT_SHIFT = 6;
const ID_SHIFT = 10;
const MOST_KEYS = 2 ** (32 - ID_SHIFT);
const KEY_AT = 28;
/** Added to the number of streams of a loop inside of another. */
const INSIDE = 32;
/** The same where it asks which bytes are valid: see `takeValid`. */
const FILLS = 64;

/** An access inside of the loop at hand, and the insertions that follow it one by one. */
export interface LoopAccess {
  place: Place;
  /** Value number of the address, and the constant added to it. */
  base: number;
  offset: number;
  /** Entries to take back if the loop as a whole is followed instead. */
  entries: number[];
}

/** A loop whose accesses the runtime is told of when it has ended. */
export interface StreamLoop {
  /** Stores; locals count those that are silent while the loop runs. */
  stores: Place[];
  streams: { end: LinearForm; stride: LinearForm; what: number; key: number }[];
  trips: number;
  /**
   * Of a loop that stores to each byte from somewhere on, upwards, and often what is there: where the next trip begins, and a local
   * for `takeValid`.
   */
  fills: { from: LinearForm; validEnd: number } | undefined;
  /** Address of the counter of the block's runs, from the base of counters. */
  runs: number;
  /** Part of a nest: see `LoopNests`. */
  isInside: boolean;
}

export interface StreamTargets {
  /** Whether loops that store can be followed: only where one id alone means invalid bytes. */
  followsStores: boolean;
  looped: number;
  nests: NestTargets;
  /** Whether keys of sites are known when the module is rewritten. */
  keysAreFixed: boolean;
  /** Address of the descriptors. */
  descriptors: number;
  memory: number;
}

/**
 * Loops of one basic block whose addresses all move by the same distance each trip leave their shadow alone while they
 * run: the runtime is told the ranges when the loop has ended. Only whether a store changes anything is asked inside.
 */
export class LoopStreams {
  readonly #progressions: LoopProgressions;
  readonly #state: WalkState;
  readonly #targets: StreamTargets;
  #accesses: LoopAccess[] | undefined;

  constructor(state: WalkState, targets: StreamTargets) {
    this.#state = state;
    this.#targets = targets;
    this.#progressions = new LoopProgressions(state.insertions, state.values);
    this.#progressions.locals = state.locals;
  }

  /** A loop begins. */
  enter(): void {
    this.#accesses = [];
  }

  /** Something that cannot wait happens in the loop. */
  abandon(): void {
    this.#accesses = undefined;
  }

  add(access: LoopAccess): void {
    this.#accesses?.push(access);
  }

  /** The loop ends before `end`. What it becomes, undefined if its accesses are followed one by one. */
  leave(end: number, oneBlock: boolean, runs: number): StreamLoop | undefined {
    const accesses = this.#accesses;
    this.#accesses = undefined;
    if (!oneBlock || accesses === undefined || !isWorthIt(accesses)) return undefined;
    const { control, temporaries, insertions } = this.#state;
    const { keysAreFixed } = this.#targets;
    this.#progressions.begin(control);
    const streams: StreamLoop["streams"] = [];
    let counted: Progression | undefined;
    for (const { place, base, offset } of accesses) {
      const progression =
        base === CONSTANT ? standsAt(offset) : this.#progressions.of(base, offset, place.address.local);
      if (progression === undefined) return undefined;
      if (counted === undefined || isZero(counted.stride)) counted = progression;
      if (keysAreFixed && place.key >= MOST_KEYS) return undefined;
      const what = (isStore(place) ? STORE_BIT : 0) | place.size;
      streams.push({ ...progression, what, key: place.key });
    }
    if (counted === undefined) return undefined;
    if (!this.#targets.followsStores && accesses.some(({ place }) => isStore(place))) return undefined;
    if (!storesAreApart(accesses, streams)) return undefined;
    unitsOf(accesses, streams).forEach((unit, i) => {
      streams[i].what |= unit << UNIT_SHIFT;
    });
    for (const { entries } of accesses) for (const entry of entries) insertions.remove(entry);
    const trips = this.#progressions.countTrips(control, end, counted, temporaries);
    const stores = accesses.map(({ place }) => place).filter(isStore);
    const from = filledFrom(accesses, streams);
    const fills = from === undefined ? undefined : { from, validEnd: extraLocal(temporaries, I32) };
    const loop: StreamLoop = { streams, stores, trips, fills, runs, isInside: false };
    for (const store of stores) store.loop = { silent: extraLocal(temporaries, I64), of: loop };
    return loop;
  }

  /** Behind the loop: tells the runtime what it did. */
  write(
    sink: SnippetSink,
    { streams, trips, fills, runs, isInside }: StreamLoop,
    records: SiteRecords,
  ): void {
    const { descriptors, memory, looped, keysAreFixed } = this.#targets;
    streams.forEach(({ end, stride, what, key }, i) => {
      const at = descriptors + i * STREAM_BYTES;
      for (const [field, form] of [end, stride].entries()) {
        sink.i32(0);
        pushForm(sink, form);
        sink.access(I32_STORE, 2, memory, at + field * 4);
      }
      sink.i32(0);
      sink.i32(keysAreFixed ? (key << ID_SHIFT) | what : what);
      sink.access(I32_STORE, 2, memory, at + 8);
      if (keysAreFixed) return;
      sink.i32(0);
      if ((what & STORE_BIT) !== 0) records.pushId(sink, key);
      else records.pushLoad(sink, key);
      sink.access(I32_STORE, 2, memory, at + KEY_AT);
    });
    sink.local(LOCAL_GET, trips);
    sink.i32(streams.length + (isInside ? INSIDE + (fills === undefined ? 0 : FILLS) : 0));
    records.pushBase(sink);
    if (runs !== 0) {
      sink.i32(runs);
      sink.plain(I32_ADD);
    }
    sink.indexed(CALL, looped);
  }
}

function standsAt(constant: number): Progression {
  return { end: { terms: [], constant }, stride: { terms: [], constant: 0 } };
}

function isStore({ op }: Place): boolean {
  return ACCESS_KIND[op] === AccessKind.Store;
}

/** Loops that only look for the end of a text are short. */
function isWorthIt(accesses: readonly LoopAccess[]): boolean {
  if (accesses.length === 0 || accesses.length > MOST_STREAMS) return false;
  return accesses.length > 1 || accesses[0].place.size > 1 || isStore(accesses[0].place);
}

/**
 * Whether no byte is stored twice: then what a store finds is as it was before the loop, and it can be asked inside of the
 * loop whether that was valid. The stores must share a base, and one trip's must fit into one stride.
 */
function storesAreApart(accesses: readonly LoopAccess[], streams: StreamLoop["streams"]): boolean {
  const stores = accesses
    .map((access, i) => ({ ...access, stride: streams[i].stride }))
    .filter(({ place }) => isStore(place))
    .sort((a, b) => a.offset - b.offset);
  if (stores.length === 0) return true;
  const [first] = stores;
  const last = stores[stores.length - 1];
  if (first.stride.terms.length > 0) return false;
  if (stores.some(({ base }) => base !== first.base)) return false;
  for (let i = 1; i < stores.length; i++)
    if (stores[i].offset - stores[i - 1].offset < stores[i - 1].place.size) return false;
  return last.offset + last.place.size - first.offset <= Math.abs(first.stride.constant);
}

/**
 * Where the lowest store of the next trip is, if stores that are apart leave no byte out and go up, and look as if they often changed
 * nothing: for others it is not worth a register in the loop. Else undefined.
 */
function filledFrom(accesses: readonly LoopAccess[], streams: StreamLoop["streams"]): LinearForm | undefined {
  let bytes = 0;
  let lowest: { offset: number; end: LinearForm; stride: LinearForm } | undefined;
  for (const [i, { place, offset }] of accesses.entries()) {
    if (!isStore(place)) continue;
    if (!place.value.isChosen) return undefined;
    bytes += place.size;
    if (lowest === undefined || offset < lowest.offset) lowest = { offset, ...streams[i] };
  }
  return lowest?.stride.constant === bytes ? lowest.end : undefined;
}

/** Pushes a sum of locals times constants, plus a constant. */
export function pushForm(sink: SnippetSink, { terms, constant }: LinearForm): void {
  sink.i32(constant);
  for (const { local, factor } of terms) {
    sink.local(LOCAL_GET, local);
    if (factor !== 1) {
      sink.i32(factor);
      sink.plain(I32_MUL);
    }
    sink.plain(I32_ADD);
  }
}
