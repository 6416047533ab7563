/** What a budget file says: limits of a program's memory behaviour, and what does not count. Each has its place: `budget.yaml:7`. */
export interface Budget {
  readonly limits: readonly BudgetLimit[];
  /** A run to compare with; a path, from the folder of the file. */
  readonly baseline?: string | undefined;
  readonly suppressions: readonly BudgetSuppression[];
}

export interface BudgetLimit {
  /** `peak<8MiB`; of a pair, its two halves. */
  readonly limit: string | readonly [measure: string, amount: string | number];
  /** Why it is what it is. */
  readonly reason?: string | undefined;
  readonly place: string;
}

/** One of `from`, `leak` and `places` is there. */
export interface BudgetSuppression {
  /** A file of memcheck or LeakSanitizer; a path, from the folder of the budget file. */
  readonly from?: string | undefined;
  /** What stands behind `leak:` in a file of LeakSanitizer. */
  readonly leak?: string | undefined;
  /** Places by what they are chosen by: `function`, `file` … and a glob. */
  readonly places?: Readonly<Record<string, string>> | undefined;
  /** Words of measures that `places` is left out of; undefined: of all. */
  readonly measures?: readonly string[] | undefined;
  /** Absent for `from`: the file has its own. */
  readonly reason?: string | undefined;
  readonly place: string;
}
