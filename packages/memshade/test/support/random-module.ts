// Random valid modules in the text format. A seed gives one module, and every call of every function terminates.

/** A reproducible source of choices (mulberry32). */
export class Choices {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** A number in `[0, limit)`. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  of<T>(items: readonly T[]): T {
    return items[this.below(items.length)];
  }
}

type Type = "i32" | "i64" | "f64" | "v128";

interface Signature {
  params: readonly Type[];
  results: readonly Type[];
}

/** Function 0 can be used as malloc, function 1 as free. */
const SIGNATURES: readonly Signature[] = [
  { params: ["i32"], results: ["i32"] },
  { params: ["i32"], results: [] },
  { params: ["i32", "i64"], results: ["i32"] },
  { params: ["f64"], results: ["f64"] },
  { params: ["i32"], results: ["i32", "i32"] },
  { params: [], results: ["i64", "i32", "f64"] },
];
const LOADS: Record<Type, readonly string[]> = {
  i32: ["i32.load", "i32.load8_s", "i32.load16_u", "i32.atomic.load8_u"],
  i64: ["i64.load", "i64.load8_u", "i64.load32_s"],
  f64: ["f64.load"],
  v128: ["v128.load", "v128.load8x8_s", "v128.load32_splat", "v128.load64_zero"],
};
const STORES: Record<Type, readonly string[]> = {
  i32: ["i32.store", "i32.store8", "i32.store16", "i32.atomic.store8"],
  i64: ["i64.store", "i64.store16", "i64.store32"],
  f64: ["f64.store"],
  v128: ["v128.store"],
};
const I32_BINARY = ["add", "sub", "mul", "and", "or", "xor", "shl", "shr_u", "rotl", "eq", "lt_s", "gt_u"];
const POINTERS = ["$p", "$q"];
const LOCALS: Record<Type, readonly string[]> = {
  i32: ["$a", "$b", "$p", "$q"],
  i64: ["$w", "$x"],
  f64: ["$f"],
  v128: ["$v"],
};
const FUNCTIONS = 7;
const DEEPEST = 4;

const funcType = ({ params, results }: Signature) =>
  `${params.map((type) => `(param ${type})`).join(" ")} ${results.map((type) => `(result ${type})`).join(" ")}`;

/** Text of the module of a seed. It imports `host.log`, and its functions are called `f0`, `f1` … `memory64`: addresses are i64. */
export function randomModule(seed: number, memory64 = false): string {
  const choices = new Choices(seed);
  const signatures = Array.from({ length: FUNCTIONS }, (_, i) =>
    i < 2 ? SIGNATURES[i] : choices.of(SIGNATURES),
  );
  const functions = signatures.map((signature, i) =>
    new FunctionText(choices, signatures, i, signature, memory64).text(),
  );
  return `(module
    (import "host" "log" (func $log (param i32) (result i32)))
    ${SIGNATURES.map((signature, i) => `(type $s${i} (func ${funcType(signature)}))`).join("\n    ")}
    (memory (export "memory") ${memory64 ? "i64" : ""} 2 2)
    (table ${FUNCTIONS} funcref) (elem (i32.const 0) ${signatures.map((_, i) => `$f${i}`).join(" ")})
    (tag $t (param i32)) (tag $e)
    (data $d "some bytes of a passive segment, not too few")
    (global $fuel (export "fuel") (mut i32) (i32.const 0))
    (global $__stack_pointer (mut i32) (i32.const 65536))
    (global $g (export "g") (mut i32) (i32.const 5))
    (func (export "refuel") (global.set $fuel (i32.const 60)))
    ${functions.join("\n    ")})`;
}

/** Operands for the exports of a module made by `randomModule`: each function is called a few times. */
export function randomCalls(
  seed: number,
  exports: readonly string[],
  lengths: (name: string) => readonly string[],
): [string, ...unknown[]][] {
  const choices = new Choices(seed ^ 0x5bd1e995);
  const operand: Record<string, () => unknown> = {
    i32: () => choices.below(70_000) - 2_000,
    i64: () => BigInt(choices.below(2 ** 32)) * BigInt(choices.below(1000)),
    f64: () => choices.below(1000) / 8,
  };
  return Array.from({ length: 10 }, () => choices.of(exports)).flatMap((name): [string, ...unknown[]][] => [
    ["refuel"],
    [name, ...lengths(name).map((type) => operand[type]())],
  ]);
}

export const parametersOf = (seed: number): readonly (readonly Type[])[] => {
  const choices = new Choices(seed);
  return Array.from({ length: FUNCTIONS }, (_, i) => (i < 2 ? SIGNATURES[i] : choices.of(SIGNATURES)).params);
};

interface Label {
  name: string;
  result: Type | undefined;
}

class FunctionText {
  readonly #choices: Choices;
  readonly #signatures: readonly Signature[];
  readonly #index: number;
  readonly #signature: Signature;
  readonly #memory64: boolean;
  readonly #labels: Label[] = [];
  #loops = 0;
  #names = 0;
  /** Remaining statements and expressions: the limit keeps functions readable. */
  #budget = 70;

  constructor(
    choices: Choices,
    signatures: readonly Signature[],
    index: number,
    signature: Signature,
    memory64: boolean,
  ) {
    this.#memory64 = memory64;
    this.#choices = choices;
    this.#signatures = signatures;
    this.#index = index;
    this.#signature = signature;
  }

  text(): string {
    const { params, results } = this.#signature;
    const names = params.map((_, i) => `$param${i}`);
    const begin = params.map((type, i) => `(local.set ${this.#localOf(type)} (local.get ${names[i]}))`);
    const body = this.#statements(5, 0);
    const end = results.map((type) => this.#expression(type, 1));
    const loops = Array.from({ length: this.#loops }, (_, i) => `$loop${i}`);
    return `(func $f${this.#index} (export "f${this.#index}") (type $s${SIGNATURES.indexOf(this.#signature)})
      ${params.map((type, i) => `(param ${names[i]} ${type})`).join(" ")} ${results.map((type) => `(result ${type})`).join(" ")}
      ${Object.entries(LOCALS)
        .map(([type, locals]) => locals.map((local) => `(local ${local} ${type})`).join(" "))
        .join(" ")}
      ${loops.map((local) => `(local ${local} i32)`).join(" ")}
      (if (i32.lt_s (global.get $fuel) (i32.const 1)) (then (throw $e)))
      (global.set $fuel (i32.sub (global.get $fuel) (i32.const 1)))
      (local.set $p (i32.const ${this.#choices.below(4096) * 8})) (local.set $q (i32.const ${this.#choices.below(60_000)}))
      ${begin.join(" ")}
      ${body}
      ${end.join(" ")})`;
  }

  #localOf(type: Type): string {
    return this.#choices.of(LOCALS[type]);
  }

  #statements(count: number, depth: number): string {
    return Array.from({ length: 1 + this.#choices.below(count) }, () => this.#statement(depth)).join(
      "\n      ",
    );
  }

  #statement(depth: number): string {
    const choices = this.#choices;
    this.#budget--;
    const flat = depth >= DEEPEST || this.#budget < 0;
    switch (choices.below(flat ? 9 : 19)) {
      case 0:
      case 1:
        return this.#store(depth);
      case 2:
        return this.#move();
      case 3: {
        const type = choices.of(["i32", "i64", "f64", "v128"] as const);
        return `(local.set ${this.#localOf(type)} ${this.#expression(type, depth)})`;
      }
      case 4:
        return this.#bulk(depth);
      case 5:
        return `(drop ${this.#load(choices.of(["i32", "i64", "f64", "v128"] as const), depth)})`;
      case 6:
        return choices.chance(50)
          ? `(global.set $g ${this.#expression("i32", depth)})`
          : `(local.set $q (i32.sub (global.get $__stack_pointer) (i32.const ${8 * choices.below(20)})))`;
      case 7:
        return this.#branch(depth);
      case 8:
        return this.#straightLoop();
      case 9:
      case 10:
        return this.#block(depth);
      case 11:
        return this.#if(depth);
      case 12:
        return this.#loop(depth);
      case 13:
      case 14:
        return this.#callAndUse(depth);
      case 15:
        return this.#try(depth);
      case 16:
        return this.#switch(depth);
      case 17:
        return choices.chance(80) ? this.#store(depth) : this.#end(depth);
      default:
        return `(drop (call $log ${this.#expression("i32", depth)}))`;
    }
  }

  /** A statement that ends its block, with some dead code behind it. */
  #end(depth: number): string {
    const { results } = this.#signature;
    const value = results.map((type) => this.#expression(type, depth)).join(" ");
    const ending = this.#choices.of([
      `(return ${value})`,
      "(throw $e)",
      `(throw $t ${this.#expression("i32", depth)})`,
      this.#tailCall(depth) ?? `(return ${value})`,
    ]);
    return `(if ${this.#expression("i32", depth)} (then ${ending} (i32.store) (drop (i32.load offset=4))))`;
  }

  #tailCall(depth: number): string | undefined {
    const callee = this.#calleeOf(({ results }) => results.join() === this.#signature.results.join());
    if (callee === undefined) return undefined;
    return this.#callText(callee, depth, "return_");
  }

  #calleeOf(fits: (signature: Signature) => boolean): number | undefined {
    const fitting = this.#signatures.flatMap((signature, i) =>
      i > this.#index && fits(signature) ? [i] : [],
    );
    return fitting.length === 0 ? undefined : this.#choices.of(fitting);
  }

  #callText(callee: number, depth: number, prefix = ""): string {
    const signature = this.#signatures[callee];
    const operands = signature.params.map((type) => this.#expression(type, depth + 1)).join(" ");
    if (this.#choices.chance(70)) return `(${prefix}call $f${callee} ${operands})`;
    return `(${prefix}call_indirect (type $s${SIGNATURES.indexOf(signature)}) ${operands} (i32.const ${callee}))`;
  }

  /** A call whose results are stored: as addresses and values, or into locals. */
  #callAndUse(depth: number): string {
    const callee = this.#calleeOf(() => true);
    if (callee === undefined) return this.#store(depth);
    const { results } = this.#signatures[callee];
    const call = this.#callText(callee, depth);
    if (results.join() === "i32,i32" && this.#choices.chance(50))
      return `${call} (local.set $a) (i32.and (i32.const 0xfff0)) (local.get $a) (i32.store offset=4)`.replace(
        "(i32.and (i32.const 0xfff0))",
        (and) => (this.#memory64 ? `${and} (i64.extend_i32_u)` : and),
      );
    return `${call} ${results
      .map((type) => `(local.set ${this.#localOf(type)})`)
      .reverse()
      .join(" ")}`;
  }

  #inside(result: Type | undefined, depth: number, name = `$l${this.#names++}`): string {
    this.#labels.push({ name, result });
    const body = this.#statements(3, depth + 1);
    const value = result === undefined ? "" : this.#expression(result, depth + 1);
    this.#labels.pop();
    return `${body} ${value}`;
  }

  #block(depth: number): string {
    const name = `$l${this.#names++}`;
    if (this.#choices.chance(60)) return `(block ${name} ${this.#inside(undefined, depth, name)})`;
    const type = this.#choices.of(["i32", "i64"] as const);
    return `(local.set ${this.#localOf(type)} (block ${name} (result ${type}) ${this.#inside(type, depth, name)}))`;
  }

  #if(depth: number): string {
    const name = `$l${this.#names++}`;
    const test = this.#expression("i32", depth);
    const otherwise = this.#choices.chance(50) ? `(else ${this.#inside(undefined, depth, name)})` : "";
    return `(if ${name} ${test} (then ${this.#inside(undefined, depth, name)}) ${otherwise})`;
  }

  #counter(): { begin: string; again: string } {
    const counter = `$loop${this.#loops++}`;
    const step = `(local.tee ${counter} (i32.sub (local.get ${counter}) (i32.const 1)))`;
    return { begin: `(local.set ${counter} (i32.const ${1 + this.#choices.below(5)}))`, again: step };
  }

  #loop(depth: number): string {
    const { begin, again } = this.#counter();
    const name = `$l${this.#names++}`;
    const body = this.#statements(3, depth + 1);
    return `${begin} (loop ${name} ${body} (br_if ${name} ${again}))`;
  }

  /** A loop of one basic block, as compilers make them for arrays. */
  #straightLoop(): string {
    const { begin, again } = this.#counter();
    const steps = Array.from({ length: 1 + this.#choices.below(4) }, () =>
      this.#choices.chance(60) ? this.#store(DEEPEST) : this.#move(),
    );
    return `${begin} (loop $straight ${steps.join(" ")} (br_if $straight ${again}))`;
  }

  #branch(depth: number): string {
    const open = this.#labels.filter(({ result }) => result === undefined);
    if (open.length === 0) return this.#store(depth);
    return `(br_if ${this.#choices.of(open).name} ${this.#expression("i32", depth)})`;
  }

  #switch(depth: number): string {
    const names = Array.from({ length: 3 }, () => `$l${this.#names++}`);
    for (const name of names) this.#labels.push({ name, result: undefined });
    const select = `(br_table ${names.join(" ")} (i32.and ${this.#expression("i32", depth + 1)} (i32.const 3)))`;
    const arms = names.map(() => {
      this.#labels.pop();
      return `) ${this.#statement(depth + 1)}`;
    });
    return `${names.map((name) => `(block ${name}`).join(" ")} ${select} ${arms.join(" ")}`;
  }

  #try(depth: number): string {
    const name = `$l${this.#names++}`;
    const thrown = this.#choices.chance(40)
      ? `(if ${this.#expression("i32", depth)} (then (throw $t (local.get $a))))`
      : "";
    const body = `${this.#inside(undefined, depth, name)} ${thrown} ${this.#statement(depth + 1)}`;
    if (this.#choices.chance(15)) return `(block (try ${name} (do ${body}) (delegate 1)))`;
    const handler = this.#inside(undefined, depth, name);
    const again = this.#choices.chance(15) ? `(rethrow ${name})` : "";
    const tagged = this.#choices.chance(60) ? `(catch $t (local.set $b) ${this.#statement(depth + 1)})` : "";
    return `(try ${name} (do ${body}) ${tagged} (catch_all ${handler} ${again}))`;
  }

  /** Moves a pointer by a constant, or sets it to a new value. */
  #move(): string {
    const choices = this.#choices;
    const pointer = choices.of(POINTERS);
    switch (choices.below(5)) {
      case 0:
        return `(local.set ${pointer} (i32.and (local.get ${choices.of(LOCALS.i32)}) (i32.const 0x7fff)))`;
      case 1:
        return `(local.set ${pointer} (i32.sub (local.get ${pointer}) (i32.const ${choices.below(30)})))`;
      case 2:
        return `(local.set ${pointer} (local.get ${choices.of(POINTERS)}))`;
      default:
        return `(local.set ${pointer} (i32.add (local.get ${pointer}) (i32.const ${choices.of([1, 2, 4, 8, 12, 16, 40])})))`;
    }
  }

  /** An address in memory, nearly always. */
  #address(depth: number): string {
    if (!this.#memory64) return this.#address32(depth);
    const choices = this.#choices;
    const wide = `(i64.extend_i32_u ${this.#address32(depth)})`;
    switch (choices.below(5)) {
      case 0:
        return `(i64.add ${wide} (i64.const ${choices.below(64)}))`;
      case 1:
        return `(i64.const ${choices.below(65_000)})`;
      case 2:
        return `(local.tee ${this.#localOf("i64")} ${wide})`;
      case 3: {
        const local = this.#localOf("i64");
        return `(i64.add (local.tee ${local} (i64.and (local.get ${local}) (i64.const 0xffff))) (i64.const ${choices.below(8)}))`;
      }
      default:
        return wide;
    }
  }

  #address32(depth: number): string {
    const choices = this.#choices;
    const pointer = `(local.get ${choices.of(POINTERS)})`;
    switch (choices.below(9)) {
      case 0:
        return `(i32.add ${pointer} (i32.const ${choices.below(64)}))`;
      case 1:
        return `(i32.and ${this.#expression("i32", depth + 1)} (i32.const 0xffff))`;
      case 2:
        return `(i32.const ${choices.below(65_000)})`;
      case 3:
        return `(i32.sub (global.get $__stack_pointer) (i32.const ${8 + choices.below(64)}))`;
      case 4:
        return `(local.tee ${choices.of(POINTERS)} (i32.add ${pointer} (i32.const ${choices.below(24)})))`;
      case 5:
        return `(i32.add ${pointer} (i32.shl (i32.and (local.get $a) (i32.const 15)) (i32.const ${choices.below(4)})))`;
      default:
        return pointer;
    }
  }

  #offset(): string {
    return this.#choices.chance(50) ? "" : `offset=${this.#choices.below(80)}`;
  }

  #load(type: Type, depth: number): string {
    return `(${this.#choices.of(LOADS[type])} ${this.#offset()} ${this.#address(depth)})`;
  }

  #store(depth: number): string {
    const choices = this.#choices;
    const type = choices.of(["i32", "i32", "i64", "f64", "v128"] as const);
    if (choices.chance(8)) {
      const rmw = choices.of(["add", "xor", "xchg"]);
      return `(drop (i32.atomic.rmw8.${rmw}_u ${this.#offset()} ${this.#address(depth)} ${this.#expression("i32", depth + 1)}))`;
    }
    if (choices.chance(8))
      return `(v128.store16_lane ${this.#offset()} 3 ${this.#address(depth)} (local.get $v))`;
    return `(${choices.of(STORES[type])} ${this.#offset()} ${this.#address(depth)} ${this.#expression(type, depth + 1)})`;
  }

  #bulk(depth: number): string {
    const size = `(${this.#memory64 ? "i64" : "i32"}.const ${this.#choices.below(70)})`;
    switch (this.#choices.below(4)) {
      case 0:
        return `(memory.fill ${this.#address(depth)} (local.get $a) ${size})`;
      case 1:
        return `(memory.init $d ${this.#address(depth)} (i32.const 3) (i32.const ${this.#choices.below(30)}))`;
      case 2:
        return this.#store(depth);
      default:
        return `(memory.copy ${this.#address(depth)} ${this.#address(depth)} ${size})`;
    }
  }

  #expression(type: Type, depth: number): string {
    const choices = this.#choices;
    this.#budget--;
    const leaf = depth >= DEEPEST || this.#budget < 0;
    const local = `(local.get ${this.#localOf(type)})`;
    const pick = choices.below(10);
    if (pick < 3) return local;
    if (pick < 5) return this.#load(type, leaf ? DEEPEST : depth + 1);
    if (leaf || pick === 5) return this.#constant(type);
    if (pick === 6) {
      const callee = this.#calleeOf(({ results }) => results.join() === type);
      if (callee !== undefined) return this.#callText(callee, depth);
    }
    if (pick === 7) return `(local.tee ${this.#localOf(type)} ${this.#expression(type, depth + 1)})`;
    if (pick === 8 && type !== "v128")
      return `(if (result ${type}) ${this.#expression("i32", depth + 1)} (then ${this.#inside(type, depth)}) (else ${this.#inside(type, depth)}))`;
    const [left, right] = [this.#expression(type, depth + 1), this.#expression(type, depth + 1)];
    switch (type) {
      case "i32":
        return `(i32.${choices.of(I32_BINARY)} ${left} ${right})`;
      case "i64":
        return `(i64.${choices.of(["add", "sub", "mul", "xor", "shr_s"])} ${left} ${right})`;
      case "f64":
        return `(f64.${choices.of(["add", "sub", "min", "copysign"])} ${left} ${right})`;
      case "v128":
        return `(${choices.of(["i32x4.add", "v128.xor", "i8x16.sub"])} ${left} ${right})`;
    }
  }

  #constant(type: Type): string {
    const number = this.#choices.below(this.#choices.chance(50) ? 16 : 100_000);
    return type === "v128" ? `(i32x4.splat (i32.const ${number}))` : `(${type}.const ${number})`;
  }
}
