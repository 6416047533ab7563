/**
 * Contents of a budget file: limits of a program's memory behaviour, and exceptions. Each entry has its `place`, such
 * as `budget.yaml:7`.
 */
export interface Budget {
  readonly limits: readonly BudgetLimit[];
  /** Path of a run to compare with, relative to the folder of the file. */
  readonly baseline?: string | undefined;
  readonly suppressions: readonly BudgetSuppression[];
}

export interface BudgetLimit {
  /** Limit as text, `peak<8MiB`, or as a pair of measure and amount. */
  readonly limit: string | readonly [measure: string, amount: string | number];
  readonly reason?: string | undefined;
  readonly place: string;
}

export interface BudgetSuppression {
  /** Path of a memcheck or LeakSanitizer file, relative to the folder of the budget file. */
  readonly from?: string | undefined;
  /** Pattern in LeakSanitizer's syntax, the text after `leak:`. */
  readonly leak?: string | undefined;
  /** Selection of sites: the attribute (`function`, `file` …) and a glob. */
  readonly places?: Readonly<Record<string, string>> | undefined;
  /** Words of the measures that ignore `places`; undefined means all measures. */
  readonly measures?: readonly string[] | undefined;
  /** Reason; absent for `from`, whose file has its own. */
  readonly reason?: string | undefined;
  readonly place: string;
}
