// All that this code asks of the module that it is merged into: addresses and sizes of tables, which depend on the profiled
// module and become constants, and the number of the instance where several share the memory.

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
// 0 where nothing counts accesses: then all counters are zero, and nobody looks at them.
@external("host", "COUNTED")
export declare const COUNTED: u32;
@external("host", "EXACT")
export declare const EXACT: u32;
// Where static data lies: its first address, and bytes from there on; 0 where nothing is known of it.
@external("host", "STATICS")
export declare const STATICS: u32;
@external("host", "STATIC_BYTES")
export declare const STATIC_BYTES: u32;
// Where the module's segments lie: the first address, and bytes from there on.
@external("host", "IMAGE")
export declare const IMAGE: u32;
@external("host", "IMAGE_BYTES")
export declare const IMAGE_BYTES: u32;
// Bytes of the word in front of a block in which the allocator notes its size.
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
// Whose calls into the module are told apart by the host's stack: 0 none, 1 a sample, 2 all.
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

// Loads from the program's own memory. The merger puts the instruction in the place of the call.
@external("program", "load64")
export declare function programLoad64(address: u32): u64;
@external("program", "pages")
export declare function programPages(): u32;

// The program's own global. The merger puts the instruction in the place of the call.
@external("stack", "get")
export declare function programStackPointer(): u32;

/** Hands all finished figures to the host. 0: nobody listens. */
@external("host", "flush")
export declare function flush(): u32;
/** Asks the host which of its stacks has entered the module. 0: nobody listens. */
@external("host", "askHost")
export declare function askHost(): u32;
@external("host", "lock")
export declare function lock(): void;
@external("host", "unlock")
export declare function unlock(): void;
/** Asks the host to write the milliseconds since the start to the control block. */
@external("host", "tick")
export declare function tick(): void;
/** Leaves the hook for the function that can do all cases. */
@external("hook", "otherwise")
export declare function otherwise(): void;
/** A block was handed out, most often such a one as the common path knows; parameters as for `allocatedAnyhow`. */
@external("hook", "allocated")
export declare function allocatedAsUsual(address: u32, size: u32, frame: u32, self: u32): void;
