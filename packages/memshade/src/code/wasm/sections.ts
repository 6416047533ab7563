export const SectionId = {
  Custom: 0,
  Type: 1,
  Import: 2,
  Function: 3,
  Table: 4,
  Memory: 5,
  Global: 6,
  Export: 7,
  Start: 8,
  Element: 9,
  Code: 10,
  Data: 11,
  DataCount: 12,
  Tag: 13,
} as const;

/** Ids in the required order of sections; custom sections may be anywhere. */
export const SECTION_IDS_IN_ORDER: readonly number[] = [
  SectionId.Type,
  SectionId.Import,
  SectionId.Function,
  SectionId.Table,
  SectionId.Memory,
  SectionId.Tag,
  SectionId.Global,
  SectionId.Export,
  SectionId.Start,
  SectionId.Element,
  SectionId.DataCount,
  SectionId.Code,
  SectionId.Data,
];

const SECTION_NAMES: readonly string[] = [
  "custom",
  "type",
  "import",
  "function",
  "table",
  "memory",
  "global",
  "export",
  "start",
  "element",
  "code",
  "data",
  "data count",
  "tag",
];

/** Returns the specification's name of the section with this id, or the id if it has none. */
export function sectionName(id: number): string {
  return SECTION_NAMES[id] ?? `unknown (id ${id})`;
}
