import { FormatError } from "../../ground/bytes/errors.ts";
import { REST } from "../../profile/formats/memprof-raw/index.ts";

/** A failure in the words of `llvm-profdata`, for a command whose output replaces that tool's. */
export class ProfdataError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ProfdataError";
  }
}

const INVALID = "invalid instrumentation profile data (bad magic)";
const VERSION = "unsupported instrumentation profile format version";
const MALFORMED = "malformed instrumentation profile data";

/** A format error of a raw file, as the reference tool says it. */
export function rawError(file: string, error: FormatError): ProfdataError {
  switch (error.kind) {
    case "bad-magic":
      return error.offset === 0
        ? new ProfdataError(`${file}: ${INVALID}`)
        : new ProfdataError(`${file}\n${MALFORMED}`);
    case "truncated":
      return new ProfdataError(`${file}\ntruncated profile data`);
    case "unsupported-version":
      return new ProfdataError(`${file}\n${VERSION}`);
    default: {
      const { detail } = error;
      // The reference tool takes such a rest for a header, and finds no version in it.
      if (error.construct === REST) return new ProfdataError(`${file}\n${VERSION}`);
      return error.construct === "memprof raw header"
        ? new ProfdataError(`${file}\n${MALFORMED}`)
        : new ProfdataError(`${MALFORMED}: ${detail}`);
    }
  }
}

/** A format error of an indexed file, as the reference tool says it. */
export function indexedError(file: string, error: FormatError): ProfdataError {
  switch (error.kind) {
    case "bad-magic":
      return new ProfdataError(`${file}: ${INVALID}`);
    case "truncated":
      return new ProfdataError(`${file}: truncated profile data`);
    case "unsupported-version":
      return new ProfdataError(
        error.construct === "memprof section"
          ? `${file}: ${VERSION}: ${error.detail}`
          : `${file}: ${VERSION}`,
      );
    case "unsupported":
      return new ProfdataError(
        error.offset === 24
          ? `${file}: unsupported instrumentation profile hash type`
          : `${file}: no memprof profile in it`,
      );
    default: {
      const { detail } = error;
      const short = detail.startsWith("memprof schema invalid") ? "memprof schema invalid" : detail;
      return new ProfdataError(`${file}: ${MALFORMED}: ${short}`);
    }
  }
}

/** Runs `read` and turns format errors into the reference tool's. */
export function inProfdataWords<T>(
  file: string,
  words: (file: string, error: FormatError) => ProfdataError,
  read: () => T,
): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof FormatError ? words(file, error) : error;
  }
}
