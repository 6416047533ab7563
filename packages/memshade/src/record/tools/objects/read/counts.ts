import {
  type CompositeType,
  decodeModule,
  type HeapType,
  heapTypeOf,
  IMMEDIATE_KIND,
  ImmediateKind,
  isNullable,
  isReference,
  opcodeIdAt,
  type StorageType,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../../../code/wasm/index.ts";
import { partitionPoint } from "../../../../ground/bytes/columns.ts";
import { readU32Leb, skipLeb32 } from "../../../../ground/bytes/leb128.ts";
import { constantObjects } from "../constant-objects.ts";
import { type CounterPlace, decodeEvents, FIRST_COUNTER, placeInTable } from "../event-table.ts";
import { allocates, fixedLength } from "../instructions.ts";
import type { ObjectsLayout } from "../memory-plan.ts";
import type { SizeModel } from "../size-model.ts";

/** Equality and subtyping of a module's types. */
class TypeFamilies {
  /** First equal type, by index. */
  readonly canonical: Int32Array;
  /** Supertype of a canonical type, −1 for none. */
  readonly supertype: Int32Array;
  readonly #children: number[][];

  constructor(module: WasmModule) {
    this.canonical = canonicalTypes(module);
    this.supertype = Int32Array.from(module.types, (_, index) => {
      const [above] = module.subtypes[index]?.supertypes ?? [];
      return above === undefined ? -1 : (this.canonical[above] ?? -1);
    });
    this.#children = module.types.map(() => []);
    module.types.forEach((_, index) => {
      const above = this.supertype[index];
      if (above >= 0 && this.canonical[index] === index) this.#children[above].push(index);
    });
  }

  /** True if a condition holds for a type, its supertypes, or its subtypes. */
  someRelated(type: number, holds: (type: number) => boolean): boolean {
    for (let above = this.supertype[type], steps = 0; above >= 0 && steps <= this.supertype.length; steps++) {
      if (holds(above)) return true;
      above = this.supertype[above];
    }
    const open = [type];
    for (let at = 0; at < open.length; at++) {
      if (holds(open[at])) return true;
      open.push(...this.#children[open[at]]);
    }
    return false;
  }
}

/**
 * Returns the first equal type of each type. Types are equal if their groups are: the same definitions in the
 * same order, with references inside the group by position.
 */
function canonicalTypes({ types, subtypes, typeGroups }: WasmModule): Int32Array {
  const canonical = Int32Array.from(types, (_, index) => index);
  const groups = new Map<string, number>();
  for (const { first, count } of typeGroups) {
    const indexKey = (index: number): string =>
      index >= first && index < first + count ? `.${index - first}` : `${canonical[index] ?? index}`;
    const heapKey = (heapType: HeapType): string => (heapType >= 0 ? indexKey(heapType) : `${heapType}`);
    const typeKey = (type: StorageType): string =>
      isReference(type) ? `${isNullable(type) ? "?" : "!"}${heapKey(heapTypeOf(type))}` : `${type}`;
    const key = Array.from({ length: count }, (_, i) => {
      const { final, supertypes } = subtypes[first + i];
      return `${final}<${supertypes.map(indexKey)}${definitionKey(types[first + i], typeKey)}`;
    }).join(";");
    const equalGroup = groups.get(key);
    if (equalGroup === undefined) groups.set(key, first);
    else for (let i = 0; i < count; i++) canonical[first + i] = equalGroup + i;
  }
  return canonical;
}

function definitionKey(type: CompositeType, typeKey: (type: StorageType) => string): string {
  if (type.kind === "func") return `f${type.params.map(typeKey)}>${type.results.map(typeKey)}`;
  const fields = type.kind === "array" ? [type.field] : type.fields;
  return `${type.kind[0]}${fields.map((field) => typeKey(field.type) + (field.mutable ? "m" : "")).join()}`;
}

export interface ObjectEvent {
  /** Offset in the code section. */
  readonly offset: number;
  readonly op: number;
  /** Immediates: its type, then its field, second type or length. */
  readonly first: number;
  readonly second: number;
  /** Number of its function among the defined ones. */
  readonly defined: number;
  readonly counter: CounterPlace;
  /** Counter of elements, 0 if there is none. */
  readonly elements: CounterPlace;
}

/**
 * An object that a constant expression makes with each instance, with the number of its elements or the
 * counter that has it.
 */
interface KnownConstant {
  readonly type: number;
  readonly elements: number;
  readonly counter: CounterPlace;
}

export class KnownObjects {
  readonly module: WasmModule;
  readonly families: TypeFamilies;
  readonly events: readonly ObjectEvent[];
  readonly constants: readonly KnownConstant[];

  constructor(original: Uint8Array, layout: ObjectsLayout) {
    const module = decodeModule(original);
    this.module = module;
    this.families = new TypeFamilies(module);
    const { bytes, bodies, codePayloadStart } = module;
    this.events = decodeEvents(layout.events).map(({ offset, counter, elements }) => {
      const at = offset + codePayloadStart;
      const defined = partitionPoint(0, bodies.length, (body) => bodies[body].end <= at);
      return { ...instructionAt(bytes, at), offset, defined, counter, elements };
    });
    let counters = 0;
    this.constants = constantObjects(module).map(({ type, elements }) =>
      typeof elements === "number"
        ? { type, elements, counter: 0 }
        : { type, elements: 0, counter: placeInTable(FIRST_COUNTER + counters++) },
    );
  }
}

function instructionAt(bytes: Uint8Array, at: number): { op: number; first: number; second: number } {
  const op = opcodeIdAt(bytes, at);
  const immediates = skipOpcode(bytes, at);
  if (IMMEDIATE_KIND[op] === ImmediateKind.None) return { op, first: -1, second: -1 };
  const behind = skipLeb32(bytes, immediates);
  const end = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
  return { op, first: readU32Leb(bytes, immediates), second: behind < end ? readU32Leb(bytes, behind) : -1 };
}

export interface Counts {
  readonly table: Float64Array;
  /** Counters in frames, by the address of the frame. */
  readonly frames: ReadonlyMap<number, FrameCounts>;
}

export interface FrameCounts {
  readonly defined: number;
  /** Node in the calling context tree of the instance. */
  readonly node: number;
  readonly counts: Float64Array;
}

export function countsSince(now: Counts, before: Counts | undefined): Counts {
  if (before === undefined) return now;
  const difference = (a: Float64Array, b: Float64Array | undefined) =>
    b === undefined ? a : a.map((value, index) => value - b[index]);
  return {
    table: difference(now.table, before.table),
    frames: new Map(
      [...now.frames].map(([address, frame]) => [
        address,
        { ...frame, counts: difference(frame.counts, before.frames.get(address)?.counts) },
      ]),
    ),
  };
}

/** Sums of counters over the instances of a module. A function's counters are added up over all contexts. */
export class CounterSums {
  readonly #table: Float64Array;
  readonly #framed = new Map<number, Float64Array>();

  constructor(instances: readonly Counts[]) {
    this.#table = new Float64Array(instances[0]?.table.length ?? 0);
    for (const { table, frames } of instances) {
      addTo(this.#table, table);
      for (const { defined, counts } of frames.values()) {
        const sums = this.#framed.get(defined);
        if (sums === undefined) this.#framed.set(defined, counts.slice());
        else addTo(sums, counts);
      }
    }
  }

  /** Returns a counter. `defined`: number of its function. */
  readonly counter = (place: CounterPlace, defined: number): number =>
    counterIn(place, this.#table, this.#framed.get(defined));

  /** Returns all allocated bytes, except objects of constant expressions. */
  allocatedBytes({ events, module }: KnownObjects, model: SizeModel): number {
    let bytes = 0;
    for (const { op, first, second, defined, counter, elements } of events) {
      if (!allocates(op)) continue;
      const type = module.types[first];
      const times = this.counter(counter, defined);
      const length = elements === 0 ? times * fixedLength(op, second) : this.counter(elements, defined);
      bytes += times * model.fixedBytes(type) + length * model.elementBytes(type);
    }
    return bytes;
  }
}

/** Returns a counter by its position, in the table or in the counts of a frame. */
export function counterIn(
  place: CounterPlace,
  table: Float64Array | undefined,
  frame: Float64Array | undefined,
): number {
  return ((place & 1) === 0 ? table : frame)?.[place >>> 1] ?? 0;
}

function addTo(sums: Float64Array, values: Float64Array): void {
  for (let i = 0; i < values.length; i++) sums[i] += values[i];
}
