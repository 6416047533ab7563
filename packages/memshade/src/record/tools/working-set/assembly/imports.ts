// Imports of the runtime, resolved when it is merged into a module: functions of the host, and addresses and sizes of
// tables. The latter depend on the profiled module and become constants.

declare module "host";
export declare const LINES: u32;
export declare const WRITTEN: u32;
export declare const BOTH: u32;
export declare const HISTORY: u32;
export declare const PAGES: u32;
export declare const BIG_PAGES: u32;
export declare const CONTROL: u32;
export declare const RECORDS: u32;
export declare const RECORD_CAPACITY: u32;
/** Shortest interval at the start, in units: low and high half. */
export declare const INTERVAL_LOW: u32;
export declare const INTERVAL_HIGH: u32;
/** Most intervals kept, even. */
export declare const MOST_INTERVALS: u32;
/** Lines of the program's stack: from, to. */
export declare const STACK_FROM: u32;
export declare const STACK_TO: u32;
export declare const HEAP_FROM: u32;
/** Largest start value of the countdown. */
export declare const LONGEST_COUNTDOWN: u32;
/** Address of the u64 with the accesses counted up to the last poll that called the runtime. */
export declare const ACCESSES: u32;
/** 1: intervals may become longer, so that scanning lines stays a small part of the run. */
export declare const ADAPTIVE: u32;

export declare function programPages(): u32;
/** Countdown, outside of functions that keep it in a local. */
export declare function clock(): i32;
export declare function setClock(countdown: i32): void;
export declare function beforePoll(): void;
/** Called before an interval's marks are cleared and its stamps renewed. */
export declare function beforeScan(): void;
/** Called after neighbouring intervals were merged and stamps halved. */
export declare function merged(): void;
/** Requests that the host record the call stack, if there is a host: it writes C_STACK. */
export declare function noteStack(): void;
