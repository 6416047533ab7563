import type { FrameRules } from "../explain/analyses/frames/frame-rules.ts";
import { UserError } from "../ground/bytes/errors.ts";
import { describeSystemError } from "../ground/bytes/system-errors.ts";
import { readRegular } from "../names/load/file.ts";
import { readSuppressions } from "../profile/formats/suppressions.ts";
import type { Suppression } from "../profile/model/suppression.ts";

/**
 * Rules that separate the program's own code from libraries. Without rules, allocation sites are named by
 * their innermost frames.
 */
export interface OwnCode {
  readonly rules?: FrameRules | undefined;
  readonly suppressions?: readonly Suppression[] | undefined;
}

/**
 * Loads the suppressions of files, in the given order.
 *
 * @throws UserError for unreadable files and invalid lines
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
