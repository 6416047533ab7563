// All imports of this code from the module that it is merged into. Addresses and sizes of tables depend on
// the profiled module and become constants. If several instances share the memory, the number of the instance
// is imported too.

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
// 0 if no pass counts accesses: all counters are zero then, and are not read.
@external("host", "COUNTED")
export declare const COUNTED: u32;
@external("host", "EXACT")
export declare const EXACT: u32;
// First address of static data, and its length in bytes; 0 if the layout of static data is unknown.
@external("host", "STATICS")
export declare const STATICS: u32;
@external("host", "STATIC_BYTES")
export declare const STATIC_BYTES: u32;
// First address of the module's data segments, and their length in bytes.
@external("host", "IMAGE")
export declare const IMAGE: u32;
@external("host", "IMAGE_BYTES")
export declare const IMAGE_BYTES: u32;
// Bytes of the word before a block in which the allocator stores its size.
@external("host", "HEADER_BYTES")
export declare const HEADER_BYTES: u32;
@external("host", "CONTROL")
export declare const CONTROL: u32;
@external("host", "SHAPES")
export declare const SHAPES: u32;
@external("host", "MIBS")
export declare const MIBS: u32;
@external("host", "MIB_CAPACITY")
export declare const MIB_CAPACITY: u32;
@external("host", "PASTS")
export declare const PASTS: u32;
@external("host", "DRAGS")
export declare const DRAGS: u32;
@external("host", "FOLLOWED")
export declare const FOLLOWED: u32;
@external("host", "INTERVALS")
export declare const INTERVALS: u32;
@external("host", "CHANGES")
export declare const CHANGES: u32;
@external("host", "CHANGE_CAPACITY")
export declare const CHANGE_CAPACITY: u32;
@external("host", "GROWTHS")
export declare const GROWTHS: u32;
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
// Entries of the host that are distinguished by the host's stack: 0 none, 1 a sample, 2 all.
@external("host", "HOST_STACKS")
export declare const HOST_STACKS: u32;
@external("host", "HOST_ENTRIES")
export declare const HOST_ENTRIES: u32;
// The program's own stack, from its lowest address to its end, and where what the host takes of it is kept.
@external("host", "PROGRAM_STACK_START")
export declare const PROGRAM_STACK_START: u32;
@external("host", "PROGRAM_STACK_END")
export declare const PROGRAM_STACK_END: u32;
@external("host", "STACK_TAKES")
export declare const STACK_TAKES: u32;
@external("host", "WALL_CLOCK")
export declare const WALL_CLOCK: u32;
// If several instances share the memory: 1, the address of the first stack, the distance between stacks,
// their number, and the number of the running instance (from 1).
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

// Loads from the program's own memory. The merger replaces the call by the load instruction.
@external("program", "load64")
export declare function programLoad64(address: u32): u64;
@external("program", "pages")
export declare function programPages(): u32;

// The program's own global. The merger replaces the call by the instruction.
@external("stack", "get")
export declare function programStackPointer(): u32;

/** Hands all finished figures to the host. 0 if the host takes none. */
@external("host", "flush")
export declare function flush(): u32;
/** Asks the host which of its stacks has entered the module. 0 if the host does not answer. */
@external("host", "askHost")
export declare function askHost(): u32;
@external("host", "lock")
export declare function lock(): void;
@external("host", "unlock")
export declare function unlock(): void;
/** Makes the host write the milliseconds since the start to the control block. */
@external("host", "tick")
export declare function tick(): void;
/** Leaves the hook and continues in the function that handles all cases. */
@external("hook", "otherwise")
export declare function otherwise(): void;
/** Records a block, by the common path if possible. Parameters as for `allocatedAnyhow`. */
@external("hook", "allocated")
export declare function allocatedAsUsual(address: u32, size: u32, frame: u32, self: u32): void;
