import type { WasmModule } from "../../wasm/index.ts";
import { type CallGraph, calleesOf, callersOf } from "./call-graph.ts";
import { definedType, fitsOperands, type Hooks } from "./hooks.ts";
import type { AllocatorRole, OperandPositions } from "./plan.ts";
import { ROLES } from "./plan.ts";

/*
 * AssemblyScript's runtimes. A block in memory, and the pointers that its functions hand around:
 *
 *     block            block + 4                      block + 20
 *     | size word      | header of the object (16)    | the object
 *     ^ allocateBlock  ^ __alloc, __realloc, __free   ^ __new, __renew
 *     ^ insertBlock
 *
 * The collectors free objects by `__free(object - 16)`, which optimised builds inline, down to `insertBlock` (it also
 * gets the rest of a split block and fresh memory, which never are blocks that the program holds). So the
 * addresses must be taken on one level: the deepest one whose functions are all there.
 */

const HEADER_BYTES = 16;
const SIZE_WORD_BYTES = 4;

export interface AssemblyScriptFinding {
  found: boolean;
  collector: string | undefined;
  /**
   * `__new`, `__renew` and the collector: they get no frame and their accesses are not the program's, but what
   * they allocate and free counts.
   */
  wrappers: Set<number>;
  /** functions of the allocator below */
  inner: Set<number>;
  /** those of them that put memory on the free list which no block has held: the rest of a split one, fresh memory */
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

const OBJECT_LEVEL = "objects are counted without their 16-byte header";

/** Hooks what is left of AssemblyScript's runtime in the module. */
export function findAssemblyScript(
  module: WasmModule,
  graph: CallGraph,
  names: ReadonlyMap<number, string>,
  hooks: Hooks,
): AssemblyScriptFinding {
  const runtime = new Map<string, number>();
  const finding: AssemblyScriptFinding = {
    found: false,
    collector: "",
    wrappers: new Set(),
    inner: new Set(),
    suppliers: new Set(),
    notes: [],
  };
  for (const [index, name] of names) {
    const match = /^~lib\/rt\/(\w+)\/([\w#:]+)$/.exec(name);
    if (match !== null) runtime.set(`${match[1]}/${match[2]}`, index);
    if (/^~lib\/rt\/(?:itcms\/|tcms\/|__visit)/.test(name)) finding.wrappers.add(index);
    else if (/^~lib\/rt\/(?:tlsf|stub)\//.test(name)) finding.inner.add(index);
  }
  for (const { name, kind, index } of module.exports) {
    if (kind === "function" && /^__(?:new|renew|collect|pin|unpin|alloc|realloc|free)$/.test(name))
      runtime.set(name, index);
  }
  const find = (...keys: string[]) =>
    keys.map((key) => runtime.get(key)).find((index) => index !== undefined);

  const hook = (
    index: number | undefined,
    role: AllocatorRole,
    operands: OperandPositions,
    pointerOffset = 0,
  ) => {
    const type = index === undefined ? undefined : definedType(module, index);
    if (index === undefined || type === undefined || !fitsOperands(type, operands)) return false;
    hooks.add(index, role, operands, { pointerOffset });
    return true;
  };
  const fold = (...indices: (number | undefined)[]) => {
    for (const index of indices) if (index !== undefined && !hooks.has(index)) finding.wrappers.add(index);
  };

  const create = find("itcms/__new", "tcms/__new", "stub/__new", "__new");
  const renew = find("itcms/__renew", "tcms/__renew", "stub/__renew", "__renew");
  const collect = find("itcms/__collect", "tcms/__collect", "stub/__collect", "__collect");
  // The stub runtime's __collect is an empty function.
  const isStub =
    [...runtime.keys()].some((key) => key.startsWith("stub/")) ||
    (names.size === 0 && collect !== undefined && graph.instructions[collect] <= 2);
  const alloc = find("tlsf/__alloc", "stub/__alloc");
  const resize = find("tlsf/__realloc", "stub/__realloc");
  const free = find("tlsf/__free", "stub/__free");
  const parts = create === undefined ? undefined : findParts(module, graph, create, collect, runtime);
  const insertBlock = parts?.insertBlock;
  const allocateBlock = parts?.allocateBlock;
  const isIncremental = runtime.has("itcms/__new") || parts?.isIncremental === true;

  if (isStub) {
    finding.found =
      hook(alloc, "as_new", ROLES.as_new.operands) || hook(create, "as_new", ROLES.as_new.operands);
    hook(resize, "as_renew", ROLES.as_renew.operands);
    hook(free, "as_free", ROLES.as_free.operands);
    fold(create, renew);
    finding.collector =
      "AssemblyScript's stub runtime never frees memory: every block stays live to the end.";
    return finding;
  }

  finding.collector = isIncremental
    ? "Blocks are freed by AssemblyScript's incremental collector: a lifetime ends when the collector sweeps, not when the last reference goes."
    : "Blocks are freed by AssemblyScript's collector: a lifetime ends when it sweeps, not when the last reference goes.";
  const collectorFrees = free !== undefined && callsFromCollector(graph, runtime, free);
  const isWhole =
    alloc !== undefined &&
    collectorFrees &&
    (create === undefined || calleesOf(graph, create).includes(alloc)) &&
    (renew === undefined || isIncremental || resize !== undefined);
  if (isWhole) {
    finding.found = hook(alloc, "as_new", ROLES.as_new.operands);
    hook(resize, "as_renew", ROLES.as_renew.operands);
    hook(free, "as_free", ROLES.as_free.operands);
    fold(create, renew);
    return finding;
  }
  if (parts === undefined || insertBlock === undefined) {
    finding.collector = undefined;
    finding.notes.push(
      "Where AssemblyScript's collector frees blocks was not found (its functions have no names).",
    );
    return finding;
  }
  for (const index of parts.sweepers) finding.wrappers.add(index);
  if (allocateBlock !== undefined && !isIncremental) {
    const above = leadingTo(graph, allocateBlock, DEPTH);
    finding.suppliers = new Set([...parts.suppliers].filter((index) => !above.has(index)));
    const operands = { ...ROLES.as_new.operands, sizeParam: 1 };
    finding.found = hook(allocateBlock, "as_new", operands, SIZE_WORD_BYTES);
    hook(insertBlock, "as_free", releaseBlock, SIZE_WORD_BYTES);
    hook(resize, "as_renew", ROLES.as_renew.operands);
    if (resize === undefined)
      finding.notes.push(
        "__realloc is inlined: a block that grows in place keeps the size it was allocated with.",
      );
    fold(create, renew, alloc);
  } else if (isIncremental) {
    finding.suppliers = parts.suppliers;
    finding.found = hook(create, "as_new", ROLES.as_new.operands);
    hook(insertBlock, "as_free", releaseBlock, HEADER_BYTES + SIZE_WORD_BYTES);
    // What it moves stays a block until the collector sweeps it.
    fold(renew);
    finding.notes.push(
      `AssemblyScript's __alloc and __free are inlined: ${OBJECT_LEVEL}, blocks from heap.alloc are not tracked.`,
    );
  } else finding.notes.push("Where AssemblyScript's runtime allocates blocks was not found.");
  return finding;
}

const releaseBlock: OperandPositions = { ...ROLES.as_free.operands, pointerParam: 1 };

/** The collector calls `__free` itself, or the runtime's `free` around it. */
function callsFromCollector(graph: CallGraph, runtime: ReadonlyMap<string, number>, free: number): boolean {
  const sweepers = ["itcms/free", "itcms/step", "tcms/__collect", "__collect"];
  const present = sweepers.map((key) => runtime.get(key)).filter((index) => index !== undefined);
  // Without a collector in the module (the minimal runtime drops an unused one) only `__free` itself frees.
  return present.length === 0 || present.some((index) => calleesOf(graph, index).includes(free));
}

interface Parts {
  insertBlock: number | undefined;
  allocateBlock: number | undefined;
  isIncremental: boolean;
  sweepers: Set<number>;
  suppliers: Set<number>;
}

const DEPTH = 6;
/** Unoptimised builds have functions that only set a field. */
const SETTER_INSTRUCTIONS = 60;

/**
 * The parts below `__new` and `__collect`, by their names or by who calls them. Blocks come back to the free list by
 * `insertBlock`, which takes the allocator's root and a block, and calls `removeBlock` to merge free neighbours. The
 * collector calls it for garbage; `__new` has it called for memory that no block has held. The incremental collector's
 * `step` is called by both.
 */
function findParts(
  module: WasmModule,
  graph: CallGraph,
  create: number,
  collect: number | undefined,
  runtime: ReadonlyMap<string, number>,
): Parts {
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
  const ways = insertBlock === undefined ? new Set<number>() : leadingTo(graph, insertBlock, DEPTH);
  const suppliers = new Set([...fromAllocation].filter((index) => index !== create && ways.has(index)));
  const allocateBlock =
    runtime.get("tlsf/allocateBlock") ?? sole([...suppliers].filter((index) => hasShape(index, 2, 1)));
  const sweepers = new Set([...fromSweep].filter((index) => !fromAllocation.has(index) && ways.has(index)));
  if (collect !== undefined) sweepers.add(collect);
  return { insertBlock, allocateBlock, isIncremental, sweepers, suppliers };
}

const sole = (found: readonly number[]) => (found.length === 1 ? found[0] : undefined);

/** Functions from which `depth` direct calls lead to `to`, without itself. */
function leadingTo(graph: CallGraph, to: number, depth: number): Set<number> {
  const found = spread([to], depth, (index) => callersOf(graph, index));
  found.delete(to);
  return found;
}

/** Functions within `depth` direct calls of `from`, on paths that avoid `except`. */
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
