import { base64Of, bytesOfBase64 } from "../../../ground/bytes/base64.ts";
import { writeU32Leb } from "../../../ground/bytes/leb128.ts";

/** Bytes of three numbers. */
const LONGEST_EVENT = 15;

/**
 * Where a counter is: twice its number in the table of counters, or, in frames of its function, twice its number there and one. 0: nowhere.
 */
export type CounterPlace = number;

/** The first number in the table of counters. Those of lengths in constant expressions come first. */
export const FIRST_COUNTER = 1;

export function placeInTable(number: number): CounterPlace {
  return number * 2;
}

export function placeInFrame(number: number): CounterPlace {
  return number * 2 + 1;
}

/** An instruction that is counted, by its offset in the original code section, and the counter of the stretch of code that it is in. */
export interface CountedEvent {
  readonly offset: number;
  readonly counter: CounterPlace;
  /** The counter of elements, for instructions whose length is known only when they run; 0: there is none. */
  readonly elements: CounterPlace;
}

/** The events of a module as text for its description: differences to the one before, as LEB128 numbers in base 64. */
export function encodeEvents(events: readonly CountedEvent[]): string {
  const bytes = new Uint8Array(events.length * LONGEST_EVENT);
  let end = 0;
  let before = { offset: 0, counter: 0 };
  for (const event of events) {
    end = writeSigned(bytes, end, event.offset - before.offset);
    end = writeSigned(bytes, end, event.counter - before.counter);
    end = writeU32Leb(bytes, end, event.elements);
    before = event;
  }
  return base64Of(bytes.subarray(0, end));
}

export function decodeEvents(encoded: string): CountedEvent[] {
  const bytes = bytesOfBase64(encoded);
  const events: CountedEvent[] = [];
  let at = 0;
  const next = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const nextSigned = (): number => {
    const value = next();
    return (value >>> 1) ^ -(value & 1);
  };
  let offset = 0;
  let counter = 0;
  while (at < bytes.length) {
    offset += nextSigned();
    counter += nextSigned();
    events.push({ offset, counter, elements: next() });
  }
  return events;
}

function writeSigned(bytes: Uint8Array, at: number, value: number): number {
  return writeU32Leb(bytes, at, ((value << 1) ^ (value >> 31)) >>> 0);
}
