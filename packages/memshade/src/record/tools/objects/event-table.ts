import { base64Of, bytesOfBase64 } from "../../../ground/bytes/base64.ts";
import { writeU32Leb } from "../../../ground/bytes/leb128.ts";

const LONGEST_EVENT = 15;

/**
 * Position of a counter: twice its number in the table of counters, or twice its number in frames of its
 * function, plus one. 0: none.
 */
export type CounterPlace = number;

/** First number in the table of counters. Counters of lengths in constant expressions come first. */
export const FIRST_COUNTER = 1;

export function placeInTable(number: number): CounterPlace {
  return number * 2;
}

export function placeInFrame(number: number): CounterPlace {
  return number * 2 + 1;
}

/**
 * A counted instruction, by its offset in the original code section, and the counter of its stretch of code.
 */
export interface CountedEvent {
  readonly offset: number;
  readonly counter: CounterPlace;
  /** Counter of elements, for instructions whose length is known at run time only; 0 if there is none. */
  readonly elements: CounterPlace;
}

/**
 * Encodes the events of a module for its description: differences to the previous event, as LEB128 numbers in
 * base 64.
 */
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
