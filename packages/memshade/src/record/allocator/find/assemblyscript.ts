import type { WasmModule } from "../../../code/wasm/index.ts";
import { type CallGraph, calleesOf, callersOf } from "./call-graph.ts";
import { definedType, fitsOperands, type Hooks } from "./hooks.ts";
import { type AllocatorFunction, type AllocatorRole, type OperandPositions, ROLES } from "./plan.ts";

/*
 * AssemblyScript's runtimes. A block in memory, and the pointers that the functions use:
 *
 *     block            block + 4                      block + 20
 *     | size word      | header of the object (16)    | the object
 *     ^ allocateBlock  ^ __alloc, __realloc, __free   ^ __new, __renew
 *     ^ insertBlock
 *
 * The collectors free objects by `__free(object - 16)`. Optimized builds inline that down to `insertBlock`, which also
 * receives the rest of a split block and fresh memory. Neither was ever a block of the program. Addresses must
 * therefore be taken on one level: the deepest one whose functions are all present.
 */

const HEADER_BYTES = 16;
const SIZE_WORD_BYTES = 4;

const INLINED_RENEW =
  " Not all copies of growing arrays are counted, because the optimizer has inlined __renew. A build without optimization counts all.";
const LEFT_TABLES =
  " Not all copies of growing maps and sets are counted: the collector frees their old tables.";

export interface AssemblyScriptFinding {
  found: boolean;
  collector: string | undefined;
  /**
   * `__new`, `__renew` and the collector. They get no frame and their accesses are not the program's, but their
   * allocations and releases count.
   */
  wrappers: Set<number>;
  /** `__renew`, if its effects are not all visible in hooked functions */
  renewing: AllocatorFunction[];
  /** functions of the underlying allocator */
  inner: Set<number>;
  /** inner functions that put new memory on the free list: the rest of a split block, or fresh memory */
  suppliers: Set<number>;
  notes: string[];
}

/** True if names or exports are those of AssemblyScript's runtime. */
export function isAssemblyScript(module: WasmModule, names: ReadonlyMap<number, string>): boolean {
  const exported = new Set<string>();
  for (const { name } of module.exports) if (name.startsWith("__")) exported.add(name);
  if (["__new", "__pin", "__unpin"].every((name) => exported.has(name))) return true;
  for (const name of names.values()) if (name.startsWith("~lib/rt/")) return true;
  return false;
}

const releaseBlock: OperandPositions = { ...ROLES.as_free.operands, pointerParam: 1 };

/** Hooks the functions of AssemblyScript's runtime that are present in the module. */
export function findAssemblyScript(
  module: WasmModule,
  graph: CallGraph,
  names: ReadonlyMap<number, string>,
  hooks: Hooks,
): AssemblyScriptFinding {
  return new Search(module, graph, names, hooks).run();
}

/** Returns the runtime's functions by name: `tlsf/__alloc` for the name section, `__new` for exports. */
function runtimeOf(module: WasmModule, names: ReadonlyMap<number, string>): Map<string, number> {
  const runtime = new Map<string, number>();
  for (const [index, name] of names) {
    const match = /^~lib\/rt\/(\w+)\/([\w#:]+)$/.exec(name);
    if (match !== null) runtime.set(`${match[1]}/${match[2]}`, index);
  }
  for (const { name, kind, index } of module.exports)
    if (kind === "function" && /^__(?:new|renew|collect|pin|unpin|alloc|realloc|free)$/.test(name))
      runtime.set(name, index);
  return runtime;
}

class Search {
  readonly #finding: AssemblyScriptFinding = {
    found: false,
    collector: undefined,
    wrappers: new Set(),
    renewing: [],
    inner: new Set(),
    suppliers: new Set(),
    notes: [],
  };
  readonly #module: WasmModule;
  readonly #graph: CallGraph;
  readonly #names: ReadonlyMap<number, string>;
  readonly #hooks: Hooks;
  readonly #runtime: ReadonlyMap<string, number>;
  readonly #create: number | undefined;
  readonly #renew: number | undefined;
  readonly #collect: number | undefined;
  readonly #alloc: number | undefined;
  readonly #resize: number | undefined;
  readonly #free: number | undefined;

  constructor(module: WasmModule, graph: CallGraph, names: ReadonlyMap<number, string>, hooks: Hooks) {
    this.#module = module;
    this.#graph = graph;
    this.#names = names;
    this.#hooks = hooks;
    this.#runtime = runtimeOf(module, names);
    this.#create = this.#find("itcms/__new", "tcms/__new", "stub/__new", "__new");
    this.#renew = this.#find("itcms/__renew", "tcms/__renew", "stub/__renew", "__renew");
    this.#collect = this.#find("itcms/__collect", "tcms/__collect", "stub/__collect", "__collect");
    this.#alloc = this.#find("tlsf/__alloc", "stub/__alloc");
    this.#resize = this.#find("tlsf/__realloc", "stub/__realloc");
    this.#free = this.#find("tlsf/__free", "stub/__free");
  }

  run(): AssemblyScriptFinding {
    const module = this.#module;
    const graph = this.#graph;
    const finding = this.#finding;
    const create = this.#create;
    const collect = this.#collect;
    const runtime = this.#runtime;
    for (const [index, name] of this.#names)
      if (/^~lib\/rt\/(?:itcms\/|tcms\/|__visit)/.test(name)) finding.wrappers.add(index);
      else if (/^~lib\/rt\/(?:tlsf|stub)\//.test(name)) finding.inner.add(index);
    if (this.#isStub()) {
      this.#hookCalls(this.#alloc, create);
      finding.collector =
        "AssemblyScript's stub runtime never frees memory: every block stays live to the end.";
      this.#followGrowth(false);
      return finding;
    }
    const parts = create === undefined ? undefined : findParts(module, graph, create, collect, runtime);
    const isIncremental = runtime.has("itcms/__new") || parts?.isIncremental === true;
    finding.collector = isIncremental
      ? "Blocks are freed by AssemblyScript's incremental collector: a lifetime ends when the collector sweeps, not when the last reference goes."
      : "Blocks are freed by AssemblyScript's collector: a lifetime ends when it sweeps, not when the last reference goes.";
    if (this.#isWhole(isIncremental)) this.#hookCalls(this.#alloc);
    else this.#hookParts(parts, isIncremental);
    this.#followGrowth(isIncremental);
    return finding;
  }

  /**
   * Follows `__renew`, which makes arrays and strings larger. It uses `__realloc`, or with the incremental collector a
   * new object; the old one stays until the collector sweeps. If neither can be hooked, the profile says so.
   */
  #followGrowth(isIncremental: boolean): void {
    const finding = this.#finding;
    const renew = this.#renew;
    const resize = this.#resize;
    const create = this.#create;
    // Optimizers inline the code that makes the new table, but keep at least one function of the class.
    if (finding.found && this.#hasFunction(/^~lib\/(?:map|set)\//)) finding.collector += LEFT_TABLES;
    if (!finding.found || (!isIncremental && resize !== undefined && this.#hooks.has(resize))) return;
    const type = renew === undefined ? undefined : definedType(this.#module, renew);
    const { operands } = ROLES.as_renew;
    if (renew !== undefined && type !== undefined && fitsOperands(type, operands)) {
      // The header belongs to the block, unless objects themselves are recorded.
      const header = create !== undefined && this.#hooks.has(create) ? 0 : HEADER_BYTES;
      const details = { pointerOffset: -header, sizeOffset: header };
      finding.renewing.push(this.#hooks.describe(renew, "as_renew", operands, details));
    } else if (this.#names.size === 0 || this.#hasFunction(/^~lib\/array\/(?:ensureCapacity|.*#push)$/))
      finding.collector += INLINED_RENEW;
  }

  #hasFunction(name: RegExp): boolean {
    return [...this.#names.values()].some((other) => name.test(other));
  }

  #find(...keys: string[]): number | undefined {
    return keys.map((key) => this.#runtime.get(key)).find((index) => index !== undefined);
  }

  #isStub(): boolean {
    if ([...this.#runtime.keys()].some((key) => key.startsWith("stub/"))) return true;
    // The stub runtime's __collect is an empty function.
    const collect = this.#collect;
    const graph = this.#graph;
    return this.#names.size === 0 && collect !== undefined && graph.instructions[collect] <= 2;
  }

  /** True if all blocks come from `__alloc` and go to `__free`. */
  #isWhole(isIncremental: boolean): boolean {
    const graph = this.#graph;
    const create = this.#create;
    const renew = this.#renew;
    const alloc = this.#alloc;
    const resize = this.#resize;
    const free = this.#free;
    if (alloc === undefined || free === undefined) return false;
    return (
      callsFromCollector(graph, this.#runtime, free) &&
      (create === undefined || calleesOf(graph, create).includes(alloc)) &&
      (renew === undefined || isIncremental || resize !== undefined)
    );
  }

  /** Hooks the first possible function of `allocating`, and `__realloc` and `__free` if present. */
  #hookCalls(...allocating: (number | undefined)[]): void {
    this.#finding.found = allocating.some((index) => this.#hook(index, "as_new", ROLES.as_new.operands));
    this.#hook(this.#resize, "as_renew", ROLES.as_renew.operands);
    this.#hook(this.#free, "as_free", ROLES.as_free.operands);
    this.#fold(this.#create, this.#renew);
  }

  /** Handles inlined `__alloc` and `__free`: hooks the deepest remaining functions of both. */
  #hookParts(parts: AssemblyScriptParts | undefined, isIncremental: boolean): void {
    const finding = this.#finding;
    const graph = this.#graph;
    if (parts?.insertBlock === undefined) {
      finding.collector = undefined;
      finding.notes.push(
        "The free function of AssemblyScript's collector was not found, because its functions have no names.",
      );
      return;
    }
    const { insertBlock, allocateBlock, suppliers } = parts;
    for (const index of parts.sweepers) finding.wrappers.add(index);
    if (allocateBlock !== undefined && !isIncremental) {
      const above = leadingTo(graph, allocateBlock);
      finding.suppliers = new Set([...suppliers].filter((index) => !above.has(index)));
      const operands = { ...ROLES.as_new.operands, sizeParam: 1 };
      finding.found = this.#hook(allocateBlock, "as_new", operands, SIZE_WORD_BYTES);
      this.#hook(insertBlock, "as_free", releaseBlock, SIZE_WORD_BYTES);
      this.#hook(this.#resize, "as_renew", ROLES.as_renew.operands);
      if (this.#resize === undefined)
        finding.notes.push(
          "__realloc is inlined: a block that grows in place keeps the size it was allocated with.",
        );
      this.#fold(this.#create, this.#renew, this.#alloc);
    } else if (isIncremental) {
      finding.suppliers = suppliers;
      finding.found = this.#hook(this.#create, "as_new", ROLES.as_new.operands);
      this.#hook(insertBlock, "as_free", releaseBlock, HEADER_BYTES + SIZE_WORD_BYTES);
      // An object that it moves stays a block until the collector sweeps it.
      this.#fold(this.#renew);
      finding.notes.push(
        "AssemblyScript's __alloc and __free are inlined: objects are counted without their 16-byte header, blocks from heap.alloc are not tracked.",
      );
    } else finding.notes.push("The allocation function of AssemblyScript's runtime was not found.");
  }

  #hook(
    index: number | undefined,
    role: AllocatorRole,
    operands: OperandPositions,
    pointerOffset = 0,
  ): boolean {
    const type = index === undefined ? undefined : definedType(this.#module, index);
    if (index === undefined || type === undefined || !fitsOperands(type, operands)) return false;
    this.#hooks.add(index, role, operands, { pointerOffset });
    return true;
  }

  #fold(...indices: (number | undefined)[]): void {
    for (const index of indices)
      if (index !== undefined && !this.#hooks.has(index)) this.#finding.wrappers.add(index);
  }
}

/** True if the collector calls `__free` itself, or the runtime's `free` around it. */
function callsFromCollector(graph: CallGraph, runtime: ReadonlyMap<string, number>, free: number): boolean {
  const sweepers = ["itcms/free", "itcms/step", "tcms/__collect", "__collect"];
  const present = sweepers.map((key) => runtime.get(key)).filter((index) => index !== undefined);
  // The minimal runtime drops an unused collector. Only `__free` itself frees then.
  return present.length === 0 || present.some((index) => calleesOf(graph, index).includes(free));
}

interface AssemblyScriptParts {
  insertBlock: number | undefined;
  allocateBlock: number | undefined;
  isIncremental: boolean;
  sweepers: Set<number>;
  suppliers: Set<number>;
}

/**
 * Longest call path: `__new`, `__alloc`, `allocateBlock`, `growMemory`, `addMemory`, `insertBlock`; and one more for a
 * wrapper.
 */
const DEPTH = 6;
/** Size limit of setters. Unoptimized builds have functions that only set a field. */
const SETTER_INSTRUCTIONS = 60;

/**
 * Finds the parts below `__new` and `__collect`, by name or by their callers. Blocks return to the free list by
 * `insertBlock`, which takes the allocator's root and a block, and calls `removeBlock` to merge free neighbors. The
 * collector calls it for garbage; `__new` reaches it for new memory. Both call the incremental collector's `step`.
 */
function findParts(
  module: WasmModule,
  graph: CallGraph,
  create: number,
  collect: number | undefined,
  runtime: ReadonlyMap<string, number>,
): AssemblyScriptParts {
  const hasShape = (index: number, params: number, results: number) => {
    const type = definedType(module, index);
    return type?.params.length === params && type.results.length === results;
  };
  const step = runtime.get("itcms/step");
  const steps = new Set(step === undefined ? [] : [step]);
  if (collect !== undefined) {
    const fromCreate = reachable(graph, [create], DEPTH);
    for (const index of reachable(graph, [collect], 2))
      if (hasShape(index, 0, 1) && fromCreate.has(index)) steps.add(index);
  }
  const isIncremental = steps.size > 0;
  if (collect !== undefined) steps.add(collect);
  const fromAllocation = reachable(graph, [create], DEPTH, steps);
  const fromSweep = reachable(graph, [...steps], DEPTH);
  const isInsertBlock = (index: number) =>
    fromSweep.has(index) &&
    hasShape(index, 2, 0) &&
    graph.instructions[index] > SETTER_INSTRUCTIONS &&
    calleesOf(graph, index).some((callee) => callee !== index && hasShape(callee, 2, 0));
  const insertBlock = runtime.get("tlsf/insertBlock") ?? sole([...fromAllocation].filter(isInsertBlock));
  const ways = insertBlock === undefined ? new Set<number>() : leadingTo(graph, insertBlock);
  const suppliers = new Set([...fromAllocation].filter((index) => index !== create && ways.has(index)));
  const allocateBlock =
    runtime.get("tlsf/allocateBlock") ?? sole([...suppliers].filter((index) => hasShape(index, 2, 1)));
  const sweepers = new Set([...fromSweep].filter((index) => !fromAllocation.has(index) && ways.has(index)));
  if (collect !== undefined) sweepers.add(collect);
  return { insertBlock, allocateBlock, isIncremental, sweepers, suppliers };
}

const sole = (found: readonly number[]) => (found.length === 1 ? found[0] : undefined);

/** Returns the functions from which a few direct calls lead to `to`, without `to`. */
function leadingTo(graph: CallGraph, to: number): Set<number> {
  const found = spread([to], DEPTH, (index) => callersOf(graph, index));
  found.delete(to);
  return found;
}

/** Returns the functions within `depth` direct calls of `from`, on paths that avoid `except`. */
function reachable(
  graph: CallGraph,
  from: readonly number[],
  depth: number,
  except: ReadonlySet<number> = new Set(),
): Set<number> {
  return spread(from, depth, (index) => calleesOf(graph, index).filter((callee) => !except.has(callee)));
}

function spread(
  from: readonly number[],
  depth: number,
  nextOf: (index: number) => Iterable<number>,
): Set<number> {
  const seen = new Set(from);
  let level = from;
  for (let i = 0; i < depth; i++) {
    const next: number[] = [];
    for (const index of level)
      for (const other of nextOf(index)) {
        if (seen.has(other)) continue;
        seen.add(other);
        next.push(other);
      }
    level = next;
  }
  return seen;
}
