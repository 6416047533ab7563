import type { NativeFrame, NativeStacks, NativeThread } from "../../../profile/model/native-stacks.ts";

/** Yields the stacks of all threads as JSON (docs/unwinding.md); a line per frame. */
export function* nativeStacksJson(stacks: NativeStacks): Generator<string> {
  yield `{"arch":${JSON.stringify(stacks.architecture)}`;
  if (stacks.command !== undefined) yield `,"command":${JSON.stringify(stacks.command)}`;
  if (stacks.pid !== undefined) yield `,"pid":${stacks.pid}`;
  if (stacks.signal !== undefined) yield `,"signal":${stacks.signal}`;
  if (stacks.exception !== undefined) yield `,"exception":${JSON.stringify(stacks.exception)}`;
  yield `,"missing":${JSON.stringify(stacks.missing)},"notes":${JSON.stringify(stacks.notes)},"threads":[`;
  for (const [index, thread] of stacks.threads.entries()) {
    const { lwp, name, end } = thread;
    const head = JSON.stringify({ thread: index + 1, lwp, name, end });
    yield `${index === 0 ? "" : ","}\n${head.slice(0, -1)},"frames":[`;
    for (const [number, frame] of thread.frames.entries())
      yield `${number === 0 ? "" : ","}\n${JSON.stringify(frameJson(frame, number, thread))}`;
    yield "]}";
  }
  yield "]}\n";
}

function frameJson(frame: NativeFrame, number: number, { frames, end }: NativeThread): object {
  const { symbol, registers } = frame;
  const own = frame.functions.at(-1);
  const inlined = frame.functions.slice(0, -1).map((name) => ({
    function: name.function,
    line: placeText(name.file, name.line),
    file: name.file,
  }));
  return {
    pc: hex(frame.pc),
    kind: frame.kind,
    function: own?.function,
    symbol: symbol && `${symbol.name}${symbol.offset ? ` + ${symbol.offset}` : ""}`,
    line: placeText(own?.file, own?.line),
    file: own?.file,
    module: frame.module,
    inlined: inlined.length > 0 ? inlined : undefined,
    foundBy: frame.foundBy,
    regs:
      registers && Object.fromEntries(Object.entries(registers).map(([name, value]) => [name, hex(value)])),
    cfa: frame.cfa === undefined ? undefined : hex(frame.cfa),
    stop: number === frames.length - 1 ? end : undefined,
  };
}

/** Formats `prog.c:22`: the file name without folders, and the line. */
function placeText(file: string | undefined, line: number | undefined): string | undefined {
  return file === undefined || !line ? undefined : `${file.slice(file.lastIndexOf("/") + 1)}:${line}`;
}

function hex(value: number | bigint): string {
  return `0x${value.toString(16)}`;
}
