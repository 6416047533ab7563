// Maps addresses of code to modules. A module is made for each object when an address in it is first seen.
import { CONTROL } from "../../tools/heap/assembly/imports";
import { HostSite } from "../../contexts/assembly/layout.generated";
import { Control } from "../../tools/heap/assembly/layout.generated";
import { identify, keepName } from "./elf";
import {
  Header,
  MODULE_BYTES,
  MOST_MODULES,
  Module,
  ModuleKind,
  PIECE_BITS,
  Place,
  RULE_CACHE_BITS,
  CACHED_RULE_BYTES,
  Site,
} from "./layout.generated";
import { dlFindObject, load64, scratch, text } from "./machine";
import { mapTables } from "./map-tables";

// Offsets in the result of `_dl_find_object`.
const MAP_START = 8;
const MAP_END = 16;
const LINK_MAP = 24;
// Offsets in a link map.
const DYNAMIC_SECTION = 16;
const NEXT_MAP = 24;
const PREVIOUS_MAP = 32;

@inline
function moduleAt(index: u32): usize {
  return Place.modules + index * MODULE_BYTES;
}
@inline
function inOrder(place: u32): usize {
  return moduleAt(load<u32>(Place.moduleOrder + (place << 2)));
}

/**
 * Returns the number of modules that begin at or before an address. Another thread may insert a module
 * meanwhile, so a caller that finds nothing searches again under the lock.
 */
function placeBehind(address: u64): u32 {
  let low: u32 = 0;
  let high = load<u32>(Header.present);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (load<u64>(inOrder(middle), Module.start) <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns 0 if there is no module yet. */
export function knownModule(address: u64): usize {
  const behind = placeBehind(address);
  if (behind === 0) return 0;
  const module = inOrder(behind - 1);
  if (address >= load<u64>(module, Module.end) || load<u32>(module, Module.kind) === ModuleKind.gone)
    return 0;
  return module;
}

/**
 * Returns the module that contains an address, and makes it if there is none; 0 if there is no room. Call
 * under the lock.
 */
export function makeModule(address: u64): usize {
  const existing = knownModule(address);
  if (existing !== 0) return existing;
  const count = load<u32>(Header.modules);
  if (count === MOST_MODULES) return 0;
  const module = moduleAt(count);
  const found = scratch();
  let linkMap: u64 = 0;
  if (dlFindObject(address, found) === 0) {
    linkMap = load64(found + LINK_MAP);
    store<u64>(module, load64(found + MAP_START), Module.start);
    store<u64>(module, load64(found + MAP_END), Module.end);
    store<u64>(module, load64(linkMap), Module.bias);
    store<u32>(module, ModuleKind.object, Module.kind);
    keepName(module, load64(linkMap + 8));
    identify(module);
  } else {
    const start = (address >>> PIECE_BITS) << PIECE_BITS;
    store<u64>(module, start, Module.start);
    store<u64>(module, pieceEnd(start), Module.end);
    store<u64>(module, 0, Module.bias);
    store<u32>(module, ModuleKind.piece, Module.kind);
  }
  store<u64>(module, load<u64>(CONTROL, Control.allocations), Module.time);
  if (!giveSites(module)) return 0;
  insert(module, count);
  // A program may give up the rights by which it can read tables, so the tables of all initial objects are
  // mapped at once.
  if (count === 0 && linkMap !== 0) makeAll(linkMap);
  return module;
}

function makeAll(linkMap: u64): void {
  let map = linkMap;
  while (load64(map + PREVIOUS_MAP) !== 0) map = load64(map + PREVIOUS_MAP);
  for (; map !== 0; map = load64(map + NEXT_MAP)) {
    const inside = load64(map + DYNAMIC_SECTION);
    if (inside !== 0) makeModule(inside);
  }
}

/** Makes modules of all objects that are loaded now. Call under the lock. */
export function takeLoaded(): void {
  const found = scratch();
  if (dlFindObject(text(), found) === 0) makeAll(load64(found + LINK_MAP));
}

function pieceEnd(start: u64): u64 {
  const end = start + (1 << PIECE_BITS);
  const behind = placeBehind(start);
  if (behind === load<u32>(Header.present)) return end;
  return min(end, load<u64>(inOrder(behind), Module.start));
}

/** Returns false if the site numbers are used up. */
function giveSites(module: usize): bool {
  const first: u64 = max(load<u32>(Header.sites), Site.first);
  const end = first + (load<u64>(module, Module.end) - load<u64>(module, Module.start));
  // The heap's tables use larger site numbers for the host.
  if (end > HostSite.unsettled) return false;
  store<u32>(module, <u32>first, Module.site);
  store<u32>(Header.sites, <u32>end);
  return true;
}

function insert(module: usize, count: u32): void {
  if (load<u32>(module, Module.kind) === ModuleKind.object) mapTables(module);
  const place = placeBehind(load<u64>(module, Module.start));
  const at: usize = Place.moduleOrder + (place << 2);
  const present = load<u32>(Header.present);
  memory.copy(at + 4, at, (present - place) << 2);
  store<u32>(at, count);
  store<u32>(Header.present, present + 1);
  store<u32>(Header.modules, count + 1);
}

/** Returns true if an object is still loaded at the same addresses. */
function isThere(module: usize): bool {
  if (load<u32>(module, Module.kind) !== ModuleKind.object) return true;
  const found = scratch();
  return (
    dlFindObject(load<u64>(module, Module.start), found) === 0 &&
    load64(found + MAP_START) === load<u64>(module, Module.start) &&
    load64(found + MAP_END) <= load<u64>(module, Module.end) &&
    load64(load64(found + LINK_MAP)) === load<u64>(module, Module.bias)
  );
}

/** Removes the modules of unloaded objects from the order. They keep their sites. Call under the lock. */
export function forgetUnloaded(): void {
  const present = load<u32>(Header.present);
  let remaining: u32 = 0;
  for (let place: u32 = 0; place < present; place++) {
    const module = inOrder(place);
    if (!isThere(module)) {
      store<u32>(module, ModuleKind.gone, Module.kind);
      continue;
    }
    store<u32>(Place.moduleOrder + (remaining++ << 2), load<u32>(Place.moduleOrder + (place << 2)));
  }
  store<u32>(Header.present, remaining);
  if (remaining !== present) forgetRules();
}

/** Clears the cache of rules, and makes all threads walk their stacks anew. */
export function forgetRules(): void {
  memory.fill(Place.ruleCache, 0, CACHED_RULE_BYTES << RULE_CACHE_BITS);
  store<u32>(Header.epoch, load<u32>(Header.epoch) + 1);
}
