export { Dwarf, type DwarfFrame } from "./dwarf.ts";
export type { DebugSectionName, DebugSections, SplitLoader, SplitRequest } from "./sections.ts";
