import { type FuncType, functionType, I32, type WasmModule } from "../../../code/wasm/index.ts";
import { type BodySummary, type CallSummary, summarizeBody } from "./body-summary.ts";
import { type CallGraph, calleesOf, callersOf, Trait } from "./call-graph.ts";
import type { Hooks } from "./hooks.ts";
import { fitsOperands } from "./hooks.ts";
import {
  ANY_PARAM,
  CONSTANT,
  fromCall,
  fromParam,
  type Origin,
  OTHER,
  PRODUCT,
  soleParam,
} from "./origin.ts";
import type { AllocatorRole, OperandPositions } from "./plan.ts";
import { ROLES } from "./plan.ts";
import { isOperatorNew, isProgramCpp } from "./symbol-names.ts";

/**
 * Size limit of functions that only pass a request on. `MAXIMUM_KNOWN_FORWARDER_INSTRUCTIONS`: limit if more is known
 * about the function.
 */
const MAXIMUM_FORWARDER_INSTRUCTIONS = 64;
const MAXIMUM_KNOWN_FORWARDER_INSTRUCTIONS = 200;
const MAXIMUM_TRACKED = 6;
const MAXIMUM_DEPTH = 6;
const ALL_CALL_RESULTS = 0b111111 << 12;
const COMPUTED_FROM_CALLS = 0b111111 << 18;
const COMPUTED_FROM_PARAMS = 0b111111 << 6;

/** A function with known operands that may only pass its request on. */
export interface Entry {
  index: number;
  operands: OperandPositions;
}

/** A callee that gets the request unchanged. */
export interface Target extends Entry {
  role: AllocatorRole;
}

/**
 * Follows the calls of a function that only forwards a request. Returns each callee that gets the block's size (or old
 * address) unchanged; for allocations, its result must be returned unchanged. Returns undefined if `entry` does not
 * forward. It is then an allocator function itself, and is hooked.
 */
export function forwardTargets(module: WasmModule, graph: CallGraph, entry: Entry): Target[] | undefined {
  const { index, operands } = entry;
  if (graph.instructions[index] > MAXIMUM_KNOWN_FORWARDER_INSTRUCTIONS) return undefined;
  const callees = calleesOf(graph, index);
  const tracked = [...callees]
    .filter((callee) => functionType(module, callee).results.length === 1)
    .slice(0, MAXIMUM_TRACKED);
  const summary = summarizeBody(module, index, tracked);
  if (summary === undefined || writesBlocks(summary)) return undefined;
  const targets: Target[] = [];
  const seen = new Set<number>();
  for (const call of summary.calls) {
    const { callee } = call;
    if (callee < graph.imported || seen.has(callee)) continue;
    const target = targetOf(module, summary, tracked, operands, call);
    if (target === undefined || (operands.kind === "release" && onlyReads(module, callee))) continue;
    // A callee that gets the block and its size, and returns the block, fills it: memset.
    if (operands.kind === "allocate" && call.operands.some(isOfCall)) return undefined;
    seen.add(callee);
    targets.push(target);
  }
  if (targets.length === 0) return undefined;
  // A further callee that receives the block before its release means more than forwarding.
  if (operands.kind === "release" && targets.length > 1) return undefined;
  if (operands.kind !== "release" && !returnsOnly(summary, tracked, targets)) return undefined;
  return targets;
}

/**
 * True if a function changes nothing and passes none of its arguments on. Rust's `dealloc` may check a block's size by
 * such a function before it releases the block.
 */
function onlyReads(module: WasmModule, index: number): boolean {
  const summary = summarizeBody(module, index, []);
  if (summary === undefined || summary.bulk || summary.indirectCalls > 0) return false;
  const isFromOutside = (origin: number) => (origin & (ANY_PARAM | PRODUCT | OTHER)) !== 0;
  return summary.stores.length === 0 && !summary.calls.some(({ operands }) => operands.some(isFromOutside));
}

/** Reads a call as the same request: finds the callee's operands for address and size. */
function targetOf(
  module: WasmModule,
  summary: BodySummary,
  tracked: readonly number[],
  entry: OperandPositions,
  { callee, operands }: CallSummary,
): Target | undefined {
  const positionOf = (param: number) =>
    param < 0 ? -1 : operands.findIndex((origin) => soleParam(origin) === param);
  const type = functionType(module, callee);
  const pointerParam = positionOf(entry.pointerParam);
  const sizeParam = positionOf(entry.sizeParam);
  if (entry.kind === "release") {
    if (pointerParam < 0) return undefined;
    const positions = { ...ROLES.free.operands, pointerParam };
    return fitsOperands(type, positions)
      ? { index: callee, role: type.params.length >= 3 ? "rust_dealloc" : "free", operands: positions }
      : undefined;
  }
  const slot = tracked.indexOf(callee);
  if (sizeParam < 0 || slot < 0 || (summary.result & fromCall(slot)) === 0) return undefined;
  if (entry.outPointerParam >= 0) {
    const positions = {
      ...ROLES.posix_memalign.operands,
      sizeParam,
      outPointerParam: positionOf(entry.outPointerParam),
    };
    return positions.outPointerParam >= 0 && fitsOperands(type, positions)
      ? { index: callee, role: "posix_memalign", operands: positions }
      : undefined;
  }
  const isAllocation = entry.kind === "allocate" || pointerParam < 0;
  const role = isAllocation
    ? allocationRole(operands, sizeParam)
    : type.params.length >= 4
      ? "rust_realloc"
      : "realloc";
  const positions = isAllocation
    ? { ...ROLES.malloc.operands, sizeParam }
    : { ...ROLES.realloc.operands, pointerParam, sizeParam };
  return fitsOperands(type, positions) ? { index: callee, role, operands: positions } : undefined;
}

/**
 * Returns the role by the operands of a request. A constant operand, such as the address of the allocator's state, is
 * no alignment.
 */
function allocationRole(operands: readonly Origin[], sizeParam: number): AllocatorRole {
  if (operands.every((origin, position) => position === sizeParam || origin === CONSTANT)) return "malloc";
  return sizeParam === 0 ? "rust_alloc" : "memalign";
}

/** True if the result is a target's result, a constant (null) or a parameter (Rust's address for empty blocks). */
function returnsOnly(summary: BodySummary, tracked: readonly number[], targets: readonly Entry[]): boolean {
  let allowed = 0;
  for (const { index } of targets) {
    const slot = tracked.indexOf(index);
    if (slot >= 0) allowed |= fromCall(slot);
  }
  const results = summary.result & (ALL_CALL_RESULTS | COMPUTED_FROM_CALLS);
  return (
    results !== 0 &&
    (results & ~allowed) === 0 &&
    (summary.result & (OTHER | PRODUCT | COMPUTED_FROM_PARAMS)) === 0
  );
}

function writesBlocks(summary: BodySummary): boolean {
  return summary.stores.some(({ address }) => isOfCall(address));
}

function isOfCall(origin: Origin): boolean {
  return (origin & (ALL_CALL_RESULTS | COMPUTED_FROM_CALLS)) !== 0;
}

/**
 * Finds the allocation function below a `__wbindgen_malloc` that does not pass its size on. Recent versions let another
 * function check size and alignment, and load both from memory. The result is that of a function of size and alignment,
 * or the alignment if the size is 0.
 */
export function findBehindLayoutCheck(
  module: WasmModule,
  graph: CallGraph,
  index: number,
): Target | undefined {
  if (graph.instructions[index] > MAXIMUM_FORWARDER_INSTRUCTIONS) return undefined;
  const allocates = ({ params, results }: FuncType) =>
    params.length === 2 && results.length === 1 && [...params, ...results].every((type) => type === I32);
  const candidates = [...calleesOf(graph, index)].filter((callee) => allocates(functionType(module, callee)));
  const tracked = candidates.slice(0, MAXIMUM_TRACKED);
  const summary = summarizeBody(module, index, tracked);
  if (summary === undefined || writesBlocks(summary)) return undefined;
  const returned = tracked.filter((_, slot) => (summary.result & fromCall(slot)) !== 0);
  const otherOrigins = summary.result & (OTHER | PRODUCT | COMPUTED_FROM_CALLS | COMPUTED_FROM_PARAMS);
  if (returned.length !== 1 || otherOrigins !== 0) return undefined;
  // The function's further callers belong to the program.
  if (callersOf(graph, returned[0]).length < 2) return undefined;
  return { index: returned[0], role: "rust_alloc", operands: ROLES.rust_alloc.operands };
}

/** Follows forwarders down to the functions that do the work. Functions that only forward are left out. */
export function findCores(module: WasmModule, graph: CallGraph, entries: readonly Entry[]): Target[] {
  const cores = new Map<number, Target>();
  const seen = new Set<number>();
  let level: readonly Entry[] = entries;
  for (let depth = 0; depth < MAXIMUM_DEPTH && level.length > 0; depth++) {
    const next: Target[] = [];
    for (const entry of level)
      for (const target of forwardTargets(module, graph, entry) ?? []) {
        if (seen.has(target.index)) continue;
        seen.add(target.index);
        const further = forwardTargets(module, graph, target);
        if (further === undefined) cores.set(target.index, target);
        else next.push(target);
      }
    level = next;
  }
  return [...cores.values()];
}

/**
 * Finds the functions that only pass requests on to hooked functions, directly or through each other: `operator new`,
 * `xmalloc`, `aligned_alloc`. A function that computes the size itself is not one: it is the allocation site. A C++
 * function with a new expression is not one either, since compilers take hints for it.
 *
 * @param nameOf returns the name of a function in the name section
 */
export function foldForwarders(
  module: WasmModule,
  graph: CallGraph,
  hooks: Hooks,
  wrappers: Set<number>,
  nameOf: (index: number) => string | undefined,
): void {
  const hasNewExpression = (index: number) =>
    isProgramCpp(nameOf(index)) &&
    [...calleesOf(graph, index)].some((callee) => isOperatorNew(nameOf(callee)));
  const rejected = new Set<number>();
  const entries = new Map<number, Entry>();
  let level = hooks.sorted().map((entry): Entry => ({ index: entry.index, operands: entry }));
  for (const entry of level) entries.set(entry.index, entry);
  for (let depth = 0; depth < MAXIMUM_DEPTH && level.length > 0; depth++) {
    const next: Entry[] = [];
    for (const { index } of level)
      for (const caller of callersOf(graph, index)) {
        if (entries.has(caller) || rejected.has(caller)) continue;
        const operands = hasNewExpression(caller)
          ? undefined
          : readForwarder(module, graph, caller, entries, hooks);
        if (operands === undefined) {
          rejected.add(caller);
          continue;
        }
        const entry = { index: caller, operands };
        entries.set(caller, entry);
        wrappers.add(caller);
        next.push(entry);
      }
    // A caller may have been rejected because another wrapper that it calls was not known yet.
    for (const { index } of next) for (const caller of callersOf(graph, index)) rejected.delete(caller);
    level = next;
  }
}

function readForwarder(
  module: WasmModule,
  graph: CallGraph,
  index: number,
  entries: ReadonlyMap<number, Entry>,
  hooks: Hooks,
): OperandPositions | undefined {
  // A function that the allocator calls is part of it, and may inspect a request before it passes it on.
  const isPart = [...callersOf(graph, index)].some((caller) => hooks.has(caller));
  const most = isPart ? MAXIMUM_KNOWN_FORWARDER_INSTRUCTIONS : MAXIMUM_FORWARDER_INSTRUCTIONS;
  if (graph.instructions[index] > most) return undefined;
  const allocators = [...calleesOf(graph, index)].filter((callee) => entries.has(callee));
  const tracked = allocators.slice(0, MAXIMUM_TRACKED);
  const summary = summarizeBody(module, index, tracked);
  if (summary === undefined || tracked.length < allocators.length || writesBlocks(summary)) return undefined;
  let pointerParam = -1;
  let sizeParam = -1;
  let allocates = false;
  let releases = false;
  for (const { callee, operands } of summary.calls) {
    const entry = entries.get(callee)?.operands;
    if (entry === undefined) {
      if (receivesBlock(graph, callee, operands, entries)) return undefined;
      continue;
    }
    if (entry.kind === "release") releases = true;
    else {
      allocates = true;
      for (const position of [entry.sizeParam, entry.countParam])
        if (position >= 0 && soleParam(operands[position]) < 0) return undefined;
      sizeParam = soleParam(operands[entry.sizeParam]);
    }
    if (entry.pointerParam >= 0) {
      pointerParam = soleParam(operands[entry.pointerParam]);
      if (pointerParam < 0) return undefined;
    }
  }
  if (!allocates) {
    const plain = releases && summary.stores.length === 0 && summary.indirectCalls === 0;
    const onlyReleases = summary.calls.every(
      ({ callee }) => entries.has(callee) || (callee >= graph.imported && onlyReads(module, callee)),
    );
    return plain && onlyReleases ? { ...ROLES.free.operands, pointerParam } : undefined;
  }
  const outPointerParam = storesResultThrough(summary);
  const targets = tracked
    .map((callee) => entries.get(callee)!)
    .filter(({ operands }) => operands.kind !== "release");
  if (outPointerParam < 0 && !returnsOnly(summary, tracked, targets)) return undefined;
  if (pointerParam >= 0) return { ...ROLES.realloc.operands, pointerParam, sizeParam };
  return { ...ROLES.malloc.operands, sizeParam, outPointerParam };
}

/**
 * True if the new block is passed to a callee, which makes a function more than a forwarder. Exceptions are `memset`
 * and the like, and parts of the allocator: Rust's `__rust_alloc_zeroed` calls one that reads a chunk's header.
 */
function receivesBlock(
  graph: CallGraph,
  callee: number,
  operands: readonly number[],
  entries: ReadonlyMap<number, Entry>,
): boolean {
  if (!operands.some((origin) => (origin & (ALL_CALL_RESULTS | COMPUTED_FROM_CALLS)) !== 0)) return false;
  if (callee < graph.imported) return false;
  if ((graph.traits[callee] & (Trait.Loops | Trait.Copies)) !== 0) return false;
  // Both functions that allocate and functions that free call such a part.
  const users = callersOf(graph, callee).filter((caller) => entries.has(caller));
  const kinds = new Set([...users].map((user) => entries.get(user)!.operands.kind));
  return !(kinds.has("allocate") && kinds.has("release"));
}

/** Returns the parameter through which the new block is stored, as by `posix_memalign`, or −1. */
function storesResultThrough(summary: BodySummary): number {
  for (const { address, value } of summary.stores) {
    if ((value & ALL_CALL_RESULTS) === 0) continue;
    for (let param = 0; param < MAXIMUM_TRACKED; param++) if (address === fromParam(param)) return param;
  }
  return -1;
}
