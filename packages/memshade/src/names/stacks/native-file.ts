import {
  loadBias,
  type ObjectFile,
  type ObjectSection,
  type PltStub,
  PltStubs,
  type SymbolTable,
} from "../../code/objects/index.ts";
import { cfiOfObject, type Module, type ObjectCfi, UnwindTable } from "../../code/unwind/index.ts";
import { loadMiniDebugInfo } from "../load/mini-debug-info.ts";

/** An object at hand, with the path it was found at and what else knows its symbols. */
export interface FoundObject {
  readonly path: string;
  readonly object: ObjectFile;
}

/** What the stacks of a process need of the outside: its objects. */
export interface ObjectSource {
  /** The object that a process names so, or why it is not at hand. */
  find(wanted: { path: string; buildId?: string | undefined }): FoundObject | { readonly missing: string };
  /** The file with the symbols and the debug information that were stripped from an object. */
  findDebugFile(found: FoundObject): FoundObject | undefined;
}

const SHF_ALLOC = 2;

/** Code is asked for in a few bytes here and there, often close to what was asked for before: it is read in pages. */
const CODE_PAGE_BYTES = 4096;
const MOST_CODE_PAGES = 256;
const NO_BYTES = new Uint8Array(0);

/** Names of mappings that no file is behind. */
const NO_FILE =
  /^(?:\[.*\]|\/\/anon|\/anon_hugepage.*|\/dev\/.*|\/memfd:.*|\/SYSV.*|\/i915.*|anon_inode:.*|)$/;
/** The library that the kernel maps into every process. */
const VDSO = "[vdso]";
const DELETED = / \(deleted\)$/;

/** Mappings of code that a program writes itself; perf looks for its names in `/tmp/perf-PID.map`. */
const ANONYMOUS = /^(?:\/\/anon|\/dev\/zero|\/anon_hugepage)/;

/** A file in the memory of processes. The object is looked for when it is first needed. */
export class NativeFile {
  readonly path: string;
  readonly buildId: string | undefined;
  /** Code that the program writes itself: it is in no file. */
  readonly isAnonymous: boolean;
  readonly #source: ObjectSource;
  #found: FoundObject | { readonly missing: string } | undefined;
  #debugFile: FoundObject | null | undefined;
  #cfi: ObjectCfi | undefined;
  #table: UnwindTable | undefined;
  #symbols: readonly SymbolTable[] | undefined;
  #stubs: PltStubs | undefined;
  readonly #codePages = new Map<number, Uint8Array>();

  constructor(path: string, buildId: string | undefined, source: ObjectSource) {
    this.path = path.replace(DELETED, "");
    this.isAnonymous = ANONYMOUS.test(this.path);
    this.buildId = buildId;
    this.#source = source;
  }

  /** A file whose object is known already. */
  static of(path: string, object: ObjectFile): NativeFile {
    const found = { path, object };
    return new NativeFile(path, object.buildId, { find: () => found, findDebugFile: () => undefined });
  }

  #lookFor(): FoundObject | { readonly missing: string } {
    this.#found ??= this.#find();
    return this.#found;
  }

  #find(): FoundObject | { readonly missing: string } {
    const wanted = { path: this.path, buildId: this.buildId };
    if (this.path !== VDSO) return NO_FILE.test(this.path) ? { missing: "" } : this.#source.find(wanted);
    // Nobody has to have it: it is no file, but perf may have kept a copy.
    const found = this.buildId === undefined ? undefined : this.#source.find(wanted);
    return found !== undefined && "object" in found ? found : { missing: "" };
  }

  get found(): FoundObject | undefined {
    const found = this.#lookFor();
    return "object" in found ? found : undefined;
  }

  /** Why the object is not at hand, if it was needed, there should be one, and it was not found. */
  get missing(): string | undefined {
    return this.#found !== undefined && "missing" in this.#found && this.#found.missing !== ""
      ? this.#found.missing
      : undefined;
  }

  get debugFile(): FoundObject | undefined {
    const { found } = this;
    if (this.#debugFile === undefined) this.#debugFile = (found && this.#source.findDebugFile(found)) ?? null;
    return this.#debugFile ?? undefined;
  }

  /** Its sections with call frame information. */
  get cfi(): ObjectCfi | undefined {
    if (this.#cfi === undefined && this.found !== undefined) this.#cfi = cfiOfObject(this.found.object);
    return this.#cfi;
  }

  /** Rules of the object's code. */
  get table(): UnwindTable | undefined {
    if (this.#table === undefined && this.cfi !== undefined)
      this.#table = UnwindTable.fromCfi(this.cfi, this.found!.object.architecture, { lazy: true });
    return this.#table;
  }

  /** Bytes at an address of the object; fewer where a segment ends. The array is not to be written to. */
  codeAt(address: number, length: number): Uint8Array {
    const object = this.found?.object;
    if (object === undefined || !(address >= 0)) return NO_BYTES;
    const into = address % CODE_PAGE_BYTES;
    const start = address - into;
    let page = this.#codePages.get(start);
    if (page === undefined) {
      page = object.bytesAt(start, CODE_PAGE_BYTES);
      if (this.#codePages.size === MOST_CODE_PAGES) this.#codePages.clear();
      this.#codePages.set(start, page);
    }
    // The page may be one where a segment begins or ends.
    if (into + length > page.length) return object.bytesAt(address, length);
    return page.subarray(into, into + length);
  }

  /** The loaded section that holds an address; undefined in objects without section headers. */
  sectionOf(address: number): ObjectSection | undefined {
    return this.found?.object.sections.find(
      (section) =>
        (section.flags & SHF_ALLOC) !== 0 &&
        address >= section.address &&
        address < section.address + section.size,
    );
  }

  /** The stub for a call of another object that an address lies in. */
  stubAt(address: number): PltStub | undefined {
    if (this.found === undefined) return undefined;
    this.#stubs ??= new PltStubs(this.found.object);
    return this.#stubs.at(address);
  }

  /** Symbol tables that know the object's functions, the best first. */
  get symbols(): readonly SymbolTable[] {
    this.#symbols ??= this.#findSymbols();
    return this.#symbols;
  }

  #findSymbols(): readonly SymbolTable[] {
    const { found } = this;
    if (found === undefined) return [];
    const own = found.object.symbols();
    if (found.object.sections.some(({ name }) => name === ".symtab")) return [own];
    const stripped = this.debugFile?.object ?? loadMiniDebugInfo(found.object.miniDebugInfo);
    return stripped === undefined ? [own] : [stripped.symbols(), own];
  }
}

/** A piece of a file in the memory of a process, as the unwinder takes it. */
export class MappedModule implements Module {
  readonly start: number;
  readonly end: number;
  readonly file: NativeFile;
  /** Offset in the file of what is mapped at the start. */
  readonly fileOffset: number;
  /** Room for whoever numbers modules. */
  number: number | undefined;
  #bias: number | undefined;

  constructor(file: NativeFile, start: number, end: number, fileOffset: number) {
    this.file = file;
    this.start = start;
    this.end = end;
    this.fileOffset = fileOffset;
  }

  get name(): string {
    return this.file.path;
  }

  get bias(): number {
    this.#bias ??= this.#findBias();
    return this.#bias;
  }

  /** From an address to what perf shows: the offset in the file, where there is one. */
  get shownOffset(): number {
    return this.file.isAnonymous ? 0 : this.fileOffset - this.start;
  }

  #findBias(): number {
    const object = this.file.found?.object;
    return (object && loadBias(object, this.start, this.fileOffset)) ?? this.start - this.fileOffset;
  }

  get table(): UnwindTable | undefined {
    return this.file.table;
  }

  readonly part = (start: number, end: number): MappedModule =>
    new MappedModule(this.file, start, end, this.fileOffset + start - this.start);

  readonly readCode = (address: number, length: number): Uint8Array => this.file.codeAt(address, length);
}
