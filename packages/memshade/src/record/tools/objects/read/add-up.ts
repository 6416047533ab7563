import { type CompositeType, formatType, OPCODE_NAME, readNames } from "../../../../code/wasm/index.ts";
import * as Op from "../../../../code/wasm/op.generated.ts";
import type { ObjectField, ObjectSite, ObjectType } from "../../../../profile/model/objects/objects.ts";
import type { CounterPlace } from "../event-table.ts";
import { accesses, allocates, fixedLength } from "../instructions.ts";
import type { SizeModel } from "../size-model.ts";
import type { CounterSums } from "./counts.ts";
import type { KnownObjects } from "./module-objects.ts";

/** Objects, elements and bytes of a site or a type. */
interface Amounts {
  objects: number;
  elements: number;
  constant: number;
  bytes: number;
}

/** Accesses of the fields of a type, or of the elements of an array as of one field. */
interface FieldCounts {
  readonly reads: Float64Array;
  readonly writes: Float64Array;
}

/** A module's sites and types with what the counters of its instances add up to. */
export function addUp(
  known: KnownObjects,
  { counter: counters }: CounterSums,
  instances: number,
  constantLengths: (counter: CounterPlace) => number,
  model: SizeModel,
  countsFields: boolean,
): { types: ObjectType[]; sites: ObjectSite[]; siteOfEvent: Int32Array } {
  const { module, families, events, constants } = known;
  const amounts = module.types.map((): Amounts => ({ objects: 0, elements: 0, constant: 0, bytes: 0 }));
  const fields = module.types.map(fieldCounts);
  const sites: ObjectSite[] = [];
  const siteOfEvent = new Int32Array(events.length).fill(-1);
  const allocated = (type: number, objects: number, elements: number): number => {
    const definition = module.types[type];
    const bytes = objects * model.fixedBytes(definition) + elements * model.elementBytes(definition);
    const of = amounts[families.canonical[type]];
    of.objects += objects;
    of.elements += elements;
    of.bytes += bytes;
    return bytes;
  };
  const perOffset = new Map<number, number>();
  events.forEach(({ offset, op, first, second, defined, counter, elements: lengths }, number) => {
    const times = counters(counter, defined);
    const length = lengths === 0 ? times * fixedLength(op, second) : counters(lengths, defined);
    if (allocates(op)) {
      const type = families.canonical[first];
      const bytes = times === 0 ? 0 : allocated(first, times, length);
      const index = perOffset.get(offset) ?? sites.length;
      perOffset.set(offset, index);
      siteOfEvent[number] = index;
      sites[index] ??= {
        offset,
        type,
        instruction: OPCODE_NAME[op] ?? "",
        objects: 0,
        elements: 0,
        bytes: 0,
      };
      sites[index].objects += times;
      sites[index].elements += length;
      sites[index].bytes += bytes;
      return;
    }
    const { reads, writes } = accesses(op);
    const isArray = module.types[first]?.kind === "array";
    const field = isArray ? 0 : second;
    const amount = lengths === 0 ? times : length;
    if (op === Op.ARRAY_COPY) {
      fields[families.canonical[first]].writes[0] += amount;
      fields[families.canonical[second]].reads[0] += amount;
      return;
    }
    const of = fields[families.canonical[first]];
    if (reads) of.reads[field] += amount;
    if (writes) of.writes[field] += amount;
  });
  for (const { type, elements, counter } of constants) {
    allocated(type, instances, counter === 0 ? elements * instances : constantLengths(counter));
    amounts[families.canonical[type]].constant += instances;
  }
  const names = readNames(module);
  const listed = new Set<number>();
  module.types.forEach((_, index) => {
    const { reads, writes } = fields[index];
    const isUsed = amounts[index].objects > 0 || [...reads, ...writes].some((count) => count > 0);
    // What it extends has its fields, too.
    for (let type = index; isUsed && type >= 0 && !listed.has(type); type = families.supertype[type])
      listed.add(type);
  });
  const types = module.types.flatMap((definition, index): ObjectType[] => {
    if (!listed.has(index)) return [];
    const counts = fields[index];
    const supertype = families.supertype[index];
    const name = nameOf(index, names.types, families.canonical);
    const fieldNames = names.fields.get(index);
    const related = (field: number, of: keyof FieldCounts): boolean =>
      families.someRelated(index, (type) => (fields[type][of][field] ?? 0) > 0);
    return [
      {
        index,
        ...(name === undefined ? {} : { name }),
        kind: definition.kind === "array" ? "array" : "struct",
        ...(supertype < 0 ? {} : { supertype }),
        ...amounts[index],
        fields: fieldsOf(definition).map(({ type, mutable }, field): ObjectField => {
          const named = fieldNames?.get(field);
          return {
            ...(named === undefined ? {} : { name: named }),
            type: formatType(type),
            bytes: model.fieldBytes(type),
            mutable,
            reads: counts.reads[field],
            writes: counts.writes[field],
            unread: countsFields && !related(field, "reads"),
            unwritten: countsFields && !related(field, "writes"),
          };
        }),
      },
    ];
  });
  return { types, sites, siteOfEvent };
}

/** A name of the type, or of one that is the same. */
function nameOf(
  index: number,
  names: ReadonlyMap<number, string>,
  canonical: Int32Array,
): string | undefined {
  const own = names.get(index);
  if (own !== undefined) return own;
  for (const [other, name] of names) if (canonical[other] === index) return name;
  return undefined;
}

function fieldsOf(type: CompositeType): readonly { type: number; mutable: boolean }[] {
  if (type.kind === "array") return [type.field];
  return type.kind === "struct" ? type.fields : [];
}

function fieldCounts(type: CompositeType): FieldCounts {
  const { length } = fieldsOf(type);
  return { reads: new Float64Array(length), writes: new Float64Array(length) };
}
