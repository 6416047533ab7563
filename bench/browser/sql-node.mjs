import initSqlJs from "sql.js";
import { work } from "./sql.mjs";

console.log(work(await initSqlJs()));
