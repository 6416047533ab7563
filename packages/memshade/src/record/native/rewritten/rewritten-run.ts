import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { constants } from "node:os";
import { basename, join, resolve } from "node:path";
import { FormatError, UserError } from "../../../ground/bytes/errors.ts";
import { type LoadedObject, loadObject } from "../../../names/load/objects.ts";
import { cacheFolder, keepingFolder } from "../../host/run/cache-folder.ts";
import { say } from "../../host/run/terminal-line.ts";
import type { MemoryFile } from "../collect/memory-file.ts";
import type { InsertedTool, NativeTool, NativeToolName, NativeToolOptions } from "../native-tool.ts";
import { linkerOf, type NativeProgram } from "../start/check-program.ts";
import { type Launch, launcherIn } from "../start/launcher.ts";
import { executedProgram, type StartFailure } from "../start/start-program.ts";
import { errorInWords } from "../start/system-calls.ts";
import { cachedFile as keptFile, TableCache } from "../tables/tables-file.ts";
import { nativeTool } from "../tools/index.ts";
import { enterNamespace, type Mount, type Namespace, STEP } from "./enter-namespace.ts";
import { sumOfContent } from "./file-sums.ts";
import { LaterFiles, Remembered } from "./later-files.ts";
import { loaderCopy } from "./loader-copy.ts";
import { laterInWords, notCounted, othersInWords, readInWords } from "./not-counted.ts";
import { keepOriginals, writeOriginals } from "./original-files.ts";
import { type Redirected, redirect, tableBytesFor, withInterpreter } from "./redirections.ts";
import { isRewritten, type RewrittenFile, rewriteFiles } from "./rewrite-files.ts";
import { stayInUse } from "./rewritten-cache.ts";

/**
 * A run with a tool's code in it: how it is started, what is found meanwhile, and what is reported at its
 * end.
 */
export class RewrittenRun {
  readonly #substitution: Substitution;
  readonly #linker: string;
  #withoutNamespace: string | undefined;

  private constructor(substitution: Substitution, linker: string) {
    this.#substitution = substitution;
    this.#linker = linker;
  }

  /**
   * Rewrites a program and its initial objects.
   * @param image path of the preloaded image, and its folder
   * @param memory most bytes that rewriting may take
   * @throws UserError if the program cannot be started then
   */
  static async prepare(
    { file, linker }: NativeProgram,
    objects: readonly LoadedObject[],
    { name, options }: InsertedTool,
    image: { path: string; folder: string },
    memory: number,
    isQuiet: boolean | undefined,
  ): Promise<RewrittenRun> {
    // The kernel's object is no file.
    const files = objects.map(({ path }) => path).filter((path) => existsSync(path));
    const substitution = await substitute({
      program: file,
      linker,
      objects: files,
      tool: name,
      options,
      folder: image.folder,
      memory,
      isQuiet,
    });
    substitution.later.exclude(image.path);
    // A process that could not enter the namespace maps the original files; they are not late files either.
    for (const { file: mapped } of substitution.namespace.mounts) substitution.later.exclude(mapped);
    if (substitution.copy !== undefined) substitution.later.exclude(substitution.copy);
    return new RewrittenRun(substitution, linker);
  }

  /** Code that the launcher runs first. */
  get enter(): Launch["enter"] {
    return (asm, check) => enterNamespace(asm, check, this.#substitution.namespace);
  }

  /** Path to execute instead of the program if `enter` fails; undefined if there is none. */
  get otherwise(): string | undefined {
    return this.#substitution.copy;
  }

  /** Returns why `enter` has failed; undefined if the failure has another cause. */
  problem(failure: StartFailure): string | undefined {
    return namespaceProblem(failure, this.#substitution.namespace);
  }

  /**
   * Reports that the program was started by `otherwise`.
   * @param failure failure of `enter`
   */
  startedOtherwise(failure: StartFailure, isQuiet: boolean | undefined): void {
    const reason = withoutNamespace(failure, this.#substitution.namespace);
    if (isQuiet !== true) say(reason);
    this.#withoutNamespace = `${reason[0].toUpperCase()}${reason.slice(1)}.`;
  }

  get files(): readonly RewrittenFile[] {
    return this.#substitution.files.filter(isRewritten);
  }

  /** Checks which code a process has mapped. Call this at intervals. */
  checkMapped(pid: number): void {
    this.#addMappedFiles([...mappedCode(pid)]);
    // The origins of their code are read at the end.
    for (const file of this.files) stayInUse(file);
  }

  /**
   * Adds the code that a process has loaded.
   * @param program file that a child runs
   */
  addMapped(memory: MemoryFile, program?: string): void {
    const objects = [...memory.modules()].filter(({ isObject, name }) => isObject && name.includes("/"));
    const paths = objects.map(({ name }) => resolve(name));
    this.#addMappedFiles(program === undefined ? paths : [...paths, program]);
  }

  /** Ignores processes with another dynamic linker, or none: they would lack the memory of inserted code. */
  #addMappedFiles(paths: readonly string[]): void {
    if (!paths.some((path) => this.#isLinker(path))) return;
    for (const path of paths) this.#substitution.later.addMapped(path);
  }

  #isLinker(path: string): boolean {
    if (path === this.#linker || this.#substitution.namespace.mounts.some(({ file }) => file === path))
      return true;
    const isAnother = basename(path) !== basename(this.#linker) || !existsSync(path);
    return !isAnother && realpathSync(path) === realpathSync(this.#linker);
  }

  /**
   * Reports and stores files that were loaded later.
   * @returns sentences about code that ran without the tool's code
   */
  report(isQuiet: boolean | undefined): string[] {
    const { files, later } = this.#substitution;
    const isRemembered = later.remember();
    if (later.found.length > 0 && isQuiet !== true) say(laterInWords(later.found, isRemembered));
    const sentences = notCounted(files, later, isRemembered);
    // Only our dynamic linker opens rewritten files if there is no namespace.
    if (this.#withoutNamespace !== undefined) return [this.#withoutNamespace, ...sentences];
    const otherPrograms = [...new Set(this.#programsOfOthers())];
    if (otherPrograms.length === 0) return sentences;
    const sentence = othersInWords(otherPrograms);
    if (isQuiet !== true) say(sentence);
    return [...sentences, `${sentence[0].toUpperCase()}${sentence.slice(1)}.`];
  }

  /** Yields paths of started programs with another dynamic linker, or none. */
  *#programsOfOthers(): Iterable<string> {
    const paths = readFileSync(this.#substitution.started, "utf8").split("\n").slice(0, -1);
    for (const path of new Set(paths))
      try {
        const { file } = executedProgram(path, []);
        const linker = linkerOf(loadObject(file).object);
        if (linker === undefined || !this.#isLinker(realpathSync(linker))) yield file;
      } catch {
        // The program is gone, or the kernel cannot execute it.
      }
  }

  /** Reports files whose code was read as data, and keeps them unchanged in the next run. */
  reportRead(files: ReadonlySet<RewrittenFile>): void {
    if (files.size === 0) return;
    const originals = [...files].map(({ original }) => original);
    const remembered = this.#substitution.readAsData;
    const sums = originals.map((path) => sumOfContent(readFileSync(path)));
    say(readInWords(originals, remembered.keep([...remembered.items, ...sums])));
  }
}

/** Files that container managers create in a container. */
const OF_CONTAINERS = [".dockerenv", "run/.containerenv"];
const IN_CONTAINER =
  "start the container with --cap-add SYS_ADMIN, and with --security-opt apparmor=unconfined where AppArmor forbids to mount";
/** Settings that forbid user namespaces, and their values. */
const SETTINGS = [
  { name: "kernel.apparmor_restrict_unprivileged_userns", forbids: "1", allows: "0" },
  { name: "kernel.unprivileged_userns_clone", forbids: "0", allows: "1" },
  { name: "user.max_user_namespaces", forbids: "0", allows: "10000" },
];

/**
 * Returns why a program was not started in a namespace and what helps; undefined if the failure has another
 * cause.
 * @param root root of the file system
 */
export function namespaceProblem(
  { step, error }: StartFailure,
  { mounts }: Namespace,
  root = "/",
): string | undefined {
  if (step < STEP.unshare) return undefined;
  return `${refusal({ step, error }, mounts)}: ${remedy(error, root)}, or ${WITHOUT}`;
}

/**
 * Returns true if the system may refuse a namespace: by a filter of system calls, as in containers, or by a
 * setting.
 */
function isNamespaceDoubtful(root = "/"): boolean {
  const status = readFileSync(join(root, "proc/self/status"), "latin1");
  if (!/^Seccomp:\s*0$/m.test(status)) return true;
  return process.geteuid?.() !== 0 && SETTINGS.some(({ name, forbids }) => settingOf(name, root) === forbids);
}

function withoutNamespace(failure: StartFailure, { mounts }: Namespace): string {
  return `${refusal(failure, mounts)}: /proc/self/exe leads to a copy of the program, and programs that it starts are not instrumented`;
}

function refusal({ step, error }: StartFailure, mounts: Namespace["mounts"]): string {
  const refused = step >= STEP.mount ? `does not let ${mounts[step - STEP.mount]?.path} be replaced` : NONE;
  const reason = error === constants.errno.ENOSPC ? "it has as many as it allows" : errorInWords(error);
  return `the system ${refused} (${reason})`;
}

const WITHOUT = "run it without --tool, to record only its allocations";
const NONE = "does not allow a mount namespace, in which instrumented files replace the originals";

function remedy(error: number, root: string): string {
  const { ENOENT, EBUSY, ENOSPC } = constants.errno;
  if (error === ENOENT || error === EBUSY) return "try again, as files have changed";
  if (error !== ENOSPC && OF_CONTAINERS.some((name) => existsSync(join(root, name)))) return IN_CONTAINER;
  const forbids = SETTINGS.find(({ name, forbids: value }) => settingOf(name, root) === value);
  if (forbids !== undefined) return `sudo sysctl ${forbids.name}=${forbids.allows} allows it, as does root`;
  return "run memshade as root";
}

function settingOf(name: string, root: string): string | undefined {
  try {
    return readFileSync(join(root, "proc/sys", name.replace(".", "/")), "latin1").trim();
  } catch {
    return undefined;
  }
}

/** A program that runs with rewritten files in place of its own. */
interface Substitution {
  namespace: Namespace;
  /**
   * Copy of the program whose dynamic linker opens rewritten files by itself; undefined if a namespace is
   * available.
   */
  copy: string | undefined;
  files: readonly RewrittenFile[];
  later: LaterFiles;
  /** Sums of files whose code was read as data, and which stay unchanged. */
  readAsData: Remembered;
  /** Path of the list of started programs, one per line. */
  started: string;
}

interface Substituted {
  program: string;
  linker: string;
  /** The program and its initial libraries. */
  objects: readonly string[];
  tool: NativeToolName;
  options: NativeToolOptions;
  /** Folder that exists during the run, and allows execution. */
  folder: string;
  /** Most bytes of memory that rewriting may take; undefined: no limit. */
  memory?: number | undefined;
  isQuiet?: boolean | undefined;
}

const EXECUTABLE = 0o755;
const NAME_DIGITS = 16;
const CAP_SYS_ADMIN = 21n;

/**
 * Rewrites a program and its libraries.
 * @throws UserError if its dynamic linker cannot be copied
 */
export async function substitute(wanted: Substituted): Promise<Substitution> {
  const { program, tool: name, options, folder, memory, isQuiet } = wanted;
  const tool = nativeTool(name, options);
  const linker = realpathSync(wanted.linker);
  const loader = join(folder, "loader");
  // The inode must exist before the table is made; its content is written last.
  writeFileSync(loader, "", { mode: EXECUTABLE });
  const keeping = (name: string): string => keepingFolder(name, folder, cacheFolder());
  const later = new LaterFiles(realpathSync(program), keeping("later-files"));
  const readAsData = new Remembered(realpathSync(program), keeping("read-as-data"));
  const originals = new Set([...wanted.objects.map((path) => realpathSync(path)), ...later.files]);
  originals.delete(linker);
  for (const path of [...originals, linker, launcherIn(folder)]) later.exclude(path);
  const asTheyAre = new Set(readAsData.items);
  const rewriting = { tool: name, options, instead: folder, memory, asTheyAre, isQuiet };
  const files = await rewriteFiles([...originals], rewriting);
  for (const file of files) if (isRewritten(file)) takeTime(file);
  const replaced = files.filter(isRewritten).map(({ path, original }) => ({ file: path, path: original }));
  const copy = isNamespaceDoubtful() ? placeCopy(realpathSync(program), replaced, loader, folder) : undefined;
  const redirected = copy === undefined ? { files: [] } : { files: replaced, link: copy };
  const content = copyOf(linker, tool, redirected, new TableCache(folder).folder);
  const covers: Mount[] = [{ file: loader, path: linker }, ...replaced];
  const originalMounts = keepOriginals(folder, covers);
  // Opening the copy returns the program at its own path.
  const copies = copy === undefined ? [] : [copy];
  const started = join(folder, "started");
  writeFileSync(started, "");
  writeOriginals(content, [...covers, ...copies], [...originalMounts, ...copies], started);
  writeFileSync(loader, content);
  const mounts = [...originalMounts, ...covers];
  const ids = mayMount() ? undefined : { user: process.geteuid!(), group: process.getegid!() };
  return { namespace: { mounts, ids }, files, later, readAsData, started, copy: copy?.file };
}

/** Build tools such as make compare file times. */
function takeTime({ path, original }: RewrittenFile): void {
  try {
    const { atime, mtime } = statSync(original);
    if (statSync(path).mtimeMs !== mtime.getTime()) utimesSync(path, atime, mtime);
  } catch {
    // Another user owns the cache.
  }
}

/**
 * Writes the copy for a start without a namespace.
 * @returns the copy, with the path of the original
 */
function placeCopy(program: string, replaced: readonly Mount[], loader: string, folder: string): Mount {
  const { file } = replaced.find(({ path }) => path === program) ?? { file: program };
  const ownFolder = join(folder, "program");
  mkdirSync(ownFolder);
  const copy = join(ownFolder, basename(program));
  writeFileSync(copy, withInterpreter(readFileSync(file), loader), { mode: EXECUTABLE });
  return { file: copy, path: program };
}

/** @param keeping folder of cached copies: making one needs the tables of all instructions */
function copyOf(
  linker: string,
  { shadows, slowPaths }: NativeTool,
  redirected: Redirected,
  keeping: string,
): Uint8Array {
  try {
    const content = readFileSync(linker);
    const tableBytes = tableBytesFor(redirected.files);
    const about = `${sumOfContent(content)}${JSON.stringify([shadows, slowPaths, tableBytes])}`;
    const name = `loader-${sumOfContent(Buffer.from(about)).slice(0, NAME_DIGITS)}`;
    const copy = keptFile(keeping, name, () => loaderCopy(content, { shadows, slowPaths }, tableBytes));
    redirect(copy, redirected, tableBytes);
    return copy;
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    throw new UserError(`${linker}: ${error.detail}, so programs cannot be instrumented; ${WITHOUT}`);
  }
}

/** Returns true if this process may mount without a new user namespace. */
function mayMount(): boolean {
  const [, effective] = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "latin1")) ?? [];
  return effective !== undefined && ((BigInt(`0x${effective}`) >> CAP_SYS_ADMIN) & 1n) === 1n;
}

/** Lines of mapped code in /proc/PID/maps. */
const MAPPED_CODE = /^\S+ ..x. \S+ \S+ \S+ +(\/.*)$/gm;

/** Returns the paths of files that a process has mapped as code; empty if it has ended or cannot be read. */
function mappedCode(pid: number): Set<string> {
  try {
    const maps = readFileSync(`/proc/${pid}/maps`, "utf8");
    return new Set([...maps.matchAll(MAPPED_CODE)].map(([, path]) => path));
  } catch {
    return new Set();
  }
}
