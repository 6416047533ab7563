import { skipForm } from "./abbreviations.ts";
import { At } from "./constants.ts";
import type { Unit } from "./unit.ts";

/** What a function's DIE and those that it refers to say of it. */
export interface EntryNames {
  readonly linkageName?: string | undefined;
  readonly name?: string | undefined;
  /** Line of the declaration, 0 if it is not known. */
  readonly declarationLine: number;
  /** File of the declaration, as the line table of `declarationUnit` counts; undefined if it is not known. */
  readonly declarationFile?: number | undefined;
  readonly declarationUnit: Unit;
}

/** DIEs that refer to each other further than this are damage. */
const MOST_REFERENCES = 16;

/**
 * Names of the DIE at `entry` of `unit`: attributes of its own first, then those of what it is an instance or the
 * definition of.
 *
 * @param unitOf the unit that has the DIE at an offset, for references to other units
 */
export function readEntryNames(
  unit: Unit,
  entry: number,
  unitOf: (entry: number) => Unit | undefined,
): EntryNames {
  const found: { linkageName?: string; name?: string; line?: number; file?: number; fileUnit?: Unit } = {};
  const pending: [Unit, number][] = [[unit, entry]];
  const seen = new Set<number>([entry]);
  while (pending.length > 0 && seen.size <= MOST_REFERENCES) {
    const [owner, at] = pending.pop() as [Unit, number];
    const references: number[] = [];
    try {
      readOne(owner, at, found, references);
    } catch {
      // The other DIEs may know.
    }
    for (const reference of references) {
      if (reference < 0 || seen.has(reference)) continue;
      seen.add(reference);
      const target = owner.contains(reference) ? owner : unitOf(reference);
      if (target !== undefined) pending.push([target, reference]);
    }
  }
  const { linkageName, name, line = 0, file, fileUnit = unit } = found;
  return { linkageName, name, declarationLine: line, declarationFile: file, declarationUnit: fileUnit };
}

function readOne(
  unit: Unit,
  entry: number,
  found: { linkageName?: string; name?: string; line?: number; file?: number; fileUnit?: Unit },
  references: number[],
): void {
  const cursor = unit.cursorAt(entry);
  const abbreviation = unit.abbreviationAt(cursor);
  if (abbreviation === undefined) return;
  const { attributes, forms, implicit } = abbreviation;
  let [origin, specification] = [-1, -1];
  for (let i = 0; i < attributes.length; i++) {
    const form = forms[i];
    switch (attributes[i]) {
      case At.linkage_name:
      case At.MIPS_linkage_name:
        if (found.linkageName === undefined) found.linkageName = setOnce(unit.string(cursor, form));
        else skipForm(cursor, form, unit.header);
        break;
      case At.name:
        if (found.name === undefined) found.name = setOnce(unit.string(cursor, form));
        else skipForm(cursor, form, unit.header);
        break;
      case At.decl_line:
        if (found.line === undefined) found.line = unit.constant(cursor, form, implicit[i]);
        else skipForm(cursor, form, unit.header);
        break;
      case At.decl_file:
        if (found.file === undefined) {
          found.file = unit.constant(cursor, form, implicit[i]);
          found.fileUnit = unit;
        } else skipForm(cursor, form, unit.header);
        break;
      case At.abstract_origin:
        origin = unit.reference(cursor, form);
        break;
      case At.specification:
        specification = unit.reference(cursor, form);
        break;
      default:
        skipForm(cursor, form, unit.header);
    }
  }
  references.push(origin, specification);
}

/** Keeps the type of an optional member: it is absent or has a value. */
function setOnce(text: string | undefined): string {
  return text as string;
}
