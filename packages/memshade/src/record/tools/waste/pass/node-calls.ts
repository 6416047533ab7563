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
interface LoopAccess {
  place: Place;
  /** Value number of the address, and the constant added to it. */
  base: number;
  offset: number;
  /** To be left out if the loop as a whole is followed instead. */
  steps: OptionalInsertion[];
}

/** A loop whose accesses the runtime is told of when it has ended. */
interface StreamLoop {
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

interface StreamTargets {
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

interface NodeTargets {
  plan: FramePlan;
  /** Global with the node of the context at hand. */
  nodeGlobal: number;
  /** The tool's memory. */
  memory: number;
  /** (code offset of a call) → node of what it calls. */
  enter: number;
  /** Where the host stands; the global above is what they count from 0. */
  snippets: FrameSnippets;
}

/**
 * What calls do to the calling context in precise mode. A global has the node at hand: a call changes it, and puts back
 * what the function keeps in a local. Whoever catches an exception puts it back too, and wrappers around what the host may
 * call set it to where the host stands.
 */
export class NodeCalls {
  readonly #targets: NodeTargets;
  readonly #catches: boolean;
  readonly #host: KeptHost;
  #state!: WalkState;
  #codeStart = 0;
  #local = NO_LOCAL;

  /** `catches`: whether functions of the module may catch exceptions. */
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

  /** What follows at `position` may be what comes behind a throw. */
  caught(position: number): void {
    if (this.#catches) this.#putBack(position, this.#node());
  }

  /** Puts the node at hand into a word of the tool's memory, before the instruction at `start`. */
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

  /** The local with the function's own node. */
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

/** The instruction's address is in a local, as it takes it; what follows the access takes `followed`. */
interface Accessed {
  whole: number;
  followed: SnippetAddress;
}

/**
 * Functions that take the place of plain loads and stores where code size counts more than time. Parameters: those of
 * the instruction, then its displacement, and what `SiteRecords.pushCold` pushes.
 */
export class SummaryFunctions {
  readonly #appended: AppendedFunctions;
  readonly #snippets: SummarySnippets;
  readonly #memory64: boolean;
  readonly #made = new Map<number, number>();
  #tooFar = -1;

  /** `memory64`: addresses are i64. */
  constructor(appended: AppendedFunctions, snippets: SummarySnippets, memory64: boolean) {
    this.#appended = appended;
    this.#snippets = snippets;
    this.#memory64 = memory64;
  }

  get(op: number): number {
    const known = this.#made.get(op);
    if (known !== undefined) return known;
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

  /** Types of locals with an address: an i32, and what the access itself takes. */
  #addressTypes(): ValType[] {
    return this.#memory64 ? [I32, I64] : [I32];
  }

  /** Adds the displacement that a parameter has to the address, in the locals from `address` on. */
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

/** What follows plain accesses quickly. */
export interface SummaryParts {
  snippets: SummarySnippets;
  functions: SummaryFunctions;
  /** 1 for each site that is followed inline. */
  inlined: Uint8Array;
  streams: StreamTargets;
  /** Frames of contexts, where they are told apart; otherwise the records of sites. */
  framed: FramedParts | undefined;
  fixed: FixedRecords | undefined;
}

interface FramedParts {
  frames: Frames;
  sites: FramedSites;
  records: FramedRecords;
}

export interface PassTargets {
  /** Bytes of the program's memory that are followed. */
  covered: number;
  /** Keys of sites, which functions in the place of accesses get too. */
  records: SiteRecords;
  /** Id of the first store. */
  firstId: number;
  notePages: number;
  /** Gets the operand of memory.grow and hands it on, or one too large; −1: the memory's own maximum does. */
  growing: number;
  /** Gets the result of memory.grow and hands it on. */
  grown: number;
  /** Imported functions of which it is known what they read and write, by index. */
  exactImports: ReadonlySet<number>;
  /** What an opaque host may have read; −1 where the host is none. */
  hostMayRead: number;
  /** What takes the place of setting the stack pointer; −1 for nothing. */
  stackMoved: number;
  /** How calls change contexts in precise mode; undefined where nobody asks for them. */
  nodes: NodeTargets | undefined;
  /** Words of the control block: site of a store, of a load, of an allocation. */
  storeSite: number;
  loadSite: number;
  allocationSite: number;
  /** Word of the control block with the context of that. */
  allocationNode: number;
  zeroedSite: number;
  returnSite: number;
  /** Address where the beginnings of loops are counted, by the key of the first access that is counted with them; undefined: nowhere. */
  loopsOf: ((key: number, isStore: boolean) => number) | undefined;
  /** Whether calls of the allocator, and ends of frames, are told apart by place. */
  notesPlaces: boolean;
}
