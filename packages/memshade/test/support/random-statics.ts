import { Choices } from "./random-module.ts";

export interface RandomVariable {
  readonly name: string;
  readonly address: number;
  readonly bytes: number;
}

const START = 1024;

/**
 * A random module whose functions `f0 …` use static variables as compiled C does: by constant addresses, by an index into one or several
 * arrays, by a pointer to a struct in an array, and in loops. No access leaves its variable.
 */
export function randomStatics(seed: number): {
  text: string;
  variables: RandomVariable[];
  functions: number;
} {
  const choices = new Choices(seed);
  const variables: RandomVariable[] = [];
  let address = START;
  for (let i = 0; i < 6; i++) {
    const bytes = choices.of([4, 4, 8, 64, 256, 1024, 4096]);
    const alignment = Math.min(bytes, 16);
    address = Math.ceil(address / alignment) * alignment;
    variables.push({ name: `v${i}`, address, bytes });
    address += bytes + choices.of([0, 0, 0, 24]);
  }
  const functions = 4;
  const bodies = Array.from({ length: functions }, (_, i) => {
    const statements = Array.from({ length: 1 + choices.below(4) }, () => statement(choices, variables));
    return `(func (export "f${i}") (param $i i32) (local $p i32) (local $n i32) ${statements.join("\n")})`;
  });
  const text = `(module (memory 1 1) (global (export "__heap_base") i32 (i32.const ${address + 64}))
    (data (i32.const ${START}) "${"x".repeat(address - START)}")
    (func $malloc (export "malloc") (param i32) (result i32) (i32.const 60000))
    (func $free (export "free") (param i32)) ${bodies.join("\n")})`;
  return { text, variables, functions };
}

function statement(choices: Choices, variables: readonly RandomVariable[]): string {
  const variable = choices.of(variables);
  const access = (pointer: string, offset: number): string =>
    choices.chance(50)
      ? `(drop (i32.load offset=${offset} ${pointer}))`
      : `(i32.store offset=${offset} ${pointer} (local.get $i))`;
  switch (choices.below(5)) {
    case 0:
      return access("(i32.const 0)", variable.address + 4 * choices.below(variable.bytes / 4));
    case 1: {
      // One index into several arrays: inside the smallest.
      const used = [variable, choices.of(variables)];
      const last = Math.min(...used.map(({ bytes }) => bytes)) - 4;
      const index = `(i32.and (i32.and (local.get $i) (i32.const -4)) (i32.const ${last}))`;
      return `(local.set $p ${index}) ${used.map(({ address }) => access("(local.get $p)", address)).join(" ")}`;
    }
    case 2: {
      // A struct of 16 bytes in an array, by its address.
      if (variable.bytes < 32) return access("(i32.const 0)", variable.address);
      const place = `(i32.and (i32.shl (local.get $i) (i32.const 4)) (i32.const ${variable.bytes - 16}))`;
      const fields = [0, 12, 4].map((offset) => access("(local.get $p)", offset));
      return `(local.set $p (i32.add (i32.const ${variable.address}) ${place})) ${fields.join(" ")}`;
    }
    case 3:
      return loop(choices, variable, access);
    default:
      return `(if (i32.and (local.get $i) (i32.const 1)) (then ${access("(i32.const 0)", variable.address)}))`;
  }
}

function loop(
  choices: Choices,
  { address, bytes }: RandomVariable,
  access: (pointer: string, offset: number) => string,
): string {
  const step = choices.of([4, 8, 16, 24]);
  const trips = Math.max(1, Math.floor((bytes - 4) / step));
  const isIndexed = choices.chance(50);
  const [start, offset] = isIndexed ? [0, address] : [address, 0];
  return `(local.set $p (i32.const ${start})) (local.set $n (i32.const ${trips}))
    (loop $again ${access("(local.get $p)", offset)}
      (local.set $p (i32.add (local.get $p) (i32.const ${step})))
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))`;
}
