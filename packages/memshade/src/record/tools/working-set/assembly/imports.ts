// Imports of the runtime, resolved when it is merged into a module: functions of the host, and addresses and sizes of
// tables. The latter depend on the profiled module and become constants.

@external("host", "LINES")
export declare const LINES: u32;
@external("host", "WRITTEN")
export declare const WRITTEN: u32;
@external("host", "BOTH")
export declare const BOTH: u32;
@external("host", "HISTORY")
export declare const HISTORY: u32;
@external("host", "PAGES")
export declare const PAGES: u32;
@external("host", "BIG_PAGES")
export declare const BIG_PAGES: u32;
@external("host", "CONTROL")
export declare const CONTROL: u32;
@external("host", "RECORDS")
export declare const RECORDS: u32;
@external("host", "RECORD_CAPACITY")
export declare const RECORD_CAPACITY: u32;
/** Shortest interval at the start, in units: low and high half. */
@external("host", "INTERVAL_LOW")
export declare const INTERVAL_LOW: u32;
@external("host", "INTERVAL_HIGH")
export declare const INTERVAL_HIGH: u32;
/** Most intervals kept, even. */
@external("host", "MOST_INTERVALS")
export declare const MOST_INTERVALS: u32;
/** Lines of the program's stack: from, to. */
@external("host", "STACK_FROM")
export declare const STACK_FROM: u32;
@external("host", "STACK_TO")
export declare const STACK_TO: u32;
@external("host", "HEAP_FROM")
export declare const HEAP_FROM: u32;
/** Largest start value of the countdown. */
@external("host", "LONGEST_COUNTDOWN")
export declare const LONGEST_COUNTDOWN: u32;
/** Address of the u64 with the accesses counted up to the last poll that called the runtime. */
@external("host", "ACCESSES")
export declare const ACCESSES: u32;
/** 1: intervals may become longer, so that scanning lines stays a small part of the run. */
@external("host", "ADAPTIVE")
export declare const ADAPTIVE: u32;

@external("host", "programPages")
export declare function programPages(): u32;
/** Countdown, outside of functions that keep it in a local. */
@external("host", "clock")
export declare function clock(): i32;
@external("host", "setClock")
export declare function setClock(countdown: i32): void;
@external("host", "beforePoll")
export declare function beforePoll(): void;
/** Called before an interval's marks are cleared and its stamps renewed. */
@external("host", "beforeScan")
export declare function beforeScan(): void;
/** Called after neighbouring intervals were merged and stamps halved. */
@external("host", "merged")
export declare function merged(): void;
/** Requests that the host record the call stack, if there is a host: it writes C_STACK. */
@external("host", "noteStack")
export declare function noteStack(): void;
