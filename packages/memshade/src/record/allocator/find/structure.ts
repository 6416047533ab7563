import { type FuncType, functionType, I32, type WasmModule } from "../../../code/wasm/index.ts";
import type { ModuleScan } from "../../rewrite/facts/module-scan.ts";
import { type CallGraph, calleesOf, callersOf, Trait } from "./call-graph.ts";
import { addressesOf, countShared, countUsers } from "./state-addresses.ts";

/*
 * dlmalloc without names. Nearly every C, C++ and Rust module contains some version of it. Its outline survives
 * optimizers: one very large function that takes a size and can grow the memory, and a smaller one without result that
 * works on the same static structure.
 */

/** A pair recognized by shape. `sharedAddresses`: number of static addresses that both use. */
export interface StructuralPair {
  malloc: number;
  free: number;
  sharedAddresses: number;
}

const MALLOC_MINIMUM_INSTRUCTIONS = 1500;
const SBRK_MAXIMUM_INSTRUCTIONS = 80;
const FREE_INSTRUCTIONS = { minimum: 200, maximum: 1200 };
/** An address used by more functions belongs to the program, not to the allocator. */
const MAXIMUM_USERS = 12;
/** Fewer shared addresses are a coincidence. */
const MINIMUM_SHARED = 4;

const isSignature = (type: FuncType, params: number, results: number) =>
  type.params.length === params &&
  type.results.length === results &&
  type.params.every((param) => param === I32) &&
  type.results.every((result) => result === I32);

/** Returns functions that grow the memory, themselves or (Emscripten's `sbrk`) through the host. */
function findGrowers(module: WasmModule, graph: CallGraph): Set<number> {
  const growers = new Set<number>();
  for (let index = graph.imported; index < graph.count; index++)
    if ((graph.traits[index] & Trait.Grows) !== 0) {
      // A malloc that grows the memory itself (Rust) is not called by another malloc.
      if (graph.instructions[index] <= MALLOC_MINIMUM_INSTRUCTIONS) growers.add(index);
    } else if (
      graph.instructions[index] < SBRK_MAXIMUM_INSTRUCTIONS &&
      isSignature(functionType(module, index), 1, 1)
    ) {
      const asksHost = (callee: number) =>
        callee < graph.imported && isSignature(functionType(module, callee), 1, 1);
      if (calleesOf(graph, index).some(asksHost)) growers.add(index);
    }
  return growers;
}

export function findMallocCandidates(module: WasmModule, graph: CallGraph): number[] {
  const growers = findGrowers(module, graph);
  const candidates: number[] = [];
  for (let index = graph.imported; index < graph.count; index++) {
    if (graph.instructions[index] <= MALLOC_MINIMUM_INSTRUCTIONS) continue;
    if (!isSignature(functionType(module, index), 1, 1)) continue;
    const grows = (graph.traits[index] & Trait.Grows) !== 0;
    if (grows || calleesOf(graph, index).some((callee) => growers.has(callee))) candidates.push(index);
  }
  return candidates;
}

/**
 * Returns the function that shares `malloc`'s static structure and has the outline of `free`. Returns undefined if none
 * shares enough, or if two share the same number.
 */
export function findFreeFor(
  module: WasmModule,
  graph: CallGraph,
  malloc: number,
): StructuralPair | undefined {
  const addresses = stateOf(module, graph.scan, malloc);
  let best: StructuralPair | undefined;
  let runnerUp = 0;
  for (let index = graph.imported; index < graph.count; index++) {
    const size = graph.instructions[index];
    if (size < FREE_INSTRUCTIONS.minimum || size > FREE_INSTRUCTIONS.maximum || index === malloc) continue;
    if (!isSignature(functionType(module, index), 1, 0)) continue;
    let shared = 0;
    for (const address of addressesOf(module, graph.scan, index)) if (addresses.has(address)) shared++;
    if (shared > (best?.sharedAddresses ?? 0)) {
      runnerUp = best?.sharedAddresses ?? 0;
      best = { malloc, free: index, sharedAddresses: shared };
    } else runnerUp = Math.max(runnerUp, shared);
  }
  return best !== undefined && best.sharedAddresses >= MINIMUM_SHARED && best.sharedAddresses > runnerUp
    ? best
    : undefined;
}

/**
 * True if only `malloc` and its callees use its static structure. Linkers drop `free` from a program that never calls
 * it.
 */
export function isAloneWithState(module: WasmModule, graph: CallGraph, malloc: number): boolean {
  const state = stateOf(module, graph.scan, malloc);
  if (state.size < MINIMUM_SHARED) return false;
  const parts = new Set([malloc]);
  for (const part of parts) for (const callee of calleesOf(graph, part)) parts.add(callee);
  for (let index = graph.imported; index < graph.count; index++)
    if (!parts.has(index) && countShared(module, graph.scan, index, state) >= MINIMUM_SHARED) return false;
  return true;
}

/** Returns the static addresses of `malloc` that few other functions use. */
function stateOf(module: WasmModule, scan: ModuleScan, malloc: number): Set<number> {
  const addresses = new Set<number>();
  for (const [address, count] of countUsers(scan, addressesOf(module, scan, malloc)))
    if (count <= MAXIMUM_USERS) addresses.add(address);
  return addresses;
}

/** Returns all dlmallocs of a module without names for them, and the candidates for `malloc`. */
export function findByStructure(
  module: WasmModule,
  graph: CallGraph,
): { pairs: StructuralPair[]; candidates: number[] } {
  const candidates = findMallocCandidates(module, graph);
  const pairs: StructuralPair[] = [];
  for (const malloc of candidates) {
    if (callersOf(graph, malloc).length === 0 && (graph.traits[malloc] & Trait.Escapes) === 0) continue;
    const pair = findFreeFor(module, graph, malloc);
    if (pair !== undefined && !pairs.some((other) => other.free === pair.free)) pairs.push(pair);
  }
  return { pairs, candidates };
}
