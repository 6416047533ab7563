import { entryOf } from "../../ground/bytes/entries.ts";
import {
  type ContextTable,
  type FrameTable,
  type FunctionTable,
  GrowingMibColumns,
  type HeapProfile,
  type HostCode,
  type MibColumns,
  type ProfileDescription,
  type ProfileModule,
  type ResolvedFrame,
  SITE_FIELDS,
  type SiteColumns,
  type StackTable,
} from "./heap-profile.ts";
import {
  type Column,
  type IndexIntoFrameTable,
  type IndexIntoFunctionTable,
  type IndexIntoStringTable,
  NONE,
  type None,
} from "./indices.ts";
import { StackTree } from "./memprof/stack-tree.ts";
import type { Mib } from "./mib.ts";
import type { RunSite } from "./run.ts";

/** Collects the rows of a heap profile and deduplicates them; `build` freezes them into columns. */
export class HeapProfileBuilder {
  readonly #description: ProfileDescription;
  readonly #modules: readonly ProfileModule[];
  readonly #strings = new Interner<string, IndexIntoStringTable>((value) => value);
  readonly #functions = new Interner<
    { module: number; wasmIndex: number; name: IndexIntoStringTable | None },
    IndexIntoFunctionTable
  >(({ module, wasmIndex, name }) => `${module} ${wasmIndex} ${name}`);
  readonly #frames = new Interner<FrameRow, IndexIntoFrameTable>((row) => Object.values(row).join(" "));
  /** Stacks as a tree. Number 0 is the empty stack, so a stack's number is its table row plus 1. */
  readonly #stacks: StackTree;
  #stackIds = new BigUint64Array(16);
  #stackRows = new Int32Array(16);
  #contextCount = 0;
  readonly #mibs = new GrowingMibColumns();
  readonly #sites: (RunSite | undefined)[] = [];
  readonly #frameOf = new Map<ResolvedFrame, IndexIntoFrameTable>();

  /** @param mostStacks upper bound of the number of stacks, if known */
  constructor(description: ProfileDescription, modules: readonly ProfileModule[], mostStacks?: number) {
    this.#description = description;
    this.#modules = modules;
    this.#stacks = new StackTree(mostStacks);
  }

  /**
   * Adds one context. `frames` is its call stack, innermost first. Either all contexts of a profile have a `site`, or
   * none has. Reusing the same object for equal frames is fastest.
   */
  addContext(
    stackId: bigint,
    frames: readonly ResolvedFrame[],
    mib: Mib,
    site: RunSite | undefined = undefined,
  ): void {
    let stack = 0;
    for (const frame of frames.toReversed()) stack = this.child(stack, frame);
    this.addStack(stackId, stack);
    this.#mibs.add(mib);
    this.#sites.push(site);
  }

  /** Returns the stack of a frame called from another stack; 0 is the empty stack. */
  child(stack: number, frame: ResolvedFrame): number {
    return this.#stacks.child(stack, this.#internFrame(frame));
  }

  /**
   * Adds the call stack of a context without its block. All contexts must be added in this way, and `build` then
   * receives the blocks.
   */
  addStack(stackId: bigint, stack: number): void {
    const row = this.#contextCount++;
    if (row === this.#stackRows.length) {
      const [ids, rows] = [this.#stackIds, this.#stackRows];
      this.#stackIds = new BigUint64Array(2 * row);
      this.#stackIds.set(ids);
      this.#stackRows = new Int32Array(2 * row);
      this.#stackRows.set(rows);
    }
    this.#stackIds[row] = stackId;
    this.#stackRows[row] = stack - 1;
  }

  /**
   * Freezes the rows into tables. The builder is consumed.
   *
   * @param mibs blocks of contexts that were added without them
   */
  build(mibs?: MibColumns): HeapProfile {
    return Object.freeze({
      description: this.#description,
      strings: this.#strings.rows,
      modules: this.#modules,
      functions: this.#buildFunctions(),
      frames: this.#buildFrames(),
      stacks: this.#buildStacks(),
      contexts: this.#buildContexts(mibs),
    });
  }

  #internFrame(frame: ResolvedFrame): IndexIntoFrameTable {
    return entryOf(this.#frameOf, frame, () => this.#internNewFrame(frame));
  }

  #internNewFrame(frame: ResolvedFrame): IndexIntoFrameTable {
    const name = frame.name === undefined ? NONE : this.#strings.intern(frame.name);
    return this.#frames.intern({
      function: this.#functions.intern({
        module: frame.module ?? NONE,
        wasmIndex: frame.wasmIndex ?? NONE,
        name,
      }),
      offset: frame.offset,
      file: frame.file === undefined ? NONE : this.#strings.intern(frame.file),
      line: frame.line ?? 0,
      column: frame.column ?? 0,
      startLine: frame.startLine ?? 0,
      inlined: frame.inlined ? 1 : 0,
      handsOutMemory: frame.handsOutMemory ? 1 : 0,
      approximate: frame.approximate ? 1 : 0,
      fromHost: frame.fromHost ? 1 : 0,
      host: frame.host,
    });
  }

  #buildFunctions(): FunctionTable {
    const { rows } = this.#functions;
    return {
      length: rows.length,
      module: indexColumn(rows, ({ module }) => module),
      wasmIndex: Int32Array.from(rows, ({ wasmIndex }) => wasmIndex),
      name: indexColumn(rows, ({ name }) => name),
    };
  }

  #buildFrames(): FrameTable {
    const { rows } = this.#frames;
    return {
      length: rows.length,
      function: indexColumn(rows, (row) => row.function),
      offset: Float64Array.from(rows, ({ offset }) => offset),
      file: indexColumn(rows, ({ file }) => file),
      line: Uint32Array.from(rows, ({ line }) => line),
      column: Uint32Array.from(rows, ({ column }) => column),
      ...(rows.some(({ startLine }) => startLine > 0) && {
        startLine: Uint32Array.from(rows, ({ startLine }) => startLine),
      }),
      inlined: Uint8Array.from(rows, ({ inlined }) => inlined),
      fromHost: Uint8Array.from(rows, ({ fromHost }) => fromHost),
      ...(rows.some((row) => row.handsOutMemory === 1)
        ? { handsOutMemory: Uint8Array.from(rows, (row) => row.handsOutMemory) }
        : {}),
      ...(rows.some((row) => row.approximate === 1)
        ? { approximate: Uint8Array.from(rows, (row) => row.approximate) }
        : {}),
      ...(rows.some(({ host }) => host !== undefined) ? { host: rows.map(({ host }) => host) } : {}),
    };
  }

  #buildStacks(): StackTable {
    this.#stacks.seal();
    const { length, parent, frame } = this.#stacks.view();
    // The columns are changed in place, because there may be millions of rows.
    const prefix = new Int32Array(parent.buffer, 4, length - 1);
    for (let row = 0; row < prefix.length; row++) prefix[row]! -= 1;
    return {
      length: length - 1,
      prefix: asColumn(prefix),
      frame: asColumn(new Int32Array(frame.buffer, 4, length - 1)),
    };
  }

  #buildContexts(mibs = this.#mibs.build()): ContextTable {
    const length = this.#contextCount;
    return {
      length,
      stackId: this.#stackIds.subarray(0, length),
      stack: asColumn(this.#stackRows.subarray(0, length)),
      mibs,
      site: this.#sites.length < length ? undefined : buildSites(this.#sites),
    };
  }
}

interface FrameRow {
  function: IndexIntoFunctionTable;
  offset: number;
  file: IndexIntoStringTable | None;
  line: number;
  column: number;
  startLine: number;
  inlined: number;
  handsOutMemory: number;
  approximate: number;
  fromHost: number;
  host: HostCode | undefined;
}

function buildSites(rows: readonly (RunSite | undefined)[]): SiteColumns | undefined {
  const sites = rows.filter((row) => row !== undefined);
  if (sites.length < rows.length) return undefined;
  const columns = SITE_FIELDS.map((field) => [field, Float64Array.from(sites, (site) => site[field] ?? 0)]);
  const temporary = sites.every((site) => site.temporary !== undefined)
    ? Float64Array.from(sites, (site) => site.temporary!)
    : undefined;
  const stage = sites.some((site) => site.stage !== undefined)
    ? Uint8Array.from(sites, (site) => site.stage ?? 0)
    : undefined;
  const entries = sites.some((site) => site.entries !== undefined)
    ? Float64Array.from(sites, (site) => site.entries ?? 0)
    : undefined;
  return {
    ...Object.fromEntries(columns),
    temporary,
    stage,
    entries,
    growth: sites.map(({ growth }) => growth),
    capacity: sites.map(({ capacity }) => capacity),
    keptAfterUse: sites.map(({ keptAfterUse }) => keptAfterUse),
    ...(sites.some(({ collected }) => collected !== undefined)
      ? { collected: sites.map(({ collected }) => collected) }
      : {}),
  } as SiteColumns;
}

function indexColumn<Row, Value extends number>(
  rows: ArrayLike<Row>,
  indexOf: (row: Row) => number,
): Column<Value> {
  // `Int32Array.from` would first create an array of objects.
  const indices = new Int32Array(rows.length);
  for (let row = 0; row < indices.length; row++) indices[row] = indexOf(rows[row]!);
  return asColumn(indices);
}

function asColumn<Value extends number>(indices: Int32Array): Column<Value> {
  return indices as unknown as Column<Value>;
}

/** Gives equal values the same index, counting up from 0. */
class Interner<Value, Index extends number> {
  readonly rows: Value[] = [];
  readonly #indices = new Map<string | number, Index>();
  readonly #keyOf: (value: Value) => string | number;

  constructor(keyOf: (value: Value) => string | number) {
    this.#keyOf = keyOf;
  }

  intern(value: Value): Index {
    const key = this.#keyOf(value);
    const existing = this.#indices.get(key);
    if (existing !== undefined) return existing;
    const index = this.rows.length as Index;
    this.rows.push(value);
    this.#indices.set(key, index);
    return index;
  }
}
