import { RandomNumbers } from "../../../../src/record/tools/objects/read/object-sampler.ts";

/** Steps of a function, in order. Loops and conditions depend on its argument. */
type Step = Making | Calling;

interface Making {
  readonly kind: "struct" | "array";
  readonly rounds: number;
}

interface Calling {
  readonly kind: "call" | "table";
  readonly callee: number;
  /** Smallest argument for which the call is made. */
  readonly least: number;
}

const FUNCTIONS = 6;

/**
 * Functions that make objects and call each other. They call later ones with the same argument, by name or through a table, and themselves
 * with a
 * smaller argument.
 */
export class RandomCalls {
  readonly name: string;
  readonly #functions: readonly (readonly Step[])[];

  constructor(seed: number) {
    const random = new RandomNumbers(seed);
    const below = (count: number) => Math.floor(random.next() * count);
    this.name = `program${seed}`;
    this.#functions = Array.from({ length: FUNCTIONS }, (_, index) =>
      Array.from({ length: 1 + below(4) }, (): Step => {
        const isLast = index === FUNCTIONS - 1;
        if (isLast || below(2) === 0)
          return { kind: below(2) === 0 ? "struct" : "array", rounds: 1 + below(3) };
        const callee = index + below(FUNCTIONS - index);
        // A call through a table is not recognized as recursion.
        const kind = callee > index && below(3) === 0 ? "table" : "call";
        return { kind, callee, least: below(3) };
      }),
    );
  }

  /** Counts objects by path and type. Recursion counts in the context that it was entered in. */
  run(argument: number, counts: Map<string, number>): void {
    const add = (key: string, amount: number) => counts.set(key, (counts.get(key) ?? 0) + amount);
    const call = (index: number, value: number, callers: string): void => {
      const path = `${this.name}.${index}${callers}`;
      for (const step of this.#functions[index]!)
        if ("rounds" in step) add(`${path} ${step.kind === "struct" ? "node" : "bytes"}`, step.rounds);
        else if (value >= step.least)
          if (step.callee !== index) call(step.callee, value, `<${path}`);
          else if (value > 0) call(index, value - 1, callers);
    };
    call(0, argument, "");
  }

  /** Functions as text. The first is exported under its name; table entries begin at `first`. */
  text(first: number): string {
    return this.#functions
      .map((steps, index) => {
        const body = steps.map((step, number) => this.#textOf(step, index, number, first)).join("\n");
        const exported = index === 0 ? `(export "${this.name}")` : "";
        return `(func $${this.name}.${index} ${exported} (type $call) (param $n i32) (local $round i32) ${body})`;
      })
      .join("\n");
  }

  get functions(): readonly string[] {
    return this.#functions.map((_, index) => `$${this.name}.${index}`);
  }

  #textOf(step: Step, index: number, number: number, first: number): string {
    if ("rounds" in step) {
      const made =
        step.kind === "struct"
          ? "(struct.new $node (i32.const 1))"
          : "(array.new_default $bytes (local.get $round))";
      return `(local.set $round (i32.const ${step.rounds}))
        (loop $loop${number} (drop ${made})
          (br_if $loop${number} (local.tee $round (i32.sub (local.get $round) (i32.const 1)))))`;
    }
    const { callee, kind, least } = step;
    const named = `call $${this.name}.${callee}`;
    const call =
      callee === index
        ? `(if (i32.gt_s (local.get $n) (i32.const 0)) (then (${named} (i32.sub (local.get $n) (i32.const 1)))))`
        : kind === "table"
          ? `(call_indirect (type $call) (local.get $n) (i32.const ${first + callee}))`
          : `(${named} (local.get $n))`;
    return `(if (i32.ge_s (local.get $n) (i32.const ${least})) (then ${call}))`;
  }
}

export function callsText(programs: readonly RandomCalls[]): string {
  return `(module
    (type $node (struct (field $value i32)))
    (type $bytes (array (mut i8)))
    (type $call (func (param i32)))
    (table funcref (elem ${programs.flatMap(({ functions }) => functions).join(" ")}))
    ${programs.map((program, index) => program.text(index * FUNCTIONS)).join("\n")})`;
}
