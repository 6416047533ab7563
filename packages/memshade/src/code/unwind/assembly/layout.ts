// Layout of the memory, whose first part has fixed addresses:
//
//   REMEMBERED   u32 per nested DW_CFA_remember_state: the rule set
//   CIES         by (offset >> 2) % CIE_SLOTS: {u32 offset + 1, or 0; u32 code alignment; u32 rule set that FDEs
//                begin with; u32 address of its transitions}
//   FDE_*        per FDE of a batch: i32 start of its code; u32 bytes of its code; u32 index of its first row
//   ROW_*        i32 per row: bytes from the start of the code; rule set
//   WINDOW       bytes of the section
//   REDUCED      u32 per rule set: index of its reduced set, plus 1; 0 if unknown so far
//   TRANSITIONS  tables of {u32 key, u32 rule set}; a key is a set << 16 | the code of an instruction
//   REGIONS      arrays of a table, see table.ts
//
// Offsets of code count from the base of the object, minus 2^31, so that all of them are signed integers of 32 bits.

export const WINDOW_BYTES: u32 = 1 << 16;
export const CIE_SLOTS: u32 = 256;
export const MOST_FDES: u32 = 4096;
/** Every row except the first of an FDE takes at least one byte of instructions. */
export const MOST_ROWS: u32 = WINDOW_BYTES;
export const MOST_REMEMBERED: u32 = 64;
export const TRANSITION_BITS: u32 = 15;
export const TRANSITION_TABLES: u32 = 8;
/** Sets from this index on are not kept in `TRANSITIONS` and `REDUCED`. */
export const KEYED_SETS: u32 = 1 << 16;

export const REMEMBERED: u32 = 1024;
export const CIES: u32 = REMEMBERED + 4 * MOST_REMEMBERED;
export const FDE_STARTS: u32 = CIES + 16 * CIE_SLOTS;
export const FDE_SIZES: u32 = FDE_STARTS + 4 * MOST_FDES;
export const FDE_ROWS: u32 = FDE_SIZES + 4 * MOST_FDES;
export const ROW_DELTAS: u32 = FDE_ROWS + 4 * (MOST_FDES + 1);
export const ROW_SETS: u32 = ROW_DELTAS + 4 * MOST_ROWS;
export const WINDOW: u32 = ROW_SETS + 4 * MOST_ROWS;
export const REDUCED: u32 = WINDOW + WINDOW_BYTES;
export const TRANSITIONS: u32 = REDUCED + 4 * KEYED_SETS;
export const REGIONS: u32 = TRANSITIONS + TRANSITION_TABLES * (8 << TRANSITION_BITS);

export const LAST_OFFSET: i32 = 0x7fff_ffff;
