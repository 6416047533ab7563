export * as dw from "./constants.ts";
export { Cursor } from "./cursor.ts";
export type { Unit } from "./die.ts";
export { Die } from "./die.ts";
export { DwarfFile } from "./dwarf-file.ts";
export type { LinePlace } from "./line-rows.ts";
export { type LineTable, lineTableOf, type PathStyle } from "./line-table.ts";
export { locationExpressions } from "./locations.ts";
export type { DwarfSource } from "./sections.ts";
export {
  kindOfStruct,
  memberEntries,
  type StructLayout,
  type StructMember,
  structLayouts,
} from "./struct-layouts.ts";
export { NO_SUBROUTINE } from "./subroutine-columns.ts";
export { SubroutineIndex } from "./subroutine-index.ts";
export { typeSize } from "./type-size.ts";
export { isTypeUnit } from "./unit-header.ts";
export { UnitIndex } from "./unit-index.ts";
