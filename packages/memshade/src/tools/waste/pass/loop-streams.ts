import { isZero, LoopProgressions, type Progression } from "../../../rewrite/facts/loop-progressions.ts";
import type { WalkState } from "../../../rewrite/tool.ts";
import { CONSTANT } from "../../../rewrite/walk/value-numbers.ts";
import type { LinearForm } from "../../../rewrite/write/insertions.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { extraLocal } from "../../../rewrite/write/temporaries.ts";
import { ACCESS_KIND, AccessKind, type ValType } from "../../../wasm/index.ts";
import * as Op from "../../../wasm/op.generated.ts";
import type { Place } from "./brief-snippets.ts";
import type { NestTargets } from "./loop-nests.ts";
import type { LoopTable } from "./loop-table.ts";
import { isSearch } from "./search-loops.ts";
import type { SiteRecords } from "./site-records.ts";
import { type StreamUnit, unitsOf } from "./stream-units.ts";

const I32: ValType = 0x7f;
const I64: ValType = 0x7e;

/** As many accesses of one loop has the runtime room for; see `tools/waste/assembly/stream-table.ts`. */
const MOST_STREAMS = 12;
/** Bytes in which a loop says where a unit of its streams ended: the address, and the stride if that is no constant. */
const UNIT_BYTES = 8;
const STORE_BIT = 32;
const UNIT_SHIFT = 6;
const ID_SHIFT = 10;
const MOST_KEYS = 2 ** (32 - ID_SHIFT);
/** Of a stream's place in its unit: its stride is said with where it ended. */
const VARIABLE = 0x80000000;
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
  /** Where its units end, in the order of their numbers, and their strides. */
  units: Progression[];
  /** Address of what is known of it. */
  at: number;
  trips: number;
  /**
   * Of a loop that stores to each byte from somewhere on, upwards, and often what is there: where the next trip begins, and a local
   * for `takeValid`.
   */
  fills: { from: LinearForm; validEnd: number } | undefined;
  /** Part of a nest: see `LoopNests`. */
  isInside: boolean;
}

export interface StreamTargets {
  /** Whether loops that store can be followed: only where one id alone means invalid bytes. */
  followsStores: boolean;
  looped: number;
  nests: NestTargets;
  /** What is known of loops beforehand. */
  table: LoopTable;
  /** Address where loops say where their units ended. */
  ends: number;
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
    const { module, control, temporaries, insertions } = this.#state;
    // Searches are short as a rule: to tell of each takes longer than to follow its accesses.
    if (isSearch(module.bytes, control.loopBody[control.top], end)) return undefined;
    this.#progressions.begin(control);
    const streams: Progression[] = [];
    let counted: Progression | undefined;
    for (const { place, base, offset } of accesses) {
      const progression =
        base === CONSTANT ? standsAt(offset) : this.#progressions.of(base, offset, place.address.local);
      if (progression === undefined) return undefined;
      if (counted === undefined || isZero(counted.stride)) counted = progression;
      if (place.key >= MOST_KEYS) return undefined;
      streams.push(progression);
    }
    if (counted === undefined) return undefined;
    if (!this.#targets.followsStores && accesses.some(({ place }) => isStore(place))) return undefined;
    if (!storesAreApart(accesses, streams)) return undefined;
    const unitOf = unitsOf(accesses, streams);
    const at = this.#targets.table.add([accesses.length, runs, ...wordsOf(accesses, unitOf)]);
    if (at === undefined) return undefined;
    const units: Progression[] = [];
    for (const { number, lowest } of unitOf) units[number] = streams[lowest];
    for (const { entries } of accesses) for (const entry of entries) insertions.remove(entry);
    const trips = this.#progressions.countTrips(control, end, counted, temporaries);
    const stores = accesses.map(({ place }) => place).filter(isStore);
    const from = filledFrom(accesses, streams);
    const fills = from === undefined ? undefined : { from, validEnd: extraLocal(temporaries, I32) };
    const loop: StreamLoop = { units, at, stores, trips, fills, isInside: false };
    for (const store of stores) store.loop = { silent: extraLocal(temporaries, I64), of: loop };
    return loop;
  }

  /** Behind the loop: tells the runtime what it did. */
  write(sink: SnippetSink, { units, at, trips, fills, isInside }: StreamLoop, records: SiteRecords): void {
    const { ends, memory, looped, table } = this.#targets;
    if (isInside) table.mark(at, fills === undefined ? INSIDE : INSIDE | FILLS);
    units.forEach(({ end, stride }, i) => {
      const store = (form: LinearForm, field: number) => {
        sink.i32(0);
        pushForm(sink, form);
        sink.access(Op.I32_STORE, 2, memory, ends + i * UNIT_BYTES + field);
      };
      store(end, 0);
      if (stride.terms.length > 0) store(stride, 4);
    });
    sink.local(Op.LOCAL_GET, trips);
    sink.i32(at | 0);
    records.pushBase(sink);
    sink.indexed(Op.CALL, looped);
  }
}

/** Three per stream: what it is, with its unit and key; its stride; where it is in its unit's place. */
function wordsOf(accesses: readonly LoopAccess[], unitOf: readonly StreamUnit[]): number[] {
  return accesses.flatMap(({ place, offset }, i) => {
    const { number, stride, low } = unitOf[i];
    const what = (isStore(place) ? STORE_BIT : 0) | place.size;
    const inPlace = offset - low;
    return [
      (place.key << ID_SHIFT) | (number << UNIT_SHIFT) | what,
      stride.constant,
      stride.terms.length > 0 ? VARIABLE | inPlace : inPlace,
    ];
  });
}

function standsAt(constant: number): Progression {
  return { end: { terms: [], constant }, stride: { terms: [], constant: 0 } };
}

function isStore({ op }: Place): boolean {
  return ACCESS_KIND[op] === AccessKind.Store;
}

/** Loops that only look at the bytes of a text are short. */
function isWorthIt(accesses: readonly LoopAccess[]): boolean {
  if (accesses.length === 0 || accesses.length > MOST_STREAMS) return false;
  return accesses.length > 1 || accesses[0].place.size > 1 || isStore(accesses[0].place);
}

/**
 * Whether no byte is stored twice: then what a store finds is as it was before the loop, and it can be asked inside of the
 * loop whether that was valid. The stores must share a base, and one trip's must fit into one stride.
 */
function storesAreApart(accesses: readonly LoopAccess[], streams: readonly Progression[]): boolean {
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
function filledFrom(
  accesses: readonly LoopAccess[],
  streams: readonly Progression[],
): LinearForm | undefined {
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
    sink.local(Op.LOCAL_GET, local);
    if (factor !== 1) {
      sink.i32(factor);
      sink.plain(Op.I32_MUL);
    }
    sink.plain(Op.I32_ADD);
  }
}
