import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { writeWholeFile } from "../../../names/load/whole-file.ts";
import { isOwn, KEPT_MODE } from "../../host/run/own-files.ts";

const NAME = "file-sums.json";
/** More files than a system's programs have that anybody records. */
const MOST_SUMS = 5000;
/** Times of files go by the ticks of a clock: what was changed just now may change again at the same time. */
const SETTLED_MS = 2000;
const BOOT = "/proc/sys/kernel/random/boot_id";

/** SHA-256, in hexadecimal. */
export function sumOfContent(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

interface Known {
  /** What changes with the content of the file. */
  state: string;
  sum: string;
}

/**
 * Sums of files. They are remembered from run to run for as long as the system has neither changed the file nor been
 * started anew: lost power may leave other content behind under the same times.
 */
export class FileSums {
  readonly #path: string;
  readonly #boot = tryRead(BOOT);
  readonly #known: ReadonlyMap<string, Known>;
  readonly #used = new Map<string, Known>();

  /** @param folder where they are kept; there need not be any */
  constructor(folder: string) {
    this.#path = join(folder, NAME);
    this.#known = readSums(this.#path, this.#boot);
  }

  /** @throws the system's error where the file cannot be read */
  of(path: string): string {
    const { dev, ino, size, mtimeNs, ctimeNs, ctimeMs } = statSync(path, { bigint: true });
    const state = [dev, ino, size, mtimeNs, ctimeNs].join();
    const known = this.#known.get(path) ?? this.#used.get(path);
    if (known?.state === state) {
      this.#used.set(path, known);
      return known.sum;
    }
    const sum = sumOfContent(readFileSync(path));
    if (BigInt(Date.now()) - ctimeMs > SETTLED_MS) this.#used.set(path, { state, sum });
    return sum;
  }

  /** Remembers them, if there are new ones and they can be written. Those of this run come first. */
  keep(): void {
    if ([...this.#used].every(([path, known]) => this.#known.get(path) === known)) return;
    const all = [...new Map([...this.#used, ...this.#known, ...this.#used])].slice(0, MOST_SUMS);
    try {
      const text = JSON.stringify({ boot: this.#boot, sums: all });
      writeWholeFile(this.#path, (file) => file.write(text), KEPT_MODE);
    } catch {
      // The next run reads the files again.
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

/** None where nothing is kept, it is damaged, or of another start of the system. */
function readSums(path: string, boot: string): Map<string, Known> {
  try {
    if (!isOwn(path)) return new Map();
    const kept = JSON.parse(readFileSync(path, "utf8")) as { boot: string; sums: [string, Known][] };
    return boot !== "" && kept.boot === boot ? new Map(kept.sums) : new Map();
  } catch {
    return new Map();
  }
}
