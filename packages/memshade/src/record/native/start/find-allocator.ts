import { basename } from "node:path";
import type { LoadedObject } from "../../../names/load/objects.ts";
import { ALIGNED_OPERATORS, isSeen } from "../image/functions.ts";
import { type DynamicSymbols, dynamicSymbols } from "./dynamic-symbols.ts";

export interface FoundAllocator {
  /**
   * Exports of an allocator that the program links or preloads, with their addresses; empty for the C
   * library's.
   */
  foreign: ReadonlyMap<string, number>;
  /** Sentences about allocations that will not be recorded. */
  notes: string[];
}

/** Function that only the C library exports. */
const START = "__libc_start_main";
const CXX_LIBRARY = /^libstdc\+\+\.so/;
/** Names that only other allocators have for functions that allocate or free blocks. */
const OWN_NAME =
  /^(?:(?:x|r|s|sd|d)?allocx|mallocx|tc_(?:\w*alloc\w*|new\w*|delete\w*|free\w*)|mi_(?:\w*alloc\w*|new\w*|free\w*|strn?dup|realpath|heap_\w*(?:alloc|dup|new)\w*))$/;
/** Names of functions that only describe blocks. */
const TELLING = /usable|good_size|_stats|mallopt|_hook/;
/** Names of allocators that are linked into programs. */
const LINKED_IN = ["je_malloc", "_rjem_malloc", "rpmalloc", "mi_malloc", "tc_malloc", "snmalloc_alloc"];

/**
 * Returns the functions that child processes may have too. A child may have another allocator without these
 * names, and operators of its own where the C library is the allocator.
 */
export function sharedWithChildren(foreign: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  return new Map(foreign.has("malloc") ? [...foreign].filter(([name]) => !OWN_NAME.test(name)) : []);
}

/** @param objects the program and its initial objects, in the order of symbol lookup */
export function findAllocator(objects: readonly LoadedObject[]): FoundAllocator {
  const initial = objects.map(({ path, object }) => ({ path, object, ...dynamicSymbols(object) }));
  const [program] = initial;
  const isNamed = initial.find(({ defined }) => defined.has("malloc"));
  const name = basename(program.path);
  if (isNamed === program)
    return {
      foreign: new Map(),
      notes: [`${name} has its own allocator (malloc): its blocks are not recorded.`],
    };
  const foreign =
    isNamed === undefined || isNamed.defined.has(START) ? alignedOperators(initial) : isNamed.defined;
  const notes = unseenNames(initial, foreign);
  const linked = linkedIn(program);
  if (linked !== undefined)
    notes.push(`${name} has its own allocator (${linked}): its blocks are not recorded.`);
  return { foreign, notes };
}

/**
 * Returns the C++ operators for large alignments, if all of them are the C++ library's, which rounds sizes up
 * before it calls the C library. A replaced operator must be called, also by the others.
 */
function alignedOperators(initial: readonly (LoadedObject & DynamicSymbols)[]): ReadonlyMap<string, number> {
  const [library, ...otherLibraries] = new Set(
    ALIGNED_OPERATORS.map((name) => initial.find(({ defined }) => defined.has(name))),
  );
  if (library === undefined || otherLibraries.length > 0 || !CXX_LIBRARY.test(basename(library.path)))
    return new Map();
  return new Map(ALIGNED_OPERATORS.map((name) => [name, library.defined.get(name)!]));
}

function unseenNames(
  initial: readonly (LoadedObject & DynamicSymbols)[],
  foreign: ReadonlyMap<string, number>,
): string[] {
  return initial.flatMap(({ path, wanted, defined }) => {
    if (defined === foreign) return [];
    const names = [...wanted].filter(
      (name) => OWN_NAME.test(name) && !TELLING.test(name) && foreign.has(name) && !isSeen(name, foreign),
    );
    if (names.length === 0) return [];
    return [
      `${basename(path)} calls functions of its allocator that are not recorded: ${names.sort().join(", ")}.`,
    ];
  });
}

function linkedIn({ object, wanted }: LoadedObject & DynamicSymbols): string | undefined {
  const names = object.section(".strtab");
  if (names === undefined) return undefined;
  const text = Buffer.from(names.buffer, names.byteOffset, names.byteLength);
  return LINKED_IN.find((name) => !wanted.has(name) && text.includes(`\0${name}\0`));
}
