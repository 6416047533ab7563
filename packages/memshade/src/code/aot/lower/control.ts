import { funcTypeAt } from "../../wasm/lookups.ts";
import { V128, type ValType } from "../../wasm/types.ts";
import { NONE, type Source, type Value } from "../code.ts";
import type { BodyLowering, ControlFrame, Entry, Rule } from "./body.ts";
import { inverted } from "./integers.ts";

const EMPTY = -64;

export function decodeBlockType(body: BodyLowering): {
  params: readonly ValType[];
  results: readonly ValType[];
} {
  const type = body.reader.s33Leb();
  if (type === EMPTY) return { params: [], results: [] };
  if (type >= 0) {
    const { params, results } = funcTypeAt(body.module.wasm, type);
    for (const valueType of [...params, ...results]) body.checkType(valueType);
    return { params, results };
  }
  const result = type + 0x80;
  body.checkType(result);
  return { params: [], results: [result] };
}

export const CONTROL_RULES: Readonly<Record<string, Rule>> = {
  nop: () => {},
  unreachable: (body) => {
    body.builder.add("trap", NONE, []);
    body.reachable = false;
  },
  block: (body) => open(body, "block"),
  loop: (body) => open(body, "loop"),
  if: (body) => open(body, "if"),
  else: startElse,
  end: close,
  br: (body) => {
    branch(body, frameAt(body, body.reader.u32Leb()));
    body.reachable = false;
  },
  br_if: (body) => {
    const frame = frameAt(body, body.reader.u32Leb());
    const { builder, stack } = body;
    const condition = stack.pop();
    const arity = arityOf(frame);
    if (arity === 0 && frame.kind !== "body") {
      frame.used = true;
      branchIf(body, condition, frame.label);
      return;
    }
    const entries = stack.entries.slice(stack.height - arity);
    const past = builder.newLabel();
    branchIf(body, opposite(body, condition), past);
    branch(body, frame);
    stack.entries.push(...entries);
    builder.add("label", NONE, [], { label: past });
  },
  br_table: (body) => {
    const { reader, builder, stack } = body;
    const depths = Array.from({ length: reader.u32Leb() + 1 }, () => reader.u32Leb());
    const index = stack.popValue();
    const frames = depths.map((depth) => frameAt(body, depth));
    const arity = arityOf(frames[0]);
    for (let i = stack.height - arity; i < stack.height; i++)
      stack.entries[i] = stack.plain(stack.entries[i]);
    const values = stack.entries.slice(stack.height - arity);
    const stops = new Map<ControlFrame, number>();
    const labels = frames.map((frame) => {
      if (!stops.has(frame))
        stops.set(frame, arity === 0 && frame.kind !== "body" ? frame.label : builder.newLabel());
      frame.used = true;
      return stops.get(frame) as number;
    });
    builder.add("table", NONE, [index], { labels });
    for (const [frame, label] of stops) {
      if (label === frame.label) continue;
      builder.add("label", NONE, [], { label });
      stack.entries.splice(stack.height - arity, arity, ...values);
      branch(body, frame);
      stack.entries.push(...values);
    }
    body.reachable = false;
  },
  return: (body) => {
    returnFrom(body);
    body.reachable = false;
  },
};

function open(body: BodyLowering, kind: "block" | "loop" | "if"): void {
  const { stack, builder, frames } = body;
  const { params, results } = decodeBlockType(body);
  const condition = kind === "if" ? stack.pop() : undefined;
  stack.keepLocals();
  const height = stack.height - params.length;
  const label = builder.newLabel();
  const otherwise = kind === "if" ? builder.newLabel() : NONE;
  const types = kind === "loop" ? params : results;
  const values = types.map((type) => builder.newValue(type === V128));
  let operands: Entry[] = [];
  if (condition !== undefined) branchIf(body, opposite(body, condition), otherwise);
  if (kind === "if") operands = stack.entries.slice(height);
  if (kind === "loop") {
    moveInto(body, values);
    stack.entries.push(...values);
    builder.depth++;
    builder.add("label", NONE, [], { label });
  }
  frames.push({ kind, label, values, results, height, used: false, otherwise, operands });
}

function startElse(body: BodyLowering): void {
  const frame = body.frames.at(-1) as ControlFrame;
  if (body.reachable) branch(body, frame);
  body.builder.add("label", NONE, [], { label: frame.otherwise });
  body.stack.entries.length = frame.height;
  body.stack.entries.push(...frame.operands);
  frame.kind = "else";
  body.reachable = true;
}

function close(body: BodyLowering): void {
  const { frames, stack, builder } = body;
  const frame = frames.pop() as ControlFrame;
  if (frame.kind === "body") {
    if (body.reachable) returnFrom(body);
    return;
  }
  if (frame.kind === "loop") {
    builder.depth--;
    if (!body.reachable) stack.entries.length = frame.height;
    return;
  }
  if (frame.kind === "if") {
    // The absent `else` passes the operands on.
    if (frame.values.length === 0) builder.add("label", NONE, [], { label: frame.otherwise });
    else {
      frames.push(frame);
      startElse(body);
      frames.pop();
    }
    body.reachable = true;
  }
  if (!frame.used) {
    if (!body.reachable) stack.entries.length = frame.height;
    return;
  }
  if (body.reachable) moveInto(body, frame.values);
  builder.add("label", NONE, [], { label: frame.label });
  stack.entries.length = frame.height;
  stack.entries.push(...frame.values);
  body.reachable = true;
}

function frameAt({ frames }: BodyLowering, depth: number): ControlFrame {
  return frames[frames.length - 1 - depth];
}

function arityOf(frame: ControlFrame): number {
  return frame.kind === "body" ? frame.results.length : frame.values.length;
}

function branch(body: BodyLowering, frame: ControlFrame): void {
  if (frame.kind === "body") returnFrom(body);
  else {
    moveInto(body, frame.values);
    frame.used = true;
    body.builder.add("jump", NONE, [], { label: frame.label });
  }
}

function branchIf({ stack, builder }: BodyLowering, condition: Entry, label: number): void {
  const { from, ...comparison } = stack.condition(condition);
  builder.add("branch", NONE, from, { ...comparison, label });
}

function opposite({ stack }: BodyLowering, entry: Entry): Entry {
  if (typeof entry === "object" && entry.kind === "comparison") return inverted(entry);
  const left: Source = stack.plain(entry);
  return {
    kind: "comparison",
    comparison: "cmp",
    condition: "e",
    wide: false,
    left,
    right: { kind: "constant", value: 0n },
  };
}

/** Pops one entry for each of the values and stores it there. No entry may mean a value that was set before. */
function moveInto({ stack, builder }: BodyLowering, values: readonly Value[]): void {
  const entries = stack.entries.splice(stack.height - values.length);
  if (values.length === 1) {
    stack.give(values[0], entries[0]);
    return;
  }
  const sources = entries.map((entry) => stack.plain(entry));
  const copies = sources.map((source, i) =>
    builder.make("move", [source], { wide: true }, builder.code.vector[values[i]]),
  );
  values.forEach((value, i) => {
    builder.add("move", value, [copies[i]], { wide: true });
  });
}

function returnFrom({ stack, builder, results }: BodyLowering): void {
  const from = results.map(() => stack.popPlain());
  const { last, code } = builder;
  const handsOn = last?.op === "call" && (from.length === 0 || last.to === from[0]);
  if (handsOn && !code.exported && last.number === 0 && (from.length === 1 || last.to === NONE)) {
    builder.takeLast();
    builder.add("tail call", NONE, last.from, { label: last.label });
  } else builder.add("return", NONE, from);
}
