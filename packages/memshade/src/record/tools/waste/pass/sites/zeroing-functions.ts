import { ZEROES } from "../../../../allocator/allocation-hooks.ts";

/** Functions that hand out zeroed blocks. */
export function zeroingFunctions(functions: readonly { role: string; index: number }[]): number[] {
  return functions.filter(({ role }) => (ZEROES as ReadonlySet<string>).has(role)).map(({ index }) => index);
}
