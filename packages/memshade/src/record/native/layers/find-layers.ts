import type { ObjectFile } from "../../../code/objects/index.ts";
import type { HeapProfile } from "../../../profile/model/heap-profile.ts";
import {
  type IndexIntoFrameTable,
  type IndexIntoModuleTable,
  type IndexIntoStackTable,
  NONE,
} from "../../../profile/model/indices.ts";
import { ANY_PARAM, CONSTANT, fromCall, type Origin, OTHER, TRACKED } from "../../allocator/find/origin.ts";
import {
  CALL_RESULTS,
  type CallMeaning,
  calledAt,
  LENGTH,
  type MachineCall,
  type MachineSummary,
  summarizeFunction,
} from "./follow-values.ts";
import {
  allocatedOperands,
  type CodeFunction,
  MOST_INSTRUCTIONS,
  MOST_OF_CALLED,
  ObjectCode,
} from "./object-code.ts";

/*
 * Layers between a native program and its allocator, by the machine code of the frames on recorded stacks. The rule is
 * that of wasm code (`allocator/find/layers.ts`): a layer returns the block of a callee, whose size its caller decides.
 * Machine code does not tell if a function has a result. A function that stores the block therefore keeps it.
 */

/** Slot of allocations that were not recorded. */
const FURTHER = TRACKED - 1;
/** Depth of calls that are followed to learn what they return: a rounded size, null, or a block of a pool. */
const DEPTH = 2;
/** Operand of an allocator's function without a name. */
const FIRST = 1;

export interface LayerPlaces {
  /** Returns the object of a module; undefined if its code is not judged. */
  objectOf(module: IndexIntoModuleTable): ObjectFile | undefined;
  /** True for the libraries of C and C++. */
  isRuntime(module: IndexIntoModuleTable): boolean;
}

/** Call on recorded stacks that leads to the allocator. */
interface Site {
  readonly frame: IndexIntoFrameTable;
  /** Bits of the operands that decide the size. */
  sizes: number;
  /** Bits of the function's parameters that decide the size; 0 if the function is no layer for this call. */
  params: number;
  readonly stacks: Set<IndexIntoStackTable>;
}

interface Callee {
  readonly code: ObjectCode;
  readonly start: number;
  readonly sizes: number;
}

/** Returns the frames whose functions are layers for the blocks on their stacks, without those inlined into them. */
export function findNativeLayers(profile: HeapProfile, places: LayerPlaces): IndexIntoFrameTable[] {
  return new LayerSearch(profile, places).find();
}

class LayerSearch {
  readonly #profile: HeapProfile;
  readonly #places: LayerPlaces;
  readonly #runtimes = new Map<IndexIntoModuleTable, boolean>();
  readonly #codes = new Map<IndexIntoModuleTable, ObjectCode | undefined>();
  readonly #sites = new Map<CodeFunction, Map<number, Site>>();
  readonly #changed = new Set<CodeFunction>();
  readonly #waiting: [stack: IndexIntoStackTable, callee: Callee | undefined][] = [];

  constructor(profile: HeapProfile, places: LayerPlaces) {
    this.#profile = profile;
    this.#places = places;
  }

  find(): IndexIntoFrameTable[] {
    const { contexts } = this.#profile;
    for (const stack of new Set(contexts.stack)) if (stack !== NONE) this.#waiting.push([stack, undefined]);
    while (this.#waiting.length > 0) {
      for (let next = this.#waiting.pop(); next !== undefined; next = this.#waiting.pop())
        this.#visit(...next);
      for (const around of this.#changed) this.#judge(around);
      this.#changed.clear();
    }
    return [...this.#sites.values()].flatMap((sites) =>
      [...sites.values()].filter(({ params }) => params !== 0).map(({ frame }) => frame),
    );
  }

  #visit(innermost: IndexIntoStackTable, callee: Callee | undefined): void {
    const { stacks, frames } = this.#profile;
    let stack = innermost;
    let isInRuntime = false;
    while (this.#isRuntime(stack) || frames.inlined[stacks.frame[stack]!] === 1) {
      isInRuntime ||= this.#isRuntime(stack);
      const caller = stacks.prefix[stack]!;
      if (caller === NONE) return;
      stack = caller;
    }
    const frame = stacks.frame[stack]!;
    if (isInRuntime && callee !== undefined) return;
    const code = this.#codeOf(frame);
    const place = frames.offset[frame]!;
    const called = code?.functionAt(place);
    if (code === undefined || called === undefined || called.instructions.length > MOST_INSTRUCTIONS) return;
    const call = called.instructions.find((step) => calledAt(step).site === place);
    const sizes = call && sizesAsked(code, calledAt(call), callee, isInRuntime);
    if (sizes !== undefined) this.#add(called, frame, stack, sizes);
  }

  #isRuntime(stack: IndexIntoStackTable): boolean {
    const { stacks, frames, functions } = this.#profile;
    const module = functions.module[frames.function[stacks.frame[stack]!]!]!;
    if (module === NONE) return false;
    const known = this.#runtimes.get(module) ?? this.#places.isRuntime(module);
    this.#runtimes.set(module, known);
    return known;
  }

  #codeOf(frame: IndexIntoFrameTable): ObjectCode | undefined {
    const module = this.#profile.functions.module[this.#profile.frames.function[frame]!]!;
    if (module === NONE) return undefined;
    if (!this.#codes.has(module)) {
      const object = this.#places.objectOf(module);
      this.#codes.set(module, object && new ObjectCode(object));
    }
    return this.#codes.get(module);
  }

  #add(around: CodeFunction, frame: IndexIntoFrameTable, stack: IndexIntoStackTable, sizes: number): void {
    const sites = this.#sites.get(around) ?? new Map<number, Site>();
    this.#sites.set(around, sites);
    const place = this.#profile.frames.offset[frame]!;
    const site = sites.get(place) ?? { frame, sizes: 0, params: 0, stacks: new Set() };
    sites.set(place, site);
    const isNew = !site.stacks.has(stack);
    site.stacks.add(stack);
    if ((sizes & ~site.sizes) !== 0) {
      site.sizes |= sizes;
      this.#changed.add(around);
    } else if (isNew && site.params !== 0) this.#visitCallers(around, site, [stack]);
  }

  /** Judges a function again, after new calls of it have been found to lead to the allocator. */
  #judge(around: CodeFunction): void {
    const sites = this.#sites.get(around)!;
    const slots = new Map([...sites.keys()].map((key, i) => [key, Math.min(i, FURTHER - 1)]));
    const recordedAt = ({ site: at }: MachineCall) => {
      const slot = slots.get(at);
      return slot === undefined ? undefined : { slot, sizes: sites.get(at)!.sizes };
    };
    let summary = summarize(around, recordedAt, 0);
    // Most functions keep their blocks, or do something else with them.
    if (dependsOnFurther(summary)) summary = summarize(around, recordedAt, DEPTH);
    for (const [at, site] of sites) {
      const params = layerParams(summary, slots.get(at)!);
      if ((params & ~site.params) === 0) continue;
      site.params |= params;
      this.#visitCallers(around, site, site.stacks);
    }
  }

  #visitCallers(
    { code, start }: CodeFunction,
    { params }: Site,
    stacks: Iterable<IndexIntoStackTable>,
  ): void {
    for (const stack of stacks) {
      const caller = this.#profile.stacks.prefix[stack]!;
      if (caller !== NONE) this.#waiting.push([caller, { code, start, sizes: params }]);
    }
  }
}

/**
 * Returns the operands of a call that decide the size of the block. Functions that end with a jump to another one leave
 * no frame, so the call may lead to the callee through them.
 */
function sizesAsked(
  code: ObjectCode,
  call: ReturnType<typeof calledAt>,
  callee: Callee | undefined,
  isInRuntime: boolean,
): number | undefined {
  const name = code.nameOf(call);
  if (callee === undefined) {
    const known = name === undefined ? undefined : allocatedOperands(name);
    if (known !== undefined || isInRuntime) return known?.sizes;
    const start = code.addressOf(call);
    return start === undefined ? FIRST : thunkParams(code, start, FIRST);
  }
  const exported = name === undefined ? undefined : callee.code.addressOfName(name);
  const start = code === callee.code ? code.addressOf(call) : exported;
  if (start === undefined || start === callee.start) return callee.sizes;
  return thunkParams(callee.code, start, callee.sizes);
}

/** Returns the parameters that become operands of the function that a function jumps to at its end. */
function thunkParams(code: ObjectCode, start: number, sizes: number): number | undefined {
  const around = code.functionAt(start);
  if (around?.start !== start) return undefined;
  const summary = summarize(around, ({ isTail }) => (isTail ? { slot: 0, sizes } : undefined), DEPTH);
  return layerParams(summary, 0) || undefined;
}

/**
 * @param recordedAt returns the slot and operands of a recorded call
 * @param depth number of nested calls that are followed
 */
function summarize(
  { code, instructions }: CodeFunction,
  recordedAt: (call: MachineCall) => { slot: number; sizes: number } | undefined,
  depth: number,
): MachineSummary {
  return summarizeFunction(instructions, (call): CallMeaning => {
    const recorded = recordedAt(call);
    const name = code.nameOf(call);
    const known = name === undefined ? undefined : allocatedOperands(name);
    if (recorded !== undefined)
      return {
        kind: "allocates",
        slot: recorded.slot,
        sizes: known?.sizes ?? recorded.sizes,
        out: known?.out,
      };
    if (known !== undefined) return { kind: "allocates", slot: FURTHER, ...known };
    const start = code.addressOf(call);
    // Calls by pointers are assumed to lead to the allocator; recorded stacks show it.
    if (start === undefined && name === undefined) return { kind: "allocates", slot: FURTHER, sizes: 0 };
    const effect = code.effectOf(call);
    const further =
      effect === "other" && depth > 0 && start !== undefined
        ? code.functionAt(start, MOST_OF_CALLED)
        : undefined;
    if (further === undefined || further.start !== start) return { kind: effect };
    return {
      kind: "returns",
      ...code.summaryOf(further, () => summarize(further, () => undefined, depth - 1)),
    };
  });
}

/** True if a function may be a layer, depending on the results of further functions that it returns or asks for. */
function dependsOnFurther({ result, kept, sizes }: MachineSummary): boolean {
  return sizes.some((size, slot) => {
    const isParam = (size & ANY_PARAM) !== 0;
    const isUnknown = isParam
      ? (result & OTHER) !== 0
      : (size & OTHER) !== 0 && (result & blockOf(slot)) !== 0;
    return isUnknown && (kept & blockOf(slot)) === 0;
  });
}

function blockOf(slot: number): Origin {
  return fromCall(slot) | (fromCall(slot) << TRACKED);
}

/** Returns the parameters that decide the size of a slot's block; 0 if the function is no layer for it. */
function layerParams({ result, kept, sizes }: MachineSummary, slot: number): number {
  const block = blockOf(slot);
  const size: Origin = sizes[slot] ?? 0;
  const isReturned =
    (result & block) !== 0 && (result & ~(CALL_RESULTS | CONSTANT | ANY_PARAM | LENGTH)) === 0;
  // The size of a copied text is its length alone.
  const isOfText = (size & LENGTH) === 0 || (size & OTHER) === 0;
  return isReturned && (kept & block) === 0 && isOfText
    ? (size | (size >> TRACKED)) & (ANY_PARAM >> TRACKED)
    : 0;
}
