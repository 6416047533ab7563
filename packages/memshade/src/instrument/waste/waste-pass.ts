import {
  ACCESS_BYTES,
  ACCESS_KIND,
  AccessKind,
  I32,
  I64,
  IMMEDIATE_KIND,
  ImmediateKind,
  importsOf,
  OPCODE_NAME,
  opcodeId,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type ValType,
} from "../../wasm/index.ts";
import { hasLongDisplacement } from "../displacements.ts";
import { CallFrames, type Frames } from "../frames/call-frames.ts";
import { FRAME_HEADER_BYTES } from "../frames/frame-shapes.ts";
import { InsertionKind } from "../insertions.ts";
import { keepAddress } from "../keep-address.ts";
import { NO_LOCAL } from "../operand-stack.ts";
import type { SnippetSink } from "../snippet-sink.ts";
import { extraLocal } from "../temporaries.ts";
import type { ToolPass, ToolSurroundings, WalkState } from "../tool-pass.ts";
import { CONSTANT, ValueClass } from "../value-numbers.ts";
import type { AccessFunctions } from "./access-functions.ts";
import type { BriefFunctions } from "./brief-functions.ts";
import type { BriefSnippets, Place } from "./brief-snippets.ts";
import { hasComparison, valueTypeOfStore } from "./comparisons.ts";
import type { FramedSites } from "./framed-sites.ts";
import { LoopStreams, type StreamLoop, type StreamTargets } from "./loop-streams.ts";
import { NodeCalls, type NodeTargets } from "./node-calls.ts";
import { SettledBytes } from "./settled-bytes.ts";
import { Heat } from "./site-heat.ts";
import type { FixedRecords, FramedRecords, SiteRecords } from "./site-records.ts";
import { SiteClass, type SiteTable } from "./site-table.ts";
import { isExactImport } from "./wasi-functions.ts";
import { zeroingFunctions } from "./zeroing-functions.ts";

const CALL = opcodeId("call");
const LOCAL_GET = opcodeId("local.get");
const LOCAL_SET = opcodeId("local.set");
const I32_LOAD = opcodeId("i32.load");
const I32_STORE = opcodeId("i32.store");
const V128_STORE = opcodeId("v128.store");
const HAS_MEMORY_INDEX = 0x40;
/** What an insertion does; its operands are in columns `b` to `d`, and `a` holds this. */
const Step = {
  /** b: displacement, c: site. Operands of the function that does the access. */
  Arguments: 0,
  /** b: number of a place in `#places` */
  Compare: 1,
  Mark: 2,
  Test: 3,
  /** b: site */
  CountRun: 4,
  /** b: word of the waste tool's memory, c: value */
  Note: 5,
  /** b: function without parameters and results */
  Call: 6,
  /** b: displacement, c: key. Operands of the function that does the access. */
  Cold: 10,
  /** b: number of a loop in `#loops` */
  Loop: 11,
  /** b: word of the waste tool's memory, c: key that is put there */
  NoteKey: 12,
  /** Computes the local with the ids. */
  Ids: 13,
  /** Computes the local with the address of counters. */
  Base: 14,
  /** b: word of the waste tool's memory, c: local that keeps it; and back. */
  Keep: 15,
  PutBack: 16,
} as const;

/** What follows plain accesses quickly. */
export interface BriefParts {
  snippets: BriefSnippets;
  functions: BriefFunctions;
  /** `Heat` per site. */
  heat: Uint8Array;
  streams: StreamTargets;
  /** Frames of contexts, where they are told apart; otherwise the records of sites. */
  framed: FramedParts | undefined;
  fixed: FixedRecords | undefined;
}

export interface FramedParts {
  frames: Frames;
  sites: FramedSites;
  records: FramedRecords;
}

export interface PassTargets {
  /** Keys of sites, which the functions that do accesses are given too. */
  records: SiteRecords;
  /** Id of the first store. */
  firstId: number;
  notePages: number;
  /** Gets the operand of memory.grow and hands it on, or one too large; −1: the memory's own maximum does. */
  growing: number;
  /** Gets the result of memory.grow and hands it on. */
  grown: number;
  /** What an opaque host may have read; −1 where the host is none. */
  hostMayRead: number;
  setStackPointer: number;
  /** How calls change contexts in the full engine; undefined where nobody asks for them. */
  nodes: NodeTargets | undefined;
  /** Words of the control block: site of a store, of a load, of an allocation. */
  storeSite: number;
  loadSite: number;
  allocationSite: number;
  /** Word of the control block with the context of that. */
  allocationNode: number;
  zeroedSite: number;
  returnSite: number;
  /** Whether calls of the allocator, and ends of frames, are told apart by place. */
  notesPlaces: boolean;
  /** Whether moves of bytes from memory to memory are told apart from other loads and stores. */
  followsCopies: boolean;
  /** Whether stores are functions even where they could be followed inline. */
  callsStores: boolean;
}

/** Asks for what follows each access: inline where it can be, else a function in the place of the instruction. */
export class WastePass implements ToolPass {
  readonly everywhere = "wrappers";
  readonly #around: ToolSurroundings;
  readonly #sites: SiteTable;
  readonly #functions: AccessFunctions;
  readonly #brief: BriefParts | undefined;
  readonly #targets: PassTargets;
  /** Functions that allocate or free, and those that only pass requests on to them. */
  readonly #allocating: ReadonlySet<number>;
  readonly #wrappers: ReadonlySet<number>;
  /** Indirect calls may lead to other modules on the same memory: their table comes from outside. */
  readonly #callsOut: boolean;
  readonly #zeroing: ReadonlySet<number>;
  /** Where a store begins whose operand a load behind it has just pushed; −1: none. */
  #moveEnd = -1;
  /** How far a function's instructions were looked at for who makes vectors. */
  #lastLooked = 0;
  /** Imported functions that report what they read and write. */
  readonly #exact = new Set<number>();
  readonly followedGlobal: number;
  /** A bit per site: followed inline; begins a block of them. */
  readonly inline: Uint8Array;
  readonly leaders: Uint8Array;
  /** A bit per site: it accesses a place in its function's own frame. */
  readonly frames: Uint8Array;
  #state!: WalkState;
  #kind = 0;
  #cursor = 0;
  #blockIsOpen = false;
  readonly #settled = new SettledBytes();
  #codeStart = 0;
  readonly #callFrames: CallFrames | undefined;
  readonly #nodeCalls: NodeCalls | undefined;
  readonly #places: Place[] = [];
  #streams: LoopStreams | undefined;
  readonly #loops: StreamLoop[] = [];
  /** Locals with the place and the context that asked the function at hand, which only passes that on; NO_LOCAL: not needed yet. */
  #asker = NO_LOCAL;
  #askerNode = NO_LOCAL;
  /** First site followed inline in the block at hand. */
  #leader = 0;
  readonly #extraLocals = new Map<number, number>();
  readonly #scratch = (type: ValType, number: number): number => this.#extraLocal(type, number + 1);

  /** Without `brief` every access becomes a call. */
  constructor(
    around: ToolSurroundings,
    sites: SiteTable,
    functions: AccessFunctions,
    brief: BriefParts | undefined,
    targets: PassTargets,
  ) {
    this.#around = around;
    this.followedGlobal = around.stackPointer;
    this.#sites = sites;
    this.#functions = functions;
    this.#brief = brief;
    this.#targets = targets;
    const framed = brief?.framed;
    if (framed !== undefined)
      this.#callFrames = new CallFrames(framed.frames, (position, step, b, c) =>
        this.#add(position, step, b, c),
      );
    const { module } = around;
    if (targets.nodes !== undefined)
      this.#nodeCalls = new NodeCalls(
        targets.nodes,
        module.importedTagCount + module.tags.length > 0,
        (position, step, b, c) => this.#add(position, step, b, c),
      );
    this.#wrappers = new Set(around.allocator.wrappers);
    this.#allocating = new Set([...this.#wrappers, ...around.allocator.functions.map(({ index }) => index)]);
    this.#callsOut = targets.hostMayRead >= 0 && importsOf(around.module, "table").length > 0;
    this.#zeroing = new Set(zeroingFunctions(around.allocator.functions));
    importsOf(around.module, "function").forEach((from, index) => {
      if (isExactImport(from)) this.#exact.add(index);
    });
    this.inline = new Uint8Array((sites.length + 7) >>> 3);
    this.leaders = new Uint8Array((sites.length + 7) >>> 3);
    this.frames = new Uint8Array((sites.length + 7) >>> 3);
  }

  begin(state: WalkState, kind: number, codeStart: number): void {
    this.#state = state;
    this.#kind = kind;
    this.#cursor = this.#sites.firstOfFunction[state.function - this.#around.module.importedFunctionCount];
    this.#beginBlock();
    this.#codeStart = codeStart;
    this.#nodeCalls?.begin(state, codeStart);
    this.#places.length = 0;
    this.#loops.length = 0;
    this.#streams =
      this.#brief !== undefined && state.hasLoops && !this.#around.memory64
        ? new LoopStreams(state, this.#brief.streams)
        : undefined;
    this.#extraLocals.clear();
    this.#asker = NO_LOCAL;
    this.#askerNode = NO_LOCAL;
    const fixed = this.#brief?.fixed;
    if (fixed !== undefined) {
      fixed.base = NO_LOCAL;
      fixed.first = this.#cursor;
    }
    const records = this.#brief?.framed?.records;
    if (this.#callFrames === undefined || records === undefined) return;
    this.#callFrames.begin(state, codeStart, true);
    records.frame = this.#callFrames.local;
    records.ids = NO_LOCAL;
  }

  #beginBlock(): void {
    this.#blockIsOpen = false;
    this.#settled.forget();
  }

  access(op: number, at: number, displacement: number, start: number, end: number): void {
    const site = this.#siteAt(start);
    const { stack, values } = this.#state;
    const { memory64, module } = this.#around;
    if (memory64 && hasLongDisplacement(module.bytes, start)) {
      // No memory that is followed reaches there.
      this.#streams?.abandon();
      return;
    }
    if (values.classes[stack.value[at]] === ValueClass.Stack) setBit(this.frames, site);
    const isSettled = this.#isSettled(op, stack.value[at], (stack.offset[at] + displacement) | 0);
    const brief = this.#brief;
    const isCalled = this.#targets.callsStores && ACCESS_KIND[op] === AccessKind.Store;
    if (brief === undefined || isCalled || !this.#isPlain(op, site)) {
      this.#streams?.abandon();
      this.#replace(op, site, at, displacement, start, end);
    } else if (brief.heat[site] === Heat.Cold || !this.#isInline(at, displacement)) {
      this.#streams?.abandon();
      if (IMMEDIATE_KIND[op] === ImmediateKind.MemargLane)
        this.#replace(op, site, at, displacement, start, end);
      else this.#replaceCold(brief, op, site, displacement, start, end);
    } else {
      const hot = brief.heat[site] === Heat.Hot;
      this.#follow(op, site, at, displacement, start, end, { hot, isSettled });
    }
  }

  /** Whether an access stores over nothing that nobody has read; the address is a base and an offset. */
  #isSettled(op: number, base: number, offset: number): boolean {
    const size = ACCESS_BYTES[op];
    if (ACCESS_KIND[op] === AccessKind.Store) return this.#settled.store(base, offset, size);
    if (ACCESS_KIND[op] === AccessKind.Load) this.#settled.loaded(base, offset, size);
    else this.#settled.forget();
    return false;
  }

  bulk(_op: number, _first: number, _second: number, start: number): void {
    this.#streams?.abandon();
    this.#settled.forget();
    const site = this.#siteAt(start);
    this.#add(start, Step.NoteKey, this.#targets.storeSite, this.#storeKey(site));
    if (this.#sites.load[site] !== 0)
      this.#add(start, Step.NoteKey, this.#targets.loadSite, this.#loadKey(site));
  }

  endBlock(): void {
    this.#beginBlock();
  }

  enterLoop(body: number): void {
    this.#beginBlock();
    this.#streams?.enter();
    // Clauses of a `try_table` may lead here.
    this.#nodeCalls?.caught(body);
  }

  caught(position: number): void {
    this.#nodeCalls?.caught(position);
  }

  leaveLoop(_start: number, end: number, oneBlock: boolean): void {
    this.#beginBlock();
    const loop = this.#streams?.leave(end, oneBlock, this.#runsAt(this.#leader));
    if (loop !== undefined) this.#add(end, Step.Loop, this.#loops.push(loop) - 1);
  }

  setGlobal(global: number, start: number): number {
    if (global !== this.#around.stackPointer) return -1;
    this.#streams?.abandon();
    if (this.#targets.notesPlaces)
      this.#note(start, this.#targets.returnSite, start - this.#around.module.codePayloadStart);
    return this.#targets.setStackPointer;
  }

  grow(memory: number, start: number, end: number): void {
    if (memory !== this.#around.memory) return;
    if (this.#targets.growing >= 0) this.#add(start, Step.Call, this.#targets.growing);
    this.#add(end, Step.Call, this.#targets.grown);
  }

  call(callee: number, tail: boolean, start: number, end: number): void {
    const { importedFunctionCount, codePayloadStart } = this.#around.module;
    const offset = start - codePayloadStart;
    if (callee >= 0 && callee < importedFunctionCount) {
      this.#add(start, Step.NoteKey, this.#targets.storeSite, this.#storeKey(this.#siteAt(start)));
      const { hostMayRead } = this.#targets;
      const isOpaque = hostMayRead >= 0 && !this.#exact.has(callee);
      if (isOpaque) this.#add(start, Step.Call, hostMayRead);
      // Behind the call too: the host may have called back and looked at what that left.
      if (!tail) this.#add(end, Step.Call, isOpaque ? hostMayRead : this.#targets.notePages);
    }
    if (callee < 0 && this.#callsOut) {
      this.#add(start, Step.Call, this.#targets.hostMayRead);
      if (!tail) this.#add(end, Step.Call, this.#targets.hostMayRead);
    }
    if (this.#zeroing.has(callee))
      this.#add(start, Step.NoteKey, this.#targets.zeroedSite, this.#storeKey(this.#siteAt(start)));
    if (this.#targets.notesPlaces && (callee < 0 || this.#allocating.has(callee))) this.#asks(start, offset);
    if (this.#callFrames !== undefined) this.#callFrames.call(callee, tail, start, end);
    else this.#nodeCalls?.call(callee, tail, start, end);
  }

  end(): void {}

  /** A call of the allocator. Whoever calls a function that only passes requests on is the one that asks. */
  #asks(start: number, offset: number): void {
    const { allocationSite, allocationNode } = this.#targets;
    if (!this.#wrappers.has(this.#state.function)) {
      this.#note(start, allocationSite, offset);
      this.#nodeCalls?.note(start, allocationNode);
      return;
    }
    // Other requests may have come before this one.
    if (this.#asker === NO_LOCAL) {
      this.#asker = this.#keep(allocationSite);
      if (this.#nodeCalls !== undefined) this.#askerNode = this.#keep(allocationNode);
    }
    this.#add(start, Step.PutBack, allocationSite, this.#asker);
    if (this.#nodeCalls !== undefined) this.#add(start, Step.PutBack, allocationNode, this.#askerNode);
  }

  /** A local that keeps a word of the tool's memory from the function's start on. */
  #keep(word: number): number {
    const local = extraLocal(this.#state.temporaries, I32);
    this.#add(this.#codeStart, Step.Keep, word, local);
    return local;
  }

  write(sink: SnippetSink, entry: number): void {
    const { a, b, c } = this.#state.insertions;
    const operand = b[entry];
    const { records } = this.#targets;
    switch (a[entry]) {
      case Step.Arguments:
        sink.i32(operand);
        if (this.#sites.store[c[entry]] === 0) sink.i32(0);
        else records.pushId(sink, this.#storeKey(c[entry]));
        if (this.#sites.load[c[entry]] === 0) sink.i32(0);
        else records.pushLoad(sink, this.#loadKey(c[entry]));
        break;
      case Step.Compare:
        this.#brief?.snippets.compareStore(sink, this.#places[operand]);
        break;
      case Step.Mark:
        this.#brief?.snippets.markStore(sink, this.#places[operand]);
        break;
      case Step.Test:
        this.#brief?.snippets.testLoad(sink, this.#places[operand], this.#scratch);
        break;
      case Step.CountRun:
        this.#brief?.snippets.countRun(sink, this.#runsAt(operand));
        break;
      case Step.Loop:
        for (const store of this.#loops[operand].stores) this.#brief?.snippets.flushSilent(sink, store);
        this.#streams?.write(sink, this.#loops[operand], records);
        break;
      case Step.Cold:
        sink.i32(operand);
        // Both are what the record is found by.
        records.pushStore(sink, c[entry]);
        break;
      case Step.Ids:
        this.#brief?.framed?.records.computeIds(sink);
        break;
      case Step.Base:
        this.#brief?.fixed?.computeBase(sink);
        break;
      case Step.NoteKey:
        sink.i32(0);
        // Columns of insertions hold addresses as signed numbers.
        if (operand === (this.#targets.loadSite | 0)) records.pushLoad(sink, c[entry]);
        else records.pushId(sink, c[entry]);
        sink.access(I32_STORE, 2, this.#around.shadowMemory, operand);
        break;
      case Step.Note:
        sink.i32(0);
        sink.i32(c[entry]);
        sink.access(I32_STORE, 2, this.#around.shadowMemory, operand);
        break;
      case Step.Keep:
        sink.i32(0);
        sink.access(I32_LOAD, 2, this.#around.shadowMemory, operand);
        sink.local(LOCAL_SET, c[entry]);
        break;
      case Step.PutBack:
        sink.i32(0);
        sink.local(LOCAL_GET, c[entry]);
        sink.access(I32_STORE, 2, this.#around.shadowMemory, operand);
        break;
      case Step.Call:
        sink.indexed(CALL, operand);
        break;
      default:
        this.#callFrames?.write(sink, a[entry], operand, c[entry]);
        this.#nodeCalls?.write(sink, a[entry], operand, c[entry]);
    }
  }

  /** Sites come in the order of the walk; those that are never reached are skipped. */
  #siteAt(start: number): number {
    const offset = start - this.#around.module.codePayloadStart;
    while (this.#sites.offset[this.#cursor] < offset) this.#cursor++;
    return this.#cursor;
  }

  #isPlain(op: number, site: number): boolean {
    if (this.#sites.siteClass[site] !== SiteClass.Plain) return false;
    return ACCESS_KIND[op] === AccessKind.Load || hasComparison(op);
  }

  /** A function in the place of the instruction: the memarg's displacement and the site's ids become operands. */
  #replace(op: number, site: number, at: number, displacement: number, start: number, end: number): void {
    const bytes = this.#around.module.bytes;
    const immediates = skipOpcode(bytes, start);
    const flags = bytes[immediates];
    const lane = IMMEDIATE_KIND[op] === ImmediateKind.MemargLane ? bytes[end - 1] : -1;
    const hints = { moves: this.#isMove(op, start, end), lanes: this.#lanesOf(op, at) };
    const target = this.#functions.get(op, flags & (HAS_MEMORY_INDEX - 1), lane, hints);
    this.#state.insertions.addLate(start, this.#kind, Step.Arguments, displacement, site);
    this.#state.insertions.add(start, InsertionKind.ReplaceByCall, end - start, target);
  }

  /** Whether an access is half of a load and a store right behind it that stores just what was loaded. */
  #isMove(op: number, start: number, end: number): boolean {
    if (!this.#targets.followsCopies) return false;
    if (ACCESS_KIND[op] === AccessKind.Store) return start === this.#moveEnd;
    if (ACCESS_KIND[op] !== AccessKind.Load || IMMEDIATE_KIND[op] !== ImmediateKind.Memarg) return false;
    const bytes = this.#around.module.bytes;
    const next = opcodeIdAt(bytes, end);
    const isStore = ACCESS_KIND[next] === AccessKind.Store && IMMEDIATE_KIND[next] === ImmediateKind.Memarg;
    if (!isStore || ACCESS_BYTES[next] !== ACCESS_BYTES[op]) return false;
    if ((bytes[skipOpcode(bytes, end)] & HAS_MEMORY_INDEX) !== 0) return false;
    this.#moveEnd = end;
    return true;
  }

  #replaceCold(
    { functions }: BriefParts,
    op: number,
    site: number,
    displacement: number,
    start: number,
    end: number,
  ): void {
    const key = ACCESS_KIND[op] === AccessKind.Store ? this.#storeKey(site) : this.#loadKey(site);
    this.#state.insertions.addLate(start, this.#kind, Step.Cold, displacement, key);
    this.#state.insertions.add(start, InsertionKind.ReplaceByCall, end - start, functions.get(op));
  }

  /** A constant address too high traps, or this module's memory is larger than what is followed. */
  #isInline(at: number, displacement: number): boolean {
    const { stack } = this.#state;
    return stack.value[at] !== CONSTANT || (stack.offset[at] >>> 0) + displacement < this.#covered - 16;
  }

  #follow(
    op: number,
    site: number,
    at: number,
    displacement: number,
    start: number,
    end: number,
    how: Pick<Place, "hot" | "isSettled">,
  ): void {
    const { stack, values, insertions, temporaries } = this.#state;
    const isConstant = stack.value[at] === CONSTANT;
    setBit(this.inline, site);
    this.#needBase();
    const isStore = ACCESS_KIND[op] === AccessKind.Store;
    const place: Place = {
      op,
      size: ACCESS_BYTES[op],
      site,
      key: isStore ? this.#storeKey(site) : this.#loadKey(site),
      address: {
        local: isConstant ? -1 : keepAddress(stack, values, insertions, temporaries, at, op, start),
        constant: isConstant ? stack.offset[at] : 0,
        displacement,
        isWide: this.#around.memory64,
      },
      value: { local: 0, isHeld: false },
      lane: IMMEDIATE_KIND[op] === ImmediateKind.MemargLane ? this.#around.module.bytes[end - 1] : 0,
      silentLocal: -1,
      ...how,
    };
    const number = this.#places.push(place) - 1;
    // Locals come before the code in which the snippets ask for them.
    if (!isStore) this.#brief?.snippets.reserve(place, this.#scratch);
    if (isStore) {
      this.#needIds();
      const holder = stack.holder(at + 1, values);
      place.value.isHeld = holder !== NO_LOCAL;
      place.value.local = place.value.isHeld
        ? holder
        : this.#extraLocal(valueTypeOfStore(OPCODE_NAME[op] as string), 0);
      this.#add(start, Step.Compare, number);
    }
    const entries: number[] = [];
    if (!this.#blockIsOpen) {
      this.#blockIsOpen = true;
      this.#leader = site;
      setBit(this.leaders, site);
      entries.push(this.#add(end, Step.CountRun, site));
    }
    entries.push(this.#add(end, isStore ? Step.Mark : Step.Test, number));
    const offset = (stack.offset[at] + displacement) | 0;
    if (stack.value[at] === 0) this.#streams?.abandon();
    else this.#streams?.add({ place, base: stack.value[at], offset, entries });
  }

  /** Bytes of the floats that a vector store stores, as far as the instruction that made them shows it; else 0. */
  #lanesOf(op: number, at: number): number {
    if (op !== V128_STORE) return 0;
    const produced = this.#state.stack.produced[at + 1];
    const bytes = this.#around.module.bytes;
    let pos = Math.max(this.#lastLooked, this.#codeStart);
    for (let next = pos; next < produced; pos = next) {
      const id = opcodeIdAt(bytes, pos);
      next = skipImmediates(bytes, skipOpcode(bytes, pos), IMMEDIATE_KIND[id]);
      this.#lastLooked = next;
      if (next === produced) return laneBytes(OPCODE_NAME[id] ?? "");
    }
    return 0;
  }

  /** Set by the weaver once the layout is known. */
  set covered(bytes: number) {
    this.#covered = bytes;
  }
  #covered = 0;

  /** What records and runtime know a site's stores by. */
  #storeKey(site: number): number {
    const framed = this.#brief?.framed;
    return framed === undefined
      ? this.#sites.store[site] + this.#targets.firstId - 1
      : FRAME_HEADER_BYTES + framed.sites.store[site];
  }

  #loadKey(site: number): number {
    const framed = this.#brief?.framed;
    return framed === undefined ? this.#sites.load[site] : FRAME_HEADER_BYTES + framed.sites.load[site];
  }

  /** Where the runs of a block are counted that begins with a site, from the base of counters. */
  #runsAt(site: number): number {
    const key = this.#sites.store[site] === 0 ? this.#loadKey(site) : this.#storeKey(site);
    return this.#targets.records.runsAt(key, site);
  }

  /** Counters are counted from a local. */
  #needBase(): void {
    const fixed = this.#brief?.fixed;
    if (fixed === undefined || fixed.base !== NO_LOCAL) return;
    fixed.base = extraLocal(this.#state.temporaries, I32);
    this.#add(this.#codeStart, Step.Base);
  }

  /** Ids of stores are computed from a local. */
  #needIds(): void {
    const records = this.#brief?.framed?.records;
    if (records === undefined || records.ids !== NO_LOCAL) return;
    records.ids = extraLocal(this.#state.temporaries, I64);
    this.#add(this.#codeStart, Step.Ids);
  }

  #extraLocal(type: ValType, number: number): number {
    const key = type * 8 + number;
    const known = this.#extraLocals.get(key);
    if (known !== undefined) return known;
    const local = extraLocal(this.#state.temporaries, type);
    this.#extraLocals.set(key, local);
    return local;
  }

  #note(position: number, word: number, value: number): void {
    this.#add(position, Step.Note, word, value);
  }

  #add(position: number, step: number, b = 0, c = 0): number {
    return this.#state.insertions.add(position, this.#kind, step, b, c);
  }
}

/** Size of the lanes of a result that is made of floats, 0 for others. */
function laneBytes(name: string): number {
  const [, shape, operation = ""] = /^(f32x4|f64x2)\.(?:relaxed_)?([a-z]+)/.exec(name) ?? [];
  if (shape === undefined || /^(eq|ne|lt|gt|le|ge|extract)/.test(operation)) return 0;
  return shape === "f32x4" ? 4 : 8;
}

function setBit(bits: Uint8Array, index: number): void {
  bits[index >>> 3] |= 1 << (index & 7);
}
