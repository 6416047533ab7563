import { closeSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { UserError } from "../../../ground/bytes/errors.ts";

/** What this process was given by whoever started it, as far as Node does not keep it: see `bin/memshade.js`. */
export interface Inherited {
  /** The process that was given it: this one, or its parent, which has looked for a newer Node. */
  readonly pid: number;
  /** Signals that are held back, and those that are ignored: that of number 1 is the lowest bit. */
  readonly blocked: bigint;
  readonly ignored: bigint;
  /** How many files may be open; undefined for any number. */
  readonly openFiles: number | undefined;
  /** Open descriptors, and of the standard streams the flags of their files, which Node may change. */
  readonly descriptors: ReadonlyMap<number, number | undefined>;
}

const VARIABLE = "MEMSHADE_INHERITED";
/** Variables whose names are none for shells, some of which drop them; each ends with a byte of 1. */
const ODD_NAMES = "MEMSHADE_ODD_NAMES";
const STANDARD_STREAMS = 3;
/** Those that end or stop a process, and that Node can listen to. SIGUSR2 asks for a dump, whatever else it meant. */
const IGNORABLE: readonly NodeJS.Signals[] = [
  ...(["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGALRM"] as const),
  ...(["SIGUSR1", "SIGTSTP", "SIGTTIN", "SIGTTOU"] as const),
];

/** Stands in front of the names of variables that are for the program alone, such as LD_PRELOAD. */
const FOR_PROGRAM = "MEMSHADE_PROGRAM_";

let taken: Inherited | undefined;
let forProgram: Readonly<Record<string, string>> = {};

/** What was inherited; undefined where nobody has noted it: then there is what Node has left. */
export function inherited(): Inherited | undefined {
  return taken;
}

/** The environment for the program: what the dynamic linker, the C library and Node read of it is not in that of this process. */
export function programEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, ...forProgram };
}

/** Reads what was noted, out of the environment, which others inherit from here on, and ignores the signals that are to be ignored. */
export function takeInherited({ env } = process): void {
  const { [VARIABLE]: noted, [ODD_NAMES]: variables = "" } = env;
  delete env[VARIABLE];
  delete env[ODD_NAMES];
  forProgram = takeForProgram(env);
  if (noted === undefined) return;
  const read = readNote(noted);
  // A program that somebody has recorded may start this one.
  if (read === undefined || ![process.pid, process.ppid].includes(read.pid)) return;
  for (const variable of variables.split("\x01").slice(0, -1)) {
    const [name, ...value] = variable.split("=");
    if (name !== "") env[name] = value.join("=");
  }
  taken = read;
  // Windows has no such signals, and notes nothing.
  for (const signal of IGNORABLE) if (isIgnored(signal)) process.on(signal, () => undefined);
}

function takeForProgram(env: NodeJS.ProcessEnv): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(FOR_PROGRAM)) continue;
    delete env[name];
    if (value !== undefined) found[name.slice(FOR_PROGRAM.length)] = value;
  }
  return found;
}

/** Whether whoever has started this process wants a signal to be ignored. */
export function isIgnored(signal: NodeJS.Signals): boolean {
  if (taken === undefined || !IGNORABLE.includes(signal)) return false;
  return ((taken.ignored >> BigInt(constants.signals[signal] - 1)) & 1n) === 1n;
}

/** @throws UserError where one lies behind the limit of open files, which was lowered since: nobody can place it there again */
export function assertPlacesForInherited(): void {
  const others = otherDescriptors();
  const limit = hardLimitOfFiles();
  const beyond = others.find((descriptor) => descriptor >= limit);
  if (beyond !== undefined)
    throw new UserError(
      `descriptor ${beyond} is open, and the limit ulimit -n is ${limit} open files: the program cannot be given it; close it (${beyond}>&-), or raise the limit`,
    );
}

/** For `spawn`: the standard streams and all further descriptors that were inherited. */
export function inheritedStdio(): ("inherit" | "ignore" | number)[] {
  const others = otherDescriptors();
  const length = Math.max(STANDARD_STREAMS - 1, ...others) + 1;
  return Array.from({ length }, (_, fd) =>
    fd < STANDARD_STREAMS ? "inherit" : others.includes(fd) ? fd : "ignore",
  );
}

/** Node raises the other one to it. */
function hardLimitOfFiles(): number {
  try {
    const [, hard] = /^Max open files +\S+ +(\d+) /m.exec(readFileSync("/proc/self/limits", "latin1")) ?? [];
    return hard === undefined ? Number.POSITIVE_INFINITY : Number(hard);
  } catch {
    // Who hides it says nothing of limits, and other systems have no such file.
    return Number.POSITIVE_INFINITY;
  }
}

/** The program has them: whoever waits for the end of a pipe must not wait for us. */
export function closeInherited(): void {
  for (const descriptor of otherDescriptors())
    try {
      closeSync(descriptor);
    } catch {
      // Another list than the system's.
    }
}

/** Those behind the standard streams. */
function otherDescriptors(): number[] {
  return [...(taken?.descriptors.keys() ?? [])].filter((descriptor) => descriptor >= STANDARD_STREAMS);
}

/** For a newer Node: what tells it the same. */
export function inheritedNote(): Readonly<Record<string, string>> {
  const program = Object.fromEntries(
    Object.entries(forProgram).map(([name, value]) => [FOR_PROGRAM + name, value]),
  );
  if (taken === undefined) return program;
  const { pid, blocked, ignored, openFiles = "unlimited", descriptors } = taken;
  const open = [...descriptors].map(([descriptor, flags]) =>
    flags === undefined ? descriptor : `${descriptor}:${flags}`,
  );
  return {
    ...program,
    [VARIABLE]: [pid, blocked.toString(16), ignored.toString(16), openFiles, ...open].join(" "),
  };
}

function readNote(note: string): Inherited | undefined {
  const [, pid, blocked, ignored, openFiles, open] =
    /^(\d+) ([\da-f]+) ([\da-f]+) (\d+|unlimited)((?: \d+(?::\d+)?)*)$/.exec(note) ?? [];
  if (pid === undefined) return undefined;
  const descriptors = open
    .split(" ")
    .slice(1)
    .map((each): [number, number | undefined] => {
      const [descriptor, flags] = each.split(":").map(Number);
      return [descriptor, flags ?? (descriptor < STANDARD_STREAMS ? flagsOf(descriptor) : undefined)];
    });
  return {
    pid: Number(pid),
    blocked: BigInt(`0x${blocked}`),
    ignored: BigInt(`0x${ignored}`),
    openFiles: openFiles === "unlimited" ? undefined : Number(openFiles),
    descriptors: new Map(descriptors),
  };
}

/** As `fcntl` has them. */
function flagsOf(descriptor: number): number | undefined {
  try {
    const [, flags] =
      /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "latin1")) ?? [];
    return flags === undefined ? undefined : Number.parseInt(flags, 8);
  } catch {
    return undefined;
  }
}

/** Bytes of a text that this process was given: Node has replaced those that are no UTF-8. */
const REPLACED = "\ufffd";

/** The arguments of a program, which are the last ones of this process, as bytes. */
export function argumentBytes(texts: readonly string[]): Uint8Array[] {
  return bytesOf(texts, "cmdline", (given) => (text, i) => {
    const bytes = given[given.length - texts.length + i];
    return bytes?.toString() === text ? bytes : undefined;
  });
}

/** Variables as a program is given them, `NAME=value`, as bytes. */
export function environmentBytes(variables: Readonly<Record<string, string | undefined>>): Uint8Array[] {
  const texts = Object.entries(variables).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${value}`],
  );
  return bytesOf(texts, "environ", (given) => {
    const byText = new Map(given.map((bytes) => [bytes.toString(), bytes]));
    return (text) => byText.get(text);
  });
}

function bytesOf(
  texts: readonly string[],
  name: "cmdline" | "environ",
  finder: (given: readonly Buffer[]) => (text: string, i: number) => Buffer | undefined,
): Uint8Array[] {
  let find: ReturnType<typeof finder> | undefined;
  return texts.map((text, i) => {
    if (!text.includes(REPLACED)) return Buffer.from(text);
    find ??= finder(givenTexts(name));
    return find(text, i) ?? Buffer.from(text);
  });
}

/** What the system has kept of the start of the process that was started first. */
function givenTexts(name: "cmdline" | "environ"): Buffer[] {
  try {
    const all = readFileSync(`/proc/${taken?.pid ?? process.pid}/${name}`);
    const texts: Buffer[] = [];
    for (let from = 0, to = all.indexOf(0); to >= 0; from = to + 1, to = all.indexOf(0, from))
      texts.push(all.subarray(from, to));
    return texts;
  } catch {
    return [];
  }
}
