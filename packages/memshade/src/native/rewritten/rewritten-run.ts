import { existsSync, realpathSync } from "node:fs";
import { basename, resolve } from "node:path";
import { say } from "../../host/run/terminal-line.ts";
import type { LoadedObject } from "../../load/objects.ts";
import { mappedCode } from "../collect/mapped-code.ts";
import type { MemoryFile } from "../collect/memory-file.ts";
import type { InsertedTool } from "../native-tool.ts";
import type { NativeProgram } from "../start/check-program.ts";
import type { Launch } from "../start/launcher.ts";
import type { StartFailure } from "../start/start-program.ts";
import { enterNamespace } from "./enter-namespace.ts";
import { namespaceProblem } from "./namespace-problem.ts";
import { laterInWords, notCounted } from "./not-counted.ts";
import { isRewritten, type RewrittenFile } from "./rewrite-files.ts";
import { stayInUse } from "./rewritten-cache.ts";
import { type Substitution, substitute } from "./substitution.ts";

/** A run with a tool's code in it: what starts it, what is found out meanwhile, and what is told at its end. */
export class RewrittenRun {
  readonly #substitution: Substitution;
  readonly #linker: string;

  private constructor(substitution: Substitution, linker: string) {
    this.#substitution = substitution;
    this.#linker = linker;
  }

  /**
   * Rewrites a program and the objects that it begins with. `image`: what is preloaded, and the folder that it lies in.
   *
   * @throws UserError in one line if it cannot be started then
   */
  static async prepare(
    { file, linker }: NativeProgram,
    objects: readonly LoadedObject[],
    { name, options }: InsertedTool,
    image: { path: string; folder: string },
    isQuiet: boolean | undefined,
  ): Promise<RewrittenRun> {
    // The kernel's object is no file.
    const files = objects.map(({ path }) => path).filter((path) => existsSync(path));
    const substitution = await substitute({
      ...{ program: file, linker, objects: files, tool: name, options, folder: image.folder, isQuiet },
    });
    substitution.later.know(image.path);
    return new RewrittenRun(substitution, linker);
  }

  /** What the launcher of the program goes through first. */
  get enter(): Launch["enter"] {
    return (asm, check) => enterNamespace(asm, check, this.#substitution.namespace);
  }

  /** Why that has failed, in a line; undefined for what has nothing to do with it. */
  problem(failure: StartFailure): string | undefined {
    return namespaceProblem(failure, this.#substitution.namespace);
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
    if (path === this.#linker) return true;
    const isAnother = basename(path) !== basename(this.#linker) || !existsSync(path);
    return !isAnother && realpathSync(path) === realpathSync(this.#linker);
  }

  /** Says and remembers what was loaded later. @returns sentences about what ran without the tool's code */
  tell(isQuiet: boolean | undefined): string[] {
    const { files, later } = this.#substitution;
    const isRemembered = later.remember();
    if (later.met.length > 0 && isQuiet !== true) say(laterInWords(later.met, isRemembered));
    return notCounted(files, later, isRemembered);
  }
}
