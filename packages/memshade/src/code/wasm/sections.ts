/** Ids of the sections in the binary format. */
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

/** Ids in the order in which sections must appear; custom sections may stand anywhere. */
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

/** The specification's name of the section with this id, or the id where there is none. */
export function sectionName(id: number): string {
  return SECTION_NAMES[id] ?? `unknown (id ${id})`;
}
