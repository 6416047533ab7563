import { type Reached, SYSTEM_CALLS } from "./system-calls.ts";

/** Kinds of rows, as `Reached` has them. */
export const KIND = {
  bytes: 0,
  argument: 1,
  bits: 2,
  lengthAt: 3,
  vectors: 4,
  message: 5,
  messages: 6,
  text: 7,
  texts: 8,
  request: 9,
  none: 10,
  returned: 11,
} as const;

/** A row: value of `when` and bytes, u32 each; pointer, kind, the other argument, and the argument of `when`, u8 each. */
export const ROW = { value: 0, bytes: 4, pointer: 8, kind: 9, other: 10, when: 11 } as const;
export const ROW_BYTES = 12;
/** In the place of an argument: the row is always right. */
export const ALWAYS = 0xff;

/** `first`: a u16 per number, and one more: which row is the first of a call. A call without rows is not known. `count`: of numbers. */
export function systemCallTable(): { rows: Uint8Array; first: Uint8Array; count: number } {
  const count = 1 + Math.max(...SYSTEM_CALLS.keys());
  const first = new DataView(new ArrayBuffer(2 * (count + 1)));
  const rows: number[] = [];
  for (let number = 0; number < count; number++) {
    first.setUint16(2 * number, rows.length / ROW_BYTES, true);
    const reached = SYSTEM_CALLS.get(number);
    if (reached?.length === 0) rows.push(...rowOf({ pointer: 0, none: true }));
    for (const one of reached ?? []) rows.push(...rowOf(one));
  }
  first.setUint16(2 * count, rows.length / ROW_BYTES, true);
  return { rows: Uint8Array.from(rows), first: new Uint8Array(first.buffer), count };
}

function rowOf(reached: Reached): Uint8Array {
  const row = new DataView(new ArrayBuffer(ROW_BYTES));
  const { pointer, when } = reached;
  const [kind, other, bytes] = kindOf(reached);
  row.setUint32(ROW.value, when?.value ?? 0, true);
  row.setUint32(ROW.bytes, bytes, true);
  row.setUint8(ROW.pointer, pointer);
  row.setUint8(ROW.kind, kind);
  row.setUint8(ROW.other, other);
  row.setUint8(ROW.when, when?.argument ?? ALWAYS);
  return new Uint8Array(row.buffer);
}

/** Kind, the other argument, and bytes. */
function kindOf(reached: Reached): [kind: number, other: number, bytes: number] {
  if ("bytes" in reached) return [KIND.bytes, 0, reached.bytes];
  if ("returned" in reached) return [KIND.returned, reached.returned, reached.unit];
  if ("unit" in reached) return [KIND.argument, reached.argument, reached.unit];
  if ("bits" in reached) return [KIND.bits, reached.bits, 0];
  if ("lengthAt" in reached) return [KIND.lengthAt, reached.lengthAt, 0];
  if ("vectors" in reached) return [KIND.vectors, reached.vectors, 0];
  if ("messages" in reached) return [KIND.messages, reached.messages, 0];
  if ("request" in reached) return [KIND.request, reached.request, 0];
  if ("message" in reached) return [KIND.message, 0, 0];
  if ("text" in reached) return [KIND.text, 0, 0];
  if ("texts" in reached) return [KIND.texts, 0, 0];
  return [KIND.none, 0, 0];
}

/** Whether how much a call reaches is what it returns. */
export function returnsLength(number: number): boolean {
  const reached = SYSTEM_CALLS.get(number) ?? [];
  return reached.some((one) => "returned" in one || "vectors" in one || "message" in one);
}
