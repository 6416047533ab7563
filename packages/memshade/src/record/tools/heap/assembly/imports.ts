// All imports of this code from the module that it is merged into. Addresses and sizes of tables depend on
// the profiled module and become constants. If several instances share the memory, the number of the instance
// is imported too.

declare module "host";
export declare const COVERED: u32;
export declare const SLOTS: u32;
export declare const SLOTS_END: u32;
export declare const MARKS: u32;
export declare const DIRECTORY: u32;
// 0 if no pass counts accesses: all counters are zero then, and are not read.
export declare const COUNTED: u32;
export declare const EXACT: u32;
// First address of static data, and its length in bytes; 0 if the layout of static data is unknown.
export declare const STATICS: u32;
export declare const STATIC_BYTES: u32;
// First address of the module's data segments, and their length in bytes.
export declare const IMAGE: u32;
export declare const IMAGE_BYTES: u32;
// Bytes of the word before a block in which the allocator stores its size.
export declare const HEADER_BYTES: u32;
export declare const CONTROL: u32;
export declare const SHAPES: u32;
export declare const MIBS: u32;
export declare const MIB_CAPACITY: u32;
export declare const PASTS: u32;
export declare const DRAGS: u32;
export declare const FOLLOWED: u32;
export declare const INTERVALS: u32;
export declare const CHANGES: u32;
export declare const CHANGE_CAPACITY: u32;
export declare const GROWTHS: u32;
export declare const NODES: u32;
export declare const NODE_CAPACITY: u32;
export declare const CHILDREN: u32;
export declare const CHILD_CAPACITY: u32;
export declare const RECORDS: u32;
export declare const RECORD_CAPACITY: u32;
export declare const HISTOGRAMS: u32;
export declare const HISTOGRAMS_END: u32;
export declare const STACK: u32;
// Entries of the host that are distinguished by the host's stack: 0 none, 1 a sample, 2 all.
export declare const HOST_STACKS: u32;
export declare const HOST_ENTRIES: u32;
// The program's own stack, from its lowest address to its end, and where what the host takes of it is kept.
export declare const PROGRAM_STACK_START: u32;
export declare const PROGRAM_STACK_END: u32;
export declare const STACK_TAKES: u32;
export declare const WALL_CLOCK: u32;
// If several instances share the memory: 1, the address of the first stack, the distance between stacks,
// their number, and the number of the running instance (from 1).
export declare const SHARED: u32;
export declare const FIRST_STACK: u32;
export declare const STACK_DISTANCE: u32;
export declare const STACK_COUNT: u32;
export declare const INSTANCE: u32;

declare module "program";
// Loads from the program's own memory. The merger replaces the call by the load instruction.
@external("load64")
export declare function programLoad64(address: u32): u64;
@external("pages")
export declare function programPages(): u32;

declare module "stack";
// The program's own global. The merger replaces the call by the instruction.
@external("get")
export declare function programStackPointer(): u32;

declare module "host";
/** Hands all finished figures to the host. 0 if the host takes none. */
export declare function flush(): u32;
/** Asks the host which of its stacks has entered the module. 0 if the host does not answer. */
export declare function askHost(): u32;
export declare function lock(): void;
export declare function unlock(): void;
/** Makes the host write the milliseconds since the start to the control block. */
export declare function tick(): void;

declare module "hook";
/** Leaves the hook and continues in the function that handles all cases. */
export declare function otherwise(): void;
/** Records a block, by the common path if possible. Parameters as for `allocatedAnyhow`. */
@external("allocated")
export declare function allocatedAsUsual(address: u32, size: u32, frame: u32, self: u32): void;
