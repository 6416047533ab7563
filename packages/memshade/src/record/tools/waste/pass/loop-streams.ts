import {
  ACCESS_KIND,
  AccessKind,
  type DataContent,
  encodeConstantExpression,
  I32,
  I64,
} from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { ByteWriter } from "../../../../ground/bytes/writer.ts";
import { isZero, LoopProgressions, type Progression } from "../../../rewrite/facts/loop-progressions.ts";
import type { WalkState } from "../../../rewrite/tool.ts";
import { CONSTANT } from "../../../rewrite/walk/value-numbers.ts";
import type { Insertion, OptionalInsertion } from "../../../rewrite/write/insertions.ts";
import type { LinearForm } from "../../../rewrite/write/linear-form.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { extraLocal } from "../../../rewrite/write/temporaries.ts";
import { Loop, MOST_STREAMS, STREAM_END_BYTES } from "../layout.ts";
import type { SiteRecords } from "./sites.ts";
import type { Place } from "./summary-snippets.ts";

const STORE_BIT = 32;
/** The stride of a stream is said with where it ended. */
const VARIABLE = 64;
const KEY_SHIFT = 7;
const MOST_KEYS = 2 ** (32 - KEY_SHIFT);
const WORD_BYTES = 4;
/** Flags of a data segment with an index of a memory, and an address. */
const ACTIVE_IN_MEMORY = 2;

/** What the runtime is told of loops when a module is rewritten: words in a data segment behind all other tables of the tool. */
export class LoopTable {
  readonly #address: number;
  readonly #room: number;
  readonly #words: number[] = [];

  /** A table of up to `room` bytes at an address. */
  constructor(address: number, room: number) {
    this.#address = address;
    this.#room = room;
  }

  /** Returns the address where the words will be; undefined if there is no room for them. */
  add(words: readonly number[]): number | undefined {
    const at = this.endBytes;
    if (at + words.length * WORD_BYTES > this.#address + this.#room) return undefined;
    this.#words.push(...words);
    return at;
  }

  /** Where it is. */
  get address(): number {
    return this.#address;
  }

  /** Address behind it. */
  get endBytes(): number {
    return this.#address + this.#words.length * WORD_BYTES;
  }

  /** Data segments that put it into a memory: one, if there is any loop. */
  segments(memory: number): DataContent[] {
    if (this.#words.length === 0) return [];
    const content = new ByteWriter(this.#words.length * WORD_BYTES);
    for (const word of this.#words) content.u32(word >>> 0);
    const offset = encodeConstantExpression(I32, this.#address | 0);
    return [{ flags: ACTIVE_IN_MEMORY, memory, offset, content: content.finish() }];
  }
}

/** An access inside of the loop at hand, and the insertions that follow it one by one. */
export interface LoopAccess {
  place: Place;
  /** Value number of the address, and the constant added to it. */
  base: number;
  offset: number;
  /** To be left out if the loop as a whole is followed instead. */
  steps: OptionalInsertion[];
}

/** A loop whose accesses the runtime is told of when it has ended. */
export interface StreamLoop {
  /** Stores; locals count those that are silent while the loop runs. */
  stores: Place[];
  streams: Progression[];
  /** Address of what is known of it. */
  at: number;
  /** Local with the number of its trips. */
  trips: number;
}

/** Before a loop that is followed as a whole: one more run of it is open, until the runtime is told of its end. */
class LoopBegin implements Insertion {
  readonly #memory: number;
  /** Address of what is known of the loop; undefined: its accesses are followed one by one. */
  loop: number | undefined;

  constructor(memory: number) {
    this.#memory = memory;
  }

  write(sink: SnippetSink): void {
    if (this.loop === undefined) return;
    const at = this.loop + Loop.open;
    sink.i32(0);
    sink.i32(0);
    sink.access(Op.I32_LOAD, 2, this.#memory, at);
    sink.i32(1);
    sink.plain(Op.I32_ADD);
    sink.access(Op.I32_STORE, 2, this.#memory, at);
  }
}

export interface StreamTargets {
  /** Whether loops that store can be followed: only where one id alone means invalid bytes. */
  followsStores: boolean;
  looped: number;
  table: LoopTable;
  /** Address where loops say where their streams ended. */
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
  /** Notes before the loop at hand that it has begun. */
  #begin: LoopBegin | undefined;

  constructor(state: WalkState, targets: StreamTargets) {
    this.#state = state;
    this.#targets = targets;
    this.#progressions = new LoopProgressions(state.insertions, state.values);
    this.#progressions.locals = state.locals;
  }

  /** A loop begins. Returns what notes that, to be inserted before it. */
  enter(): Insertion {
    this.#accesses = [];
    this.#begin = new LoopBegin(this.#targets.memory);
    return this.#begin;
  }

  /** Something that cannot wait happens in the loop. */
  abandon(): void {
    this.#accesses = undefined;
  }

  add(access: LoopAccess): void {
    this.#accesses?.push(access);
  }

  /**
   * The loop ends before `end`. What it becomes, undefined if its accesses are followed one by one. `runs`: where the runs of its block
   * are counted.
   */
  leave(end: number, oneBlock: boolean, runs: number): StreamLoop | undefined {
    const accesses = this.#accesses;
    this.#accesses = undefined;
    if (!oneBlock || accesses === undefined || !isWorthIt(accesses)) return undefined;
    const { control, temporaries } = this.#state;
    this.#progressions.begin(control);
    const streams: Progression[] = [];
    let counted: Progression | undefined;
    for (const { place, base, offset } of accesses) {
      const progression =
        base === CONSTANT ? standsAt(offset) : this.#progressions.of(base, offset, place.address.local);
      if (progression === undefined || place.key >= MOST_KEYS) return undefined;
      if (counted === undefined || isZero(counted.stride)) counted = progression;
      streams.push(progression);
    }
    if (counted === undefined) return undefined;
    const stored = accesses.filter(({ place }) => isStore(place));
    if (stored.length > 0 && !this.#targets.followsStores) return undefined;
    if (!storesAreApart(accesses, streams)) return undefined;
    const { site } = accesses[0].place;
    const words = [accesses.length, runs, 0, site, ...wordsOf(accesses, streams)];
    const at = this.#targets.table.add(words);
    if (at === undefined) return undefined;
    if (this.#begin !== undefined) this.#begin.loop = at;
    for (const { steps } of accesses) for (const step of steps) step.isLeftOut = true;
    const trips = this.#progressions.countTrips(control, end, counted, temporaries);
    const stores = stored.map(({ place }) => place);
    for (const store of stores) store.silent = extraLocal(temporaries, I64);
    return { streams, at, stores, trips };
  }

  /** Behind the loop: tells the runtime what it did. */
  write(sink: SnippetSink, { streams, at, trips }: StreamLoop, records: SiteRecords): void {
    const { ends, memory, looped } = this.#targets;
    streams.forEach(({ end, stride }, i) => {
      const store = (form: LinearForm, field: number) => {
        sink.i32(0);
        pushForm(sink, form);
        sink.access(Op.I32_STORE, 2, memory, ends + i * STREAM_END_BYTES + field);
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

/** Two per stream: what it is, with its key; its stride. */
function wordsOf(accesses: readonly LoopAccess[], streams: readonly Progression[]): number[] {
  return accesses.flatMap(({ place }, i) => {
    const { stride } = streams[i];
    const flags = (isStore(place) ? STORE_BIT : 0) | (stride.terms.length > 0 ? VARIABLE : 0);
    return [(place.key << KEY_SHIFT) | flags | place.size, stride.constant];
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

/** Pushes a sum of locals times constants, plus a constant. */
function pushForm(sink: SnippetSink, { terms, constant }: LinearForm): void {
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
