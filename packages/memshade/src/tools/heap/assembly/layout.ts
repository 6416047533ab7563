// Where the tables lie in the shadow memory. The addresses depend on the profiled module, so they are imports
// here and become constants when this code is merged into it.
//
//   0                counters  one u32 per 8 bytes of program memory: (accesses << 1) | (1 if any of them read)
//   SLOTS            slots     one u64 per 16 bytes of a region of program memory: the block that starts there
//   MARKS             bits      one per 8 bytes: touched by a loop that counted all its accesses at one place
//   DIRECTORY        one u32 per region of program memory: where its slots are, 0 if no block has started there yet
//   CONTROL          totals and table ends, offsets C_*
//   SHAPES           hashed by context, size and counters: equal blocks that have ended, offsets S_*
//   MIBS             one entry of MIB_SIZE bytes per calling context that allocates, offsets M_*; entry 0 is overflow
//   NODES            calling context tree, offsets N_*; the first is the root
//   CHILDREN         open addressing: (parent, site) -> node, and its mib once it was asked for. A table of n entries
//                    lies n entries behind the start, so there is room for the next one, of twice the size
//   RECORDS          one entry per live block that no slot can hold, offsets R_*; the first stands for none
//   HISTOGRAMS       u64 per granule, only in exact mode
//   STACK            shadow stack: per frame {u32 call site, u32 memo of its tree node}; below it a frame for the root
//
// Memory is zero at the start, so zero means "nothing yet" in every field: minima are kept as their complements.
// Bytes and blocks that are live share one u64, (bytes << 26) | blocks, to be changed and compared at once.

@external("host", "COVERED")
export declare const COVERED: u32;
@external("host", "SLOTS")
export declare const SLOTS: u32;
@external("host", "SLOTS_END")
export declare const SLOTS_END: u32;
@external("host", "MARKS")
export declare const MARKS: u32;
@external("host", "DIRECTORY")
export declare const DIRECTORY: u32;
@external("host", "EXACT")
export declare const EXACT: u32;
@external("host", "CONTROL")
export declare const CONTROL: u32;
@external("host", "SHAPES")
export declare const SHAPES: u32;
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
@external("host", "CHILD_CAPACITY")
export declare const CHILD_CAPACITY: u32;
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
// Where several instances share the memory: 1, where the first stack is, how far the next ones are and how many, and the
// number of the instance that runs, from 1 on.
@external("host", "SHARED")
export declare const SHARED: u32;
@external("host", "FIRST_STACK")
export declare const FIRST_STACK: u32;
@external("host", "STACK_DISTANCE")
export declare const STACK_DISTANCE: u32;
@external("host", "STACK_COUNT")
export declare const STACK_COUNT: u32;
@external("host", "INSTANCE")
export declare const INSTANCE: u32;

// Control block. Names are mirrored by the host's reader, which is tested against this file. The first 32 bytes are
// what every block needs.
export const C_LIVE: usize = 0; // u64, bytes and blocks
export const C_PEAK_LIMIT: usize = 8; // u64: C_PEAK with as many blocks as can be; what is live above it is a new peak
export const C_ALLOCATIONS: usize = 16; // u64; its low half is the virtual clock
export const C_PEAK_STAMP: usize = 24; // number of peaks so far
export const C_PEAK: usize = 32; // u64, bytes and blocks; noticed at the first release after it
export const C_RECORD_FREE: usize = 40;
export const C_RECORD_NEXT: usize = 44;
export const C_HIGH_WATER: usize = 48;
export const C_INSTANCE: usize = 52;
export const C_SLOTS_NEXT: usize = 56; // bytes of slots that regions have
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
export const C_INSTANCES: usize = 180; // instances so far, where several share the memory
export const C_LOCK: usize = 184; // number of the instance that holds the lock, 0 for none
export const C_LOCK_TURN: usize = 188; // rises whenever the lock is taken
export const C_START: usize = 200; // f64: when the wall clock of all instances began, milliseconds of the epoch; the host's
export const C_DEEPEST: usize = 192; // bytes from the base of a stack to the newest frame, at most
export const C_CHILD_TABLE: usize = 208; // address of the children's table
export const C_CHILD_SHIFT: usize = 212; // 32 without the bits of an index in it
export const C_HISTOGRAM_FREE: usize = 256; // 32 free lists, one per power of two

// A context's entry. Neighbours in one group of 16 bytes are updated together as one vector.
export const MIB_SIZE: u32 = 256;
// What stays when the ended blocks are forgotten.
export const M_LIVE: usize = 0; // u64, bytes and blocks
export const M_PEAK_STAMP: usize = 8; // peaks so far when M_PEAK was taken
export const M_NODE: usize = 12; // address; in free entries the index of the next free one
export const M_PEAK: usize = 16; // u64: what was live at the last peak, if something has changed since
// What changes with every block; the rest is also in the shapes.
export const M_ALLOC_TIMESTAMP: usize = 24;
export const M_DEALLOC_TIMESTAMP: usize = 28;
export const M_OVERLAPS: usize = 32;
export const M_TEMPORARY: usize = 36;
export const M_TOTAL_LIFETIME: usize = 40;
export const M_TOTAL_LIFETIME_DENSITY: usize = 48;
export const M_ALLOC_COUNT: usize = 56;
export const M_REALLOCATIONS: usize = 60;
export const M_TOTAL_ACCESSES: usize = 64;
export const M_TOTAL_SIZE: usize = 72;
export const M_GRANULES: usize = 80;
export const M_GRANULES_TOUCHED: usize = 88;
export const M_MIN_SIZE: usize = 96;
export const M_MIN_LIFETIME: usize = 100;
export const M_MIN_DENSITY: usize = 104;
export const M_MIN_LIFETIME_DENSITY: usize = 108;
export const M_MAX_SIZE: usize = 112;
export const M_MAX_LIFETIME: usize = 116;
export const M_MAX_DENSITY: usize = 120;
export const M_MAX_LIFETIME_DENSITY: usize = 124;
export const M_MIN_ACCESSES: usize = 128;
export const M_MAX_ACCESSES: usize = 136;
export const M_TOTAL_DENSITY: usize = 144;
export const M_NEVER_ACCESSED: usize = 152;
export const M_NEVER_READ: usize = 156;
export const M_NEVER_ACCESSED_BYTES: usize = 160;
export const M_NEVER_READ_BYTES: usize = 168;
export const M_HISTOGRAM_LENGTH: usize = 176;
export const M_FORGOTTEN_END: usize = 180;
export const M_HISTOGRAM: usize = 184;
export const M_HISTOGRAM_CLASS: usize = 188;
// Only where several instances share the memory; forgotten with the ended blocks.
export const M_ALLOC_CPU: usize = 192; // of the last ended block; 0 before the first
export const M_DEALLOC_CPU: usize = 196;
export const M_MIGRATED: usize = 200;
export const M_SAME_ALLOC_CPU: usize = 204;
export const M_SAME_DEALLOC_CPU: usize = 208;
export const M_PROCESSORS_END: usize = 212;

// A shape: small blocks of one context that ended with the same size and the same counters. They are only counted, with
// what depends on their lifetimes, until another shape takes the entry and they join the context's sums. Zeros: no blocks.
export const SHAPE_SIZE: u32 = 128;
export const SHAPE_BITS: u32 = 12; // of an entry's index
export const SHAPE_COUNT: u32 = 4096;
export const S_OWNER: usize = 0; // the context's index and the size as in a slot's tag, below them whether contents live on
export const S_DENSITY: usize = 4; // times 1000
export const S_COUNT: usize = 8; // u64: blocks with a lifetime; its highest bits are another number
export const S_ZERO: usize = 16; // u64: blocks without lifetime, which are nowhere else
export const S_MIN_LIFETIME: usize = 24; // of S_COUNT blocks
export const S_SPAN: usize = 28; // by how much the longest of their lifetimes is longer
export const S_PATTERN: usize = 32; // 16 counters; those behind the block's are anything
/** Above these bits of S_COUNT: blocks of other shapes until one of them may take the entry. */
export const SHAPE_COUNT_BITS: u64 = 62;

export const NODE_SIZE: u32 = 32;
export const N_PARENT: usize = 0; // address; in free nodes that of the next free one
export const N_SITE: usize = 4;
export const N_MIB: usize = 8; // address
export const N_MARK: usize = 12;
export const N_LAST_SITE: usize = 16; // the allocating call that was looked for last, and its context
export const N_LAST_MIB: usize = 20;
export const N_OTHER_SITE: usize = 24; // the one before it
export const N_OTHER_MIB: usize = 28;

export const CHILD_SIZE: u32 = 16;
/** Entries of the first table of children: most programs need no page more. */
export const FIRST_CHILDREN: u32 = 256;
export const H_PARENT: usize = 0;
export const H_SITE: usize = 4;
export const H_NODE: usize = 8;
export const H_MIB: usize = 12;

export const FRAME_SIZE: u32 = 8;
export const F_SITE: usize = 0;
export const F_NODE: usize = 4;

// A slot: the time at which its block began, and what it is: 0 for none, or the index of its context << 14 | size << 4 |
// the address's last four bits; or with the highest bit set the index of the first in a chain of records.
export const REGION_BITS: u32 = 16; // of an address within its region of program memory
export const SLOT_REGION_SIZE: u32 = 32768; // bytes of a region's slots
export const SLOT_TIME: usize = 0;
export const SLOT_TAG: usize = 4;
export const TAG_RECORDED: u32 = 0x80000000;
export const TAG_CONTEXT_SHIFT: u32 = 14;
export const TAG_SIZE_SHIFT: u32 = 4;
export const TAG_SIZE_MASK: u32 = 1023;
export const TAG_PLACE_MASK: u32 = 15;
/** Contexts with an index from here on have records for all their blocks. */
export const TAG_CONTEXTS: u32 = 131072;

export const RECORD_SIZE: u32 = 32;
export const R_ADDRESS: usize = 0;
export const R_NEXT: usize = 4; // offset of the next record of the slot, or of the next free one
export const R_MIB: usize = 8; // address
export const R_TIME: usize = 12;
export const R_SIZE: usize = 16;
export const R_OWNER: usize = 20; // where several instances share the memory: the one that allocated
export const R_FOLDED: usize = 24; // u64: accesses that a counter had no room for

/** Blocks with at most this many bytes, so at most 16 counters, have a shape. */
export const LARGEST_SMALL: u32 = 128;
/** Blocks with at most this many bytes have no marks, and fit a slot. */
export const LARGEST_UNMARKED: u32 = 511;
