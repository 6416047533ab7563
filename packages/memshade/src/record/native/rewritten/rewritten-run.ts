import { existsSync, readFileSync, realpathSync } from "node:fs";
import { basename, resolve } from "node:path";
import { type LoadedObject, loadObject } from "../../../names/load/objects.ts";
import { say } from "../../host/run/terminal-line.ts";
import { mappedCode } from "../collect/mapped-code.ts";
import type { MemoryFile } from "../collect/memory-file.ts";
import type { InsertedTool } from "../native-tool.ts";
import { linkerOf, type NativeProgram } from "../start/check-program.ts";
import { executedProgram } from "../start/executed-program.ts";
import type { Launch } from "../start/launcher.ts";
import type { StartFailure } from "../start/start-program.ts";
import { enterNamespace } from "./enter-namespace.ts";
import { sumOfContent } from "./file-sums.ts";
import { namespaceProblem, withoutNamespace } from "./namespace-problem.ts";
import { laterInWords, notCounted, othersInWords, readInWords } from "./not-counted.ts";
import { isRewritten, type RewrittenFile } from "./rewrite-files.ts";
import { stayInUse } from "./rewritten-cache.ts";
import { type Substitution, substitute } from "./substitution.ts";

/** A run with a tool's code in it: what starts it, what is found out meanwhile, and what is told at its end. */
export class RewrittenRun {
  readonly #substitution: Substitution;
  readonly #linker: string;
  #withoutNamespace: string | undefined;

  private constructor(substitution: Substitution, linker: string) {
    this.#substitution = substitution;
    this.#linker = linker;
  }

  /**
   * Rewrites a program and the objects that it begins with. `image`: what is preloaded, and the folder that it lies in; `memory`: what may be
   * taken meanwhile.
   *
   * @throws UserError in one line if it cannot be started then
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
    substitution.later.know(image.path);
    // Where there is no namespace, a process has mapped these.
    for (const { file: mapped } of substitution.namespace.mounts) substitution.later.know(mapped);
    if (substitution.copy !== undefined) substitution.later.know(substitution.copy);
    return new RewrittenRun(substitution, linker);
  }

  /** What the launcher of the program goes through first. */
  get enter(): Launch["enter"] {
    return (asm, check) => enterNamespace(asm, check, this.#substitution.namespace);
  }

  /** What is executed in the place of the program where `enter` fails; undefined: nothing can be. */
  get otherwise(): string | undefined {
    return this.#substitution.copy;
  }

  /** Why `enter` has failed, in a line; undefined for what has nothing to do with it. */
  problem(failure: StartFailure): string | undefined {
    return namespaceProblem(failure, this.#substitution.namespace);
  }

  /** The program was started by `otherwise`: says so. @param failure why */
  startedOtherwise(failure: StartFailure, isQuiet: boolean | undefined): void {
    const reason = withoutNamespace(failure, this.#substitution.namespace);
    if (isQuiet !== true) say(reason);
    this.#withoutNamespace = `${reason[0].toUpperCase()}${reason.slice(1)}.`;
  }

  /** The files that stand in the place of others. */
  get files(): readonly RewrittenFile[] {
    return this.#substitution.files.filter(isRewritten);
  }

  /** Looks at what code a process has. To be called now and then. */
  look(pid: number): void {
    this.#meetAll([...mappedCode(pid)]);
    // What their code was made of is read at the end.
    for (const file of this.files) stayInUse(file);
  }

  /** What code a process has had. @param program the file that a child runs */
  meet(memory: MemoryFile, program?: string): void {
    const objects = [...memory.modules()].filter(({ isObject, name }) => isObject && name.includes("/"));
    const paths = objects.map(({ name }) => resolve(name));
    this.#meetAll(program === undefined ? paths : [...paths, program]);
  }

  /** Files of a process that began with another dynamic linker, or none, would not have the memory that inserted code uses. */
  #meetAll(paths: readonly string[]): void {
    if (!paths.some((path) => this.#isLinker(path))) return;
    for (const path of paths) this.#substitution.later.meet(path);
  }

  #isLinker(path: string): boolean {
    if (path === this.#linker || this.#substitution.namespace.mounts.some(({ file }) => file === path))
      return true;
    const isAnother = basename(path) !== basename(this.#linker) || !existsSync(path);
    return !isAnother && realpathSync(path) === realpathSync(this.#linker);
  }

  /** Says and remembers what was loaded later. @returns sentences about what ran without the tool's code */
  tell(isQuiet: boolean | undefined): string[] {
    const { files, later } = this.#substitution;
    const isRemembered = later.remember();
    if (later.met.length > 0 && isQuiet !== true) say(laterInWords(later.met, isRemembered));
    const sentences = notCounted(files, later, isRemembered);
    // Without a namespace, rewritten files are nowhere but where our dynamic linker looks.
    if (this.#withoutNamespace !== undefined) return [this.#withoutNamespace, ...sentences];
    const others = [...new Set(this.#programsOfOthers())];
    if (others.length === 0) return sentences;
    const sentence = othersInWords(others);
    if (isQuiet !== true) say(sentence);
    return [...sentences, `${sentence[0].toUpperCase()}${sentence.slice(1)}.`];
  }

  /** Paths of programs that were started and begin with another dynamic linker, or none. */
  *#programsOfOthers(): Iterable<string> {
    const paths = readFileSync(this.#substitution.started, "utf8").split("\n").slice(0, -1);
    for (const path of new Set(paths))
      try {
        const { file } = executedProgram(path, []);
        const linker = linkerOf(loadObject(file).object);
        if (linker === undefined || !this.#isLinker(realpathSync(linker))) yield file;
      } catch {
        // It is gone, or no program that the system starts.
      }
  }

  /** Says whose code was read as data, and has the next run leave these files as they are. */
  tellOfRead(files: ReadonlySet<RewrittenFile>): void {
    if (files.size === 0) return;
    const originals = [...files].map(({ original }) => original);
    const remembered = this.#substitution.readAsData;
    const sums = originals.map((path) => sumOfContent(readFileSync(path)));
    say(readInWords(originals, remembered.keep([...remembered.items, ...sums])));
  }
}
