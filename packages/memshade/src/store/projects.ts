import { UserError } from "../ground/bytes/errors.ts";
import type { StoreDatabase } from "./database.ts";

/**
 * Returns the only project of a store.
 *
 * @throws UserError if there is none, or several
 */
export async function onlyProject(database: StoreDatabase): Promise<string> {
  const { rows } = await database.ask("select distinct project as project from runs order by project");
  const projects = rows.map(([name]) => name as string);
  if (projects.length === 0) throw new UserError("there are no runs in this store");
  if (projects.length > 1)
    throw new UserError(`this store has several projects: --project takes one of ${projects.join(", ")}`);
  return projects[0]!;
}
