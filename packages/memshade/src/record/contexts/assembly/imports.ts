// Imports of the calling-context code: addresses and sizes of a tool's tables, whose fields are in `layout.ts`.

declare module "layout";
/** Address of a u32 with the start of the next frame, 0 at first. */
export declare const FRAME_NEXT: u32;
export declare const FRAMES: u32;
/** End of the frames of contexts. One more frame per function fits after it, for contexts without room. */
export declare const FRAME_LIMIT: u32;
/** Address of these frames by tag: a u32 each. */
export declare const LAST_FRAMES: u32;

/** Address of a u32 with the number of the last node. */
export declare const NODE_NEXT: u32;
export declare const NODES: u32;
export declare const NODE_CAPACITY: u32;

export declare const INDEX: u32;
/** Largest number of its entries, a power of two. */
export declare const INDEX_ENTRIES: u32;
