// Bytes that were read, a u64 per id of 16 bits: of its store, since it has the id. Those of ids that are no stores are there too, and
// nobody reads them.
@external("layout", "READS")
declare const READS: u32;

@inline export function readsOf(id: u32): usize { return READS + (id << 3); }
