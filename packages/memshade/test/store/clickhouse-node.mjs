// ENGINE FOLDER: answers in ClickHouse's SQL on a port of its own that it prints, with its files in a folder: the body of a POST is a statement, and GET /TABLE has all rows of a table.
import { createServer } from "node:http";
import { createRequire } from "node:module";

const engine = createRequire(import.meta.url)(process.argv[2]);
const connection = engine.CreateConnection(process.argv[3]);

const server = createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const posted = Buffer.concat(parts).toString();
    const [sql, format] =
      request.method === "POST"
        ? [posted, "JSONCompactEachRow"]
        : [`select * from ${request.url.slice(1)}`, "TabSeparated"];
    try {
      response.end(engine.QueryWithConnection(connection, sql, format));
    } catch (error) {
      response.statusCode = 400;
      response.end(String(error));
    }
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
