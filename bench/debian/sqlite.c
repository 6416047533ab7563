/* SQLite in memory: a table filled in one transaction, an index, joins, aggregates, updates and removals.
   usage: sqlite ROWS */
#include <stdio.h>
#include <stdlib.h>

#include "sqlite3.h"

/* A database in memory opens no file; SQLite asks its operating system for random bytes and the time only. */

static int open_nothing(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *opened) {
  (void)vfs, (void)name, (void)flags, (void)opened;
  file->pMethods = NULL;
  return SQLITE_CANTOPEN;
}

static int same_bytes(sqlite3_vfs *vfs, int count, char *bytes) {
  (void)vfs;
  for (int i = 0; i < count; i++) bytes[i] = (char)(i * 37 + 11);
  return count;
}

static int same_time(sqlite3_vfs *vfs, double *days) {
  (void)vfs;
  *days = 2460000.5;
  return SQLITE_OK;
}

int sqlite3_os_init(void) {
  static sqlite3_vfs vfs = {.iVersion = 1,
                            .szOsFile = sizeof(sqlite3_file),
                            .mxPathname = 64,
                            .zName = "nothing",
                            .xOpen = open_nothing,
                            .xRandomness = same_bytes,
                            .xCurrentTime = same_time};
  return sqlite3_vfs_register(&vfs, 1);
}

int sqlite3_os_end(void) { return SQLITE_OK; }

static long long checksum;

static int row(void *unused, int columns, char **values, char **names) {
  (void)unused, (void)names;
  for (int i = 0; i < columns; i++)
    for (const char *at = values[i] ? values[i] : "null"; *at; at++) checksum = (checksum * 31 + *at) & 0xffffffffffff;
  return 0;
}

static void run(sqlite3 *db, const char *sql) {
  char *message = NULL;
  if (sqlite3_exec(db, sql, row, NULL, &message) != SQLITE_OK) {
    printf("%s: %s\n", sql, message);
    exit(1);
  }
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) {
    printf("%s: %s\n", sql, sqlite3_errmsg(db));
    exit(1);
  }
  return statement;
}

int main(int argc, char **argv) {
  int rows = argc > 1 ? atoi(argv[1]) : 1000;
  sqlite3 *db;
  if (sqlite3_open(":memory:", &db) != SQLITE_OK) return 1;
  run(db, "create table item(id integer primary key, name text, kind integer, price real)");
  run(db, "create table kind(id integer primary key, title text)");
  run(db, "begin");
  sqlite3_stmt *insert = prepare(db, "insert into item values(?1, 'item number ' || ?2, ?3, ?4)");
  unsigned seed = 1;
  for (int i = 0; i < rows; i++) {
    seed = seed * 1664525u + 1013904223u;
    sqlite3_bind_int(insert, 1, i);
    sqlite3_bind_int(insert, 2, (int)(seed >> 8));
    sqlite3_bind_int(insert, 3, (int)(seed >> 24) % 50);
    sqlite3_bind_double(insert, 4, (seed >> 12) / 100.0);
    sqlite3_step(insert);
    sqlite3_reset(insert);
  }
  sqlite3_finalize(insert);
  for (int i = 0; i < 50; i++) {
    char sql[80];
    snprintf(sql, sizeof sql, "insert into kind values(%d, 'kind %d')", i, i * 17 % 50);
    run(db, sql);
  }
  run(db, "commit");
  run(db, "create index by_name on item(name)");
  run(db, "select title, count(*), sum(price), max(name) from item join kind on kind.id = item.kind group by title order by title");
  run(db, "select name, price from item where name like '%77%' order by price desc limit 50");
  run(db, "update item set price = price * 1.1, name = upper(name) where kind % 3 = 0");
  sqlite3_stmt *find = prepare(db, "select id, price from item where name = ?1");
  int found = 0;
  seed = 1;
  for (int i = 0; i < rows / 2; i++) {
    char name[40];
    seed = seed * 1664525u + 1013904223u;
    snprintf(name, sizeof name, "item number %u", seed >> 8);
    sqlite3_bind_text(find, 1, name, -1, SQLITE_TRANSIENT);
    while (sqlite3_step(find) == SQLITE_ROW) found += sqlite3_column_int(find, 0) >= 0;
    sqlite3_reset(find);
  }
  sqlite3_finalize(find);
  run(db, "delete from item where id % 5 = 2");
  run(db, "select count(*), sum(length(name)), avg(price) from item");
  sqlite3_close(db);
  printf("sqlite %d: %d found, checksum %llx\n", rows, found, checksum);
  return 0;
}
