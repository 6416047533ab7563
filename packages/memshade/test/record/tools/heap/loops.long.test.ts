import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { wat } from "../../../support/assemble.ts";
import { type Call, expectTransparent } from "../../../support/behaviour.ts";
import { MERGED, Watched } from "../../../support/counters.ts";

// Counters of small loops are moved out of the loop. Their sums must equal those of counting in each trip.

const PAGES = 16;
const MIDDLE = (PAGES * 65536) / 2;

/** Functions `0`, `1` … with i32 locals $p $q $i $n (the parameters) and $h, and locals of other types. */
const loopModule = (...bodies: string[]) =>
  wat(`(module (memory (export "memory") ${PAGES} ${PAGES})
    ${bodies
      .map(
        (body, i) => `(func (export "${i}") (param $p i32) (param $q i32) (param $i i32) (param $n i32)
          (local $h i32) (local $w i64) (local $f f64) (local $v v128) ${body})`,
      )
      .join("\n")})`);

const UNTIL_N = "(br_if 0 (local.tee $n (i32.sub (local.get $n) (i32.const 1))))";
const ACCESS = "(i32.store8 (local.get $p) (local.get $n))";
const move = (local: string, by: number) =>
  `(local.set ${local} (i32.add (local.get ${local}) (i32.const ${by})))`;

/** Runs each body with each of the operands; returns the sum of all accesses. */
function expectLoops(bodies: readonly string[], calls: readonly (readonly number[])[]): number {
  const runs = bodies.flatMap((_, i) => calls.map((operands): Call => [String(i), ...operands]));
  return expectTransparent(loopModule(...bodies), runs).total;
}

function expectLoop(body: string, calls: readonly (readonly number[])[]): number {
  return expectLoops([body], calls);
}

describe("a pointer that moves by a constant", () => {
  const strides = [1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 64, 4096].flatMap((stride) => [stride, -stride]);

  it.each(strides)("by %i bytes is counted place by place", (stride) => {
    const trips = [1, 2, 3, 4, 7, 16, 17, 18, 33, 64, 100];
    const steps = [`${ACCESS} ${move("$p", stride)}`, `${move("$p", stride)} ${ACCESS}`];
    const starts = [0, 1, 3, 4, 5, 7].map((start) => MIDDLE + start);
    const total = expectLoops(
      steps.map((step) => `(loop ${step} ${UNTIL_N})`),
      trips.flatMap((n) => starts.map((start) => [start, 0, 0, n])),
    );
    expect(total).toBe(2 * starts.length * trips.reduce((sum, n) => sum + n, 0));
  });

  it("is counted place by place through wide accesses and constant offsets", () => {
    const accesses = [
      "(f64.store offset=3 (local.get $p) (local.get $f))",
      "(local.set $v (v128.load offset=4000 (local.get $p)))",
      "(i64.store16 offset=7 (local.get $p) (i64.load offset=100 (local.get $p)))",
      "(i32.store (i32.add (local.get $p) (i32.const -12)) (i32.load (i32.sub (local.get $p) (i32.const 40))))",
    ];
    for (const access of accesses)
      expectLoops(
        [4, 8, -8, 3, 12].map((stride) => `(loop ${access} ${move("$p", stride)} ${UNTIL_N})`),
        [
          [MIDDLE, 0, 0, 20],
          [MIDDLE + 5, 0, 0, 1],
        ],
      );
  });

  it("may move several times in one trip, by tee, and backwards again", () => {
    expectLoop(`(loop ${ACCESS} ${move("$p", 4)} ${ACCESS} ${move("$p", 8)} ${ACCESS} ${UNTIL_N})`, [
      [MIDDLE, 0, 0, 30],
    ]);
    expectLoop(
      `(loop (i32.store8 (local.tee $p (i32.add (local.get $p) (i32.const 3))) (i32.const 1)) ${UNTIL_N})`,
      [[MIDDLE, 0, 0, 30]],
    );
    expectLoop(`(loop ${ACCESS} ${move("$p", 16)} ${ACCESS} ${move("$p", -12)} ${UNTIL_N})`, [
      [MIDDLE, 0, 0, 30],
    ]);
    expectLoop(`(loop ${ACCESS} ${move("$p", 16)} ${ACCESS} ${move("$p", -16)} ${UNTIL_N})`, [
      [MIDDLE, 0, 0, 30],
    ]);
  });

  it("may itself decide when the loop ends", () => {
    expectLoop(
      `(loop ${ACCESS} (br_if 0 (i32.ne (local.tee $p (i32.add (local.get $p) (i32.const 12))) (local.get $q))))`,
      [
        [MIDDLE, MIDDLE + 12, 0, 0],
        [MIDDLE, MIDDLE + 1200, 0, 0],
      ],
    );
    expectLoop(`(loop ${ACCESS} ${move("$p", -8)} (br_if 0 (i32.gt_u (local.get $p) (local.get $q))))`, [
      [MIDDLE, MIDDLE - 20, 0, 0],
      [MIDDLE, MIDDLE, 0, 0],
    ]);
  });

  it("may be a place and a distance of any step, which tells the trips", () => {
    const at = (index: string) => `(i32.store8 offset=5 (i32.add (local.get $p) ${index}) (local.get $n))`;
    const steps = [1, 4, 8, 12, 16, -8, -24, 4096];
    const total = expectLoops(
      [
        ...steps.map((step) => `(loop ${at("(local.get $i)")} ${move("$i", step)} ${UNTIL_N})`),
        ...steps.map(
          (step) => `(loop ${at("(i32.shl (local.get $i) (i32.const 2))")} ${move("$i", step)} ${UNTIL_N})`,
        ),
        // Two distances: one of them grows faster than the address.
        `(loop ${at("(i32.add (local.get $i) (local.get $q))")} ${move("$i", 24)} ${move("$q", -16)} ${UNTIL_N})`,
        `(loop ${at("(i32.add (local.get $i) (local.get $q))")} ${move("$i", 24)} ${move("$q", -24)} ${UNTIL_N})`,
      ],
      [
        [MIDDLE, 0, 0, 1],
        [MIDDLE, 64, 8, 20],
      ],
    );
    expect(total).toBe(18 * 21);
  });

  it("may meet others", () => {
    const copy = "(i32.store (local.get $p) (i32.load (local.get $q)))";
    expectLoop(`(loop ${copy} ${move("$p", 4)} ${move("$q", 4)} ${UNTIL_N})`, [[MIDDLE, MIDDLE + 2, 0, 50]]);
    expectLoop(`(loop ${copy} ${move("$p", -4)} ${move("$q", 12)} ${UNTIL_N})`, [[MIDDLE, MIDDLE, 0, 50]]);
    expectLoop(
      `(loop ${copy} (local.set $p (i32.add (local.get $q) (i32.const 4))) ${move("$q", 8)} ${UNTIL_N})`,
      [[MIDDLE, MIDDLE + 100, 0, 50]],
    );
  });
});

describe("an address that does not change", () => {
  it("is counted as often as the loop runs", () => {
    const total = expectLoop(
      `(loop ${ACCESS} (i32.store offset=8 (local.get $q) (i32.load (local.get $q))) ${UNTIL_N})`,
      [
        [MIDDLE, MIDDLE + 64, 0, 1],
        [MIDDLE, MIDDLE + 64, 0, 1000],
      ],
    );
    expect(total).toBe(3 * 1001);
  });

  it("is told from one that changes only at the end of the trip", () => {
    expectLoop(`(loop ${ACCESS} (local.set $p (local.get $q)) ${UNTIL_N})`, [[MIDDLE, MIDDLE + 64, 0, 9]]);
    expectLoop(`(loop ${ACCESS} (local.set $p (i32.const ${MIDDLE + 8})) ${UNTIL_N})`, [[MIDDLE, 0, 0, 9]]);
    expectLoop(
      `(loop ${ACCESS} (local.set $h (local.get $p)) (local.set $p (local.get $q)) (local.set $q (local.get $h)) ${UNTIL_N})`,
      [
        [MIDDLE, MIDDLE + 64, 0, 9],
        [MIDDLE, MIDDLE + 64, 0, 10],
      ],
    );
  });

  it("may be computed in the loop", () => {
    expectLoop(
      `(loop (local.set $h (i32.add (local.get $p) (i32.const 40))) (i32.store (local.get $h) (i32.const 1)) ${UNTIL_N})`,
      [[MIDDLE, 0, 0, 12]],
    );
    expectLoop(
      `(loop (local.set $h (i32.xor (local.get $p) (local.get $q))) (i32.store (local.get $h) (i32.const 1)) ${UNTIL_N})`,
      [[MIDDLE, 8, 0, 12]],
    );
  });
});

describe("an indexed address", () => {
  it.each([1, 2, 3, 4, 8, 12])("with a scale of %i", (scale) => {
    const scaled =
      scale === 3 || scale === 12
        ? `(i32.mul (local.get $i) (i32.const ${scale}))`
        : `(i32.shl (local.get $i) (i32.const ${Math.log2(scale)}))`;
    for (const address of [`(i32.add (local.get $p) ${scaled})`, `(i32.add ${scaled} (local.get $p))`])
      expectLoops(
        [1, 2, -1].map(
          (step) => `(loop (i32.store8 offset=5 ${address} (local.get $i)) ${move("$i", step)} ${UNTIL_N})`,
        ),
        [
          [MIDDLE, 0, 0, 40],
          [MIDDLE, 0, 17, 3],
        ],
      );
  });

  it("moves when base and index both do, and when the step is a local", () => {
    expectLoop(
      `(loop (i32.store8 (i32.add (local.get $p) (local.get $i)) (i32.const 1)) ${move("$i", 2)} ${move("$p", 4)} ${UNTIL_N})`,
      [[MIDDLE, 0, 0, 40]],
    );
    expectLoop(`(loop ${ACCESS} (local.set $p (i32.add (local.get $p) (local.get $q))) ${UNTIL_N})`, [
      [MIDDLE, 24, 0, 40],
      [MIDDLE, -3, 0, 40],
      [MIDDLE, 0, 0, 40],
      [MIDDLE, 1, 0, 40],
    ]);
    expectLoop(
      `(loop ${ACCESS} (local.set $p (i32.add (local.get $q) (local.get $p))) ${move("$q", 1)} ${UNTIL_N})`,
      [[MIDDLE, 24, 0, 40]],
    );
    expectLoop(`(loop ${ACCESS} (local.set $p (i32.add (local.get $p) (local.get $p))) ${UNTIL_N})`, [
      [3, 0, 0, 12],
    ]);
    expectLoop(`(loop ${ACCESS} (local.set $p (i32.sub (local.get $p) (local.get $q))) ${UNTIL_N})`, [
      [MIDDLE, 24, 0, 40],
    ]);
  });
});

describe("how often a loop ran", () => {
  it("is right for one that runs once, with a branch or without", () => {
    expectLoop(`(loop ${ACCESS} (br_if 0 (i32.const 0)))`, [[MIDDLE, 0, 0, 0]]);
    expectLoop(`(loop ${ACCESS})`, [[MIDDLE, 0, 0, 0]]);
  });

  it("is right although code behind the loop goes on with the same address", () => {
    expect(expectLoop(`(loop ${ACCESS}) ${ACCESS} ${ACCESS}`, [[MIDDLE, 0, 0, 0]])).toBe(3);
    expect(expectLoop(`${ACCESS} (loop ${ACCESS} ${UNTIL_N}) ${ACCESS} ${ACCESS}`, [[MIDDLE, 0, 0, 5]])).toBe(
      8,
    );
    expectLoop(`(loop ${ACCESS} ${move("$p", 4)} ${UNTIL_N}) ${ACCESS} ${ACCESS}`, [[MIDDLE, 0, 0, 5]]);
  });

  it("is right when the bound is changed on the way", () => {
    expectLoop(
      `(loop ${ACCESS} ${move("$i", 1)} (local.set $n (i32.shr_u (local.get $n) (i32.const 1))) (br_if 0 (i32.lt_u (local.get $i) (local.get $n))))`,
      [
        [MIDDLE, 0, 0, 100],
        [MIDDLE, 0, 0, 1000000],
      ],
    );
    expectLoop(`(loop ${ACCESS} (local.set $i (i32.const 3)) ${move("$i", 1)} ${UNTIL_N})`, [
      [MIDDLE, 0, 0, 10],
    ]);
  });

  it("is right when it is counted by an i64, a float, or memory", () => {
    const wide = (step: string, test: string) =>
      `(local.set $w (i64.extend_i32_u (local.get $n))) (loop ${ACCESS} (local.set $w (${step} (local.get $w) (i64.const 1))) (br_if 0 (${test})))`;
    expectLoop(wide("i64.sub", "i32.wrap_i64 (local.get $w)"), [[MIDDLE, 0, 0, 40]]);
    expectLoop(
      `(loop ${ACCESS} (local.set $f (f64.add (local.get $f) (f64.const 1))) (br_if 0 (f64.lt (local.get $f) (f64.const 9))))`,
      [[MIDDLE, 0, 0, 0]],
    );
    expectLoop(
      `(i32.store (local.get $q) (i32.const 9)) (loop ${ACCESS} (i32.store (local.get $q) (i32.sub (i32.load (local.get $q)) (i32.const 1))) (br_if 0 (i32.load (local.get $q))))`,
      [[MIDDLE, MIDDLE + 800, 0, 0]],
    );
    // The address is an i64: none of the pointers is an i32.
    expectLoop(
      `(local.set $w (i64.extend_i32_u (local.get $p))) (loop (i32.store (i32.wrap_i64 (local.get $w)) (i32.const 1)) (local.set $w (i64.add (local.get $w) (i64.const 8))) ${UNTIL_N})`,
      [[MIDDLE, 0, 0, 40]],
    );
  });

  /** Counts trips by the bits of a number: no local changes by a constant. */
  const BITS = "(br_if 0 (local.tee $n (i32.shr_u (local.get $n) (i32.const 1))))";

  it("is right when some other number goes round", () => {
    for (const step of [0x9e3779b9, 0x10000000, 0x40000000, 0x80000000, 0x7fffffff, 0x20000001])
      for (const sign of ["add", "sub"]) {
        const weyl = `(local.set $h (i32.${sign} (local.get $h) (i32.const ${step})))`;
        const bodies = [
          `(loop ${ACCESS} ${weyl} ${BITS})`,
          `(loop ${weyl} ${ACCESS} ${move("$p", 4)} ${BITS})`,
        ];
        expect(expectLoops(bodies, [[MIDDLE, 0, 0, 0x7fffffff]]), `${sign} ${step}`).toBe(2 * 31);
      }
  });

  it("is right when the counter runs over its end", () => {
    expectLoop(`(loop ${ACCESS} ${move("$i", 16)} (br_if 0 (i32.ne (local.get $i) (i32.const 64))))`, [
      [MIDDLE, 0, -160, 0],
    ]);
    expectLoop(`(loop ${ACCESS} ${move("$i", -12)} (br_if 0 (i32.ne (local.get $i) (i32.const -48))))`, [
      [MIDDLE, 0, 120, 0],
    ]);
    expectLoop(`(loop ${ACCESS} ${move("$i", 0x10000000)} (br_if 0 (local.get $i)))`, [[MIDDLE, 0, 0, 0]]);
    expectLoop(`(loop ${ACCESS} ${move("$i", -0x80000000)} (br_if 0 (local.get $i)))`, [[MIDDLE, 0, 0, 0]]);
  });
});

describe("the shape of loops", () => {
  it("may be nested: the inner one starts afresh on every trip", () => {
    const inner = `(local.set $i (i32.const 5)) (loop $inner ${ACCESS} ${move("$p", 4)} (br_if $inner (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))`;
    expect(
      expectLoop(
        `(loop $outer ${inner} (br_if $outer (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))`,
        [[MIDDLE, 0, 0, 7]],
      ),
    ).toBe(35);
    expectLoop(
      `(loop $outer ${ACCESS} ${inner} ${ACCESS} (br_if $outer (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))`,
      [[MIDDLE, 0, 0, 7]],
    );
    expectLoop(
      `(loop $a (loop $b (loop $c ${ACCESS} ${move("$p", 4)} (br_if $c (i32.and (local.get $p) (i32.const 12)))) (br_if $b (i32.and (local.get $p) (i32.const 48)))) (br_if $a (i32.and (local.get $p) (i32.const 192))))`,
      [[MIDDLE, 0, 0, 0]],
    );
    expectLoop(
      `(loop $a (loop $b ${ACCESS} ${move("$p", 4)} (br_if $a (i32.and (local.get $p) (i32.const 12)))))`,
      [[MIDDLE, 0, 0, 0]],
    );
  });

  it("may have branches in the middle, several back edges, values and parameters", () => {
    expectLoop(
      `(block (loop ${ACCESS} ${move("$p", 4)} (br_if 1 (i32.eq (local.get $n) (i32.const 3))) ${ACCESS} ${UNTIL_N}))`,
      [[MIDDLE, 0, 0, 9]],
    );
    expectLoop(
      `(loop ${ACCESS} ${move("$p", 4)} (br_if 0 (i32.and (local.get $p) (i32.const 4))) ${ACCESS} ${UNTIL_N})`,
      [[MIDDLE, 0, 0, 9]],
    );
    expectLoop(
      `(loop ${ACCESS} (if (i32.and (local.get $n) (i32.const 1)) (then ${ACCESS} ${move("$p", 8)})) ${ACCESS} ${UNTIL_N})`,
      [[MIDDLE, 0, 0, 9]],
    );
    expectLoop(
      `(block (loop ${ACCESS} ${move("$p", 4)} (local.set $n (i32.sub (local.get $n) (i32.const 1))) (br_if 1 (i32.eqz (local.get $n))) (br 0)))`,
      [[MIDDLE, 0, 0, 9]],
    );
    expectLoop(`(drop (loop (result i32) ${ACCESS} ${move("$p", 4)} (local.get $p) ${UNTIL_N}))`, [
      [MIDDLE, 0, 0, 9],
    ]);
    expectLoop(
      `(local.get $p) (loop (param i32) (result i32) (local.set $p) ${ACCESS} (i32.add (local.get $p) (i32.const 4)) ${UNTIL_N}) (drop)`,
      [[MIDDLE, 0, 0, 9]],
    );
    expectLoop(`(loop (block ${ACCESS}) ${move("$p", 4)} ${UNTIL_N})`, [[MIDDLE, 0, 0, 9]]);
  });

  it("may leave values on the operand stack around them", () => {
    expectLoop(
      `(i32.store (local.get $q) (i32.add (local.get $p) (loop (result i32) ${ACCESS} ${move("$p", 8)} (i32.const 5) ${UNTIL_N})))`,
      [[MIDDLE, MIDDLE + 4000, 0, 9]],
    );
  });

  it("may follow pointers and call others", () => {
    expectLoop(
      `(i32.store (local.get $p) (i32.add (local.get $p) (i32.const 24)))
       (i32.store offset=24 (local.get $p) (i32.add (local.get $p) (i32.const 8)))
       (i32.store offset=8 (local.get $p) (i32.const 0))
       (loop (br_if 0 (local.tee $p (i32.load (local.get $p)))))`,
      [[MIDDLE, 0, 0, 0]],
    );
  });
});

describe("a loop that traps", () => {
  it("does what it did", () => {
    const module = loopModule(`(loop ${ACCESS} ${move("$p", 4)} ${UNTIL_N})`);
    expectTransparent(module, [["0", PAGES * 65536 - 40, 0, 0, 100]]);
  });
});

describe("any straight loop", () => {
  const local = fc.constantFrom("$p", "$q", "$i");
  const small = fc.oneof(fc.constantFrom(1, 2, 4, 8, 16, -4, -8, 12), fc.integer({ min: -300, max: 300 }));
  const offset = fc.integer({ min: 0, max: 40 });
  const address = fc.oneof(
    local.map((name) => `(local.get ${name})`),
    fc.tuple(local, small).map(([name, by]) => `(i32.add (local.get ${name}) (i32.const ${by}))`),
    fc.tuple(local, small).map(([name, by]) => `(i32.sub (local.get ${name}) (i32.const ${by}))`),
    fc
      .tuple(local, fc.constantFrom("$h", "$n"), fc.integer({ min: 0, max: 3 }))
      .map(
        ([name, index, shift]) =>
          `(i32.add (local.get ${name}) (i32.shl (local.get ${index}) (i32.const ${shift})))`,
      ),
    fc
      .tuple(local, fc.constantFrom("$h", "$n"), fc.integer({ min: 0, max: 20 }))
      .map(
        ([name, index, by]) =>
          `(i32.add (i32.mul (i32.const ${by}) (local.get ${index})) (local.get ${name}))`,
      ),
  );
  const statement = fc.oneof(
    fc.tuple(address, offset).map(([at, by]) => `(drop (i32.load offset=${by} ${at}))`),
    fc.tuple(address, offset).map(([at, by]) => `(i64.store offset=${by} ${at} (i64.const 0))`),
    fc.tuple(local, small).map(([name, by]) => move(name, by)),
    fc
      .tuple(local, small)
      .map(([name, by]) => `(local.set ${name} (i32.sub (local.get ${name}) (i32.const ${by})))`),
    fc.tuple(local, address).map(([name, at]) => `(local.set ${name} ${at})`),
    fc.tuple(local, address).map(([name, at]) => `(i32.store8 (local.tee ${name} ${at}) (i32.const 0))`),
    fc.tuple(local, local).map(([to, from]) => `(local.set ${to} (local.get ${from}))`),
    small.map((by) => move("$h", by)),
  );
  const ending = fc.constantFrom(
    UNTIL_N,
    "(br_if 0 (local.tee $n (i32.shr_u (local.get $n) (i32.const 1))))",
    "(br_if 0 (i32.wrap_i64 (local.tee $w (i64.shr_u (local.get $w) (i64.const 1)))))",
  );
  const loop = fc
    .tuple(fc.array(statement, { minLength: 1, maxLength: 7 }), ending)
    .map(([statements, end]) => `(local.set $w (i64.const 0xfff)) (loop ${statements.join(" ")} ${end})`);
  const body = fc
    .tuple(loop, fc.array(statement, { maxLength: 2 }))
    .map(([first, rest]) => `${first} ${rest.join(" ")}`);

  it("is counted as if every trip counted", () => {
    fc.assert(
      fc.property(
        fc.array(body, { minLength: 1, maxLength: 15 }),
        fc.integer({ min: 1, max: 40 }),
        (bodies, trips) => {
          expectLoops(bodies, [[MIDDLE, MIDDLE + 4096, MIDDLE - 4099, trips]]);
        },
      ),
      { numRuns: Number(process.env.MEMSHADE_RUNS ?? 25), seed: Number(process.env.MEMSHADE_SEED ?? 11) },
    );
  });
});

it("counts long loops to the last trip", () => {
  const module = loopModule(`(loop ${ACCESS} ${move("$p", 4)} ${UNTIL_N})`);
  const watched = new Watched(module, MERGED);
  watched.call("0", 0, 0, 0, 250_000);
  expect(watched.total()).toBe(250_000);
});
