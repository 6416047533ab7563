import type { WasteValue } from "../../../model/waste/waste.ts";
import { ACCESS_BYTES, OPCODE_NAME } from "../../../wasm/index.ts";
import { VALUE_BYTES, VALUES_BYTES, Value } from "../layout.ts";
import { readCount } from "./tables.ts";

/** Values that are told of a load. */
export const MOST_VALUES = 3;

/** The commonest values that a redundant load found; `op` is its opcode. */
export function readValues(view: DataView, at: number, op: number): WasteValue[] {
  const values: WasteValue[] = [];
  for (let counter = at; counter < at + VALUES_BYTES; counter += VALUE_BYTES) {
    const error = readCount(view, counter + Value.error);
    const loads = readCount(view, counter + Value.count) - error;
    if (loads > 0) values.push({ value: valueText(view, counter, op), loads, exact: error === 0 });
  }
  return commonest(values);
}

/** As many values as are told, with those of the same value as one; of equally common ones the one that is first in the alphabet. */
export function commonest(values: readonly WasteValue[]): WasteValue[] {
  const byValue = new Map<string, WasteValue>();
  for (const { value, loads, exact } of values) {
    const known = byValue.get(value);
    byValue.set(value, {
      value,
      loads: loads + (known?.loads ?? 0),
      exact: exact && (known?.exact ?? true),
    });
  }
  return [...byValue.values()]
    .sort((a, b) => b.loads - a.loads || (a.value < b.value ? -1 : 1))
    .slice(0, MOST_VALUES);
}

/** The value as the load's type has it: signed integers in decimal, floats, vectors in hexadecimal. */
function valueText(view: DataView, at: number, op: number): string {
  const name = OPCODE_NAME[op] ?? "";
  const bytes = ACCESS_BYTES[op] ?? 0;
  if (name === "f32.load") return floatText(view.getFloat32(at, true));
  if (name === "f64.load") return floatText(view.getFloat64(at, true));
  const low = view.getBigUint64(at, true);
  if (name.startsWith("v128") || bytes > 8) {
    const all = (view.getBigUint64(at + Value.upper, true) << 64n) | low;
    return `0x${all.toString(16).padStart(bytes * 2, "0")}`;
  }
  const isUnsigned = name.endsWith("_u") || name.includes(".rmw");
  return String(isUnsigned ? low : BigInt.asIntN(bytes * 8, low));
}

function floatText(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}
