// Maps an address to its rule and its site, through a cache: most addresses of a program's stacks occur again
// and again.
import {
  CACHED_RULE_BYTES,
  Header,
  Module,
  ModuleKind,
  Place,
  ROOM_MAY_NOT_WAIT,
  Rule,
  RULE_CACHE_BITS,
  RuleKind,
  Site,
} from "./layout.generated";
import { lock, monotonic, processAddress, unlock } from "./lock";
import { load64, load8, syscall2 } from "./machine";
import { hasKey, mapTables, mayHaveTables } from "./map-tables";
import { forgetRules, knownModule, makeModule } from "./modules";
import { NANOSLEEP } from "./system-calls";
import { ruleAt } from "./tables";

const STEP_NS: u64 = 1_000_000;

@inline
export function kindOf(rule: u64): u32 {
  return <u32>rule & Rule.kindMask;
}

/**
 * Returns the rule at an address in the low 32 bits and its site in the high 32 bits. Threads write to the
 * cache without a lock; the address of a torn entry does not match. `room`: 32 bytes of the thread's own.
 */
@inline
export function ruleOf(address: u64, room: usize): u64 {
  const at: usize = Place.ruleCache + (<u32>address & ((1 << RULE_CACHE_BITS) - 1)) * CACHED_RULE_BYTES;
  const rule = load<u64>(at, 8);
  return (load<u64>(at) ^ rule) === address ? rule : lookUp(address, at, room);
}

function lookUp(address: u64, at: usize, room: usize): u64 {
  let module = knownModule(address);
  if (module === 0 || mayHaveTables(module)) {
    module = makeModuleAt(address, room);
    if (module === 0) return RuleKind.other | ((<u64>Site.unknown) << 32);
  }
  const rule: u64 = <u64>ruleIn(module, address) | ((<u64>siteIn(module, address)) << 32);
  store<u64>(at, address ^ rule);
  store<u64>(at, rule, 8);
  return rule;
}

@inline
function siteIn(module: usize, address: u64): u32 {
  return load<u32>(module, Module.site) + <u32>(address - load<u64>(module, Module.start));
}

/**
 * Makes the module of an address, and maps its tables if there are new ones. Returns 0 if the module cannot
 * be made now.
 */
function makeModuleAt(address: u64, room: usize): usize {
  if (load<u32>(room, ROOM_MAY_NOT_WAIT) !== 0 || !lock(room)) return 0;
  const module = makeModule(address);
  if (module !== 0 && mayHaveTables(module)) takeTables(module);
  unlock();
  if (module !== 0 && load<u32>(module, Module.kind) === ModuleKind.object) waitForTables(module, room);
  return module;
}

function takeTables(module: usize): void {
  mapTables(module);
  if (load<u64>(module, Module.table) !== 0) forgetRules();
}

/** Waits for tables that the parent makes on request: they serve for the rest of the run. */
function waitForTables(module: usize, room: usize): void {
  const patience: u64 = load<u32>(Header.tablesWait);
  if (patience === 0 || load<u64>(module, Module.table) !== 0) return;
  if (!hasKey(module)) return;
  const end = monotonic(room) + patience * 1_000_000;
  while (load<u64>(module, Module.table) === 0 && monotonic(room) < end) {
    store<u64>(room, 0, 16);
    store<u64>(room, STEP_NS, 24);
    syscall2(NANOSLEEP, processAddress(room + 16), 0);
    if (!mayHaveTables(module)) continue;
    if (!lock(room)) return;
    if (mayHaveTables(module)) takeTables(module);
    unlock();
    // The parent has made all tables that it could make.
    return;
  }
}

/** Returns the rule of the call that ends before `address` + 1, or of the instruction at `address`. */
function ruleIn(module: usize, address: u64): u32 {
  const table = load<u64>(module, Module.table);
  const next = address + 1;
  if (table === 0) return isTrampoline(module, next) ? RuleKind.signal : RuleKind.other;
  const bias = load<u64>(module, Module.bias);
  const rule = ruleAt(table, address - bias);
  if (kindOf(rule) === RuleKind.signal) return rule;
  // The rules of a trampoline may begin only at its first instruction, and the trampoline of Go has rules of
  // an ordinary function.
  const own = ruleAt(table, next - bias);
  if (kindOf(own) === RuleKind.signal) return own;
  if ((kindOf(rule) === RuleKind.none || (next & 15) === 0) && isTrampoline(module, next))
    return RuleKind.signal;
  // No call precedes the first instruction of a function: `makecontext` has put its address on the stack.
  return kindOf(rule) === RuleKind.none && kindOf(own) !== RuleKind.none ? RuleKind.end : rule;
}

/** Matches `mov $15, %rax; syscall`. */
function isTrampoline(module: usize, address: u64): bool {
  if (load<u32>(module, Module.kind) !== ModuleKind.object) return false;
  if (address + 9 > load<u64>(module, Module.end)) return false;
  return load64(address) === 0x0f00_0000_0fc0_c748 && load8(address + 8) === 5;
}
