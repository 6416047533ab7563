export { NO_SUBROUTINE, SubroutineIndex } from "./addresses/subroutine-index.ts";
export { UnitIndex } from "./addresses/unit-index.ts";
export * as dw from "./constants.ts";
export { Cursor } from "./cursor.ts";
export type { DwarfSource, Unit } from "./die.ts";
export { Die, isTypeUnit } from "./die.ts";
export { DwarfFile } from "./dwarf-file.ts";
export { handsOutMemory } from "./hands-out-memory.ts";
export type { LinePlace } from "./lines/line-rows.ts";
export { type LineTable, lineTableOf, type PathStyle } from "./lines/line-table.ts";
export { locationExpressions } from "./locations.ts";
export {
  kindOfStruct,
  memberEntries,
  structLayouts,
} from "./struct-layouts.ts";
export { typeSize } from "./type-size.ts";
