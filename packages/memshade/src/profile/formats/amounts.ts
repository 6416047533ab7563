import { UserError } from "../../ground/bytes/errors.ts";

/**
 * Returns an amount that a file can hold.
 *
 * @throws UserError naming `field` if the amount is negative, not whole, or above 2^53, which readers would round
 */
export function exactAmount(amount: number, field: string): number {
  if (Number.isSafeInteger(amount) && amount >= 0) return amount;
  throw new UserError(`cannot write ${field}: ${amount} is not a whole number from 0 to 2^53 - 1`);
}
