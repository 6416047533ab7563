import { UserError } from "../../ground/bytes/errors.ts";

/**
 * `amount` as a file may hold it.
 *
 * @throws UserError naming `field` if it is negative, not whole, or above 2^53, which readers would round
 */
export function exactAmount(amount: number, field: string): number {
  if (Number.isSafeInteger(amount) && amount >= 0) return amount;
  throw new UserError(`cannot write ${field}: ${amount} is not a whole number from 0 to 2^53 - 1`);
}
