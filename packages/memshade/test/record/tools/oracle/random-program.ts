import fc from "fast-check";
import {
  ATOMIC_LOADS,
  ATOMIC_STORES,
  CMPXCHGS,
  LOADS,
  type Plain,
  RMWS,
  STORES,
  WAITS,
} from "./instructions.ts";
import { type Address, PAGE, type Program, type Routine, type Step } from "./program.ts";

// Few addresses, so that accesses overlap often: bytes without a store, a data segment, a frame, heap blocks, and the end of the memory.
const PLACES = [256, 500, 1024, 1056, 1088];
const BLOCKS = [1024, 1056, 1088, 1120];
const BLOCK_BYTES = 32;
const MOST_TRIPS = 40;

const VALUES = [
  0n,
  0n,
  1n,
  5n,
  -1n,
  0x0101010101010101n,
  0x42c8000042c80000n, // 100
  0x42c9000042c90000n, // 100.5
  0x4059000000000000n,
  0x4059200000000000n,
  0x8000000080000000n, // -0
  0x7ff800007fc00000n, // NaN
];
const value = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...VALUES) }, fc.bigInt(0n, 2n ** 64n - 1n));

const address: fc.Arbitrary<Address> = fc
  .record({
    from: fc.constantFrom("nothing", "parameter", "parameter", "frame" as const),
    place: fc.constantFrom(...PLACES),
    at: fc.nat(23),
    stride: fc.constantFrom(0, 1, 2, 4, 4, 8, 16, -4, -8, 3),
    offset: fc.constantFrom(0, 0, 4, 8, 13, 70),
  })
  .map(({ from, place, at, stride, offset }) => ({
    from,
    at: (from === "nothing" ? place : 0) + at - Math.min(stride, 0) * MOST_TRIPS,
    stride,
    offset,
  }));

/** Parameters may be any numbers. */
const aligned = (size: number, { from, at, stride, offset }: Address): Address => ({
  from: from === "parameter" ? "nothing" : from,
  at: (from === "parameter" ? PLACES[0] : 0) + at - (at % size),
  stride: Math.max(stride, 0) * size,
  offset: offset - (offset % size),
});

const isAtomic = ({ name }: Plain): boolean => name.includes("atomic");

const bulkSize = fc.oneof({ weight: 4, arbitrary: fc.nat(17) }, fc.nat(90));
const block = fc.record({ address: fc.constantFrom(...BLOCKS), size: fc.nat(BLOCK_BYTES) });

function plainSteps(): fc.Arbitrary<Step> {
  return fc.oneof(
    fc.record({ kind: fc.constant("load" as const), op: fc.constantFrom(...LOADS), address }),
    fc.record({ kind: fc.constant("store" as const), op: fc.constantFrom(...STORES), address, value }),
  );
}

function atomicSteps(shared: boolean): fc.Arbitrary<Step> {
  const alignedTo = <One extends { op: Plain; address: Address }>(one: One): One => ({
    ...one,
    address: aligned(one.op.size, one.address),
  });
  const expected = fc.constantFrom(0n, 1n, 5n, 255n, 0x0101n);
  const kinds: fc.Arbitrary<Step>[] = [
    fc
      .record({ kind: fc.constant("load" as const), op: fc.constantFrom(...ATOMIC_LOADS), address })
      .map(alignedTo),
    fc
      .record({ kind: fc.constant("store" as const), op: fc.constantFrom(...ATOMIC_STORES), address, value })
      .map(alignedTo),
    fc
      .record({ kind: fc.constant("rmw" as const), op: fc.constantFrom(...RMWS), address, value })
      .map(alignedTo),
    fc
      .record({
        kind: fc.constant("cmpxchg" as const),
        op: fc.constantFrom(...CMPXCHGS),
        address,
        expected,
        value,
      })
      .map(alignedTo),
  ];
  if (shared)
    kinds.push(
      fc
        .record({ kind: fc.constant("wait" as const), op: fc.constantFrom(...WAITS), address, expected })
        .map(alignedTo),
    );
  return fc.oneof(...kinds);
}

const bulkSteps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant("fill" as const),
    address,
    value: fc.constantFrom(0, 1, 257, 7),
    size: bulkSize,
  }),
  fc.record({ kind: fc.constant("copy" as const), to: address, from: address, size: bulkSize }),
  fc.record({
    kind: fc.constant("init" as const),
    address,
    from: fc.nat(40),
    size: fc.nat(24),
  }),
  fc.record({
    kind: fc.constantFrom("copyIn" as const, "copyOut" as const),
    address,
    other: fc.nat(64),
    size: bulkSize,
  }),
  fc.record({ kind: fc.constant("storeOther" as const), other: fc.nat(64), value: fc.nat(255) }),
);

/** Steps that occur only outside of loops. */
function rareSteps(opaque: boolean): fc.Arbitrary<Step> {
  const range = fc.record({ address: fc.integer({ min: 256, max: 290 }), size: fc.nat(20) });
  const host = range.chain((one) =>
    fc.constantFrom({ kind: "hostReads" as const, ...one }, { kind: "hostWrites" as const, ...one }),
  );
  const heap: fc.Arbitrary<Step>[] = [
    block.map((one) => ({ kind: "malloc", ...one })),
    block.map((one) => ({ kind: "calloc", ...one })),
    block.map(({ address }) => ({ kind: "free", address })),
    fc
      .tuple(fc.constantFrom(...BLOCKS), block)
      .map(([old, { address, size }]) => ({ kind: "realloc", old, address, size: size + 1 })),
  ];
  return fc.oneof(
    ...heap,
    { weight: 2, arbitrary: host },
    fc.constant<Step>({ kind: "grow" }),
    ...(opaque ? [fc.constant<Step>({ kind: "hostLooks" })] : []),
  );
}

/** Steps of a function with loops up to a depth. `calls`: functions that it may call. */
function bodies(
  accesses: fc.Arbitrary<Step>,
  rare: fc.Arbitrary<Step>,
  callees: readonly number[],
): fc.Arbitrary<Step[]> {
  const loopOf = (body: fc.Arbitrary<Step[]>): fc.Arbitrary<Step> =>
    fc.record({
      kind: fc.constant("loop" as const),
      trips: fc.oneof(
        { weight: 3, arbitrary: fc.integer({ min: 1, max: 5 }) },
        fc.integer({ min: 6, max: MOST_TRIPS }),
      ),
      body,
    });
  const ifOf = (body: fc.Arbitrary<Step[]>): fc.Arbitrary<Step> =>
    fc.record({ kind: fc.constant("if" as const), taken: fc.boolean(), body });
  const calls = callees.map((callee) =>
    fc
      .tuple(fc.constantFrom(...PLACES), fc.nat(16))
      .map(([place, at]): Step => ({ kind: "call", callee, parameter: place + at })),
  );
  const straight = fc.array(accesses, { minLength: 1, maxLength: 4 });
  const inner = fc.oneof({ weight: 5, arbitrary: accesses }, ifOf(straight), loopOf(straight), ...calls);
  const body = fc.array(inner, { minLength: 1, maxLength: 4 });
  return fc.array(
    fc.oneof(
      { weight: 6, arbitrary: accesses },
      { weight: 2, arbitrary: rare },
      { weight: 2, arbitrary: loopOf(straight) },
      loopOf(body),
      ifOf(body),
      ...calls,
    ),
    { minLength: 1, maxLength: 8 },
  );
}

const FUNCTIONS = 4;

export function programs(): fc.Arbitrary<Program> {
  const kind = fc.record({
    memory64: fc.nat(4).map((n) => n === 0),
    shared: fc.nat(2).map((n) => n === 0),
    opaque: fc.nat(3).map((n) => n === 0),
    atomics: fc.boolean(),
  });
  return kind.chain(({ memory64, shared, opaque, atomics }) => {
    const accesses = fc.oneof(
      { weight: 8, arbitrary: plainSteps() },
      { weight: 3, arbitrary: bulkSteps },
      ...(atomics ? [{ weight: 3, arbitrary: atomicSteps(shared) }] : []),
    );
    const functions = Array.from({ length: FUNCTIONS }, (_, i) => {
      const callees = [...Array(FUNCTIONS - 1 - i).keys()].map((more) => i + 1 + more);
      return fc.record<Routine>({
        frame: i === 0 ? fc.constant(0) : fc.constantFrom(0, 16, 48, 96),
        body: bodies(accesses, rareSteps(opaque), callees),
      });
    });
    return fc.tuple(...functions).map((all) => ({ functions: all, memory64, shared }));
  });
}

/** A terminating program with one access that reaches beyond the memory; in a loop, the access may do so only after some trips. */
export function trappingPrograms(): fc.Arbitrary<Program> {
  const beyond = fc.record({
    which: fc.nat(),
    before: fc.oneof(fc.constant(0), fc.nat(60)),
    stride: fc.constantFrom(1, 4, 8),
  });
  return fc.tuple(programs(), beyond).map(([program, { which, before, stride }]) => {
    const isPlain = (step: Step) => (step.kind === "load" || step.kind === "store") && !isAtomic(step.op);
    const all = program.functions.flatMap(({ body }) => allSteps(body)).filter(isPlain);
    const chosen = all[which % Math.max(all.length, 1)];
    const address: Address = { from: "nothing", at: PAGE - before, stride, offset: 0 };
    const replaced = (steps: readonly Step[]): Step[] =>
      steps.map((step) => {
        if (step === chosen) return { ...step, address } as Step;
        return "body" in step ? { ...step, body: replaced(step.body) } : step;
      });
    const functions = program.functions.map((one) => ({ ...one, body: replaced(one.body) }));
    return { ...program, functions };
  });
}

function allSteps(steps: readonly Step[]): Step[] {
  return steps.flatMap((step) => ("body" in step ? allSteps(step.body) : [step]));
}
