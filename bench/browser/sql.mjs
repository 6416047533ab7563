/** Work over SQLite, as pages and Node have it: milliseconds. */
export function work({ Database }) {
  const run = () => {
    const database = new Database();
    database.exec("CREATE TABLE trip (city TEXT, price REAL)");
    for (let i = 0; i < 5000; i++) database.run("INSERT INTO trip VALUES (?, ?)", [`city ${i % 97}`, i]);
    for (let i = 0; i < 10; i++) database.exec("SELECT city, sum(price) FROM trip GROUP BY city ORDER BY 2");
    database.close();
  };
  run();
  const start = performance.now();
  for (let i = 0; i < 3; i++) run();
  return performance.now() - start;
}
