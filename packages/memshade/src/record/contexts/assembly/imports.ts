// All that the code of calling contexts asks of the module that it is merged into: where a tool has its tables. `layout.ts` says what
// is in them.

/** Address of the u32 that says where the next frame begins, 0 at first. */
@external("layout", "FRAME_NEXT")
export declare const FRAME_NEXT: u32;
@external("layout", "FRAMES")
export declare const FRAMES: u32;
/** Frames of contexts end here; behind is room for one more of each function: for contexts that find no room. */
@external("layout", "FRAME_LIMIT")
export declare const FRAME_LIMIT: u32;
/** A u32 per tag: that frame. */
@external("layout", "LAST_FRAMES")
export declare const LAST_FRAMES: u32;

/** Address of the u32 with the number of the last node. */
@external("layout", "NODE_NEXT")
export declare const NODE_NEXT: u32;
@external("layout", "NODES")
export declare const NODES: u32;
@external("layout", "NODE_CAPACITY")
export declare const NODE_CAPACITY: u32;

/** The table of pairs. */
@external("layout", "INDEX")
export declare const INDEX: u32;
/** Entries that it has at most, a power of two. */
@external("layout", "INDEX_ENTRIES")
export declare const INDEX_ENTRIES: u32;
