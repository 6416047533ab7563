import type { WasmModule } from "../../wasm/index.ts";
import { type CallGraph, calleesOf } from "./call-graph.ts";
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
  collector: string;
  /**
   * `__new`, `__renew` and the collector: they get no frame and their accesses are not the program's, but what
   * they allocate and free counts.
   */
  wrappers: Set<number>;
  /** functions of the allocator below */
  inner: Set<number>;
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
  const allocateBlock = find("tlsf/allocateBlock");
  const insertBlock = find("tlsf/insertBlock") ?? findInsertBlock(module, graph, create, collect);
  const isIncremental = runtime.has("itcms/__new");

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
  if (insertBlock === undefined) {
    finding.notes.push(
      "Where AssemblyScript's collector frees blocks was not found (its functions have no names).",
    );
    return finding;
  }
  foldSweepers(graph, collect, insertBlock, finding.wrappers);
  const releaseBlock: OperandPositions = { ...ROLES.as_free.operands, pointerParam: 1 };
  if (allocateBlock !== undefined && !isIncremental) {
    finding.found = hook(
      allocateBlock,
      "as_new",
      { ...ROLES.as_new.operands, sizeParam: 1 },
      SIZE_WORD_BYTES,
    );
    hook(insertBlock, "as_free", releaseBlock, SIZE_WORD_BYTES);
    hook(resize, "as_renew", ROLES.as_renew.operands);
    if (resize === undefined)
      finding.notes.push(
        "__realloc is inlined: a block that grows in place keeps the size it was allocated with.",
      );
    fold(create, renew, alloc);
  } else {
    finding.found = hook(create, "as_new", ROLES.as_new.operands);
    hook(renew, "as_renew", ROLES.as_renew.operands);
    hook(insertBlock, "as_free", releaseBlock, HEADER_BYTES + SIZE_WORD_BYTES);
    finding.notes.push(
      `AssemblyScript's __alloc and __free are inlined: ${OBJECT_LEVEL}, blocks from heap.alloc are not tracked.`,
    );
  }
  return finding;
}

/** The collector calls `__free` itself, or the runtime's `free` around it. */
function callsFromCollector(graph: CallGraph, runtime: ReadonlyMap<string, number>, free: number): boolean {
  const sweepers = ["itcms/free", "itcms/step", "tcms/__collect", "__collect"];
  const present = sweepers.map((key) => runtime.get(key)).filter((index) => index !== undefined);
  // Without a collector in the module (the minimal runtime drops an unused one) only `__free` itself frees.
  return present.length === 0 || present.some((index) => calleesOf(graph, index).includes(free));
}

/**
 * Without names: the incremental collector's `step`, which `__collect` and `__new` have in common, gives blocks back
 * to the free list by the function that `__new` uses for the rest of a block that it splits. That one takes
 * the allocator's root and a block, and calls `removeBlock` to merge free neighbours.
 */
function findInsertBlock(
  module: WasmModule,
  graph: CallGraph,
  create: number | undefined,
  collect: number | undefined,
): number | undefined {
  if (create === undefined || collect === undefined) return undefined;
  const isCandidate = (index: number) => {
    const type = definedType(module, index);
    const takesRootAndBlock = type?.params.length === 2 && type.results.length === 0;
    return takesRootAndBlock && calleesOf(graph, index).length > 0 && graph.instructions[index] > 60;
  };
  const fromCreate = reachable(graph, create, 3);
  const isStep = (index: number) => {
    const type = definedType(module, index);
    return type?.params.length === 0 && type.results.length === 1;
  };
  const steps = calleesOf(graph, collect).filter((index) => isStep(index) && fromCreate.has(index));
  const fromAllocation = reachable(graph, create, 3, new Set(steps));
  const found = new Set<number>();
  for (const step of steps) {
    for (const callee of calleesOf(graph, step)) {
      if (isCandidate(callee) && fromAllocation.has(callee)) found.add(callee);
    }
  }
  return found.size === 1 ? [...found][0] : undefined;
}

/** The collector's functions that free blocks: taken for parts of the allocator their frees would go unseen. */
function foldSweepers(
  graph: CallGraph,
  collect: number | undefined,
  insertBlock: number,
  wrappers: Set<number>,
): void {
  if (collect === undefined) return;
  wrappers.add(collect);
  for (const callee of calleesOf(graph, collect)) {
    if (callee !== insertBlock && calleesOf(graph, callee).includes(insertBlock)) wrappers.add(callee);
  }
}

/** Functions within `depth` direct calls of `from`, on paths that avoid `except`. */
function reachable(
  graph: CallGraph,
  from: number,
  depth: number,
  except: ReadonlySet<number> = new Set(),
): Set<number> {
  const seen = new Set([from]);
  let level = [from];
  for (let i = 0; i < depth; i++) {
    const next: number[] = [];
    for (const index of level) {
      for (const callee of calleesOf(graph, index)) {
        if (seen.has(callee) || except.has(callee)) continue;
        seen.add(callee);
        next.push(callee);
      }
    }
    level = next;
  }
  return seen;
}
