/** A seeded source of choices (mulberry32). */
function choices(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

/** A statement of a program. `arm` and `other` run as its kind defines. */
interface Statement {
  readonly kind: (typeof KINDS)[number];
  /** A length, a number of rounds, or a bit of the argument. */
  readonly count: number;
  readonly arm: readonly Statement[];
  readonly other: readonly Statement[];
}

const SIMPLE = [
  ...([
    "new point",
    "new default point",
    "new spot",
    "read x",
    "write y",
    "read colour",
    "write colour",
  ] as const),
  ...(["new array", "new default array", "new fixed array", "new array of data", "read element"] as const),
  ...(["write element", "fill", "copy", "init"] as const),
];
const COMPOUND = ["loop", "if", "leave block", "call"] as const;
const KINDS = [...SIMPLE, ...COMPOUND];

/** Structs with a subtype, and arrays; a `spot` is a `point`. */
const TYPES = `
  (type $point (sub (struct (field $x (mut i32)) (field $y (mut i64)))))
  (type $spot (sub $point (struct (field $x (mut i32)) (field $y (mut i64)) (field $colour (mut i8)))))
  (type $words (array (mut i32)))
  (type $bytes (array (mut i8)))
  (data $text "0123456789abcdef")`;

/** A function that makes and uses objects, as text, and its expected events for an argument. */
export class RandomProgram {
  readonly #body: readonly Statement[];
  readonly name: string;

  constructor(name: string, seed: number) {
    const below = choices(seed);
    this.name = name;
    this.#body = statements(below, 3);
  }

  /** Number of each event in a call: `new point`, `elements of bytes`, `read point.x` … */
  run(argument: number): Map<string, number> {
    const counts = new Map<string, number>();
    const add = (key: string, amount = 1) => counts.set(key, (counts.get(key) ?? 0) + amount);
    const call = (value: number): void => {
      // Every call makes one object of each type.
      add("new spot");
      add("new words");
      add("elements of words", 16);
      add("new bytes");
      add("elements of bytes", 16);
      execute(this.#body, value);
    };
    const execute = (body: readonly Statement[], value: number): void => {
      for (const { kind, count, arm, other } of body)
        switch (kind) {
          case "loop":
            for (let round = 0; round < count; round++) execute(arm, value);
            break;
          case "if":
            execute((value >> (count & 3)) & 1 ? arm : other, value);
            break;
          case "leave block":
            execute(arm, value);
            if (!((value >> (count & 3)) & 1)) execute(other, value);
            break;
          case "call":
            if (value > 0) call(value >> 1);
            break;
          default:
            for (const [key, amount] of EFFECTS[kind](count)) add(key, amount);
        }
    };
    call(argument);
    return counts;
  }

  text(): string {
    return `(func $${this.name} (export "${this.name}") (param $argument i32)
      (local $point (ref $point)) (local $spot (ref $spot)) (local $words (ref $words)) (local $bytes (ref $bytes)) (local $round0 i32) (local $round1 i32) (local $round2 i32) (local $round3 i32)
      (local.set $spot (struct.new $spot (i32.const 1) (i64.const 2) (i32.const 3)))
      (local.set $point (local.get $spot))
      (local.set $words (array.new $words (i32.const 7) (i32.const 16)))
      (local.set $bytes (array.new_data $bytes $text (i32.const 0) (i32.const 16)))
      ${textOf(this.#body, this.name, 0)})`;
  }
}

export function moduleText(programs: readonly RandomProgram[]): string {
  return `(module ${TYPES} ${programs.map((program) => program.text()).join("\n")})`;
}

function statements(below: (count: number) => number, depth: number): Statement[] {
  return Array.from({ length: 1 + below(5) }, (): Statement => {
    const isCompound = depth > 0 && below(3) === 0;
    const kind = isCompound ? COMPOUND[below(COMPOUND.length)]! : SIMPLE[below(SIMPLE.length)]!;
    return {
      kind,
      count: 1 + below(4),
      arm: isCompound ? statements(below, depth - 1) : [],
      other: isCompound ? statements(below, depth - 1) : [],
    };
  });
}

const EFFECTS: Readonly<Record<(typeof SIMPLE)[number], (count: number) => [string, number][]>> = {
  "new point": () => [["new point", 1]],
  "new default point": () => [["new point", 1]],
  "new spot": () => [["new spot", 1]],
  "read x": () => [["read point.x", 1]],
  "write y": () => [["write point.y", 1]],
  "read colour": () => [["read spot.colour", 1]],
  "write colour": () => [["write spot.colour", 1]],
  "new array": (count) => [
    ["new words", 1],
    ["elements of words", 16 + count],
  ],
  "new default array": (count) => [
    ["new bytes", 1],
    ["elements of bytes", 16 + count],
  ],
  "new fixed array": (count) => [
    ["new words", 1],
    ["elements of words", 16 + count],
  ],
  "new array of data": () => [
    ["new bytes", 1],
    ["elements of bytes", 16],
  ],
  "read element": () => [["read words", 1]],
  "write element": () => [["write bytes", 1]],
  fill: (count) => [["write words", count]],
  copy: (count) => [
    ["write bytes", count],
    ["read bytes", count],
  ],
  init: (count) => [["write bytes", count]],
};

const TEXTS: Readonly<Record<(typeof SIMPLE)[number], (count: number) => string>> = {
  "new point": () => "(local.set $point (struct.new $point (i32.const 4) (i64.const 5)))",
  "new default point": () => "(local.set $point (struct.new_default $point))",
  "new spot": () => "(local.set $spot (struct.new $spot (i32.const 6) (i64.const 7) (i32.const 8)))",
  "read x": () => "(drop (struct.get $point $x (local.get $point)))",
  "write y": () => "(struct.set $point $y (local.get $point) (i64.const 9))",
  "read colour": () => "(drop (struct.get_u $spot $colour (local.get $spot)))",
  "write colour": () => "(struct.set $spot $colour (local.get $spot) (i32.const 1))",
  "new array": (count) => `(local.set $words (array.new $words (i32.const 1) (i32.const ${16 + count})))`,
  "new default array": (count) => `(local.set $bytes (array.new_default $bytes (i32.const ${16 + count})))`,
  "new fixed array": (count) =>
    `(local.set $words (array.new_fixed $words ${16 + count} ${"(i32.const 3)".repeat(16 + count)}))`,
  "new array of data": () => "(local.set $bytes (array.new_data $bytes $text (i32.const 0) (i32.const 16)))",
  "read element": () => "(drop (array.get $words (local.get $words) (i32.const 0)))",
  "write element": () => "(array.set $bytes (local.get $bytes) (i32.const 1) (i32.const 2))",
  fill: (count) => `(array.fill $words (local.get $words) (i32.const 0) (i32.const 5) (i32.const ${count}))`,
  copy: (count) =>
    `(array.copy $bytes $bytes (local.get $bytes) (i32.const 0) (local.get $bytes) (i32.const 4) (i32.const ${count}))`,
  init: (count) =>
    `(array.init_data $bytes $text (local.get $bytes) (i32.const 0) (i32.const 1) (i32.const ${count}))`,
};

function textOf(body: readonly Statement[], name: string, depth: number): string {
  return body
    .map(({ kind, count, arm, other }) => {
      const bit = `(i32.and (i32.shr_u (local.get $argument) (i32.const ${count & 3})) (i32.const 1))`;
      const [inner, outer] = [textOf(arm, name, depth + 1), textOf(other, name, depth + 1)];
      switch (kind) {
        case "loop":
          return `(local.set $round${depth} (i32.const ${count}))
            (loop $again ${inner}
              (local.set $round${depth} (i32.sub (local.get $round${depth}) (i32.const 1)))
              (br_if $again (local.get $round${depth})))`;
        case "if":
          return `(if ${bit} (then ${inner}) (else ${outer}))`;
        case "leave block":
          return `(block $out ${inner} (br_if $out ${bit}) ${outer})`;
        case "call":
          return `(if (local.get $argument) (then (call $${name} (i32.shr_u (local.get $argument) (i32.const 1)))))`;
        default:
          return TEXTS[kind](count);
      }
    })
    .join("\n");
}
