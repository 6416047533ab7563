/**
 * Fields of the working-set tool's tables, as `tools/working-set/assembly/layout.ts` defines them; a test
 * compares the two.
 */
export const Control = {
  TOTAL: 0,
  LOADED: 8,
  SCALE: 12,
  INTERVAL: 16,
  RECORDS: 20,
  START: 24,
  DEADLINE: 32,
  STACK: 40,
  FLAG: 44,
  NOW: 48,
  STACK_NEXT: 56,
  BUSY: 60,
  CLOCK: 64,
  HIGH_LINES: 68,
  WORK: 72,
  ACCESSES: 80,
  STACK_FROM: 88,
  STACK_TO: 92,
  HEAP_FROM: 96,
  COUNTS: 128,
} as const;

export const Snapshot = { SCALE: 0, INTERVAL: 4, START: 8, END: 16, STACK: 24, COUNTS: 32 } as const;
