import type { ModuleObjects, ObjectsProfile, ObjectType } from "../../model/objects/objects.ts";
import { fieldName, typesByIndex } from "./names.ts";

/** A field that nobody has read in some objects. */
export interface UnreadField {
  readonly part: ModuleObjects;
  /** Of the one type whose objects have it, or the one that they all extend. */
  readonly name: string;
  /** Index of that type. */
  readonly type: number;
  /** Those whose objects have it. */
  readonly types: readonly ObjectType[];
  /** Size in one object, and all of them together, bytes. */
  readonly each: number;
  readonly bytes: number;
  readonly objects: number;
  /** Whether it was written after objects were made. */
  readonly written: boolean;
}

/** A type of whose objects nobody has read any field. */
export interface UnreadType {
  readonly part: ModuleObjects;
  readonly type: ObjectType;
}

/** The fields, those with most bytes first. Fields of types that are not read at all are left out: the types are told. */
export function unreadFields({ parts, fields }: ObjectsProfile): UnreadField[] {
  if (!fields) return [];
  return parts.flatMap(unreadOfPart).sort((a, b) => b.bytes - a.bytes || (a.name < b.name ? -1 : 1));
}

/** The types, those with most bytes first. */
export function unreadTypes({ parts, fields }: ObjectsProfile): UnreadType[] {
  if (!fields) return [];
  return parts
    .flatMap((part) => part.types.filter(isUnread).map((type) => ({ part, type })))
    .sort((a, b) => b.type.bytes - a.type.bytes || a.type.index - b.type.index);
}

function isUnread({ objects, fields }: ObjectType): boolean {
  return objects > 0 && fields.length > 0 && fields.every(({ unread }) => unread);
}

function unreadOfPart(part: ModuleObjects): UnreadField[] {
  const byIndex = typesByIndex(part);
  const found = new Map<string, { types: ObjectType[]; owner: ObjectType; field: number }>();
  for (const type of part.types) {
    if (type.kind === "array" || type.objects === 0 || isUnread(type)) continue;
    type.fields.forEach(({ unread }, field) => {
      if (!unread) return;
      const owner = ownerOf(type, field, byIndex);
      const key = `${owner.index}.${field}`;
      const known = found.get(key);
      if (known === undefined) found.set(key, { types: [type], owner, field });
      else known.types.push(type);
    });
  }
  return [...found.values()].map(({ types, owner, field }) => {
    const named = types.length === 1 ? types[0]! : owner;
    const objects = types.reduce((sum, type) => sum + type.objects, 0);
    const { bytes } = types[0]!.fields[field]!;
    return {
      ...{ part, name: fieldName(named, field), type: named.index, types },
      ...{ each: bytes, bytes: bytes * objects, objects },
      written: types.some((type) => !type.fields[field]!.unwritten),
    };
  });
}

/** The type that a field came with: the outermost one that is extended and has it. */
function ownerOf(type: ObjectType, field: number, byIndex: ReadonlyMap<number, ObjectType>): ObjectType {
  let owner = type;
  for (let steps = 0; owner.supertype !== undefined && steps <= byIndex.size; steps++) {
    const above = byIndex.get(owner.supertype);
    if (above === undefined || above.fields.length <= field) break;
    owner = above;
  }
  return owner;
}
