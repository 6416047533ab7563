import { describe, expect, it } from "vitest";
import type { WasteOptions } from "../../../../src/record/tools/index.ts";
import { countedWaste, ENGINES, expectedWaste, moduleOf } from "./agreement.ts";
import { ATOMIC_LOADS, ATOMIC_STORES, CMPXCHGS, LOADS, type Plain, RMWS, STORES } from "./instructions.ts";
import { type Address, type Routine, STACK, type Step } from "./program.ts";

const at = (place: number): Address => ({ from: "parameter", at: place, stride: 0, offset: 0 });
const nothing: Address = { from: "nothing", at: 0, stride: 0, offset: 0 };
const byName = (name: string): Plain => [...LOADS, ...STORES].find((op) => op.name === name) as Plain;
const [LOAD, STORE] = [byName("i32.load8_u"), byName("i32.store8")];

/** Distance of the parameters: the bytes around an access get a state before it. */
const ROOM = 48;
const FATES = ["nobody's", "unread", "read", "overwritten"] as const;

/** Puts bytes `from` to `to` of an ended frame into the wanted state; bytes without an owner stay as the frame left them. */
function fate(kind: (typeof FATES)[number], from: number, to: number): Step[] {
  const steps: Step[] = [];
  for (let place = from; place < to; place++) {
    const store: Step = { kind: "store", op: STORE, address: at(place), value: 0n };
    if (kind !== "nobody's") steps.push(store);
    if (kind === "overwritten") steps.push({ ...store });
    if (kind === "read") steps.push({ kind: "load", op: LOAD, address: at(place) });
  }
  return steps;
}

/** Every instruction that accesses `size` bytes, or can. */
function accessesOf(size: number, place: number): Step[] {
  const address = at(place);
  const of = <Op extends Plain>(all: readonly Op[]): Op[] => all.filter((op) => op.size === size);
  const isAligned = place % size === 0;
  return [
    ...of(STORES).map((op): Step => ({ kind: "store", op, address, value: 0n })),
    ...of(LOADS).map((op): Step => ({ kind: "load", op, address })),
    { kind: "fill", address, value: 0, size },
    { kind: "copy", to: address, from: nothing, size },
    { kind: "copy", to: nothing, from: address, size },
    { kind: "copyIn", address, other: 0, size },
    { kind: "copyOut", address, other: 0, size },
    { kind: "init", address, from: 0, size },
    ...(isAligned
      ? [
          ...of(ATOMIC_STORES).map((op): Step => ({ kind: "store", op, address, value: 0n })),
          ...of(ATOMIC_LOADS).map((op): Step => ({ kind: "load", op, address })),
          ...of(RMWS).map((op): Step => ({ kind: "rmw", op, address, value: 0n })),
          ...of(CMPXCHGS).map((op): Step => ({ kind: "cmpxchg", op, address, expected: 0n, value: 0n })),
          ...of(CMPXCHGS).map((op): Step => ({ kind: "cmpxchg", op, address, expected: 9n, value: 0n })),
        ]
      : []),
  ];
}

describe("accesses of 1 to 16 bytes", () => {
  for (const engine of ["summary", "nothing inline", "contexts", "precise", "deadstores"] as const) {
    const waste: WasteOptions = ENGINES[engine];
    it(`see their own bytes and no others, at every alignment and beside every fate: ${engine}`, () => {
      for (let size = 1; size <= 16; size++) {
        const accesses: Routine[] = [];
        for (let place = 16; place < 32; place++)
          for (const step of accessesOf(size, place)) accesses.push({ frame: 0, body: [step] });
        const fates: Routine[] = [];
        // A function for each number of bytes would be too many: states end where the access of a place begins or ends.
        const calls: Step[] = [];
        accesses.forEach(({ body: [step] }, i) => {
          const address =
            step.kind === "copy" && step.to === nothing
              ? step.from
              : step.kind === "copy"
                ? step.to
                : (step as { address: Address }).address;
          const [from, to] = [address.at, address.at + size];
          const [inside, outside] = [FATES[1 + (i % 3)], FATES[(i >> 2) % 4]];
          const whole = STACK - ROOM * (1 + (i % 20));
          fates.push({
            frame: 0,
            body: [
              ...fate(outside, Math.max(0, from - 4), from),
              ...fate(inside, from, to),
              ...fate(outside, to, to + 4),
            ],
          });
          // The bytes belong to a frame that has ended.
          calls.push(
            { kind: "call", callee: 1, parameter: 0 },
            { kind: "call", callee: 2 + accesses.length + i, parameter: whole },
            { kind: "call", callee: 2 + i, parameter: whole },
            { kind: "call", callee: 2 + i, parameter: whole },
          );
        });
        const program = {
          functions: [{ frame: 0, body: calls }, { frame: ROOM * 21, body: [] }, ...accesses, ...fates],
          memory64: false,
          shared: false,
        };
        expect(countedWaste(moduleOf(program), waste, false).told, `${size} bytes`).toEqual(
          expectedWaste(program, waste).told,
        );
      }
    });
  }
});
