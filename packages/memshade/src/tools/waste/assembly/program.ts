// Loads from the program's own memory. The merger puts the instruction in the place of the call.
@external("program", "load8")
export declare function programLoad8(address: u32): u32;
@external("program", "load32")
export declare function programLoad32(address: u32): u32;
@external("program", "load64")
export declare function programLoad64(address: u32): u64;
@external("program", "pages")
export declare function programPages(): u32;
/** Writes to a word without changing it. */
@external("program", "claim")
export declare function claimProgram(address: u32): void;
