/**
 * What the Valgrind tool deadstores writes: every store and load instruction that ran, in the order of their
 * addresses (of their call stacks with `--use-stack-trace=yes`), with what became of the bytes.
 */
export interface DeadstoresFile {
  /** The profiled command, its words separated by spaces. */
  readonly command: string;
  readonly stores: readonly StoreRecord[];
  readonly loads: readonly LoadRecord[];
}

/** A code location on the way to an access. */
export interface DeadstoresIp {
  /** A bigint only where a number would not be exact. */
  readonly address: number | bigint;
  readonly function?: string | undefined;
  /** With its directory. */
  readonly file?: string | undefined;
  /** From 1; always there when `file` is. */
  readonly line?: number | undefined;
}

export interface StoreRecord {
  /** Innermost first, at least one. */
  readonly ips: readonly DeadstoresIp[];
  readonly bytes_written: number;
  /** Of the bytes written, those that were read before they were overwritten or became invalid. */
  readonly bytes_read: number;
  readonly nof_stores: number;
  /** Stores that left every byte as it was. */
  readonly nof_silent: number;
}

export interface LoadRecord {
  readonly ips: readonly DeadstoresIp[];
  readonly nof_loads: number;
  /** Loads of bytes that had all been read since they were written. */
  readonly nof_silent: number;
}
