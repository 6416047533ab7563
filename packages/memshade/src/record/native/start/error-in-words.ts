import { getSystemErrorName } from "node:util";
import { describeSystemError } from "../../../ground/bytes/system-errors.ts";

/** Describes an errno, such as 2 for ENOENT. */
export function errorInWords(number: number): string {
  const code = getSystemErrorName(-number);
  return describeSystemError(Object.assign(new Error(code), { code }));
}
