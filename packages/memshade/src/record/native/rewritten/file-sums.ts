import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { writeWholeFile } from "../../../names/load/whole-file.ts";
import { isOwn, KEPT_MODE } from "../../host/run/own-files.ts";

const NAME = "file-sums.json";
/** More files than the recorded programs of a system have. */
const MOST_SUMS = 5000;
/**
 * File times have the resolution of a clock tick. A file that has just changed may change again without a new
 * time.
 */
const SETTLED_MS = 2000;
const BOOT = "/proc/sys/kernel/random/boot_id";

/** Returns SHA-256 in hexadecimal. */
export function sumOfContent(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

interface Known {
  /** Values that change with the content of the file. */
  state: string;
  sum: string;
}

/**
 * Sums of files, cached across runs while a file's metadata stay the same and the system is not restarted.
 * After a loss of power, other content may have the same times.
 */
export class FileSums {
  readonly #path: string;
  readonly #boot = tryRead(BOOT);
  readonly #cached: ReadonlyMap<string, Known>;
  readonly #used = new Map<string, Known>();

  /** @param folder folder of the cache, which need not exist */
  constructor(folder: string) {
    this.#path = join(folder, NAME);
    this.#cached = readSums(this.#path, this.#boot);
  }

  /** @throws the system's error if the file cannot be read */
  sumOf(path: string): string {
    const { dev, ino, size, mtimeNs, ctimeNs, ctimeMs } = statSync(path, { bigint: true });
    const state = [dev, ino, size, mtimeNs, ctimeNs].join();
    const entry = this.#cached.get(path) ?? this.#used.get(path);
    if (entry?.state === state) {
      this.#used.set(path, entry);
      return entry.sum;
    }
    const sum = sumOfContent(readFileSync(path));
    if (BigInt(Date.now()) - ctimeMs > SETTLED_MS) this.#used.set(path, { state, sum });
    return sum;
  }

  /** Writes the cache if there are new sums, this run's sums first. */
  keep(): void {
    if ([...this.#used].every(([path, entry]) => this.#cached.get(path) === entry)) return;
    const sums = [...new Map([...this.#used, ...this.#cached, ...this.#used])].slice(0, MOST_SUMS);
    try {
      const text = JSON.stringify({ boot: this.#boot, sums: sums });
      writeWholeFile(this.#path, (file) => file.write(text), KEPT_MODE);
    } catch {
      // The next run computes the sums again.
    }
  }
}

function tryRead(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Returns no sums if the file is missing or damaged, or from before a restart. */
function readSums(path: string, boot: string): Map<string, Known> {
  try {
    if (!isOwn(path)) return new Map();
    const stored = JSON.parse(readFileSync(path, "utf8")) as { boot: string; sums: [string, Known][] };
    return boot !== "" && stored.boot === boot ? new Map(stored.sums) : new Map();
  } catch {
    return new Map();
  }
}
