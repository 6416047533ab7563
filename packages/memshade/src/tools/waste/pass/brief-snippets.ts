import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { ACCESS_KIND, AccessKind, type ValType } from "../../../wasm/index.ts";
import * as Op from "../../../wasm/op.generated.ts";
import { loadBefore, writeComparison } from "./comparisons.ts";
import { HeldConstants, savedByHolding } from "./held-constants.ts";
import { takesValid } from "./loop-nests.ts";
import type { StreamLoop } from "./loop-streams.ts";
import { ReadCounters } from "./read-counters.ts";
import { ShadowStates } from "./shadow-states.ts";
import { pushAddress, pushHeld, type Scratch, ShadowWords, type SnippetAddress } from "./shadow-words.ts";
import { DISTANCES, pushIdOfRecord, type SiteRecords } from "./site-records.ts";
import { BriefIds, DIRTY_LINE_BYTES, type WasteLayout } from "./waste-layout.ts";

const NOTHING = 0x40;
const I32: ValType = 0x7f;
const I64: ValType = 0x7e;
const LINE_SHIFT = Math.log2(DIRTY_LINE_BYTES);

export interface BriefTargets {
  /** A store of what is there already, by its size. This, `fresh` and `given` are told of a site what `SiteRecords.pushPlaced` pushes. */
  same: ReadonlyMap<number, number>;
  /** A line is written that was not since the host was in control. */
  soiled: number;
  /** By the size of the access: 1, 2, 4, 8, 16 bytes. */
  fresh: ReadonlyMap<number, number>;
  /** The same where the load has been counted. */
  mixed: ReadonlyMap<number, number>;
  /** Stores over bytes that nobody has read, where ids have 32 bits. */
  lost: ReadonlyMap<number, number>;
  /** Give a store an id, where that is done while the program runs. */
  given: ReadonlyMap<number, number>;
  /** See `ReadCounters`. */
  takeLog: number;
}

/** An access followed inline. */
export interface Place {
  op: number;
  size: number;
  site: number;
  /** What `SiteRecords` knows the site by. */
  key: number;
  address: SnippetAddress;
  /** The lane that is stored, where the instruction has one. */
  lane: number;
  /** A store inside of a loop that is followed when it has ended: an i64 local that counts silent stores instead of the record. */
  loop: { silent: number; of: StreamLoop } | undefined;
  /**
   * The local that holds a store's operand, and whether it does so already; whether that looks like one of two values, as a minimum
   * does, of which one is there already.
   */
  value: { local: number; isHeld: boolean; isChosen: boolean };
  /** Whether what happens often besides the commonest case is inline too: code for time. */
  hot: boolean;
  /** A load that calls nothing, but puts into the log what it finds. */
  logs: boolean;
  /** A store over bytes of which each was read before, or is nobody's. */
  isSettled: boolean;
  /** An i64 local for a store's id, where ids are given while the program runs. */
  ids: number;
}

/** Locals of a function for stores: the address as the instruction takes it, its operand, and what `SiteRecords.setCold` leaves. */
interface ColdStore {
  whole: number;
  displacement: number;
  /** The same address for the shadow. */
  followed: SnippetAddress;
  value: number;
  store: number;
}

/** Writes the instructions that follow plain loads and stores inline. Byte for byte: docs/architecture.md. */
export class BriefSnippets {
  readonly #layout: WasteLayout;
  readonly #memory: number;
  readonly #targets: BriefTargets;
  readonly #words: ShadowWords | ShadowStates;
  /** Memory that nobody has written holds zeros, which may be written again silently. */
  readonly #zeroIsValid: boolean;
  /** Such memory counts as read when an opaque host was in control. */
  readonly #showsZeros: boolean;
  readonly records: SiteRecords;
  /** Of the function at hand. */
  readonly constants = new HeldConstants();
  readonly reads: ReadCounters;

  constructor(
    layout: WasteLayout,
    memory: number,
    targets: BriefTargets,
    records: SiteRecords,
    zeroIsValid: boolean,
  ) {
    this.records = records;
    this.reads = new ReadCounters(layout, memory, records, this.constants, targets.takeLog);
    this.#zeroIsValid = zeroIsValid;
    this.#showsZeros = zeroIsValid && layout.dirty !== 0;
    this.#layout = layout;
    this.#memory = memory;
    this.#targets = targets;
    this.#words = layout.isWide
      ? new ShadowStates(memory, layout, this.constants)
      : new ShadowWords(memory, this.constants);
  }

  /** Type of locals for ids in functions of their own. */
  get idType(): ValType {
    return this.givesIds ? I64 : I32;
  }

  /** Whether stores have ids that are given while the program runs. */
  get givesIds(): boolean {
    return this.#layout.recordOf !== 0;
  }

  /** Forgets the last function. */
  begin(): void {
    this.constants.forget();
  }

  /** Tells which constants an access that will be followed takes. */
  wantConstants({ op, size, key, hot, logs, isSettled }: Place): void {
    const isStore = ACCESS_KIND[op] === AccessKind.Store;
    if (this.#words instanceof ShadowStates) {
      if (!isStore && this.#readsStates(size)) this.#words.wantSigns(size, 1);
      if (isStore && !isSettled && size > 1) this.#words.wantSigns(size, 2);
      return;
    }
    if (logs) this.reads.want();
    if (hot && !isStore) {
      this.reads.want();
      const end = BigInt(this.#endOfIds(size));
      this.constants.want(I32, end, savedByHolding(end));
    }
    if (isStore && !this.givesIds) this.#words.wantToFill(size, key);
  }

  /** Whether loads make states read without the runtime. Which unread bytes are zeros that the host has seen only their ids tell. */
  #readsStates(size: number): boolean {
    return this.#zeroIsValid && !this.#showsZeros && size <= 8;
  }

  /** Asks for the locals that a load needs. */
  reserve({ size, hot, logs }: Place, scratch: Scratch): void {
    if (hot || logs || this.#words instanceof ShadowStates) this.#words.reserve(size, scratch);
  }

  /** Before a store, with its operand on top of the stack: counts it if the operand is there already. */
  compareStore(sink: SnippetSink, place: Place): void {
    const { op, size, key, site, address, value } = place;
    if (!value.isHeld) sink.local(Op.LOCAL_TEE, value.local);
    if (address.local >= 0) sink.local(Op.LOCAL_GET, address.local);
    else if (address.isWide) sink.i64(BigInt(address.constant));
    else sink.i32(address.constant);
    sink.access(loadBefore(op), 0, 0, address.displacement);
    sink.local(Op.LOCAL_GET, value.local);
    writeComparison(sink, op, place.lane);
    if (place.loop !== undefined) {
      this.#countSilent(sink, place, place.loop.of, place.loop.silent);
      return;
    }
    sink.rarely();
    sink.open(Op.IF, NOTHING);
    if (place.hot && this.#zeroIsValid) {
      // Without a call, which would cost the code around it its registers.
      const at = this.records.silentAt(key, site);
      this.records.pushBase(sink);
      this.#words.pushNoneInvalid(sink, size, address);
      sink.plain(Op.I64_EXTEND_I32_U);
      this.records.pushBase(sink);
      sink.access(Op.I64_LOAD, 3, this.#memory, at);
      sink.plain(Op.I64_ADD);
      sink.access(Op.I64_STORE, 3, this.#memory, at);
      sink.end();
      return;
    }
    this.#callPlaced(sink, place, this.#targets.same);
    sink.end();
  }

  /** Behind the comparison in a loop: what changes nothing counts if it was valid. */
  #countSilent(sink: SnippetSink, { size, address }: Place, of: StreamLoop, silent: number): void {
    const fills = takesValid(of);
    if (fills === undefined) sink.rarely();
    sink.open(Op.IF, NOTHING);
    if (fills !== undefined) {
      pushAddress(sink, address);
      sink.local(Op.LOCAL_GET, fills.validEnd);
      sink.plain(Op.I32_GE_U);
      sink.rarely();
      sink.open(Op.IF, I64);
    }
    this.#words.pushNoneInvalid(sink, size, address);
    sink.plain(Op.I64_EXTEND_I32_U);
    if (fills !== undefined) {
      sink.plain(Op.ELSE);
      sink.i64(1n);
      sink.end();
    }
    sink.local(Op.LOCAL_GET, silent);
    sink.plain(Op.I64_ADD);
    sink.local(Op.LOCAL_SET, silent);
    sink.end();
  }

  /** Calls a function that is told in one number which site this is and how far its local is from what it accesses. */
  #callPlaced(
    sink: SnippetSink,
    { size, key, address }: Place,
    functions: ReadonlyMap<number, number>,
  ): void {
    const distance = address.displacement / size;
    if (address.local >= 0 && distance < DISTANCES && Number.isInteger(distance)) {
      pushHeld(sink, address);
      this.records.pushPlaced(sink, key, distance);
    } else {
      pushAddress(sink, address);
      this.records.pushPlaced(sink, key, 0);
    }
    sink.indexed(Op.CALL, functions.get(size) as number);
  }

  /** Behind a store: its bytes get the site's id. */
  markStore(sink: SnippetSink, place: Place): void {
    const { size, key, address, isSettled, ids } = place;
    if (this.#layout.dirty !== 0) this.#markDirty(sink, address);
    if (this.#words instanceof ShadowWords && this.givesIds) {
      this.records.pushGiven(sink, key);
      this.#needId(sink, ids, () => {
        this.#callPlaced(sink, place, this.#targets.given);
      });
      this.#words.fill(sink, size, { four: ids }, address);
      return;
    }
    if (!isSettled) this.#chargeLost(sink, size, address);
    this.#words.fill(sink, size, this.records.idOf(key), address);
  }

  /** What was given to a store is on the stack, 0: nothing yet. `ids`: local that gets it. `give` pushes what is given to it now. */
  #needId(sink: SnippetSink, ids: number, give: () => void): void {
    sink.local(Op.LOCAL_TEE, ids);
    sink.plain(Op.I64_EQZ);
    sink.rarely();
    sink.open(Op.IF, NOTHING);
    give();
    sink.local(Op.LOCAL_SET, ids);
    sink.end();
  }

  /** Where stores tell whose bytes they overwrite unread: does so. */
  #chargeLost(sink: SnippetSink, size: number, address: SnippetAddress): void {
    if (this.#words instanceof ShadowWords) return;
    this.#words.pushUnsettled(sink, size, address);
    sink.rarely();
    sink.open(Op.IF, NOTHING);
    pushAddress(sink, address);
    sink.indexed(Op.CALL, this.#targets.lost.get(size) as number);
    sink.end();
  }

  /** As `compareStore` in a function of its own, whose parameters and locals are named; `store` as in `followStore`. */
  compareCold(
    sink: SnippetSink,
    op: number,
    size: number,
    { whole, displacement, followed, value, store }: ColdStore,
  ): void {
    sink.local(Op.LOCAL_GET, whole);
    sink.access(loadBefore(op), 0, 0, displacement);
    sink.local(Op.LOCAL_GET, value);
    writeComparison(sink, op, 0);
    sink.rarely();
    sink.open(Op.IF, NOTHING);
    pushAddress(sink, followed);
    this.records.pushPlacedOf(sink, store);
    sink.indexed(Op.CALL, this.#targets.same.get(size) as number);
    sink.end();
  }

  /**
   * As `markStore`; counts the store too. `store`: local with what `SiteRecords.pushStore` pushes, `id`: a local for the
   * store's id, of `idType`.
   */
  followStore(sink: SnippetSink, size: number, place: SnippetAddress, store: number, id: number): void {
    const { arena, stores, recordShift } = this.#layout;
    if (this.#layout.dirty !== 0) this.#markDirty(sink, place);
    this.#chargeLost(sink, size, place);
    if (arena === 0) this.#addOne(sink, store, stores, recordShift);
    else this.#addOne(sink, store, 0, 0);
    if (this.#words instanceof ShadowWords && this.givesIds) {
      this.records.pushGivenOf(sink, store);
      this.#needId(sink, id, () => {
        pushAddress(sink, place);
        this.records.pushPlacedOf(sink, store);
        sink.indexed(Op.CALL, this.#targets.given.get(size) as number);
      });
      this.#words.fill(sink, size, { four: id }, place);
      return;
    }
    if (arena === 0) {
      this.#words.fill(sink, size, { local: store }, place);
      return;
    }
    pushIdOfRecord(sink, store, this.#layout);
    sink.local(Op.LOCAL_SET, id);
    this.#words.fill(sink, size, { local: id }, place);
  }

  /** As `testLoad`; counts the load too. */
  followLoad(sink: SnippetSink, size: number, place: SnippetAddress, number: number): void {
    this.#addOne(sink, number, this.#layout.loads, this.#layout.loadShift);
    this.#words.pushUnread(sink, size, place);
    sink.rarely();
    sink.open(Op.IF, NOTHING);
    pushAddress(sink, place);
    this.records.pushPlacedOf(sink, number);
    sink.indexed(Op.CALL, this.#targets.fresh.get(size) as number);
    sink.end();
  }

  /** Adds one to the first counter of the record whose number a local holds. */
  #addOne(sink: SnippetSink, local: number, table: number, shift: number): void {
    for (let i = 0; i < 2; i++) {
      sink.local(Op.LOCAL_GET, local);
      if (shift === 0) continue;
      sink.i32(shift);
      sink.plain(Op.I32_SHL);
    }
    sink.access(Op.I64_LOAD, 3, this.#memory, table);
    sink.i64(1n);
    sink.plain(Op.I64_ADD);
    sink.access(Op.I64_STORE, 3, this.#memory, table);
  }

  /** The line of a store's first byte; the runtime looks a little behind each line. */
  #markDirty(sink: SnippetSink, address: SnippetAddress): void {
    let at = this.#layout.dirty;
    if (address.local < 0) {
      sink.i32(0);
      at += ((address.constant >>> 0) + address.displacement) >>> LINE_SHIFT;
    } else {
      pushAddress(sink, address);
      sink.i32(LINE_SHIFT);
      sink.plain(Op.I32_SHR_U);
    }
    sink.access(Op.I32_LOAD8_U, 0, this.#memory, at);
    sink.plain(Op.I32_EQZ);
    sink.rarely();
    sink.open(Op.IF, NOTHING);
    pushAddress(sink, address);
    sink.indexed(Op.CALL, this.#targets.soiled);
    sink.end();
  }

  /** Behind a load: unless all of its bytes have been read before, their writers get the credit. */
  testLoad(sink: SnippetSink, place: Place, scratch: Scratch): void {
    const { size, key, site, address, hot } = place;
    const words = this.#words;
    const readsStates = words instanceof ShadowStates && this.#readsStates(size);
    const keeps = readsStates || ((hot || place.logs) && words instanceof ShadowWords);
    words.pushUnread(sink, size, address, keeps ? scratch : undefined);
    sink.rarely();
    sink.open(Op.IF, NOTHING);
    if (readsStates) {
      this.#add(sink, this.records.freshAt(key, site));
      words.readStates(sink, size, address, scratch);
    } else if (hot && words instanceof ShadowWords) this.#readHot(sink, words, place, scratch);
    else if (place.logs && words instanceof ShadowWords)
      this.reads.log(sink, words, place, scratch, this.records.freshAt(key, site));
    else this.#callFresh(sink, place);
    sink.end();
  }

  /** Some byte of a load was not read, unless it is a zero that the host has seen. */
  #callFresh(sink: SnippetSink, place: Place): void {
    this.#callPlaced(sink, place, this.#targets.fresh);
  }

  /** A load, of bytes not all read before, whose words are in `scratch`. */
  #readHot(sink: SnippetSink, words: ShadowWords, place: Place, scratch: Scratch): void {
    if (this.#showsZeros) {
      this.#readHotOrShown(sink, words, place, scratch);
      return;
    }
    const { size, key, site } = place;
    const id = scratch(I32, 1);
    this.#add(sink, this.records.freshAt(key, site));
    if (size > 1) words.pushUniform(sink, size, scratch);
    if (size > 1) sink.open(Op.IF, NOTHING);
    words.pushId(sink, size, scratch);
    sink.local(Op.LOCAL_TEE, id);
    this.#readUniform(sink, words, place, id);
    if (size === 1) return;
    sink.plain(Op.ELSE);
    if (place.logs) this.reads.log(sink, words, place, scratch);
    else this.#callMixed(sink, place);
    sink.end();
  }

  #callMixed(sink: SnippetSink, { size, address }: Place): void {
    pushAddress(sink, address);
    sink.indexed(Op.CALL, this.#targets.mixed.get(size) as number);
  }

  /** A load of bytes that have one id, in a local and on the stack, which is not that of read bytes. */
  #readUniform(sink: SnippetSink, words: ShadowWords, place: Place, id: number): void {
    const { size, address } = place;
    const maySpill = this.#maySpill(size);
    if (!this.#zeroIsValid) {
      sink.i32(-1);
      sink.plain(Op.I32_ADD);
    }
    this.constants.push(sink, I32, BigInt(this.#endOfIds(size)));
    sink.plain(this.#zeroIsValid && !maySpill ? Op.I32_NE : Op.I32_LT_U);
    // What is invalid stays so: blocks that JavaScript has filled are read like this again and again.
    sink.open(Op.IF, NOTHING);
    sink.local(Op.LOCAL_GET, id);
    this.reads.credit(sink, id, size);
    words.fill(sink, size, -1, address);
    if (maySpill) {
      sink.plain(Op.ELSE);
      sink.local(Op.LOCAL_GET, id);
      sink.i32(1);
      sink.plain(Op.I32_OR);
      sink.i32(BriefIds.spilled | 1);
      sink.plain(Op.I32_EQ);
      sink.rarely();
      sink.open(Op.IF, NOTHING);
      this.#callMixed(sink, place);
      sink.end();
    }
    sink.end();
  }

  /** Whether a load of one id may be of spilled bytes: those side by side have different ids. */
  #maySpill(size: number): boolean {
    return this.givesIds && size === 1;
  }

  /** What the ids of stores that a load finds are compared with; zero was taken to the end where it is none of them. */
  #endOfIds(size: number): number {
    const end = this.#maySpill(size) ? BriefIds.spilled : BriefIds.invalid;
    return this.#zeroIsValid ? end : end - 1;
  }

  /** The same where zeros count as read that an opaque host has seen. */
  #readHotOrShown(sink: SnippetSink, words: ShadowWords, place: Place, scratch: Scratch): void {
    const { size, key, site } = place;
    const id = scratch(I32, 1);
    // One id that is not zero is that of a store, a segment or invalid memory.
    words.pushId(sink, size, scratch);
    sink.local(Op.LOCAL_TEE, id);
    if (size > 1) {
      sink.plain(Op.I32_EQZ);
      words.pushUniform(sink, size, scratch);
      sink.plain(Op.I32_LT_U);
    }
    sink.open(Op.IF, NOTHING);
    this.#add(sink, this.records.freshAt(key, site));
    sink.local(Op.LOCAL_GET, id);
    this.#readUniform(sink, words, place, id);
    sink.plain(Op.ELSE);
    this.#callFresh(sink, place);
    sink.end();
  }

  /** Behind a loop: puts what its locals have counted into the records. */
  flushSilent(sink: SnippetSink, { key, site, loop }: Place): void {
    if (loop === undefined) return;
    const at = this.records.silentAt(key, site);
    this.records.pushBase(sink);
    sink.local(Op.LOCAL_GET, loop.silent);
    this.records.pushBase(sink);
    sink.access(Op.I64_LOAD, 3, this.#memory, at);
    sink.plain(Op.I64_ADD);
    sink.access(Op.I64_STORE, 3, this.#memory, at);
    sink.i64(0n);
    sink.local(Op.LOCAL_SET, loop.silent);
  }

  /** One more run of a block, whose counter is at `at` from the base of records. */
  countRun(sink: SnippetSink, at: number): void {
    this.#add(sink, at);
  }

  #add(sink: SnippetSink, at: number): void {
    this.records.pushBase(sink);
    this.records.pushBase(sink);
    sink.access(Op.I64_LOAD, 3, this.#memory, at);
    sink.i64(1n);
    sink.plain(Op.I64_ADD);
    sink.access(Op.I64_STORE, 3, this.#memory, at);
  }
}
