import { expect, it } from "vitest";
import { guardImports } from "../../../src/record/host/instance/host-frames.ts";
import {
  type InstrumentedInfo,
  type InstrumentOptions,
  instrument,
  type WorkingSetLayout,
} from "../../../src/record/tools/index.ts";
import { WorkingSetReader } from "../../../src/record/tools/working-set/read/working-set-session.ts";
import { wat } from "../../support/assemble.ts";
import { countNaively, naiveCounts } from "../../support/naive-counters.ts";
import { Choices } from "../../support/random-module.ts";
import { SEARCH_TIMEOUT, trySeeds } from "../../support/seeds.ts";
import { heapVariants, some, TOOL_VARIANTS } from "../../support/tool-variants.ts";
import { wasteReader } from "../../support/waste-reader.ts";
import { type EnteredExports, enteredModule } from "./support/entered-module.ts";

/** Modules whose seeds differ by this number are linked. */
const APART = 40;

const ALLOCATOR = "malloc=malloc,free=free";

/** A second module, whose function is passed on and must keep its identity. */
const LIBRARY = new WebAssembly.Module(
  wat('(module (import "host" "log" (func $log)) (func (export "other") (call $log)))') as BufferSource,
);

interface Rewritten {
  bytes: Uint8Array;
  info?: InstrumentedInfo;
}

type Plain = (...operands: unknown[]) => unknown;

/** Runs modules that the host can enter in many ways, and records the events that the host sees. */
class Run {
  readonly exports: EnteredExports;
  readonly info: InstrumentedInfo | undefined;
  /** Numbers of stores at the times when the host had control. */
  readonly seen = new Set<number>();
  /** All functions that the host can reach, in the order in which it reaches them. */
  readonly functions: Plain[] = [];
  readonly noted: number[] = [];
  readonly #stores = new WebAssembly.Global({ value: "i32", mutable: true }, 0);
  readonly #first: Run | undefined;
  #callsBack = false;

  /** @param first run of a module whose functions this module imports */
  constructor(bytes: Uint8Array, info?: InstrumentedInfo, first?: Run) {
    this.info = info;
    this.#first = first;
    const library = new WebAssembly.Instance(LIBRARY, { host: { log: () => this.#log() } });
    const other = library.exports.other as Plain;
    const imports: WebAssembly.Imports = { host: { log: () => this.#log(), other, stores: this.#stores } };
    if (first !== undefined) imports.first = first.exports as never;
    this.functions.push(other, ...(first === undefined ? [] : [first.exports.pure]));
    const module = new WebAssembly.Module(bytes as BufferSource);
    const guarded = info && guardImports(imports, WebAssembly.Module.imports(module), info);
    const instance = new WebAssembly.Instance(module, guarded?.imports ?? imports);
    guarded?.connect(instance.exports);
    this.exports = instance.exports as unknown as EnteredExports;
  }

  #log(): void {
    this.#note();
    if (this.#callsBack) this.exports.pure();
    this.#note();
  }

  #note(): void {
    this.seen.add(this.#stores.value);
  }

  /** Makes the calls that the seed selects, each of one of the reachable functions, and adds the functions that they return. */
  play(seed: number, note: (run: Run) => number): void {
    const choices = new Choices(seed);
    this.#look();
    for (let i = 0; i < 12; i++) {
      this.#callsBack = choices.chance(30);
      const named = Object.keys(this.exports).filter((name) => /^(f\d|fill|pure)/.test(name));
      const called = choices.chance(50)
        ? (this.exports[choices.of(named)] as Plain)
        : choices.of(this.functions.filter((each) => each !== this.exports.take));
      this.#first?.exports.refuel();
      this.#call(() => this.exports.refuel());
      const take = this.exports.take as Plain | undefined;
      // A function that only the host puts into a table counts as entered by the host.
      const shown = Object.values(this.exports).flatMap((value) =>
        value instanceof WebAssembly.Table ? [...entries(value)].filter((entry) => entry !== null) : [],
      );
      if (take !== undefined && shown.length > 0 && choices.chance(30)) {
        const taken = choices.of(shown);
        this.#call(() => take(taken));
      } else this.#call(called);
      this.noted.push(note(this));
      this.#look();
    }
  }

  #call(call: () => unknown): void {
    this.#note();
    call();
    this.#note();
  }

  #look(): void {
    for (const [name, value] of Object.entries(this.exports)) {
      if (name.startsWith("memshade.") || name.startsWith("naive.")) continue;
      if (typeof value === "function") this.#keep(value);
      if (name.startsWith("give")) this.#keep((value as Plain)());
      if (name === "look") for (let i = 0; i < 8; i++) this.#keep((value as Plain)(i));
      if (value instanceof WebAssembly.Table) for (const entry of entries(value)) this.#keep(entry);
      if (value instanceof WebAssembly.Global) this.#keep(value.value);
    }
  }

  #keep(value: unknown): void {
    if (typeof value === "function" && value.name !== "") this.functions.push(value as Plain);
  }

  get identities(): string[] {
    return this.functions.map((each) => `${this.functions.indexOf(each)} ${each.name} ${each.length}`);
  }

  /** Bytes overwritten while no host code could have read them. */
  get dead(): number {
    let stores = 0;
    for (let store = 1; store < this.#stores.value; store++) if (!this.seen.has(store)) stores++;
    return 4 * stores;
  }
}

function* entries(table: WebAssembly.Table): Generator<unknown> {
  for (let i = 0; i < table.length; i++) yield table.get(i);
}

function accessesOf({ exports, info }: Run): number {
  const memory = exports["memshade.workingset"] as WebAssembly.Memory;
  return new WorkingSetReader(memory, info?.toolLayouts?.workingset as WorkingSetLayout).read().accesses;
}

function naively({ exports }: Run): number {
  const counts = naiveCounts({ exports: exports as never });
  return Object.values(counts).reduce((sum, { count }) => sum + count, 0);
}

/** Compares the counts of a variant's options after each call. */
function expectCounted(
  run: Run,
  counted: Run,
  { tools = ["heap"], workingset }: InstrumentOptions,
  leavesByReference: boolean,
): void {
  if (tools.includes("workingset") && workingset?.unit !== "wall") expect(run.noted).toEqual(counted.noted);
  if (!tools.includes("waste")) return;
  const { stores } = wasteReader(run.exports as never, run.info as InstrumentedInfo).read(false);
  const dead = stores.reduce((sum, { overwritten }) => sum + overwritten, 0);
  if (leavesByReference) expect(dead).toBeGreaterThanOrEqual(counted.dead);
  else expect(dead).toBe(counted.dead);
}

it(
  "modules show the host the same functions, and tell of each way in which it enters them",
  () => {
    let dead = 0;
    const { first, last } = trySeeds(40, (seed) => {
      const { text, leavesByReference } = enteredModule(seed);
      const bytes = wat(text);
      const plain = new Run(bytes);
      plain.play(seed, () => 0);
      const counted = new Run(countNaively(bytes));
      counted.play(seed, naively);
      dead += counted.dead;
      for (const { name, options } of some([...TOOL_VARIANTS, ...heapVariants(ALLOCATOR)], seed)) {
        const { bytes: rewritten, info } = instrument(bytes, options);
        const run = new Run(rewritten, info);
        const looks = options.tools?.includes("workingset") === true;
        run.play(seed, (each) => (looks ? accessesOf(each) : 0));
        expect(run.identities, name).toEqual(plain.identities);
        expectCounted(run, counted, options, leavesByReference);
      }
    });
    expect(dead).toBeGreaterThan((last - first + 1) * 4);
  },
  SEARCH_TIMEOUT,
);

it(
  "pairs of modules, linked by functions and tables, are told of too",
  () => {
    trySeeds(10, (seed) => {
      const { text } = enteredModule(seed, ['(import "first" "pure" (func $more0))']);
      const modules = [wat(enteredModule(seed + APART).text), wat(text)];
      const play = (rewrite: (bytes: Uint8Array) => Rewritten, accesses: (run: Run) => number): Run => {
        const [first, second] = modules.map(rewrite);
        const one = new Run(first.bytes, first.info);
        const two = new Run(second.bytes, second.info, one);
        two.play(seed, () => accesses(one) + accesses(two));
        return two;
      };
      const plain = play(
        (bytes) => ({ bytes }),
        () => 0,
      );
      const counted = play((bytes) => ({ bytes: countNaively(bytes) }), naively);
      for (const { name, options } of some([...TOOL_VARIANTS, ...heapVariants(ALLOCATOR)], seed)) {
        const looks = options.tools?.includes("workingset") === true && options.workingset?.unit !== "wall";
        const run = play((bytes) => instrument(bytes, options), looks ? accessesOf : () => 0);
        expect(run.identities, name).toEqual(plain.identities);
        if (looks) expect(run.noted, name).toEqual(counted.noted);
      }
    });
  },
  SEARCH_TIMEOUT,
);
