// Where the tables of the working-set tool lie in its memory. The addresses depend on the profiled module, so they are
// imports here and become constants when this code is merged into it.
//
//   0          READ      one byte per 64-byte line: 1 if it was read in the open interval
//   WRITTEN    the same for stores
//   BOTH       the same for lines read and written at once
//   HISTORY    one byte per line: 15 − the bucket of its last read, and of its last write in the high half, as seen from the
//              last interval that touched its page; so 0 for never
//   PAGES      u16 per 4 KiB page: number of the last interval that touched it, plus one; 0 for never
//   BIG_PAGES  u16 per 64 KiB page
//   CONTROL    the clock and the counts of the open interval, offsets C_*
//   RECORDS    one entry of RECORD_SIZE bytes per snapshot
//   STACKS     call stacks of snapshots, written by the host

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
/** First line of the heap. */
@external("host", "HEAP_FROM")
export declare const HEAP_FROM: u32;
/** The countdown never starts higher. */
@external("host", "LONGEST_COUNTDOWN")
export declare const LONGEST_COUNTDOWN: u32;
/** Address of the u64 with the accesses counted up to the last poll that looked. */
@external("host", "ACCESSES")
export declare const ACCESSES: u32;
/** 1: intervals may become longer, so that looking at lines stays a small part of the run. */
@external("host", "ADAPTIVE")
export declare const ADAPTIVE: u32;

/** Size of the program's memory in 64 KiB pages. */
@external("host", "programPages")
export declare function programPages(): u32;
/** The countdown, where no function has it in a local. */
@external("host", "clock")
export declare function clock(): i32;
@external("host", "setClock")
export declare function setClock(countdown: i32): void;
/** What else has to be done at each poll that is due. */
@external("host", "beforePoll")
export declare function beforePoll(): void;
/** Who looks at an interval's marks and stamps before they are cleared and renewed. */
@external("host", "beforeScan")
export declare function beforeScan(): void;
/** Neighbouring intervals were merged: stamps have been halved. */
@external("host", "merged")
export declare function merged(): void;
/** Asks the host, if there is one, to note the call stack: it writes C_STACK. */
@external("host", "noteStack")
export declare function noteStack(): void;

// Control block. Names are mirrored by the host's reader, which is tested against this file.
export const C_TOTAL: usize = 0; // u64: units that passed up to the last poll that looked
export const C_LOADED: usize = 8; // i32: what the countdown was set to then
export const C_SCALE: usize = 12; // how often the length of intervals was doubled
export const C_INTERVAL: usize = 16; // number of the open interval at that scale
export const C_RECORDS: usize = 20; // snapshots taken
export const C_START: usize = 24; // u64: where the open interval began
export const C_DEADLINE: usize = 32; // u64: when it is due
export const C_STACK: usize = 40; // stack noted for the snapshot at hand, plus one
export const C_FLAG: usize = 44; // real time: set by the host when an interval is due
export const C_NOW: usize = 48; // u64: the real time at that moment
export const C_STACK_NEXT: usize = 56; // bytes used in STACKS
export const C_BUSY: usize = 60; // 1 while a snapshot is being taken
export const C_CLOCK: usize = 64; // i32: the countdown as it was when the host got control last, for readers
export const C_HIGH_LINES: usize = 68; // lines of the program's memory, as last looked at
export const C_WORK: usize = 72; // u64: lines looked at by snapshots
export const C_ACCESSES: usize = 80; // u64: accesses up to the last poll, where intervals are of real time
export const C_STACK_FROM: usize = 88; // regions, as they were when the host entered last: lines of the stack …
export const C_STACK_TO: usize = 92;
export const C_HEAP_FROM: usize = 96; // … and the first line of the heap
export const C_COUNTS: usize = 128;
export const SCAN_AGED: usize = 1024; // while a snapshot is taken: the histories of a page's lines as seen from now
/** Four u32 for each way to be touched and each history. */
export const SCAN_COUNTERS: usize = 4096;

/** Measures in the order of their counters, each with BUCKETS counters. */
export const LINES_MEASURE: u32 = 0;
export const READ_MEASURE: u32 = 1;
export const WRITTEN_MEASURE: u32 = 2;
export const BOTH_MEASURE: u32 = 3;
export const PAGES_MEASURE: u32 = 4;
export const BIG_PAGES_MEASURE: u32 = 5;
export const STACK_MEASURE: u32 = 6;
export const STATIC_MEASURE: u32 = 7;
export const HEAP_MEASURE: u32 = 8;
export const MEASURES: u32 = 9;
export const BUCKETS: u32 = 16;
export const FRESH_BUCKET: u32 = 15;
export const COUNTS_BYTES: u32 = MEASURES * BUCKETS * 4;

export const HISTORIES: u32 = 256;

// A snapshot: this header, then the counts.
export const S_SCALE: usize = 0;
export const S_INTERVAL: usize = 4;
export const S_START: usize = 8; // u64
export const S_END: usize = 16; // u64
export const S_STACK: usize = 24;
export const S_COUNTS: usize = 32;
export const RECORD_SIZE: u32 = 32 + COUNTS_BYTES;
