import type { ModuleObjects, ObjectType } from "../../../profile/model/objects/objects.ts";

/** `Node`, or `struct 12` where the module has no name for it. */
export function typeName({ name, kind, index }: ObjectType): string {
  return name || `${kind} ${index}`;
}

/** `Node.debugName`; `Node.3` where the field has no name; `Bytes[]` for elements. */
export function fieldName(type: ObjectType, field: number): string {
  if (type.kind === "array") return `${typeName(type)}[]`;
  return `${typeName(type)}.${type.fields[field]?.name || field}`;
}

/** The types of a module by their index. */
export function typesByIndex({ types }: ModuleObjects): ReadonlyMap<number, ObjectType> {
  return new Map(types.map((type) => [type.index, type]));
}
