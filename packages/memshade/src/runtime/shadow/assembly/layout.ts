// Where the tables lie in the shadow memory. The addresses depend on the profiled module, so they are imports
// here and become constants when this code is merged into it.
//
//   0                counters  one u32 per 8 bytes of program memory: (accesses << 1) | (1 if any of them read)
//   SLOTS            slots     one u32 per 16 bytes: head of the chain of records of blocks that start there
//   MARKS             bits      one per 8 bytes: touched by a loop that counted all its accesses at one place
//   CONTROL          totals and table ends, offsets C_*
//   MIBS             one entry of MIB_SIZE bytes per calling context that allocates, offsets M_*; entry 0 is overflow
//   NODES            calling context tree: parent, call site, mib, mark; node 0 is the root
//   CHILDREN         open addressing: (parent, site) -> node
//   RECORDS          one entry per live block, offsets R_*
//   HISTOGRAMS       u64 per granule, only in exact mode
//   STACK            shadow stack: per frame {u32 call site, u32 memo of its tree node}

@external("host", "COVERED")
export declare const COVERED: u32;
@external("host", "SLOTS")
export declare const SLOTS: u32;
@external("host", "MARKS")
export declare const MARKS: u32;
@external("host", "EXACT")
export declare const EXACT: u32;
@external("host", "CONTROL")
export declare const CONTROL: u32;
@external("host", "MIBS")
export declare const MIBS: u32;
@external("host", "MIB_CAPACITY")
export declare const MIB_CAPACITY: u32;
@external("host", "NODES")
export declare const NODES: u32;
@external("host", "NODE_CAPACITY")
export declare const NODE_CAPACITY: u32;
@external("host", "CHILDREN")
export declare const CHILDREN: u32;
@external("host", "CHILD_MASK")
export declare const CHILD_MASK: u32;
@external("host", "RECORDS")
export declare const RECORDS: u32;
@external("host", "RECORD_CAPACITY")
export declare const RECORD_CAPACITY: u32;
@external("host", "HISTOGRAMS")
export declare const HISTOGRAMS: u32;
@external("host", "HISTOGRAMS_END")
export declare const HISTOGRAMS_END: u32;
@external("host", "STACK")
export declare const STACK: u32;
@external("host", "WALL_CLOCK")
export declare const WALL_CLOCK: u32;

// Control block. Names are mirrored by the host's reader, which is tested against this file.
export const C_LIVE_BYTES: usize = 0;
export const C_LIVE_BLOCKS: usize = 8; // u64, so that both are updated as one vector
export const C_PEAK_BYTES: usize = 16;
export const C_PEAK_BLOCKS: usize = 24;
export const C_PEAK_STAMP: usize = 28;
export const C_ALLOCATIONS: usize = 32; // u64; its low half is the virtual clock
export const C_RECORD_FREE: usize = 40;
export const C_RECORD_NEXT: usize = 44;
export const C_HIGH_WATER: usize = 48;
export const C_INSTANCE: usize = 52;
export const C_OTHER_ACCESSES: usize = 64;
export const C_UNFOLLOWED_BYTES: usize = 72;
export const C_NODE_NEXT: usize = 80;
export const C_MIB_NEXT: usize = 84;
export const C_OVERFLOW_CONTEXTS: usize = 88;
export const C_OVERFLOW_BLOCKS: usize = 92;
export const C_UNMATCHED_FREES: usize = 96;
export const C_OVERLAPS: usize = 100;
export const C_SHARED_GRANULES: usize = 104;
export const C_OUTSIDE: usize = 108;
export const C_NODE_FREE: usize = 116;
export const C_MIB_FREE: usize = 120;
export const C_WALL_MS: usize = 128;
export const C_WALL_BUDGET: usize = 132;
export const C_WALL_INTERVAL: usize = 136;
export const C_HISTOGRAM_NEXT: usize = 140;
export const C_HISTOGRAM_DROPPED: usize = 144;
export const C_EVICTIONS: usize = 152;
export const C_MISALIGNED: usize = 156;
export const C_NULL_FREES: usize = 160;
export const C_UNFOLLOWED_FREES: usize = 164;
export const C_FLUSH_PAUSE: usize = 168;
export const C_CHILDREN_USED: usize = 176;
export const C_HISTOGRAM_FREE: usize = 256; // 32 free lists, one per power of two

// A context's entry. Neighbours in one group of 16 bytes are updated together as one vector.
export const MIB_SIZE: u32 = 256;
export const M_LIVE_BYTES: usize = 0;
export const M_LIVE_BLOCKS: usize = 8;
export const M_PEAK_STAMP: usize = 12;
export const M_PEAK_BYTES: usize = 16;
export const M_PEAK_BLOCKS: usize = 24;
export const M_NODE: usize = 28;
export const M_REALLOCATIONS: usize = 32;
export const M_NEVER_ACCESSED: usize = 36;
export const M_NEVER_ACCESSED_BYTES: usize = 40;
export const M_NEVER_READ_BYTES: usize = 48;
export const M_NEVER_READ: usize = 56;
export const M_TEMPORARY: usize = 60;
export const M_TOTAL_ACCESSES: usize = 64;
export const M_TOTAL_SIZE: usize = 72;
export const M_TOTAL_LIFETIME: usize = 80;
export const M_TOTAL_DENSITY: usize = 88;
export const M_TOTAL_LIFETIME_DENSITY: usize = 96;
export const M_GRANULES: usize = 104;
export const M_MIN_SIZE: usize = 112;
export const M_MIN_LIFETIME: usize = 116;
export const M_MIN_DENSITY: usize = 120;
export const M_MIN_LIFETIME_DENSITY: usize = 124;
export const M_MAX_SIZE: usize = 128;
export const M_MAX_LIFETIME: usize = 132;
export const M_MAX_DENSITY: usize = 136;
export const M_MAX_LIFETIME_DENSITY: usize = 140;
export const M_ALLOC_TIMESTAMP: usize = 144;
export const M_DEALLOC_TIMESTAMP: usize = 148;
export const M_ALLOC_CPU: usize = 152;
export const M_DEALLOC_CPU: usize = 156;
export const M_ALLOC_COUNT: usize = 160;
export const M_OVERLAPS: usize = 164;
export const M_SAME_ALLOC_CPU: usize = 168;
export const M_SAME_DEALLOC_CPU: usize = 172;
export const M_MIN_ACCESSES: usize = 176;
export const M_MAX_ACCESSES: usize = 184;
export const M_GRANULES_TOUCHED: usize = 192;
export const M_MIGRATED: usize = 200;
export const M_LAST_ACCESSES: usize = 208; // the last block's accesses and size, and the density they gave
export const M_LAST_SIZE: usize = 216;
export const M_LAST_DENSITY: usize = 220;
export const M_HISTOGRAM: usize = 240;
export const M_HISTOGRAM_CLASS: usize = 244;
export const M_HISTOGRAM_LENGTH: usize = 248;

export const NODE_SIZE: u32 = 16;
export const N_PARENT: usize = 0;
export const N_SITE: usize = 4;
export const N_MIB: usize = 8;
export const N_MARK: usize = 12;

export const CHILD_SIZE: u32 = 16;
export const H_PARENT: usize = 0;
export const H_SITE: usize = 4;
export const H_NODE: usize = 8;

export const RECORD_SIZE: u32 = 32;
export const R_ADDRESS: usize = 0;
export const R_SIZE: usize = 4;
export const R_MIB: usize = 8;
export const R_TIME: usize = 12;
export const R_NEXT: usize = 16;
export const R_INSTANCE: usize = 20;
export const R_FOLDED: usize = 24;
