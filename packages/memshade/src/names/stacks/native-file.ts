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

export interface FoundObject {
  readonly path: string;
  readonly object: ObjectFile;
}

export interface ObjectSource {
  /** Returns the object with a name in the process, or the reason why it is missing. */
  find(wanted: { path: string; buildId?: string | undefined }): FoundObject | { readonly missing: string };
  /** Returns the file with symbols and debug information that were stripped from an object. */
  findDebugFile(found: FoundObject): FoundObject | undefined;
}

const SHF_ALLOC = 2;

/** Code is read in pages, since requests are a few bytes each and often close together. */
const CODE_PAGE_BYTES = 4096;
const MOST_CODE_PAGES = 256;
const NO_BYTES = new Uint8Array(0);

/** Names of mappings without a file. */
const NO_FILE =
  /^(?:\[.*\]|\/\/anon|\/anon_hugepage.*|\/dev\/.*|\/memfd:.*|\/SYSV.*|\/i915.*|anon_inode:.*|)$/;
const VDSO = "[vdso]";
const DELETED = / \(deleted\)$/;

/** Mappings of generated code; perf looks for its names in `/tmp/perf-PID.map`. */
const ANONYMOUS = /^(?:\/\/anon|\/dev\/zero|\/anon_hugepage)/;

/** File mapped by processes. Its object is searched on first use. */
export class NativeFile {
  readonly path: string;
  readonly buildId: string | undefined;
  /** True for generated code, which is in no file. */
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

  static fromObject(path: string, object: ObjectFile): NativeFile {
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
    // The vDSO need not be found: it is no file, but perf may have kept a copy.
    const found = this.buildId === undefined ? undefined : this.#source.find(wanted);
    return found !== undefined && "object" in found ? found : { missing: "" };
  }

  get found(): FoundObject | undefined {
    const found = this.#lookFor();
    return "object" in found ? found : undefined;
  }

  /** Reason why the object is missing, if it was needed and should exist. */
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

  get cfi(): ObjectCfi | undefined {
    if (this.#cfi === undefined && this.found !== undefined) this.#cfi = cfiOfObject(this.found.object);
    return this.#cfi;
  }

  get table(): UnwindTable | undefined {
    if (this.#table === undefined && this.cfi !== undefined)
      this.#table = UnwindTable.fromCfi(this.cfi, this.found!.object.architecture, { lazy: true });
    return this.#table;
  }

  /** Reads bytes at an address of the object; fewer if a segment ends. The array must not be written to. */
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
    // A segment may begin or end in the page.
    if (into + length > page.length) return object.bytesAt(address, length);
    return page.subarray(into, into + length);
  }

  sectionOf(address: number): ObjectSection | undefined {
    return this.found?.object.sections.find(
      (section) =>
        (section.flags & SHF_ALLOC) !== 0 &&
        address >= section.address &&
        address < section.address + section.size,
    );
  }

  /** Returns the stub for a call of another object at an address, if any. */
  stubAt(address: number): PltStub | undefined {
    if (this.found === undefined) return undefined;
    this.#stubs ??= new PltStubs(this.found.object);
    return this.#stubs.at(address);
  }

  /** Symbol tables with functions of the object, the best first. */
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

/** Mapped piece of a file, in the unwinder's form. */
export class MappedModule implements Module {
  readonly start: number;
  readonly end: number;
  readonly file: NativeFile;
  /** File offset of the first mapped byte. */
  readonly fileOffset: number;
  /** Number for the use of callers that number modules. */
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

  /** Difference between perf's displayed address, the file offset if there is a file, and the address. */
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
