import type { NativeFrame, NativeStacks, NativeThread } from "../../../profile/model/native-stacks.ts";

/** Stacks of a dump. */
interface NativeStacksJson {
  /** Processor: `x86_64` or `aarch64`. */
  arch: NativeStacks["architecture"];
  /** Command of the program and number of its process; absent if unknown. */
  command?: string | undefined;
  pid?: number | undefined;
  /** Number of the signal that ended the process. */
  signal?: number | undefined;
  /**
   * Exception of a minidump without a Linux signal: `EXC_BAD_ACCESS (KERN_INVALID_ADDRESS)`,
   * `STATUS_ACCESS_VIOLATION (0xc0000005)`, a number, or `none: the dump was asked for`.
   */
  exception?: string | undefined;
  /** Missing objects: path, build id and reason. */
  missing: NativeStacks["missing"];
  /** Sentences about gaps in the dump. */
  notes: readonly string[];
  /** Threads of the process. */
  threads: readonly NativeThreadJson[];
}

interface NativeThreadJson {
  /** Number of the thread, from 1. */
  thread: number;
  /** Number of the thread in the system, and its name if known. */
  lwp: NativeThread["lwp"];
  name: NativeThread["name"];
  /**
   * End of the stack: outermost function, return address 0, memory that the dump lacks, code without a rule, a loop, or
   * the limit of frames.
   */
  end: NativeThread["end"];
  /** Frames, innermost first. */
  frames: readonly NativeFrameJson[];
}

interface NativeFrameJson {
  /** Program counter, hexadecimal; in callers the return address. */
  pc: string;
  /** Kind of the frame; `signal`: the trampoline of a signal handler. */
  kind: NativeFrame["kind"];
  /** Function of the frame, by debug information. */
  function?: string | undefined;
  /** Linker's symbol, with parameters, and the distance from it. */
  symbol?: string | undefined;
  /** Source position: `prog.c:22`, and the path of the file. */
  line?: string | undefined;
  file?: string | undefined;
  /** Path of the object in the dump. */
  module?: string | undefined;
  /** Inlined functions, innermost first. */
  inlined?:
    | readonly { function?: string | undefined; line?: string | undefined; file?: string | undefined }[]
    | undefined;
  /** Method that found the frame. */
  foundBy: NativeFrame["foundBy"];
  /** Stack pointer and callee-saved registers in that frame, hexadecimal, if known; with `--regs`. */
  regs?: { [name: string]: string } | undefined;
  /** Canonical frame address, hexadecimal; absent without a caller. */
  cfa?: string | undefined;
  /** `end` of the thread, in the last frame. */
  stop?: NativeThread["end"] | undefined;
}

/** Yields the stacks of all threads as JSON (docs/report-json.md); a line per frame. */
export function* nativeStacksJson(stacks: NativeStacks): Generator<string> {
  const { architecture, command, pid, signal, exception, missing, notes } = stacks;
  const process: Omit<NativeStacksJson, "threads"> = {
    arch: architecture,
    command,
    pid,
    signal,
    exception,
    missing,
    notes,
  };
  yield `${JSON.stringify(process).slice(0, -1)},"threads":[`;
  for (const [index, thread] of stacks.threads.entries()) {
    const { lwp, name, end } = thread;
    const head: Omit<NativeThreadJson, "frames"> = { thread: index + 1, lwp, name, end };
    yield `${index === 0 ? "" : ","}\n${JSON.stringify(head).slice(0, -1)},"frames":[`;
    for (const [number, frame] of thread.frames.entries())
      yield `${number === 0 ? "" : ","}\n${JSON.stringify(frameJson(frame, number, thread))}`;
    yield "]}";
  }
  yield "]}\n";
}

function frameJson(frame: NativeFrame, number: number, { frames, end }: NativeThread): NativeFrameJson {
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
