import { UserError } from "../ground/bytes/errors.ts";
import { describeSystemError } from "../ground/bytes/system-errors.ts";
import { readRegular } from "../names/load/file.ts";
import { readSuppressions } from "../profile/formats/suppressions.ts";
import type { Suppression } from "../profile/model/suppression.ts";

/**
 * The suppressions in files, in the order in which they are given.
 *
 * @throws UserError for files that cannot be read, and for lines that are none
 */
export function loadSuppressions(files: readonly string[] = []): Suppression[] {
  return files.flatMap((file) => readSuppressions(textOf(file), file));
}

function textOf(file: string): string {
  try {
    return readRegular(file).toString("utf8");
  } catch (error) {
    throw new UserError(`${file} cannot be read: ${describeSystemError(error)}`);
  }
}
