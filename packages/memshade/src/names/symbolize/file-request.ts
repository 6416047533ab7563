import type { ObjectFile } from "../../code/objects/index.ts";

/** A file that would make answers better. The symbolizer opens none: whoever uses it finds them, or says that they are absent. */
export type FileRequest =
  /** The object's debug information: by build id, else by the name in `.gnu_debuglink`. */
  | {
      readonly kind: "debug-file";
      readonly buildId?: string;
      readonly name?: string;
      readonly crc32?: number;
    }
  /** Debug information that several objects share (`.gnu_debugaltlink`). */
  | { readonly kind: "shared-debug-file"; readonly name: string; readonly buildId: string }
  /** The wasm module with the debug information: a URL or a path, relative to the module's. */
  | { readonly kind: "external-debug-info"; readonly name: string }
  /** A source map: a URL or a path, relative to the module's, or a `data:` URL. */
  | { readonly kind: "source-map"; readonly name: string }
  /** All split units of the object: its path with `.dwp` behind it. */
  | { readonly kind: "dwp" }
  /** One split unit. */
  | {
      readonly kind: "dwo";
      readonly name: string;
      readonly compilationDirectory: string;
      readonly id: string;
    }
  /** Further symbols: the content of `.gnu_debugdata`, to be decompressed (xz). */
  | { readonly kind: "mini-debug-info"; readonly compressed: Uint8Array };

/** An answer to a request: the file, open or as bytes; undefined if there is none. */
export type ProvidedFile = ObjectFile | Uint8Array | undefined;

/** Requests with the same key ask for the same file. */
export function keyOf(request: FileRequest): string {
  switch (request.kind) {
    case "dwo":
      return `dwo ${request.id}`;
    case "external-debug-info":
    case "source-map":
      return `${request.kind} ${request.name}`;
    default:
      return request.kind;
  }
}
