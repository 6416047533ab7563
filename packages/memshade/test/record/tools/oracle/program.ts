// Small programs in two forms: the text of a module, and the events of its run. Control flow never depends on loaded values, so events
// follow from the program alone.
import { type Plain, type Type, type Update, updated } from "./instructions.ts";
import type { Model, Site } from "./model.ts";

/**
 * `from` is the number `at`, a function's parameter, or its frame; in a loop `stride` is added per trip. `offset` is the memory argument's.
 */
export interface Address {
  from: "nothing" | "parameter" | "frame";
  at: number;
  stride: number;
  offset: number;
}

export type Step =
  | { kind: "load"; op: Plain; address: Address }
  | { kind: "store"; op: Plain; address: Address; value: bigint }
  | { kind: "rmw"; op: Plain & { update: Update }; address: Address; value: bigint }
  | { kind: "cmpxchg"; op: Plain; address: Address; expected: bigint; value: bigint }
  | { kind: "wait"; op: Plain; address: Address; expected: bigint }
  | { kind: "fill"; address: Address; value: number; size: number }
  | { kind: "copy"; to: Address; from: Address; size: number }
  | { kind: "init"; address: Address; from: number; size: number }
  | { kind: "copyIn" | "copyOut"; address: Address; other: number; size: number }
  | { kind: "storeOther"; other: number; value: number }
  | { kind: "hostReads" | "hostWrites"; address: number; size: number }
  | { kind: "hostLooks" }
  | { kind: "malloc" | "calloc"; address: number; size: number }
  | { kind: "realloc"; old: number; address: number; size: number }
  | { kind: "free"; address: number }
  | { kind: "grow" }
  | { kind: "dropSegment" }
  | { kind: "loop"; trips: number; body: readonly Step[] }
  | { kind: "if"; taken: boolean; body: readonly Step[] }
  | { kind: "call"; callee: number; parameter: number };

export interface Routine {
  /** Bytes of the function's stack frame; 0: none. */
  frame: number;
  body: readonly Step[];
}

export interface Program {
  /** The host runs function 0; a function calls only later ones. */
  functions: readonly Routine[];
  memory64: boolean;
  shared: boolean;
}

export const PAGE = 65536;
export const MOST_PAGES = 4;
export const STACK = 4096;
/** An active data segment and one that the program copies in; then the initial content of a second memory. */
export const ACTIVE = { address: 512, bytes: [...Array(64).keys()].map((i) => (i % 7 === 0 ? 0 : i)) };
export const PASSIVE = [...Array(64).keys()].map((i) => (i < 24 ? 0 : i * 3));
export const OTHER = [...Array(128).keys()].map((i) => (i < 48 ? 0 : i));
/** Functions outside of the program come first, after the imports: the allocator's, and one that fills a second memory. */
export const OTHER_FUNCTIONS = 5;

const hex = (bytes: readonly number[]): string =>
  bytes.map((byte) => `\\${byte.toString(16).padStart(2, "0")}`).join("");

function constant(type: Type, value: bigint): string {
  if (type === "v128") return `(v128.const i64x2 ${BigInt.asUintN(64, value)} ${BigInt.asUintN(64, ~value)})`;
  if (type === "f32") return `(f32.reinterpret_i32 (i32.const ${BigInt.asIntN(32, value)}))`;
  if (type === "f64") return `(f64.reinterpret_i64 (i64.const ${BigInt.asIntN(64, value)}))`;
  return `(${type}.const ${BigInt.asIntN(type === "i32" ? 32 : 64, value)})`;
}

export function bytesOf(value: bigint, size: number): number[] {
  const wide = BigInt.asUintN(64, value) | (BigInt.asUintN(64, ~value) << 64n);
  return Array.from({ length: size }, (_, i) => Number((wide >> BigInt(8 * i)) & 255n));
}

function numberOf(bytes: readonly number[]): bigint {
  return bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
}

/** Bytes that a store writes: its operand, or a lane of it. */
function storedBytes({ size, lane = 0 }: Plain, value: bigint): number[] {
  return bytesOf(value, 16).slice(lane * size, (lane + 1) * size);
}

/** Text of the module. `isOpaque`: the host's reads are unknown. */
export function textOf(program: Program): string {
  const { functions, memory64, shared } = program;
  const word = memory64 ? "i64" : "i32";
  const isOpaque = looks(program);
  const segment = `(data (${word}.const ${ACTIVE.address}) "${hex(ACTIVE.bytes)}")`;
  return `(module
    (import "wasi_snapshot_preview1" "fd_write" (func $host_read (param i32 i32)))
    (import "wasi_snapshot_preview1" "fd_read" (func $host_write (param i32 i32)))
    ${isOpaque ? '(import "js" "look" (func $look))' : ""}
    (memory $main (export "memory") ${memory64 ? "i64" : ""} 1 ${MOST_PAGES} ${shared ? "shared" : ""})
    (memory $other 1)
    (global $__stack_pointer (mut ${word}) (${word}.const ${STACK}))
    (global $next (mut ${word}) (${word}.const 0))
    ${segment}
    (data $passive "${hex(PASSIVE)}")
    (func $malloc (export "malloc") (param ${word}) (result ${word}) (global.get $next))
    (func $calloc (export "calloc") (param ${word} ${word}) (result ${word}) (global.get $next))
    (func $realloc (export "realloc") (param ${word} ${word}) (result ${word}) (global.get $next))
    (func $free (export "free") (param ${word}))
    (func $fill_other ${OTHER.map((byte, i) => `(i32.store8 $other (i32.const ${i}) (i32.const ${byte}))`).join("\n")})
    ${functions.map((one, i) => new FunctionText(word).write(one, i)).join("\n")}
    (export "_start" (func $f0)))`;
}

function looks({ functions }: Program): boolean {
  const inSteps = (steps: readonly Step[]): boolean =>
    steps.some((step) => step.kind === "hostLooks" || ("body" in step && inSteps(step.body)));
  return functions.some(({ body }) => inSteps(body));
}

/** Writes functions as text; the sites' instructions are in the program's order. */
class FunctionText {
  readonly #word: "i32" | "i64";
  #loops = 0;
  #depth = 0;

  constructor(word: "i32" | "i64") {
    this.#word = word;
  }

  write({ frame, body }: Routine, index: number): string {
    const word = this.#word;
    const text = body.map((step) => this.#step(step)).join("\n");
    const locals = Array.from({ length: this.#loops }, (_, i) => `(local $i${i} i32)`).join(" ");
    const enter = `(global.set $__stack_pointer (local.tee $frame (${word}.sub (global.get $__stack_pointer) (${word}.const ${frame}))))`;
    const leave = `(global.set $__stack_pointer (${word}.add (local.get $frame) (${word}.const ${frame})))`;
    return `(func $f${index} ${index === 0 ? "" : `(param $p ${word})`} (local $frame ${word}) ${index === 0 ? `(local $p ${word})` : ""} ${locals}
      ${index === 0 ? "(call $fill_other)" : ""} ${frame === 0 ? "" : enter} ${text} ${frame === 0 ? "" : leave})`;
  }

  #number(value: number): string {
    return `(${this.#word}.const ${value})`;
  }

  #address({ from, at, stride }: Address): string {
    const word = this.#word;
    const base = from === "nothing" ? this.#number(at) : `(local.get ${from === "frame" ? "$frame" : "$p"})`;
    const moved = from === "nothing" || at === 0 ? base : `(${word}.add ${base} ${this.#number(at)})`;
    if (stride === 0 || this.#depth === 0) return moved;
    const trip = `(local.get $i${this.#depth - 1})`;
    const wide = word === "i64" ? `(i64.extend_i32_u ${trip})` : trip;
    return `(${word}.add ${moved} (${word}.mul ${wide} ${this.#number(stride)}))`;
  }

  /** Operand of a bulk instruction, which has no offset. */
  #whole(address: Address): string {
    return this.#address({ ...address, at: address.at + address.offset });
  }

  #access({ name, lane }: Plain, address: Address, ...operands: string[]): string {
    const memarg = address.offset === 0 ? "" : `offset=${address.offset}`;
    const align = name.includes("atomic") ? "" : "align=1";
    return `(${name} ${memarg} ${align} ${lane ?? ""} ${this.#address(address)} ${operands.join(" ")})`;
  }

  #body(steps: readonly Step[]): string {
    return steps.map((step) => this.#step(step)).join("\n");
  }

  #step(step: Step): string {
    const word = this.#word;
    const size = (bytes: number): string => `(i32.const ${bytes})`;
    switch (step.kind) {
      case "load": {
        const { op, address } = step;
        return `(drop ${this.#access(op, address, ...(op.lane === undefined ? [] : [constant("v128", 0n)]))})`;
      }
      case "store":
        return this.#access(step.op, step.address, constant(step.op.type, step.value));
      case "rmw":
        return `(drop ${this.#access(step.op, step.address, constant(step.op.type, step.value))})`;
      case "cmpxchg": {
        const { op, address, expected, value } = step;
        return `(drop ${this.#access(op, address, constant(op.type, expected), constant(op.type, value))})`;
      }
      case "wait": {
        const { op, address, expected } = step;
        return `(drop ${this.#access(op, address, constant(op.type, expected), "(i64.const 0)")})`;
      }
      case "fill":
        return `(memory.fill ${this.#whole(step.address)} ${size(step.value)} ${this.#number(step.size)})`;
      case "copy":
        return `(memory.copy ${this.#whole(step.to)} ${this.#whole(step.from)} ${this.#number(step.size)})`;
      case "init":
        return `(memory.init $passive ${this.#whole(step.address)} ${size(step.from)} ${size(step.size)})`;
      case "copyIn":
        return `(memory.copy $main $other ${this.#whole(step.address)} ${size(step.other)} ${size(step.size)})`;
      case "copyOut":
        return `(memory.copy $other $main ${size(step.other)} ${this.#whole(step.address)} ${size(step.size)})`;
      case "storeOther":
        return `(i32.store8 $other ${size(step.other)} ${size(step.value)})`;
      case "hostReads":
        return `(call $host_read ${size(step.address)} ${size(step.size)})`;
      case "hostWrites":
        return `(call $host_write ${size(step.address)} ${size(step.size)})`;
      case "hostLooks":
        return "(call $look)";
      case "malloc":
        return `(global.set $next ${this.#number(step.address)}) (drop (call $malloc ${this.#number(step.size)}))`;
      case "calloc":
        return `(global.set $next ${this.#number(step.address)}) (drop (call $calloc ${this.#number(1)} ${this.#number(step.size)}))`;
      case "realloc":
        return `(global.set $next ${this.#number(step.address)}) (drop (call $realloc ${this.#number(step.old)} ${this.#number(step.size)}))`;
      case "free":
        return `(call $free ${this.#number(step.address)})`;
      case "grow":
        return `(drop (memory.grow ${this.#number(1)}))`;
      case "dropSegment":
        return "(data.drop $passive)";
      case "loop": {
        const trip = `$i${this.#depth++}`;
        this.#loops = Math.max(this.#loops, this.#depth);
        const body = this.#body(step.body);
        this.#depth--;
        return `(local.set ${trip} (i32.const 0)) (loop $l ${body}
          (br_if $l (i32.lt_u (local.tee ${trip} (i32.add (local.get ${trip}) (i32.const 1))) (i32.const ${step.trips}))))`;
      }
      case "if":
        return `(if (${word === "i64" ? "i64.eqz" : "i32.eqz"} ${this.#number(step.taken ? 0 : 1)}) (then ${this.#body(step.body)}))`;
      case "call":
        return `(call $f${step.callee} ${this.#number(step.parameter)})`;
    }
  }
}

class Trap extends Error {}

/** Position of a trap: the sites that follow in the same straight code. */
export interface Trapped {
  behind: readonly Site[];
}

export function interpret(program: Program, model: Model): Trapped | undefined {
  const interpreter = new Interpreter(program, model);
  try {
    interpreter.run();
    return undefined;
  } catch (error) {
    if (error instanceof Trap) return { behind: interpreter.behind };
    throw error;
  } finally {
    model.exit();
  }
}

function endsStraightCode(step: Step): boolean {
  return "body" in step || ["call", "malloc", "calloc", "realloc", "free"].includes(step.kind);
}

interface Frame {
  parameter: number;
  frame: number;
  trip: number;
}

class Interpreter {
  readonly #program: Program;
  readonly #model: Model;
  /** Site number of each step, in the order of the text. */
  readonly #sites = new Map<Step, Site>();
  readonly #other: number[] = [...OTHER, ...new Array<number>(PAGE - OTHER.length).fill(0)];
  readonly #isOpaque: boolean;
  #dropped = false;
  /** Sites from the current step on, in its straight code. */
  behind: Site[] = [];

  constructor(program: Program, model: Model) {
    this.#program = program;
    this.#model = model;
    this.#isOpaque = looks(program);
    for (const { body } of program.functions) this.#number(body);
    model.init(ACTIVE.address, ACTIVE.bytes);
  }

  run(): void {
    if (this.#isOpaque) this.#model.hostMayRead();
    this.#call(0, 0);
  }

  #number(steps: readonly Step[]): void {
    const none = ["malloc", "realloc", "free", "grow", "dropSegment", "loop", "if", "call", "storeOther"];
    for (const step of steps) {
      if (!none.includes(step.kind)) this.#sites.set(step, this.#sites.size);
      if ("body" in step) this.#number(step.body);
    }
  }

  #call(index: number, parameter: number): void {
    const { frame, body } = this.#program.functions[index];
    const before = this.#model.stack;
    if (frame !== 0) this.#model.moveStack(before - frame);
    this.#steps(body, { parameter, frame: frame === 0 ? 0 : before - frame, trip: 0 });
    if (frame !== 0) this.#model.moveStack(before);
  }

  #steps(steps: readonly Step[], frame: Frame): void {
    steps.forEach((step, i) => {
      if (!endsStraightCode(step)) {
        const rest = steps.slice(i);
        const end = rest.findIndex(endsStraightCode);
        this.behind = rest.slice(0, end < 0 ? rest.length : end).flatMap((one) => this.#sites.get(one) ?? []);
      }
      this.#step(step, frame);
    });
  }

  /** Address of an access; traps if it is out of bounds. */
  #at({ from, at, stride, offset }: Address, size: number, { parameter, frame, trip }: Frame): number {
    const base = from === "nothing" ? 0 : from === "frame" ? frame : parameter;
    const address = base + at + stride * trip + offset;
    if (!this.#model.contains(address, size)) throw new Trap();
    return address;
  }

  /** As `#at` for an atomic access, which must be aligned. */
  #aligned(address: Address, size: number, frame: Frame): number {
    const { from, at, stride, offset } = address;
    const base = from === "nothing" ? 0 : from === "frame" ? frame.frame : frame.parameter;
    if ((base + at + stride * frame.trip + offset) % size !== 0) throw new Trap();
    return this.#at(address, size, frame);
  }

  #step(step: Step, frame: Frame): void {
    const model = this.#model;
    const site = this.#sites.get(step) ?? -1;
    switch (step.kind) {
      case "load":
      case "store": {
        const { op } = step;
        const isAtomic = op.name.includes("atomic");
        const at = (isAtomic ? this.#aligned : this.#at).call(this, step.address, op.size, frame);
        if (step.kind === "load") model.load(site, at, op.size, op.float);
        else model.store(site, at, storedBytes(op, step.value), op.float);
        return;
      }
      case "rmw": {
        const { size, update } = step.op;
        const at = this.#aligned(step.address, size, frame);
        const old = numberOf(model.valuesAt(at, size));
        model.update(
          site,
          at,
          size,
          bytesOf(updated(update, old, BigInt.asUintN(size * 8, step.value), size), size),
        );
        return;
      }
      case "cmpxchg": {
        const { size } = step.op;
        const at = this.#aligned(step.address, size, frame);
        // The comparison covers as many bits of the operand as are stored.
        const isFound = numberOf(model.valuesAt(at, size)) === BigInt.asUintN(size * 8, step.expected);
        model.update(site, at, size, isFound ? bytesOf(step.value, size) : undefined);
        return;
      }
      case "wait": {
        const at = this.#aligned(step.address, step.op.size, frame);
        if (!this.#program.shared) throw new Trap();
        model.load(site, at, step.op.size);
        return;
      }
      case "fill":
        model.store(
          site,
          this.#at(step.address, step.size, frame),
          new Array(step.size).fill(step.value & 255),
        );
        return;
      case "copy": {
        const to = this.#at(step.to, step.size, frame);
        model.copy(site, to, this.#at(step.from, step.size, frame), step.size);
        return;
      }
      case "init": {
        const at = this.#at(step.address, step.size, frame);
        const bytes = this.#dropped ? [] : PASSIVE;
        if (step.from + step.size > bytes.length) throw new Trap();
        model.store(site, at, bytes.slice(step.from, step.from + step.size));
        return;
      }
      case "copyIn": {
        const at = this.#at(step.address, step.size, frame);
        if (step.other + step.size > PAGE) throw new Trap();
        model.store(site, at, this.#other.slice(step.other, step.other + step.size));
        return;
      }
      case "copyOut": {
        const at = this.#at(step.address, step.size, frame);
        if (step.other + step.size > PAGE) throw new Trap();
        model.valuesAt(at, step.size).forEach((value, i) => {
          this.#other[step.other + i] = value;
        });
        model.load(site, at, step.size);
        return;
      }
      case "storeOther":
        this.#other[step.other] = step.value & 255;
        return;
      case "hostReads":
        model.hostReads(step.address, step.size);
        return;
      case "hostWrites":
        model.hostWrites(site, step.address, step.size);
        return;
      case "hostLooks":
        model.hostMayRead();
        return;
      case "malloc":
        model.allocate(step.address, step.size);
        return;
      case "calloc":
        model.allocateZeroed(site, step.address, step.size);
        return;
      case "realloc":
        model.reallocate(step.old, step.address, step.size);
        return;
      case "free":
        model.free(step.address);
        return;
      case "grow":
        if (model.size < MOST_PAGES * PAGE) model.zero(PAGE);
        return;
      case "dropSegment":
        this.#dropped = true;
        return;
      case "loop":
        for (let trip = 0; trip < Math.max(step.trips, 1); trip++) this.#steps(step.body, { ...frame, trip });
        return;
      case "if":
        if (step.taken) this.#steps(step.body, frame);
        return;
      case "call":
        this.#call(step.callee, step.parameter);
    }
  }
}
