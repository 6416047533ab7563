import { readdirSync, readFileSync } from "node:fs";

/** Names of a process's threads, by their ids, as they are seen from outside: most get one after they have begun. */
export class ThreadNames {
  readonly #folder: string;
  readonly names = new Map<number, string>();

  constructor(pid: number) {
    this.#folder = `/proc/${pid}/task`;
  }

  /** To be called now and then. A thread that is gone keeps its last name. */
  look(): void {
    for (const id of listed(this.#folder)) {
      const name = read(`${this.#folder}/${id}/comm`);
      if (name !== undefined) this.names.set(Number(id), name);
    }
  }
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trimEnd();
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}
