import {
  type ModuleObjects,
  type ObjectsProfile,
  type ObjectType,
  placeFields,
} from "../../../profile/model/objects.ts";

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
  /** Whether all objects of the language have it: it belongs to the compiler, not to the program. */
  readonly isOfLanguage: boolean;
}

/** A type of whose objects nobody has read any field. */
export interface UnreadType {
  readonly part: ModuleObjects;
  readonly type: ObjectType;
}

/** A struct that was made, and its fields that nobody reads, but for those that all objects of the language have. */
export interface UnreadOfType {
  readonly part: ModuleObjects;
  readonly type: ObjectType;
  /** Offsets are sums of the sizes before, without padding. */
  readonly fields: readonly {
    readonly offset: number;
    readonly size: number;
    readonly name: string;
    readonly written: boolean;
  }[];
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

/** All structs that were made. */
export function unreadByType({ parts, sizes, fields: areCounted }: ObjectsProfile): UnreadOfType[] {
  if (!areCounted) return [];
  return parts.flatMap((part) => {
    const byIndex = typesByIndex(part);
    const ofLanguage = typesOfLanguage(part, byIndex);
    return part.types
      .filter(({ kind, objects }) => kind === "struct" && objects > 0)
      .map((type): UnreadOfType => {
        const { offsets } = placeFields(
          type.fields.map(({ bytes }) => bytes),
          sizes.references,
        );
        const fields = type.fields.flatMap(({ name, bytes, unread, unwritten }, field) => {
          const offset = sizes.structHeader + offsets[field]!;
          return unread && !ofLanguage.has(ownerOf(type, field, byIndex))
            ? [{ offset, size: bytes, name: name || `${field}`, written: !unwritten }]
            : [];
        });
        return { part, type, fields };
      });
  });
}

function isUnread({ objects, fields }: ObjectType): boolean {
  return objects > 0 && fields.length > 0 && fields.every(({ unread }) => unread);
}

function unreadOfPart(part: ModuleObjects): UnreadField[] {
  const byIndex = typesByIndex(part);
  const ofLanguage = typesOfLanguage(part, byIndex);
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
      part,
      name: fieldName(named, field),
      type: named.index,
      types,
      each: bytes,
      bytes: bytes * objects,
      objects,
      written: types.some((type) => !type.fields[field]!.unwritten),
      isOfLanguage: ofLanguage.has(owner),
    };
  });
}

/** In a program of fewer types nothing tells the root of a language from the program's own. */
const LEAST_TYPES = 8;

/**
 * The types that a language derives a program's from: those that most of the structs extend which code makes. Tables of methods are made
 * by constant expressions.
 */
function typesOfLanguage(
  { types }: ModuleObjects,
  byIndex: ReadonlyMap<number, ObjectType>,
): ReadonlySet<ObjectType> {
  const structs = types.filter(({ kind, objects, constant }) => kind === "struct" && objects > constant);
  if (structs.length < LEAST_TYPES) return new Set();
  const counts = new Map<ObjectType, number>();
  for (const type of structs)
    for (const above of ancestors(type, byIndex)) counts.set(above, (counts.get(above) ?? 0) + 1);
  return new Set([...counts].filter(([, count]) => 2 * count > structs.length).map(([type]) => type));
}

/** The types that a type extends, from the nearest on. */
function ancestors(type: ObjectType, byIndex: ReadonlyMap<number, ObjectType>): ObjectType[] {
  const found: ObjectType[] = [];
  for (let at = type; at.supertype !== undefined && found.length <= byIndex.size; ) {
    const above = byIndex.get(at.supertype);
    if (above === undefined) break;
    found.push(above);
    at = above;
  }
  return found;
}

/** The type that a field came with: the outermost one that is extended and has it. */
function ownerOf(type: ObjectType, field: number, byIndex: ReadonlyMap<number, ObjectType>): ObjectType {
  return ancestors(type, byIndex).findLast(({ fields }) => fields.length > field) ?? type;
}

/** `Node`, or `struct 12` where the module has no name for it. */
export function typeName({ name, kind, index }: ObjectType): string {
  return name || `${kind} ${index}`;
}

/** `Node.debugName`; `Node.3` where the field has no name; `Bytes[]` for elements. */
function fieldName(type: ObjectType, field: number): string {
  if (type.kind === "array") return `${typeName(type)}[]`;
  return `${typeName(type)}.${type.fields[field]?.name || field}`;
}

/** The types of a module by their index. */
export function typesByIndex({ types }: ModuleObjects): ReadonlyMap<number, ObjectType> {
  return new Map(types.map((type) => [type.index, type]));
}
