import {
  functionName,
  functionType,
  importsOf,
  readNames,
  type WasmModule,
} from "../../../code/wasm/index.ts";
import { isDynamicLibrary, LIBRARY_SENTENCE } from "../../rewrite/facts/dynamic-library.ts";
import { type ModuleScan, scanModule } from "../../rewrite/facts/module-scan.ts";
import { findStackPointer } from "../../rewrite/facts/stack-pointer.ts";
import { findAssemblyScript, isAssemblyScript } from "./assemblyscript.ts";
import { buildCallGraph, type CallGraph, calleesOf, callersOf, Trait } from "./call-graph.ts";
import { type CollectorFinding, findCollector } from "./collectors.ts";
import { completeFamily } from "./family.ts";
import { findFurtherAllocators } from "./further-allocators.ts";
import { readGlueNames } from "./glue-names.ts";
import { definedType, fitsOperands, Hooks } from "./hooks.ts";
import { closeInternals, findSharedHelpers, findSharedWrappers } from "./internals.ts";
import { findLayers } from "./layers.ts";
import { readAllocatorOption } from "./option.ts";
import {
  type AllocatorFunction,
  type AllocatorPlan,
  type AllocatorRole,
  type AllocatorSource,
  ROLES,
} from "./plan.ts";
import { findByStructure, findFreeFor, findMallocCandidates, isAloneWithState } from "./structure.ts";
import { meaningOfSymbol } from "./symbol-names.ts";
import { type Entry, findBehindLayoutCheck, findCores, foldForwarders } from "./wrappers.ts";

/* Notes on allocators that are not hooked; each function returns at most one. */

const IMPORTED_ALLOCATOR = /^_?(?:malloc|calloc|realloc|free|_Zn[wa][mj]|_Zd[la]Pv)$/;

/** Notes that a side module uses the allocator of the main module. */
function sentencesAboutImports(module: WasmModule): string[] {
  const imported = importsOf(module, "function")
    .map(({ field }) => field)
    .filter((field) => IMPORTED_ALLOCATOR.test(field));
  if (imported.length === 0) return [];
  const verb = imported.length > 1 ? "are" : "is";
  return [
    `${imported.join(", ")} ${verb} imported: those blocks are recorded by the module that defines it.`,
  ];
}

/** Notes language runtimes that divide large blocks from malloc themselves. */
function sentencesAboutPools(names: ReadonlyMap<number, string>): string[] {
  for (const name of names.values()) {
    if (name !== "_PyObject_Malloc") continue;
    return ["CPython cuts small objects out of arenas: the arenas are recorded as blocks, not the objects."];
  }
  return [];
}

/**
 * Recognizes AssemblyScript without names and runtime exports by its one import: abort(message, file, line, column).
 */
function sentencesAboutNamelessAssemblyScript(module: WasmModule): string[] {
  const abort = importsOf(module, "function").findIndex(
    ({ module: from, field }) => from === "env" && field === "abort",
  );
  if (abort < 0) return [];
  const { params, results } = functionType(module, abort);
  if (params.length !== 4 || results.length !== 0) return [];
  return [
    "The module seems to be AssemblyScript: build it with --debug or --exportRuntime to record its blocks.",
  ];
}

const MOST_SHOWN = 3;

/**
 * Names possible allocation functions. They take and return one number, grow the memory directly or through a callee,
 * and have several callers. Those with the most callers come first.
 */
function sentencesAboutGrowing(
  module: WasmModule,
  graph: CallGraph,
  show: (index: number) => string,
): string[] {
  const growing = new Set<number>();
  for (let index = graph.imported; index < graph.count; index++)
    if ((graph.traits[index] & Trait.Grows) !== 0) growing.add(index);
  for (const index of growing) for (const caller of callersOf(graph, index)) growing.add(caller);
  const callersBut = (index: number): number =>
    callersOf(graph, index).filter((caller) => caller !== index).length;
  const candidates = [...growing]
    .filter((index) => {
      const { params, results } = functionType(module, index);
      return params.length === 1 && results.length === 1 && callersBut(index) > 1;
    })
    .sort((a, b) => callersBut(b) - callersBut(a) || a - b)
    .slice(0, MOST_SHOWN);
  if (candidates.length === 0) return [];
  return [`Possible allocation functions, by the number of calls: ${candidates.map(show).join(", ")}.`];
}

export interface FindAllocatorOptions {
  /** Text of `--allocator`: functions named by the user, instead of or (`auto,…`) in addition to the search. */
  allocator?: string | undefined;
  glue?: string | undefined;
}

const LENGTHS = /^(str|wcs)n?len$/;

const NEVER_FREES = "The module has no free function: all blocks stay live.";

/** Share of named functions above which a missing name means that the function does not exist. */
const COMPLETE_NAMES = 0.9;

/**
 * Finds the functions of `module` that allocate and free memory.
 *
 * Sources in the order of trust: the user's option; the name section; exports; names in the JavaScript glue; callees of
 * known wrappers such as `__wbindgen_malloc`; the shape of dlmalloc. The first source that succeeds becomes `how`;
 * everything certain is hooked. `scan`: scan of the module, if it exists already.
 *
 * @throws UserError for a bad `allocator` option
 * @throws FormatError for code that cannot be read
 */
export function findAllocator(
  module: WasmModule,
  options: FindAllocatorOptions = {},
  scan: ModuleScan = scanModule(module),
): AllocatorPlan {
  const search = new Search(module, scan, options);
  return search.run();
}

class Search {
  readonly #module: WasmModule;
  readonly #scan: ModuleScan;
  readonly #names: ReadonlyMap<number, string>;
  readonly #glue: string | undefined;
  readonly #nameOf: (index: number) => string | undefined;
  readonly #hooks: Hooks;
  readonly #wrappers = new Set<number>();
  readonly #inner = new Set<number>();
  /** Functions that certainly belong to the allocator, even if they call hooked functions. */
  readonly #suppliers = new Set<number>();
  /** Functions whose requests count even if the allocator calls them. */
  readonly #counted = new Set<number>();
  readonly #renewing: AllocatorFunction[] = [];
  readonly #notes: string[] = [];
  readonly #structural = new Set<number>();
  readonly #optionText: string | undefined;
  #source: AllocatorSource = "none";
  #needsConfirmation = false;
  #collector: string | undefined;
  #graph!: CallGraph;

  constructor(module: WasmModule, scan: ModuleScan, options: FindAllocatorOptions) {
    this.#scan = scan;
    const names = readNames(module);
    this.#module = module;
    this.#names = names.functions;
    this.#nameOf = (index) => functionName(module, names, index);
    this.#hooks = new Hooks(this.#nameOf);
    this.#optionText = options.allocator;
    this.#glue = options.glue;
  }

  run(): AllocatorPlan {
    const choice =
      this.#optionText === undefined
        ? undefined
        : readAllocatorOption(this.#optionText, this.#module, this.#names);
    const collector = findCollector(this.#module, this.#names);
    this.#collector = collector?.sentence;
    const search = choice === undefined || choice.auto;
    if (search && (choice === undefined || choice.functions.length === 0) && collector?.blocks)
      return this.#refuse(collector.sentence);
    this.#graph = buildCallGraph(this.#module, this.#scan);
    for (const { index, role, operands } of choice?.functions ?? []) this.#hooks.add(index, role, operands);
    if (search) this.#searchModule(collector);
    if (choice !== undefined && choice.functions.length > 0)
      this.#noteChoice(choice.functions.map(({ index }) => index));
    return this.#source === "none" ? this.#refuse() : this.#finish();
  }

  #noteChoice(chosen: readonly number[]): void {
    this.#source = "option";
    const shown = this.#hooks.sorted().filter(({ index }) => chosen.includes(index));
    this.#notes.unshift(
      `Functions of --allocator: ${shown.map(({ role, index }) => `${role} ${this.#show(index)}`).join(", ")}.`,
    );
    if (this.#hooks.ofKind("release").length === 0)
      this.#notes.push("No free function was given: all blocks stay live.");
  }

  #searchModule(collector: CollectorFinding | undefined): void {
    if (collector?.blocks) return;
    if (isAssemblyScript(this.#module, this.#names)) {
      this.#searchAssemblyScript();
      return;
    }
    const chosen = new Set(this.#hooks.sorted().map(({ index }) => index));
    this.#readNameSection();
    this.#settle("names", chosen);
    const bindgen = this.#readExports();
    this.#settle("exports", chosen);
    this.#readGlue(bindgen);
    this.#settle("glue", chosen);
    this.#followBindgen(bindgen, chosen);
    this.#dropBackingAllocator(chosen);
    this.#addCores();
    if (this.#source === "none") this.#searchStructure(chosen);
    else if (!this.#isFullyNamed()) this.#noteSecondAllocator();
    if (this.#source !== "none" && !this.#isFullyNamed()) this.#completeFamilies();
    this.#notes.push(...sentencesAboutImports(this.#module), ...sentencesAboutPools(this.#names));
    if (this.#source === "none") this.#notes.push(...sentencesAboutNamelessAssemblyScript(this.#module));
  }

  #searchAssemblyScript(): void {
    const finding = findAssemblyScript(this.#module, this.#graph, this.#names, this.#hooks);
    this.#collector = finding.collector;
    this.#notes.push(...finding.notes);
    for (const index of finding.wrappers) {
      this.#wrappers.add(index);
      this.#counted.add(index);
    }
    for (const index of finding.inner) this.#inner.add(index);
    for (const index of finding.suppliers) this.#suppliers.add(index);
    this.#renewing.push(...finding.renewing);
    if (finding.found)
      this.#source = [...this.#names.values()].some((name) => name.startsWith("~lib/rt/"))
        ? "names"
        : "exports";
  }

  #readNameSection(): void {
    for (const [index, name] of this.#names) this.#addByName(index, name);
  }

  /** Hooks or folds a defined function by its name. Returns false if neither name nor type is known. */
  #addByName(index: number, name: string): boolean {
    const type = this.#typeOf(index);
    if (type === undefined) return false;
    const meaning = meaningOfSymbol(name);
    if (meaning === undefined) return false;
    if (meaning.part === "inner") this.#inner.add(index);
    else if (meaning.part === "wrapper") this.#wrappers.add(index);
    else if (!meaning.role.startsWith("wbindgen_")) {
      const operands = meaning.operandsOf(type.params.length);
      if (operands === undefined || !fitsOperands(type, operands)) return false;
      this.#hooks.add(index, meaning.role, operands, { name: this.#names.get(index) ?? name });
    } else return false;
    return true;
  }

  #typeOf(index: number) {
    return index < this.#graph.count ? definedType(this.#module, index) : undefined;
  }

  /** Returns wasm-bindgen's entries, which are followed instead of hooked. */
  #readExports(): Map<number, AllocatorRole> {
    const bindgen = new Map<number, AllocatorRole>();
    const numbered: number[] = [];
    for (const { name, kind, index } of this.#module.exports) {
      if (kind !== "function" || this.#typeOf(index) === undefined) continue;
      const match = /^__wbindgen_(malloc|realloc|free)(?:_command_export)?$/.exec(name);
      if (match !== null) bindgen.set(index, `wbindgen_${match[1] as "malloc" | "realloc" | "free"}`);
      else if (/^__wbindgen_export_?\d*$/.test(name)) numbered.push(index);
      else if (!this.#wrappers.has(index)) this.#addByName(index, name);
    }
    if (bindgen.size === 0) for (const index of numbered) this.#guessBindgenRole(index, bindgen);
    return bindgen;
  }

  /**
   * Guesses the role of wasm-bindgen's `__wbindgen_export_N` by type. Of other numbered exports, only those that call
   * JavaScript's closures have such types; they call through the table.
   */
  #guessBindgenRole(index: number, bindgen: Map<number, AllocatorRole>): void {
    if ((this.#graph.traits[index] & Trait.CallsIndirectly) !== 0) return;
    const { params, results } = functionType(this.#module, index);
    const shape = `${params.length}${results.length}`;
    const role = { "21": "wbindgen_malloc", "41": "wbindgen_realloc", "30": "wbindgen_free" }[shape] as
      | AllocatorRole
      | undefined;
    if (role !== undefined && fitsOperands({ kind: "func", params, results }, ROLES[role].operands))
      bindgen.set(index, role);
  }

  #readGlue(bindgen: Map<number, AllocatorRole>): void {
    if (this.#glue === undefined) return;
    const exported = new Map<string, number>();
    for (const { name, kind, index } of this.#module.exports)
      if (kind === "function") exported.set(name, index);
    for (const [role, candidates] of readGlueNames(this.#glue)) {
      const index = candidates
        .map((name) => exported.get(name))
        .find((at) => at !== undefined && this.#fitsRole(at, role));
      if (index === undefined) continue;
      if (role.startsWith("wbindgen_")) {
        if (![...bindgen.values()].includes(role)) bindgen.set(index, role);
      } else if (!this.#wrappers.has(index)) this.#hooks.add(index, role, ROLES[role].operands);
    }
  }

  #fitsRole(index: number, role: AllocatorRole): boolean {
    const type = this.#typeOf(index);
    const { operands, parameters } = ROLES[role];
    if (type === undefined || !parameters.includes(type.params.length) || !fitsOperands(type, operands))
      return false;
    return operands.kind !== "release" || type.results.length === 0;
  }

  /** Sets the source of the allocator, if functions that allocate and release are known now for the first time. */
  #settle(source: AllocatorSource, chosen: ReadonlySet<number>): void {
    if (this.#source !== "none") return;
    const found = this.#hooks.sorted().filter(({ index }) => !chosen.has(index));
    const allocates = found.some(({ kind }) => kind === "allocate");
    const releases = found.some(({ kind }) => kind === "release");
    const neverFrees = allocates && source === "names" && this.#isFullyNamed();
    if (neverFrees && !releases) this.#notes.push(NEVER_FREES);
    if (allocates && (releases || neverFrees)) this.#source = source;
  }

  #isFullyNamed(): boolean {
    let named = 0;
    for (const index of this.#names.keys()) if (index >= this.#graph.imported) named++;
    return named >= COMPLETE_NAMES * this.#module.bodies.length;
  }

  /**
   * Follows wasm-bindgen's exports, which only JavaScript calls, to the functions that Rust code calls, too. These are
   * hooked, and the exports are folded.
   */
  #followBindgen(bindgen: ReadonlyMap<number, AllocatorRole>, chosen: ReadonlySet<number>): void {
    const isFound = this.#source !== "none";
    for (const [index, role] of bindgen) {
      if (this.#hooks.has(index)) continue;
      const entry: Entry = { index, operands: ROLES[role].operands };
      let cores = findCores(this.#module, this.#graph, [entry]);
      if (cores.length === 0 && role === "wbindgen_malloc") {
        const checked = findBehindLayoutCheck(this.#module, this.#graph, index);
        const further = checked === undefined ? [] : findCores(this.#module, this.#graph, [checked]);
        if (checked !== undefined) cores = further.length > 0 ? further : [checked];
      }
      if (!isFound) for (const core of cores) this.#hooks.add(core.index, core.role, core.operands);
      if (cores.length > 0 || this.#reachesHook(index)) this.#wrappers.add(index);
      else this.#hooks.add(index, role, ROLES[role].operands);
    }
    this.#settle("wrapper", chosen);
  }

  #reachesHook(index: number): boolean {
    const callees = [...calleesOf(this.#graph, index)];
    return callees.some(
      (callee) =>
        this.#hooks.has(callee) || calleesOf(this.#graph, callee).some((next) => this.#hooks.has(next)),
    );
  }

  /**
   * Drops the allocator below a debugging allocator. A sanitizer defines `malloc` and takes large regions from
   * Emscripten's own allocator, named `emscripten_builtin_`. Its blocks lie inside these regions, so only one of the
   * two can be hooked.
   */
  #dropBackingAllocator(chosen: ReadonlySet<number>): void {
    const isBacking = (name: string | undefined) => name?.startsWith("emscripten_builtin_") === true;
    const own = this.#hooks.sorted().filter(({ index }) => !chosen.has(index));
    const backing = own.filter(({ name }) => isBacking(name));
    const mallocs = own.filter(({ role, name }) => role === "malloc" && !isBacking(name));
    if (backing.length === 0 || mallocs.length === 0) return;
    const coresOf = (functions: readonly AllocatorFunction[]) =>
      findCores(
        this.#module,
        this.#graph,
        functions.map((entry) => ({ index: entry.index, operands: entry })),
      ).map(({ index }) => index);
    const upper = new Set([...mallocs.map(({ index }) => index), ...coresOf(mallocs)]);
    if ([...backing.map(({ index }) => index), ...coresOf(backing)].some((index) => upper.has(index))) return;
    // If the lower one calls the upper one, both names belong to the same allocator.
    if (backing.some(({ index }) => calleesOf(this.#graph, index).some((callee) => upper.has(callee))))
      return;
    for (const { index } of backing) this.#hooks.delete(index);
    this.#notes.push(
      "malloc is a debugging allocator above Emscripten's own: blocks are recorded as the debugging allocator hands them out.",
    );
  }

  /** Adds functions below `malloc`, such as `dlmalloc`, that other functions call directly. */
  #addCores(): void {
    for (const { index, ...operands } of this.#hooks.sorted())
      for (const core of findCores(this.#module, this.#graph, [{ index, operands }])) {
        const isPrivate = callersOf(this.#graph, core.index).every((caller) => this.#hooks.has(caller));
        if (!isPrivate) this.#hooks.add(core.index, core.role, core.operands);
      }
  }

  #searchStructure(chosen: ReadonlySet<number>): void {
    const mallocs = this.#hooks.ofRole("malloc").filter(({ index }) => !chosen.has(index));
    const coresOfKnown = findCores(
      this.#module,
      this.#graph,
      mallocs.map((entry) => ({ index: entry.index, operands: entry })),
    );
    for (const { index } of [...mallocs, ...coresOfKnown]) {
      const pair = findFreeFor(this.#module, this.#graph, index);
      if (pair === undefined) continue;
      this.#hooks.add(index, "malloc", ROLES.malloc.operands);
      this.#hooks.add(pair.free, "free", ROLES.free.operands);
      this.#accept(
        `free was recognized by its code (func[${pair.free}]: ${pair.sharedAddresses} static addresses in common with malloc).`,
      );
    }
    if (this.#source !== "none") return;
    if (mallocs.length > 0) {
      const cores = [...mallocs, ...coresOfKnown].map(({ index }) => index);
      if (cores.some((index) => this.#isOfProgramThatNeverFrees(index))) {
        this.#accept(NEVER_FREES);
        return;
      }
      this.#notes.push(`malloc is ${this.#show(mallocs[0].index)}, but its free function was not found.`);
      return;
    }
    const { pairs, candidates } = findByStructure(this.#module, this.#graph);
    for (const { malloc, free, sharedAddresses } of pairs) {
      this.#hooks.add(malloc, "malloc", ROLES.malloc.operands);
      this.#hooks.add(free, "free", ROLES.free.operands);
      this.#accept(
        `malloc and free were recognized by their code, that of dlmalloc (func[${malloc}] and func[${free}], ${sharedAddresses} static addresses in common).`,
      );
    }
    if (pairs.length > 0) return;
    for (const malloc of candidates) {
      if (!this.#isOfProgramThatNeverFrees(malloc)) continue;
      this.#hooks.add(malloc, "malloc", ROLES.malloc.operands);
      this.#accept(`malloc was recognized by its code, that of dlmalloc (func[${malloc}]). ${NEVER_FREES}`);
    }
    if (this.#source === "none" && candidates.length > 0)
      this.#notes.push(
        `${this.#show(candidates[0])} looks like malloc, but its free function was not found.`,
      );
  }

  #isOfProgramThatNeverFrees(malloc: number): boolean {
    return (
      callersOf(this.#graph, malloc).length > 0 &&
      findMallocCandidates(this.#module, this.#graph).includes(malloc) &&
      isAloneWithState(this.#module, this.#graph, malloc)
    );
  }

  #accept(note: string): void {
    this.#source = "structure";
    this.#needsConfirmation = true;
    this.#notes.push(note);
  }

  /** Notes a second allocator. A module may contain two, for example of C and of Rust, and name only one. */
  #noteSecondAllocator(): void {
    for (const malloc of findMallocCandidates(this.#module, this.#graph)) {
      if (
        this.#hooks.has(malloc) ||
        callersOf(this.#graph, malloc).every((caller) => this.#hooks.has(caller))
      )
        continue;
      const pair = findFreeFor(this.#module, this.#graph, malloc);
      if (pair === undefined || this.#hooks.has(pair.free)) continue;
      this.#notes.push(
        `A second allocator of the module (func[${malloc}] and func[${pair.free}]) is not recorded; --allocator auto,malloc=#${malloc},free=#${pair.free} records it.`,
      );
    }
  }

  #completeFamilies(): void {
    const inlined = new Set<number>();
    for (const malloc of this.#hooks.ofRole("malloc"))
      for (const free of this.#hooks.ofRole("free")) {
        const finding = completeFamily(this.#module, this.#graph, malloc.index, free.index, this.#hooks);
        for (const index of finding.added) this.#structural.add(index);
        for (const index of finding.inlinedRealloc) inlined.add(index);
      }
    for (const index of inlined) {
      if (this.#hooks.has(index)) continue;
      this.#notes.push(
        `realloc is inlined into ${this.#show(index)}: a block that grows in place is recorded with its first size.`,
      );
    }
    const found = [...this.#structural].map((index) => `${this.#hooks.get(index)?.role} (func[${index}])`);
    if (found.length > 0)
      this.#notes.push(`Recognized by their calls of malloc and free: ${found.join(", ")}.`);
  }

  #show(index: number): string {
    const name = this.#nameOf(index);
    return name === undefined ? `func[${index}]` : `${name} (func[${index}])`;
  }

  #finish(): AllocatorPlan {
    const module = this.#module;
    const graph = this.#graph;
    const hooks = this.#hooks;
    const wrappers = this.#wrappers;
    for (const { index } of hooks.sorted()) wrappers.delete(index);
    foldForwarders(module, graph, hooks, wrappers, this.#nameOf);
    for (const index of this.#suppliers) wrappers.delete(index);
    const functions = hooks.sorted();
    const hooked = new Set(functions.map(({ index }) => index));
    const internals = closeInternals(graph, [...hooked, ...this.#suppliers], hooked, wrappers, this.#inner);
    const parts = {
      functions,
      wrappers: [...wrappers].sort((a, b) => a - b),
      internals: [...internals].sort((a, b) => a - b),
    };
    return {
      how: this.#source,
      ...parts,
      renewing: this.#renewing,
      sharedHelpers: findSharedHelpers(module, graph, internals, wrappers, this.#nameOf),
      sharedWrappers: findSharedWrappers(graph, internals, wrappers, hooked, this.#counted),
      needsConfirmation: this.#needsConfirmation,
      further: this.#source === "option" ? [] : findFurtherAllocators(module, graph, this.#names, parts),
      layers: findLayers(module, graph, parts, {
        stackPointer: findStackPointer(module, readNames(module), this.#scan),
        lengths: new Set([...this.#names].filter(([, name]) => LENGTHS.test(name)).map(([index]) => index)),
      }),
      collector: this.#collector,
      notes: this.#notes,
    };
  }

  #refuse(reason?: string): AllocatorPlan {
    if (reason !== undefined) this.#notes.push(reason);
    else if (isDynamicLibrary(this.#module)) this.#notes.push(LIBRARY_SENTENCE);
    else {
      const start = this.#notes.length === 0 ? "No allocator was found: allocations" : "Allocations";
      this.#notes.push(
        `${start} are not tracked. Name the functions with --allocator malloc=NAME|#INDEX,free=NAME|#INDEX.`,
        ...sentencesAboutGrowing(this.#module, this.#graph, (index) => this.#show(index)),
      );
    }
    return {
      how: "none",
      functions: [],
      renewing: [],
      wrappers: [],
      internals: [],
      sharedHelpers: [],
      sharedWrappers: [],
      needsConfirmation: false,
      further: [],
      layers: [],
      collector: this.#collector,
      notes: this.#notes,
    };
  }
}
