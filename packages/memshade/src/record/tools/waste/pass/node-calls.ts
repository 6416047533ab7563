import {
  ACCESS_BYTES,
  ACCESS_KIND,
  AccessKind,
  type DataContent,
  encodeConstantExpression,
  I32,
  I64,
  OPCODE_NAME,
  type OpcodeName,
  RESULT_TYPE,
  type ValType,
} from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { ByteWriter } from "../../../../ground/bytes/writer.ts";
import { CallTreatment } from "../../../contexts/call-plan.ts";
import {
  type FramePlan,
  type FrameSnippets,
  type Frames,
  KeptHost,
} from "../../../contexts/frames/call-frames.ts";
import { isZero, LoopProgressions, type Progression } from "../../../rewrite/facts/loop-progressions.ts";
import type { WalkState } from "../../../rewrite/tool.ts";
import { operandsAbove } from "../../../rewrite/walk/access-operands.ts";
import { CONSTANT, NO_LOCAL } from "../../../rewrite/walk/value-numbers.ts";
import type { AppendedFunctions } from "../../../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../../../rewrite/write/body-builder.ts";
import type { Insertion, OptionalInsertion } from "../../../rewrite/write/insertions.ts";
import type { LinearForm } from "../../../rewrite/write/linear-form.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { extraLocal } from "../../../rewrite/write/temporaries.ts";
import type { FramedSites } from "../framed-sites.ts";
import { Loop, MOST_STREAMS, STREAM_END_BYTES } from "../layout.ts";
import { BodySink } from "./body-sink.ts";
import type { SnippetAddress } from "./shadow-words.ts";
import {
  checkAddress,
  computeAddress,
  computeNear,
  type FixedRecords,
  type FramedRecords,
  type SiteRecords,
  trapTooFar,
} from "./sites.ts";
import type { Place, SummarySnippets } from "./summary-snippets.ts";

const STORE_BIT = 32;
/** The loop stores the stride together with the end of the stream. */
const VARIABLE = 64;
const KEY_SHIFT = 7;
const MOST_KEYS = 2 ** (32 - KEY_SHIFT);
const WORD_BYTES = 4;
/** Flags of a data segment that has a memory index and an address. */
const ACTIVE_IN_MEMORY = 2;

/**
 * Table of loops for the runtime, made when a module is rewritten: words in a data segment after all other tables of
 * the tool.
 */
export class LoopTable {
  readonly #address: number;
  readonly #room: number;
  readonly #words: number[] = [];

  constructor(address: number, room: number) {
    this.#address = address;
    this.#room = room;
  }

  add(words: readonly number[]): number | undefined {
    const at = this.endBytes;
    if (at + words.length * WORD_BYTES > this.#address + this.#room) return undefined;
    this.#words.push(...words);
    return at;
  }

  get address(): number {
    return this.#address;
  }

  get endBytes(): number {
    return this.#address + this.#words.length * WORD_BYTES;
  }

  /** Returns the data segments that initialize it: one, or none without loops. */
  segments(memory: number): DataContent[] {
    if (this.#words.length === 0) return [];
    const content = new ByteWriter(this.#words.length * WORD_BYTES);
    for (const word of this.#words) content.u32(word >>> 0);
    const offset = encodeConstantExpression(I32, this.#address | 0);
    return [{ flags: ACTIVE_IN_MEMORY, memory, offset, content: content.finish() }];
  }
}

interface LoopAccess {
  place: Place;
  /** Value number of the address, and the constant added to it. */
  base: number;
  offset: number;
  /** Insertions that are left out if the loop is handled as a whole. */
  steps: OptionalInsertion[];
}

/** Loop whose accesses are reported to the runtime when it has ended. */
interface StreamLoop {
  /** Stores. Locals count the silent ones while the loop runs. */
  stores: Place[];
  streams: Progression[];
  at: number;
  trips: number;
}

/**
 * Inserted before a loop that is handled as a whole: counts one more open run, until the runtime is called at its end.
 */
class LoopBegin implements Insertion {
  readonly #memory: number;
  /** Address of the loop in the table; undefined if its accesses are handled one by one. */
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

interface StreamTargets {
  /** True if loops with stores can be handled: requires that only one id means invalid bytes. */
  followsStores: boolean;
  looped: number;
  table: LoopTable;
  ends: number;
  memory: number;
}

export class LoopStreams {
  readonly #progressions: LoopProgressions;
  readonly #state: WalkState;
  readonly #targets: StreamTargets;
  #accesses: LoopAccess[] | undefined;
  /** Insertion that counts the start of the current loop. */
  #begin: LoopBegin | undefined;

  constructor(state: WalkState, targets: StreamTargets) {
    this.#state = state;
    this.#targets = targets;
    this.#progressions = new LoopProgressions(state.insertions, state.values);
    this.#progressions.locals = state.locals;
  }

  /** Begins a loop. Returns the insertion that must precede it. */
  enter(): Insertion {
    this.#accesses = [];
    this.#begin = new LoopBegin(this.#targets.memory);
    return this.#begin;
  }

  /** Gives up on the current loop: some effect in it cannot be deferred. */
  abandon(): void {
    this.#accesses = undefined;
  }

  add(access: LoopAccess): void {
    this.#accesses?.push(access);
  }

  /**
   * Ends a loop before `end`. Returns it, or undefined if its accesses are handled one by one. `runs` is the offset
   * where the runs of its block are counted.
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
        base === CONSTANT
          ? standsAt(offset)
          : this.#progressions.progressionOf(base, offset, place.address.local);
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

  /** Inserted after the loop: reports its accesses to the runtime. */
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

/** Returns two words per stream: flags with its key, and its stride. */
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

/** Loops that only compare the bytes of a text are short. */
function isWorthIt(accesses: readonly LoopAccess[]): boolean {
  if (accesses.length === 0 || accesses.length > MOST_STREAMS) return false;
  return accesses.length > 1 || accesses[0].place.size > 1 || isStore(accesses[0].place);
}

/**
 * True if no byte is stored twice. Then a store finds the state from before the loop, and inline code can test whether
 * that was valid. The stores must share a base, and those of one trip must fit into one stride.
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

interface NodeTargets {
  plan: FramePlan;
  nodeGlobal: number;
  memory: number;
  /** Function of the runtime: (code offset of a call) → node of the callee. */
  enter: number;
  /** Snippets for the host's contexts. The global above takes the place of their slots, with 0 as the root. */
  snippets: FrameSnippets;
}

/**
 * Code around calls that keeps the context in precise mode. A global has the current node: a call changes it, and
 * restores it afterwards from a local of the function. Catching an exception restores it too. Wrappers around functions
 * that the host may call set it to the host's node.
 */
export class NodeCalls {
  readonly #targets: NodeTargets;
  readonly #catches: boolean;
  readonly #host: KeptHost;
  #state!: WalkState;
  #codeStart = 0;
  #local = NO_LOCAL;

  constructor(targets: NodeTargets, catches: boolean) {
    this.#targets = targets;
    this.#catches = catches;
    this.#host = new KeptHost(targets.snippets);
  }

  begin(state: WalkState, codeStart: number): void {
    this.#state = state;
    this.#codeStart = codeStart;
    this.#local = NO_LOCAL;
    this.#host.begin();
  }

  call(callee: number, isTail: boolean, start: number, end: number): void {
    const { plan, snippets, nodeGlobal, enter } = this.#targets;
    const { insertions, module } = this.#state;
    const treatment = plan.treatment(this.#state.function, callee, isTail);
    if (treatment === CallTreatment.None) return;
    const leavesForGood = !isTail && plan.leavesForGood(callee);
    const leaves = callee >= 0;
    if (treatment === CallTreatment.Host || leavesForGood)
      this.#host.keepAround(this.#state, start, end, leaves || leavesForGood);
    if (treatment === CallTreatment.Keep) return;
    const node = this.#node();
    insertions.add(start, {
      write(sink) {
        sink.i32(start - module.codePayloadStart);
        sink.indexed(Op.CALL, enter);
        sink.indexed(Op.GLOBAL_SET, nodeGlobal);
      },
    });
    if (treatment === CallTreatment.Host)
      insertions.add(start, { write: (sink) => snippets.callHost(sink, leaves) });
    if (treatment === CallTreatment.KeepHost)
      insertions.add(start, { write: (sink) => snippets.callHost(sink, leaves, node) });
    if (!isTail) this.#putBack(end, node);
  }

  /** Called for a position that may be reached by a throw. */
  caught(position: number): void {
    if (this.#catches) this.#putBack(position, this.#node());
  }

  /** Stores the current node in a word of the tool's memory, before the instruction at `start`. */
  note(start: number, word: number): void {
    const { nodeGlobal, memory } = this.#targets;
    this.#state.insertions.add(start, {
      write(sink) {
        sink.i32(0);
        sink.indexed(Op.GLOBAL_GET, nodeGlobal);
        sink.access(Op.I32_STORE, 2, memory, word);
      },
    });
  }

  /** Returns the local with the function's own node. */
  #node(): number {
    if (this.#local !== NO_LOCAL) return this.#local;
    const { nodeGlobal } = this.#targets;
    const local = extraLocal(this.#state.temporaries, I32);
    this.#local = local;
    this.#state.insertions.add(this.#codeStart, {
      write(sink) {
        sink.indexed(Op.GLOBAL_GET, nodeGlobal);
        sink.local(Op.LOCAL_SET, local);
      },
    });
    return local;
  }

  #putBack(position: number, node: number): void {
    const { nodeGlobal } = this.#targets;
    this.#state.insertions.add(position, {
      write(sink) {
        sink.local(Op.LOCAL_GET, node);
        sink.indexed(Op.GLOBAL_SET, nodeGlobal);
      },
    });
  }
}

/** Address of an access in locals: `whole` as the instruction takes it, `followed` for the code that follows it. */
interface Accessed {
  whole: number;
  followed: SnippetAddress;
}

/**
 * Functions that replace plain loads and stores if code size matters more than time. Parameters: those of the
 * instruction, then its displacement, and the operands that `SiteRecords.pushCold` pushes.
 */
export class SummaryFunctions {
  readonly #appended: AppendedFunctions;
  readonly #snippets: SummarySnippets;
  readonly #memory64: boolean;
  readonly #made = new Map<number, number>();
  #tooFar = -1;

  constructor(appended: AppendedFunctions, snippets: SummarySnippets, memory64: boolean) {
    this.#appended = appended;
    this.#snippets = snippets;
    this.#memory64 = memory64;
  }

  get(op: number): number {
    const existing = this.#made.get(op);
    if (existing !== undefined) return existing;
    const isStore = ACCESS_KIND[op] === AccessKind.Store;
    const record: ValType[] = Array(this.#snippets.records.coldOperands).fill(I32);
    const type = this.#appended.typeIndex(
      [this.#memory64 ? I64 : I32, ...operandsAbove(op), I32, ...record],
      isStore ? [] : [RESULT_TYPE[op]],
    );
    const index = this.#appended.add(type, () => (isStore ? this.#store(op) : this.#load(op)));
    this.#made.set(op, index);
    return index;
  }

  #load(op: number): Uint8Array {
    const record = 2;
    const result = record + this.#snippets.records.coldOperands;
    const body = new BodyBuilder([RESULT_TYPE[op], ...this.#addressTypes()]);
    const sink = new BodySink(body);
    const { whole, followed } = this.#address(body, 1, result + 1);
    body
      .op("local.get", whole)
      .op(OPCODE_NAME[op] as OpcodeName, 0, 0)
      .op("local.set", result);
    this.#snippets.records.setCold(sink, record);
    this.#snippets.followLoad(sink, ACCESS_BYTES[op], followed, record);
    return body.op("local.get", result).finish();
  }

  #store(op: number): Uint8Array {
    const value = 1;
    const record = 3;
    const id = record + this.#snippets.records.coldOperands;
    const body = new BodyBuilder([I64, ...this.#addressTypes()]);
    const sink = new BodySink(body);
    const { whole, followed } = this.#address(body, 2, id + 1);
    this.#snippets.records.setCold(sink, record);
    body.op("local.get", whole);
    sink.local(Op.LOCAL_GET, value);
    const size = ACCESS_BYTES[op];
    this.#snippets.compareCold(sink, op, size, { whole, followed, value, store: record });
    body.op(OPCODE_NAME[op] as OpcodeName, 0, 0);
    this.#snippets.followStore(sink, size, followed, record, id);
    return body.finish();
  }

  /** Returns the types of the locals for an address: an i32, and in 64-bit memories the i64 of the access itself. */
  #addressTypes(): ValType[] {
    return this.#memory64 ? [I32, I64] : [I32];
  }

  /** Adds the displacement in a parameter to the address, and stores the sum in the locals from `address` on. */
  #address(body: BodyBuilder, parameter: number, address: number): Accessed {
    const followed = { local: address, constant: 0, displacement: 0, isWide: false };
    if (!this.#memory64) {
      computeNear(body, parameter, address, this.#trap());
      return { whole: address, followed };
    }
    const whole = address + 1;
    computeAddress(body, parameter, address, whole);
    checkAddress(body, address, whole);
    return { whole, followed };
  }

  #trap(): number {
    if (this.#tooFar < 0)
      this.#tooFar = this.#appended.add(this.#appended.typeIndex([], []), () => trapTooFar());
    return this.#tooFar;
  }
}

export interface SummaryParts {
  snippets: SummarySnippets;
  functions: SummaryFunctions;
  inlined: Uint8Array;
  streams: StreamTargets;
  /** Frames of contexts; undefined if records are per site. */
  framed: FramedParts | undefined;
  fixed: FixedRecords | undefined;
}

interface FramedParts {
  frames: Frames;
  sites: FramedSites;
  records: FramedRecords;
}

export interface PassTargets {
  covered: number;
  /** Keys of sites, also used by functions that replace accesses. */
  records: SiteRecords;
  firstId: number;
  notePages: number;
  /**
   * Takes the operand of memory.grow and returns it, or a value that is too large; −1: the memory's own maximum limits
   * it.
   */
  growing: number;
  grown: number;
  exactImports: ReadonlySet<number>;
  /** Function that records the possible reads of an opaque host; −1 if the host is not opaque. */
  hostMayRead: number;
  /** Function that replaces instructions that set the stack pointer; −1: none. */
  stackMoved: number;
  /** Targets for contexts in precise mode; undefined without contexts. */
  nodes: NodeTargets | undefined;
  /** Words of the control block: site of a store, of a load, of an allocation. */
  storeSite: number;
  loadSite: number;
  allocationSite: number;
  /** Word of the control block with the context of the allocation. */
  allocationNode: number;
  zeroedSite: number;
  returnSite: number;
  /**
   * Returns the address where the beginnings of a loop are counted, by the key of the first access that shares the
   * counter. Undefined: not counted.
   */
  loopsOf: ((key: number, isStore: boolean) => number) | undefined;
  /** True if calls of the allocator, and ends of frames, are recorded by site. */
  notesPlaces: boolean;
}
