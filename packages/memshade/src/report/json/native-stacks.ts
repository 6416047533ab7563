import type { FrameNamer } from "../../stacks/frame-namer.ts";
import { withoutParameters } from "../../stacks/function-name.ts";
import { addressToName, type ImageStacks, type ThreadStack } from "../../stacks/image-stacks.ts";
import { MappedModule } from "../../stacks/native-file.ts";
import { registerNames } from "../../stacks/shown-registers.ts";
import type { Frame } from "../../unwind/index.ts";

/** The stacks of all threads as JSON (docs/unwinding.md); a line per frame. */
export function* nativeStacksJson(
  { image, target, threads, files }: ImageStacks,
  namer: FrameNamer,
  { registers }: { registers: boolean },
): Generator<string> {
  const shown = registers ? registerNames(target) : [];
  yield `{"arch":${JSON.stringify(image.architecture)}`;
  if (image.command !== undefined) yield `,"command":${JSON.stringify(image.command)}`;
  if (image.pid !== undefined) yield `,"pid":${image.pid}`;
  if (image.signal !== undefined) yield `,"signal":${image.signal}`;
  const missing = files
    .filter((file) => file.missing !== undefined)
    .map(({ path, buildId, missing: reason }) => ({ path, buildId, reason }));
  yield `,"missing":${JSON.stringify(missing)},"notes":${JSON.stringify(image.gaps)},"threads":[`;
  for (const [index, thread] of threads.entries()) {
    const { lwp, name } = thread.thread;
    const head = JSON.stringify({ thread: index + 1, lwp, name, end: thread.end });
    yield `${index === 0 ? "" : ","}\n${head.slice(0, -1)},"frames":[`;
    for (const [number, frame] of thread.frames.entries()) {
      yield `${number === 0 ? "" : ","}\n${JSON.stringify(frameJson(frame, number, thread, namer, shown))}`;
    }
    yield "]}";
  }
  yield "]}\n";
}

function frameJson(
  frame: Frame,
  number: number,
  { frames, end }: ThreadStack,
  namer: FrameNamer,
  shown: readonly string[],
): object {
  const module = frame.module instanceof MappedModule ? frame.module : undefined;
  const named = module && namer.name(module.file, addressToName(frame));
  const own = named?.frames.at(-1);
  const inlined = named?.frames.slice(0, -1).map((one) => ({
    function: one.function && withoutParameters(one.function),
    line: placeText(one.file, one.line),
    file: one.file,
  }));
  const offset =
    module && named?.symbol && frame.pc - module.bias - addressToName(frame) + named.symbol.offset;
  const values = frame.registers?.toObject() ?? {};
  return {
    pc: hex(frame.pc),
    kind: frame.kind,
    function: own?.function && withoutParameters(own.function),
    symbol: named?.symbol && `${namer.demangle(named.symbol.name)}${offset ? ` + ${offset}` : ""}`,
    line: placeText(own?.file, own?.line),
    file: own?.file,
    module: module?.name,
    inlined: inlined && inlined.length > 0 ? inlined : undefined,
    foundBy: frame.foundBy,
    regs: shown.length === 0 ? undefined : registersJson(values, shown),
    cfa: frame.cfa === undefined ? undefined : hex(frame.cfa),
    stop: number === frames.length - 1 ? end : undefined,
  };
}

/** `prog.c:22`: the file's own name and the line. */
function placeText(file: string | undefined, line: number | undefined): string | undefined {
  return file === undefined || !line ? undefined : `${file.slice(file.lastIndexOf("/") + 1)}:${line}`;
}

function registersJson(values: Readonly<Record<string, bigint>>, shown: readonly string[]): object {
  return Object.fromEntries(
    shown.filter((name) => values[name] !== undefined).map((name) => [name, hex(values[name]!)]),
  );
}

function hex(value: number | bigint): string {
  return `0x${value.toString(16)}`;
}
