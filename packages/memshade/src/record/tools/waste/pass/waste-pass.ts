import {
  ACCESS_BYTES,
  ACCESS_KIND,
  AccessKind,
  I32,
  I64,
  IMMEDIATE_KIND,
  ImmediateKind,
  importsOf,
  memoryType,
  OPCODE_NAME,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type ValType,
} from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import { entryOf } from "../../../../ground/bytes/entries.ts";
import { ByteWriter } from "../../../../ground/bytes/writer.ts";
import { CallFrames } from "../../../contexts/frames/call-frames.ts";
import type { ToolPass, WalkState } from "../../../rewrite/tool.ts";
import { declaredBytes, hasLongDisplacement } from "../../../rewrite/walk/displacements.ts";
import { keepAddress } from "../../../rewrite/walk/keep-address.ts";
import { CONSTANT, NO_LOCAL, ValueClass } from "../../../rewrite/walk/value-numbers.ts";
import { callOf, type Insertion, OptionalInsertion } from "../../../rewrite/write/insertions.ts";
import type { SnippetSink } from "../../../rewrite/write/snippet-sink.ts";
import { extraLocal } from "../../../rewrite/write/temporaries.ts";
import type { ToolSurroundings } from "../../tool.ts";
import { SiteClass, type SiteTable } from "../site-table.ts";
import type { AccessFunctions } from "./access-functions.ts";
import { LoopStreams, NodeCalls, type PassTargets, type SummaryParts } from "./node-calls.ts";
import { zeroingFunctions } from "./sites.ts";
import { SiteKeys, Steps } from "./steps.ts";
import { hasComparison, type Place, valueTypeOfStore } from "./summary-snippets.ts";

/**
 * Access in a loop: the value number of its address without the displacement, and the outermost loop so far in which
 * that is constant.
 */
interface Candidate {
  site: number;
  value: number;
  loop: Loop | undefined;
}

/**
 * Insertion before a loop that counts how often it begins. Written only if some accesses keep one address while it
 * runs.
 */
class Loop implements Insertion {
  readonly candidates: Candidate[] = [];
  readonly sites: number[] = [];
  readonly #counts: LoopCounts;
  /** Last value number, and number of assignments, when the loop began. */
  readonly lastValue: number;
  readonly time: number;

  constructor(counts: LoopCounts, lastValue: number, time: number) {
    this.#counts = counts;
    this.lastValue = lastValue;
    this.time = time;
  }

  write(sink: SnippetSink): void {
    const [first] = this.sites;
    if (first === undefined) return;
    const { memory } = this.#counts;
    const at = this.#counts.of(first);
    sink.i32(0);
    sink.i32(0);
    sink.access(Op.I64_LOAD, 3, memory, at);
    sink.i64(1n);
    sink.plain(Op.I64_ADD);
    sink.access(Op.I64_STORE, 3, memory, at);
  }
}

/** Counters of loop starts: their memory, and the address by the first site that shares the counter. */
interface LoopCounts {
  memory: number;
  of(site: number): number;
}

/**
 * Finds loads and stores whose address is the same in all trips of a loop: a local variable could hold the value while
 * it runs. Their repeated accesses are the runs of the access less the starts of the loop.
 */
class RepeatedAccesses {
  readonly #counts: LoopCounts;
  readonly #groups: (readonly number[])[] = [];
  #open: Loop[] = [];
  #state!: WalkState;

  constructor(counts: LoopCounts) {
    this.#counts = counts;
  }

  begin(state: WalkState): void {
    this.#state = state;
    this.#open = [];
  }

  access(site: number, value: number): void {
    this.#open.at(-1)?.candidates.push({ site, value, loop: undefined });
  }

  enter(): Insertion {
    const { last, time } = this.#state.values;
    const loop = new Loop(this.#counts, last, time);
    this.#open.push(loop);
    return loop;
  }

  leave(): void {
    const loop = this.#open.pop();
    if (loop === undefined) return;
    const outer = this.#open.at(-1);
    const touched = new Set<Loop>();
    for (const candidate of loop.candidates) {
      if (this.#standsStill(candidate.value, loop)) candidate.loop = loop;
      if (candidate.loop === undefined) continue;
      if (candidate.loop === loop && outer !== undefined) outer.candidates.push(candidate);
      else {
        candidate.loop.sites.push(candidate.site);
        touched.add(candidate.loop);
      }
    }
    // Accesses of a loop are settled when the surrounding loop ends. All share the counter of their first site.
    for (const { sites } of touched) if (!this.#groups.includes(sites)) this.#groups.push(sites);
  }

  /**
   * True if a value is the same in all trips of an ended loop: it is older than the loop, or from a local that the loop
   * never assigns.
   */
  #standsStill(value: number, { lastValue, time }: Loop): boolean {
    if (value === 0) return false;
    if (value <= lastValue) return true;
    const { origin, originTime, localTime } = this.#state.values;
    const local = origin[value];
    return local >= 0 && originTime[value] <= time && localTime[local] <= time;
  }

  encode(): Uint8Array {
    const writer = new ByteWriter(64).u32Leb(this.#groups.length);
    for (const sites of this.#groups) {
      writer.u32Leb(sites.length);
      for (const site of sites) writer.u32Leb(site);
    }
    return writer.finish();
  }
}

const HAS_MEMORY_INDEX = 0x40;

/** Load, store or atomic with its site. The fields are the parameters of `ToolPass.access`. */
interface Access {
  op: number;
  at: number;
  displacement: number;
  start: number;
  end: number;
  site: number;
}

/** Inserts code for each access: inline if possible, else a function that replaces the instruction. */
export class WastePass implements ToolPass {
  readonly everywhere = "wrappers";
  readonly #surroundings: ToolSurroundings;
  readonly #sites: SiteTable;
  readonly #functions: AccessFunctions;
  readonly #summary: SummaryParts | undefined;
  readonly #targets: PassTargets;
  /** Functions that allocate or free, and those that only pass requests on to them. */
  readonly #allocating: ReadonlySet<number>;
  readonly #wrappers: ReadonlySet<number>;
  /** True if indirect calls may reach other modules on the same memory, since their table is imported. */
  readonly #callsOut: boolean;
  readonly #zeroing: ReadonlySet<number>;
  /** Position up to which a function was searched for instructions that make vectors. */
  #lastLooked = 0;
  readonly #exact: ReadonlySet<number>;
  readonly #declaredBytes: number;
  readonly followedGlobal: number;
  readonly inline: Uint8Array;
  readonly leaders: Uint8Array;
  /** A bit per site: it accesses its function's own frame. */
  readonly frames: Uint8Array;
  /** A bit per site: it stores to an address from which its block has loaded. */
  readonly updates: Uint8Array;
  /** Addresses from which the current block has loaded: value number and constant. */
  readonly #loaded = new Set<string>();
  /** Accesses with one address in all trips of a loop; undefined if they are not counted. */
  readonly repeated: RepeatedAccesses | undefined;
  #state!: WalkState;
  #cursor = 0;
  #blockIsOpen = false;
  #codeStart = 0;
  readonly #callFrames: CallFrames | undefined;
  readonly #nodeCalls: NodeCalls | undefined;
  readonly #keys: SiteKeys;
  readonly #steps: Steps;
  #streams: LoopStreams | undefined;
  /**
   * Locals with the site and the context that called the current function, which only passes requests on. NO_LOCAL: not
   * needed yet.
   */
  #asker = NO_LOCAL;
  #askerNode = NO_LOCAL;
  #opened = 0;
  #leader = 0;
  readonly #extraLocals = new Map<number, number>();
  readonly #scratch = (type: ValType, number: number): number => this.#extraLocal(type, number + 1);

  /** `summary`: undefined if every access becomes a call. */
  constructor(
    surroundings: ToolSurroundings,
    sites: SiteTable,
    functions: AccessFunctions,
    summary: SummaryParts | undefined,
    targets: PassTargets,
  ) {
    this.#surroundings = surroundings;
    this.followedGlobal = surroundings.stackPointer;
    this.#sites = sites;
    this.#functions = functions;
    this.#summary = summary;
    this.#targets = targets;
    const framed = summary?.framed;
    if (framed !== undefined) this.#callFrames = new CallFrames(framed.frames);
    const { module } = surroundings;
    this.#declaredBytes = declaredBytes(memoryType(module, surroundings.memory));
    if (targets.nodes !== undefined)
      this.#nodeCalls = new NodeCalls(targets.nodes, module.importedTagCount + module.tags.length > 0);
    this.#wrappers = new Set(surroundings.allocator.wrappers);
    this.#allocating = new Set([
      ...this.#wrappers,
      ...surroundings.allocator.functions.map(({ index }) => index),
    ]);
    this.#callsOut = targets.hostMayRead >= 0 && importsOf(surroundings.module, "table").length > 0;
    this.#zeroing = new Set(zeroingFunctions(surroundings.allocator.functions));
    this.#exact = targets.exactImports;
    this.#keys = new SiteKeys(sites, framed?.sites, targets);
    const { loopsOf } = targets;
    if (loopsOf !== undefined)
      this.repeated = new RepeatedAccesses({
        memory: surroundings.shadowMemory,
        of: (site) =>
          sites.store[site] === 0
            ? loopsOf(this.#keys.load(site), false)
            : loopsOf(this.#keys.store(site), true),
      });
    this.#steps = new Steps({ sites, keys: this.#keys, targets, memory: surroundings.shadowMemory });
    this.inline = new Uint8Array((sites.length + 7) >>> 3);
    this.leaders = new Uint8Array((sites.length + 7) >>> 3);
    this.frames = new Uint8Array((sites.length + 7) >>> 3);
    this.updates = new Uint8Array((sites.length + 7) >>> 3);
  }

  begin(state: WalkState, codeStart: number): void {
    this.#state = state;
    this.#cursor =
      this.#sites.firstOfFunction[state.function - this.#surroundings.module.importedFunctionCount];
    this.#beginBlock();
    this.repeated?.begin(state);
    this.#codeStart = codeStart;
    this.#nodeCalls?.begin(state, codeStart);
    this.#streams =
      this.#summary !== undefined && state.hasLoops && !this.#surroundings.memory64
        ? new LoopStreams(state, this.#summary.streams)
        : undefined;
    this.#extraLocals.clear();
    this.#asker = NO_LOCAL;
    this.#askerNode = NO_LOCAL;
    const fixed = this.#summary?.fixed;
    if (fixed !== undefined) {
      fixed.base = NO_LOCAL;
      fixed.idsBase = NO_LOCAL;
      fixed.first = this.#cursor;
    }
    const records = this.#summary?.framed?.records;
    if (this.#callFrames === undefined || records === undefined) return;
    this.#callFrames.begin(state, codeStart, true);
    records.frame = this.#callFrames.local;
  }

  #beginBlock(): void {
    this.#blockIsOpen = false;
    this.#loaded.clear();
  }

  access(op: number, at: number, displacement: number, start: number, end: number): void {
    const site = this.#siteAt(start);
    const { stack, values } = this.#state;
    const { memory64, module } = this.#surroundings;
    const isLong = memory64 && hasLongDisplacement(module.bytes, start);
    // The address is beyond every memory that the tool covers. The access is left as it is, so that engines report the
    // trap of the original.
    if (isLong || (displacement >>> 0) + ACCESS_BYTES[op] > this.#declaredBytes) {
      this.#streams?.abandon();
      return;
    }
    if (values.classes[stack.value[at]] === ValueClass.Stack) setBit(this.frames, site);
    else if (this.#sites.siteClass[site] === SiteClass.Plain) this.repeated?.access(site, stack.value[at]);
    this.#noteUpdate(op, site, `${stack.value[at]} ${(stack.offset[at] + displacement) | 0}`);
    const summary = this.#summary;
    const access: Access = { op, at, displacement, start, end, site };
    if (summary === undefined || !this.#isPlain(op, site)) {
      this.#streams?.abandon();
      this.#replace(access);
    } else if (summary.inlined[site] === 0 || !this.#isInline(at, displacement)) {
      this.#streams?.abandon();
      if (IMMEDIATE_KIND[op] === ImmediateKind.MemargLane) this.#replace(access);
      else this.#replaceCold(summary, access);
    } else this.#follow(summary, access);
  }

  /** `place`: text that identifies the address. */
  #noteUpdate(op: number, site: number, place: string): void {
    if (ACCESS_KIND[op] === AccessKind.Load) this.#loaded.add(place);
    else if (this.#loaded.has(place)) setBit(this.updates, site);
  }

  bulk(_op: number, _first: number, _second: number, start: number): void {
    this.#streams?.abandon();
    const site = this.#siteAt(start);
    this.#noteKey(start, this.#targets.storeSite, this.#keys.store(site));
    if (this.#sites.load[site] !== 0) this.#noteKey(start, this.#targets.loadSite, this.#keys.load(site));
  }

  endBlock(): void {
    this.#beginBlock();
  }

  enterBlock(start: number): void {
    this.#opened = start;
  }

  enterLoop(body: number): void {
    this.#beginBlock();
    if (this.repeated !== undefined) this.#add(this.#opened, this.repeated.enter());
    if (this.#streams !== undefined) this.#add(this.#opened, this.#streams.enter());
    // Clauses of a `try_table` may branch here.
    this.#nodeCalls?.caught(body);
  }

  caught(position: number): void {
    this.#nodeCalls?.caught(position);
  }

  leaveLoop(_start: number, end: number, oneBlock: boolean): void {
    this.#beginBlock();
    this.repeated?.leave();
    const streams = this.#streams;
    const loop = streams?.leave(end, oneBlock, this.#keys.runsAt(this.#leader));
    if (streams === undefined || loop === undefined) return;
    this.#add(end, {
      write: (sink) => {
        for (const store of loop.stores) this.#summary?.snippets.flushSilent(sink, store);
        streams.write(sink, loop, this.#targets.records);
      },
    });
  }

  setGlobal(global: number, start: number): number {
    if (global !== this.#surroundings.stackPointer) return -1;
    this.#streams?.abandon();
    if (this.#targets.notesPlaces)
      this.#note(start, this.#targets.returnSite, start - this.#surroundings.module.codePayloadStart);
    return this.#targets.stackMoved;
  }

  grow(memory: number, start: number, end: number): void {
    if (memory !== this.#surroundings.memory) return;
    if (this.#targets.growing >= 0) this.#add(start, callOf(this.#targets.growing));
    this.#add(end, callOf(this.#targets.grown));
  }

  call(callee: number, tail: boolean, start: number, end: number): void {
    const { importedFunctionCount, codePayloadStart } = this.#surroundings.module;
    const offset = start - codePayloadStart;
    if (callee >= 0 && callee < importedFunctionCount) {
      this.#noteKey(start, this.#targets.storeSite, this.#keys.store(this.#siteAt(start)));
      const { hostMayRead } = this.#targets;
      const isOpaque = hostMayRead >= 0 && !this.#exact.has(callee);
      if (isOpaque) this.#add(start, callOf(hostMayRead));
      // The host may have called back during the call and read what that wrote.
      if (!tail) this.#add(end, callOf(isOpaque ? hostMayRead : this.#targets.notePages));
    }
    if (callee < 0 && this.#callsOut) {
      this.#add(start, callOf(this.#targets.hostMayRead));
      if (!tail) this.#add(end, callOf(this.#targets.hostMayRead));
    }
    if (this.#zeroing.has(callee))
      this.#noteKey(start, this.#targets.zeroedSite, this.#keys.store(this.#siteAt(start)));
    if (this.#targets.notesPlaces && (callee < 0 || this.#allocating.has(callee))) this.#asks(start, offset);
    if (this.#callFrames !== undefined) this.#callFrames.call(callee, tail, start, end);
    else this.#nodeCalls?.call(callee, tail, start, end);
  }

  /**
   * Records the site of a call of the allocator. In a function that only passes requests on, the site is that of its
   * caller.
   */
  #asks(start: number, offset: number): void {
    const { allocationSite, allocationNode } = this.#targets;
    if (!this.#wrappers.has(this.#state.function)) {
      this.#note(start, allocationSite, offset);
      this.#nodeCalls?.note(start, allocationNode);
      return;
    }
    // Restores the word, since other requests may have come before this one.
    if (this.#asker === NO_LOCAL) {
      this.#asker = this.#keep(allocationSite);
      if (this.#nodeCalls !== undefined) this.#askerNode = this.#keep(allocationNode);
    }
    this.#add(start, this.#steps.putBack(allocationSite, this.#asker));
    if (this.#nodeCalls !== undefined) this.#add(start, this.#steps.putBack(allocationNode, this.#askerNode));
  }

  /** Returns a local that keeps a word of the tool's memory from the function's start on. */
  #keep(word: number): number {
    const local = extraLocal(this.#state.temporaries, I32);
    this.#add(this.#codeStart, this.#steps.keep(word, local));
    return local;
  }

  /** Returns the site at a position. Sites are in the order of the walk; unreachable ones are skipped. */
  #siteAt(start: number): number {
    const offset = start - this.#surroundings.module.codePayloadStart;
    while (this.#sites.offset[this.#cursor] < offset) this.#cursor++;
    return this.#cursor;
  }

  #isPlain(op: number, site: number): boolean {
    if (this.#sites.siteClass[site] !== SiteClass.Plain) return false;
    return ACCESS_KIND[op] === AccessKind.Load || hasComparison(op);
  }

  #replace({ op, at, displacement, start, end, site }: Access): void {
    const bytes = this.#surroundings.module.bytes;
    const immediates = skipOpcode(bytes, start);
    const flags = bytes[immediates];
    const lane = IMMEDIATE_KIND[op] === ImmediateKind.MemargLane ? bytes[end - 1] : -1;
    const target = this.#functions.get(op, flags & (HAS_MEMORY_INDEX - 1), lane, this.#lanesOf(op, at));
    const { insertions } = this.#state;
    insertions.addLate(start, this.#steps.accessOperands(displacement, site));
    insertions.replace(start, end, callOf(target));
  }

  #replaceCold({ functions }: SummaryParts, { op, displacement, start, end, site }: Access): void {
    const key = ACCESS_KIND[op] === AccessKind.Store ? this.#keys.store(site) : this.#keys.load(site);
    const { insertions } = this.#state;
    insertions.addLate(start, this.#steps.coldOperands(displacement, key));
    insertions.replace(start, end, callOf(functions.get(op)));
  }

  /** False for a constant address that is too high: it traps, or the memory is larger than the tool covers. */
  #isInline(at: number, displacement: number): boolean {
    const { stack } = this.#state;
    return (
      stack.value[at] !== CONSTANT || (stack.offset[at] >>> 0) + displacement < this.#targets.covered - 16
    );
  }

  #follow({ snippets }: SummaryParts, { op, at, displacement, start, end, site }: Access): void {
    const { stack, values } = this.#state;
    const isConstant = stack.value[at] === CONSTANT;
    setBit(this.inline, site);
    this.#needBase();
    const isStore = ACCESS_KIND[op] === AccessKind.Store;
    const place: Place = {
      op,
      size: ACCESS_BYTES[op],
      site,
      key: isStore ? this.#keys.store(site) : this.#keys.load(site),
      address: {
        local: isConstant ? -1 : keepAddress(this.#state, at, op, start),
        constant: isConstant ? stack.offset[at] : 0,
        displacement,
        isWide: this.#surroundings.memory64,
      },
      value: { local: 0, isHeld: false },
      lane: IMMEDIATE_KIND[op] === ImmediateKind.MemargLane ? this.#surroundings.module.bytes[end - 1] : 0,
      silent: undefined,
      ids: NO_LOCAL,
    };
    if (!isStore) snippets.reserve(place, this.#scratch);
    if (isStore) {
      this.#needIds(place);
      const holder = stack.holder(at + 1, values);
      place.value.isHeld = holder !== NO_LOCAL;
      place.value.local = place.value.isHeld
        ? holder
        : this.#extraLocal(valueTypeOfStore(OPCODE_NAME[op] as string), 0);
      this.#add(start, { write: (sink) => snippets.compareStore(sink, place) });
    }
    const steps: OptionalInsertion[] = [];
    if (!this.#blockIsOpen) {
      this.#blockIsOpen = true;
      this.#leader = site;
      setBit(this.leaders, site);
      steps.push(new OptionalInsertion((sink) => snippets.countRun(sink, this.#keys.runsAt(site))));
    }
    steps.push(
      new OptionalInsertion((sink) => {
        if (isStore) snippets.markStore(sink, place);
        else snippets.testLoad(sink, place, this.#scratch);
      }),
    );
    for (const step of steps) this.#add(end, step);
    const offset = (stack.offset[at] + displacement) | 0;
    if (stack.value[at] === 0) this.#streams?.abandon();
    else this.#streams?.add({ place, base: stack.value[at], offset, steps });
  }

  /** Returns the bytes of the floats that a vector store stores, if the instruction that made them shows it; else 0. */
  #lanesOf(op: number, at: number): number {
    if (op !== Op.V128_STORE) return 0;
    const produced = this.#state.stack.produced[at + 1];
    const bytes = this.#surroundings.module.bytes;
    let pos = Math.max(this.#lastLooked, this.#codeStart);
    for (let next = pos; next < produced; pos = next) {
      const id = opcodeIdAt(bytes, pos);
      next = skipImmediates(bytes, skipOpcode(bytes, pos), IMMEDIATE_KIND[id]);
      this.#lastLooked = next;
      if (next === produced) return laneBytes(OPCODE_NAME[id] ?? "");
    }
    return 0;
  }

  /** Makes the local from which counters are addressed. */
  #needBase(): void {
    const fixed = this.#summary?.fixed;
    if (fixed === undefined || fixed.base !== NO_LOCAL) return;
    fixed.base = extraLocal(this.#state.temporaries, I32);
    this.#add(this.#codeStart, { write: (sink) => fixed.computeBase(sink) });
  }

  /** Makes the locals for a store's ids: one for the ids, and without contexts one for the address of their table. */
  #needIds(place: Place): void {
    const fixed = this.#summary?.fixed;
    place.ids = this.#extraLocal(I64, 1);
    if (fixed === undefined || fixed.idsBase !== NO_LOCAL) return;
    fixed.idsBase = extraLocal(this.#state.temporaries, I32);
    fixed.firstStore = place.key;
    this.#add(this.#codeStart, { write: (sink) => fixed.computeIdsBase(sink) });
  }

  #extraLocal(type: ValType, number: number): number {
    const key = type * 8 + number;
    return entryOf(this.#extraLocals, key, () => extraLocal(this.#state.temporaries, type));
  }

  #note(position: number, word: number, value: number): void {
    this.#add(position, this.#steps.note(word, value));
  }

  #noteKey(position: number, word: number, key: number): void {
    this.#add(position, this.#steps.noteKey(word, key));
  }

  #add(position: number, insertion: Insertion): void {
    this.#state.insertions.add(position, insertion);
  }
}

function laneBytes(name: string): number {
  const [, shape, operation = ""] = /^(f32x4|f64x2)\.(?:relaxed_)?([a-z]+)/.exec(name) ?? [];
  if (shape === undefined || /^(eq|ne|lt|gt|le|ge|extract)/.test(operation)) return 0;
  return shape === "f32x4" ? 4 : 8;
}

function setBit(bits: Uint8Array, index: number): void {
  bits[index >>> 3] |= 1 << (index & 7);
}
