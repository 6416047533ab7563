import type { CompositeType, HeapType, StorageType, WasmModule } from "../../../../code/wasm/index.ts";
import { heapTypeOf, isNullable, isReference } from "../../../../code/wasm/index.ts";

/** Which types of a module are the same, and which extend which. */
export class TypeFamilies {
  /** The first type that is the same, by index. */
  readonly canonical: Int32Array;
  /** The type that a canonical one extends, −1: none. */
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

  /** Whether a condition holds for a type, for one that it extends, or for one that extends it. */
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

/** Types are the same if their groups are: definitions in one order, with references inside of the group by their place in it. */
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
    const known = groups.get(key);
    if (known === undefined) groups.set(key, first);
    else for (let i = 0; i < count; i++) canonical[first + i] = known + i;
  }
  return canonical;
}

function definitionKey(type: CompositeType, typeKey: (type: StorageType) => string): string {
  if (type.kind === "func") return `f${type.params.map(typeKey)}>${type.results.map(typeKey)}`;
  const fields = type.kind === "array" ? [type.field] : type.fields;
  return `${type.kind[0]}${fields.map((field) => typeKey(field.type) + (field.mutable ? "m" : "")).join()}`;
}
