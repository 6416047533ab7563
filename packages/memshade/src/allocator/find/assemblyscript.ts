import type { WasmModule } from "../../wasm/index.ts";
import { type AssemblyScriptParts, findParts, leadingTo } from "./assemblyscript-parts.ts";
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

const releaseBlock: OperandPositions = { ...ROLES.as_free.operands, pointerParam: 1 };

/** Hooks what is left of AssemblyScript's runtime in the module. */
export function findAssemblyScript(
  module: WasmModule,
  graph: CallGraph,
  names: ReadonlyMap<number, string>,
  hooks: Hooks,
): AssemblyScriptFinding {
  return new Search(module, graph, names, hooks).run();
}

/** Functions of the runtime by their names: `tlsf/__alloc` of the name section, `__new` of the exports. */
function runtimeOf(module: WasmModule, names: ReadonlyMap<number, string>): Map<string, number> {
  const runtime = new Map<string, number>();
  for (const [index, name] of names) {
    const match = /^~lib\/rt\/(\w+)\/([\w#:]+)$/.exec(name);
    if (match !== null) runtime.set(`${match[1]}/${match[2]}`, index);
  }
  for (const { name, kind, index } of module.exports) {
    if (kind === "function" && /^__(?:new|renew|collect|pin|unpin|alloc|realloc|free)$/.test(name))
      runtime.set(name, index);
  }
  return runtime;
}

class Search {
  private readonly finding: AssemblyScriptFinding = {
    found: false,
    collector: undefined,
    wrappers: new Set(),
    inner: new Set(),
    suppliers: new Set(),
    notes: [],
  };
  private readonly module: WasmModule;
  private readonly graph: CallGraph;
  private readonly names: ReadonlyMap<number, string>;
  private readonly hooks: Hooks;
  private readonly runtime: ReadonlyMap<string, number>;
  private readonly create: number | undefined;
  private readonly renew: number | undefined;
  private readonly collect: number | undefined;
  private readonly alloc: number | undefined;
  private readonly resize: number | undefined;
  private readonly free: number | undefined;

  constructor(module: WasmModule, graph: CallGraph, names: ReadonlyMap<number, string>, hooks: Hooks) {
    this.module = module;
    this.graph = graph;
    this.names = names;
    this.hooks = hooks;
    this.runtime = runtimeOf(module, names);
    this.create = this.find("itcms/__new", "tcms/__new", "stub/__new", "__new");
    this.renew = this.find("itcms/__renew", "tcms/__renew", "stub/__renew", "__renew");
    this.collect = this.find("itcms/__collect", "tcms/__collect", "stub/__collect", "__collect");
    this.alloc = this.find("tlsf/__alloc", "stub/__alloc");
    this.resize = this.find("tlsf/__realloc", "stub/__realloc");
    this.free = this.find("tlsf/__free", "stub/__free");
  }

  run(): AssemblyScriptFinding {
    const { module, graph, finding, create, collect, runtime } = this;
    for (const [index, name] of this.names) {
      if (/^~lib\/rt\/(?:itcms\/|tcms\/|__visit)/.test(name)) finding.wrappers.add(index);
      else if (/^~lib\/rt\/(?:tlsf|stub)\//.test(name)) finding.inner.add(index);
    }
    if (this.isStub()) {
      this.hookCalls(this.alloc, create);
      finding.collector =
        "AssemblyScript's stub runtime never frees memory: every block stays live to the end.";
      return finding;
    }
    const parts = create === undefined ? undefined : findParts(module, graph, create, collect, runtime);
    const isIncremental = runtime.has("itcms/__new") || parts?.isIncremental === true;
    finding.collector = isIncremental
      ? "Blocks are freed by AssemblyScript's incremental collector: a lifetime ends when the collector sweeps, not when the last reference goes."
      : "Blocks are freed by AssemblyScript's collector: a lifetime ends when it sweeps, not when the last reference goes.";
    if (this.isWhole(isIncremental)) this.hookCalls(this.alloc);
    else this.hookParts(parts, isIncremental);
    return finding;
  }

  private find(...keys: string[]): number | undefined {
    return keys.map((key) => this.runtime.get(key)).find((index) => index !== undefined);
  }

  private isStub(): boolean {
    if ([...this.runtime.keys()].some((key) => key.startsWith("stub/"))) return true;
    // The stub runtime's __collect is an empty function.
    const { collect, graph } = this;
    return this.names.size === 0 && collect !== undefined && graph.instructions[collect] <= 2;
  }

  /** Whether all blocks come from `__alloc` and go to `__free`. */
  private isWhole(isIncremental: boolean): boolean {
    const { graph, create, renew, alloc, resize, free } = this;
    if (alloc === undefined || free === undefined) return false;
    return (
      callsFromCollector(graph, this.runtime, free) &&
      (create === undefined || calleesOf(graph, create).includes(alloc)) &&
      (renew === undefined || isIncremental || resize !== undefined)
    );
  }

  /** Hooks the first of `allocating` that can be, and what is there of `__realloc` and `__free`. */
  private hookCalls(...allocating: (number | undefined)[]): void {
    this.finding.found = allocating.some((index) => this.hook(index, "as_new", ROLES.as_new.operands));
    this.hook(this.resize, "as_renew", ROLES.as_renew.operands);
    this.hook(this.free, "as_free", ROLES.as_free.operands);
    this.fold(this.create, this.renew);
  }

  /** Where `__alloc` and `__free` are inlined: hooks the deepest functions that are left of both. */
  private hookParts(parts: AssemblyScriptParts | undefined, isIncremental: boolean): void {
    const { finding, graph } = this;
    if (parts?.insertBlock === undefined) {
      finding.collector = undefined;
      finding.notes.push(
        "Where AssemblyScript's collector frees blocks was not found (its functions have no names).",
      );
      return;
    }
    const { insertBlock, allocateBlock, suppliers } = parts;
    for (const index of parts.sweepers) finding.wrappers.add(index);
    if (allocateBlock !== undefined && !isIncremental) {
      const above = leadingTo(graph, allocateBlock);
      finding.suppliers = new Set([...suppliers].filter((index) => !above.has(index)));
      const operands = { ...ROLES.as_new.operands, sizeParam: 1 };
      finding.found = this.hook(allocateBlock, "as_new", operands, SIZE_WORD_BYTES);
      this.hook(insertBlock, "as_free", releaseBlock, SIZE_WORD_BYTES);
      this.hook(this.resize, "as_renew", ROLES.as_renew.operands);
      if (this.resize === undefined)
        finding.notes.push(
          "__realloc is inlined: a block that grows in place keeps the size it was allocated with.",
        );
      this.fold(this.create, this.renew, this.alloc);
    } else if (isIncremental) {
      finding.suppliers = suppliers;
      finding.found = this.hook(this.create, "as_new", ROLES.as_new.operands);
      this.hook(insertBlock, "as_free", releaseBlock, HEADER_BYTES + SIZE_WORD_BYTES);
      // What it moves stays a block until the collector sweeps it.
      this.fold(this.renew);
      finding.notes.push(
        "AssemblyScript's __alloc and __free are inlined: objects are counted without their 16-byte header, blocks from heap.alloc are not tracked.",
      );
    } else finding.notes.push("Where AssemblyScript's runtime allocates blocks was not found.");
  }

  private hook(
    index: number | undefined,
    role: AllocatorRole,
    operands: OperandPositions,
    pointerOffset = 0,
  ): boolean {
    const type = index === undefined ? undefined : definedType(this.module, index);
    if (index === undefined || type === undefined || !fitsOperands(type, operands)) return false;
    this.hooks.add(index, role, operands, { pointerOffset });
    return true;
  }

  private fold(...indices: (number | undefined)[]): void {
    for (const index of indices) {
      if (index !== undefined && !this.hooks.has(index)) this.finding.wrappers.add(index);
    }
  }
}

/** The collector calls `__free` itself, or the runtime's `free` around it. */
function callsFromCollector(graph: CallGraph, runtime: ReadonlyMap<string, number>, free: number): boolean {
  const sweepers = ["itcms/free", "itcms/step", "tcms/__collect", "__collect"];
  const present = sweepers.map((key) => runtime.get(key)).filter((index) => index !== undefined);
  // Without a collector in the module (the minimal runtime drops an unused one) only `__free` itself frees.
  return present.length === 0 || present.some((index) => calleesOf(graph, index).includes(free));
}
