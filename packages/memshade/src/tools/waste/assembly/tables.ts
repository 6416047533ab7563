// The tables with a word per byte of the program's memory. Where they do not fit beside everything else, each has a memory of its
// own: the merger puts an instruction on the right memory in the place of each of these calls.
@external("writers", "load32")
export declare function writersLoad(at: u32): u32;
@external("writers", "store32")
export declare function writersStore(at: u32, word: u32): void;
@external("writers", "load128")
export declare function writersLoad128(at: u32): v128;
@external("writers", "store128")
export declare function writersStore128(at: u32, words: v128): void;
@external("writers", "copy")
export declare function writersCopy(to: u32, from: u32, bytes: u32): void;
@external("writers", "fill")
export declare function writersFill(at: u32, value: u32, bytes: u32): void;
@external("readers", "load32")
export declare function readersLoad(at: u32): u32;
@external("readers", "store32")
export declare function readersStore(at: u32, word: u32): void;
@external("readers", "load128")
export declare function readersLoad128(at: u32): v128;
@external("readers", "store128")
export declare function readersStore128(at: u32, words: v128): void;
@external("readers", "copy")
export declare function readersCopy(to: u32, from: u32, bytes: u32): void;
@external("origins", "load32")
export declare function originsLoad(at: u32): u32;
@external("origins", "store32")
export declare function originsStore(at: u32, word: u32): void;
@external("origins", "copy")
export declare function originsCopy(to: u32, from: u32, bytes: u32): void;
@external("origins", "fill")
export declare function originsFill(at: u32, value: u32, bytes: u32): void;
@external("writers", "claim")
export declare function writersClaim(at: u32): void;
@external("shadow", "claim")
export declare function shadowClaim(at: u32): void;
