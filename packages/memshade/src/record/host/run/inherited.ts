import { closeSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { UserError } from "../../../ground/bytes/errors.ts";

/** State that this process inherited and that Node does not keep: see `bin/memshade.js`. */
export interface Inherited {
  /** Process that inherited it: this one, or its parent, which has searched for a newer Node. */
  readonly pid: number;
  /** Blocked signals and ignored signals. Signal 1 is the lowest bit. */
  readonly blocked: bigint;
  readonly ignored: bigint;
  /** Limit of open files; undefined for none. */
  readonly openFiles: number | undefined;
  /** Open descriptors; for the standard streams the flags of their files, which Node may change. */
  readonly descriptors: ReadonlyMap<number, number | undefined>;
}

const VARIABLE = "MEMSHADE_INHERITED";
/** Variables with names that shells do not allow, and some of them drop. Each ends with a byte of 1. */
const ODD_NAMES = "MEMSHADE_ODD_NAMES";
const STANDARD_STREAMS = 3;
/** Signals that end or stop a process, and that Node can listen to. SIGUSR2 requests a dump and is never ignored. */
const IGNORABLE: readonly NodeJS.Signals[] = [
  ...(["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGALRM"] as const),
  ...(["SIGUSR1", "SIGTSTP", "SIGTTIN", "SIGTTOU"] as const),
];

/** Prefix of variables that are for the program alone, such as LD_PRELOAD. */
const FOR_PROGRAM = "MEMSHADE_PROGRAM_";

let taken: Inherited | undefined;
let forProgram: Readonly<Record<string, string>> = {};

/** Returns the inherited state; undefined if it was not recorded. Then the state that Node has left applies. */
export function inherited(): Inherited | undefined {
  return taken;
}

/**
 * Returns the environment for the program. Variables that the dynamic linker, the C library and Node read are not in
 * that of this process.
 */
export function programEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, ...forProgram };
}

/**
 * Moves the recorded state out of the environment, which other processes inherit, and ignores the signals that must be
 * ignored.
 */
export function takeInherited({ env } = process): void {
  const { [VARIABLE]: noted, [ODD_NAMES]: variables = "" } = env;
  delete env[VARIABLE];
  delete env[ODD_NAMES];
  forProgram = takeForProgram(env);
  if (noted === undefined) return;
  const read = readNote(noted);
  // The program that is being recorded may itself start memshade.
  if (read === undefined || ![process.pid, process.ppid].includes(read.pid)) return;
  for (const variable of variables.split("\x01").slice(0, -1)) {
    const [name, ...value] = variable.split("=");
    if (name !== "") env[name] = value.join("=");
  }
  taken = read;
  // Windows has no such signals, and no recorded state.
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

export function isIgnored(signal: NodeJS.Signals): boolean {
  if (taken === undefined || !IGNORABLE.includes(signal)) return false;
  return ((taken.ignored >> BigInt(constants.signals[signal] - 1)) & 1n) === 1n;
}

/**
 * @throws UserError if a descriptor is above the limit of open files. The limit was lowered since, so the descriptor
 * cannot be passed on.
 */
export function assertPlacesForInherited(): void {
  const descriptors = otherDescriptors();
  const limit = hardLimitOfFiles();
  const beyond = descriptors.find((descriptor) => descriptor >= limit);
  if (beyond !== undefined)
    throw new UserError(
      `file descriptor ${beyond} is open but beyond the limit of ${limit} open files (ulimit -n): close it (${beyond}>&-), or raise the limit`,
    );
}

/** Returns the `stdio` of `spawn`: the standard streams and all further inherited descriptors. */
export function inheritedStdio(): ("inherit" | "ignore" | number)[] {
  const descriptors = otherDescriptors();
  const length = Math.max(STANDARD_STREAMS - 1, ...descriptors) + 1;
  return Array.from({ length }, (_, fd) =>
    fd < STANDARD_STREAMS ? "inherit" : descriptors.includes(fd) ? fd : "ignore",
  );
}

/** Returns the hard limit, to which Node raises the soft one. */
function hardLimitOfFiles(): number {
  try {
    const [, hard] = /^Max open files +\S+ +(\d+) /m.exec(readFileSync("/proc/self/limits", "latin1")) ?? [];
    return hard === undefined ? Number.POSITIVE_INFINITY : Number(hard);
  } catch {
    // The file may be hidden, and other systems do not have it.
    return Number.POSITIVE_INFINITY;
  }
}

/**
 * Closes the descriptors once the program has them: a reader waits for the end of a pipe until all writers have closed
 * it.
 */
export function closeInherited(): void {
  for (const descriptor of otherDescriptors())
    try {
      closeSync(descriptor);
    } catch {
      // The list may differ from the system's.
    }
}

function otherDescriptors(): number[] {
  return [...(taken?.descriptors.keys() ?? [])].filter((descriptor) => descriptor >= STANDARD_STREAMS);
}

/** Returns the variables that pass the state to a newer Node. */
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
    .map((text): [number, number | undefined] => {
      const [descriptor, flags] = text.split(":").map(Number);
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

/** Returns the flags as `fcntl` does. */
function flagsOf(descriptor: number): number | undefined {
  try {
    const [, flags] =
      /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "latin1")) ?? [];
    return flags === undefined ? undefined : Number.parseInt(flags, 8);
  } catch {
    return undefined;
  }
}

/** Character with which Node replaces bytes that are no UTF-8. */
const REPLACED = "\ufffd";

/** Returns the arguments of a program, which are the last ones of this process, as bytes. */
export function argumentBytes(texts: readonly string[]): Uint8Array[] {
  return bytesOf(texts, "cmdline", (given) => (text, i) => {
    const bytes = given[given.length - texts.length + i];
    return bytes?.toString() === text ? bytes : undefined;
  });
}

/** Returns variables for a program, `NAME=value`, as bytes. */
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

/** Reads the system's copy of the arguments or variables of the process that was started first. */
function givenTexts(name: "cmdline" | "environ"): Buffer[] {
  try {
    const bytes = readFileSync(`/proc/${taken?.pid ?? process.pid}/${name}`);
    const texts: Buffer[] = [];
    for (let from = 0, to = bytes.indexOf(0); to >= 0; from = to + 1, to = bytes.indexOf(0, from))
      texts.push(bytes.subarray(from, to));
    return texts;
  } catch {
    return [];
  }
}
