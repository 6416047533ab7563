import { getSystemErrorName } from "node:util";
import { describeSystemError } from "../../../ground/bytes/system-errors.ts";

/** What one of the system's numbers of errors, as 2 for ENOENT, says. */
export function errorInWords(number: number): string {
  const code = getSystemErrorName(-number);
  return describeSystemError(Object.assign(new Error(code), { code }));
}
