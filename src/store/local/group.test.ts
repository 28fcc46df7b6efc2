import assert from "node:assert/strict";
import { test } from "node:test";
import { afterwards, scratch } from "../../../test/fixtures/home.ts";
import { mainKey, parseAgent } from "../../routing/key.ts";
import type { Change } from "../change.ts";
import { Leases } from "../leases.ts";
import { Group } from "./group.ts";
import { pathsIn } from "./paths.ts";
import { Rows } from "./rows.ts";
import { openState } from "./schema.ts";
import { Tables } from "./tables.ts";
import { encodeChange, NOTHING_READ } from "./wire.ts";

test("a group that could not even begin takes back nothing of the one before it", (t) => {
  const paths = pathsIn(scratch(t));
  const database = openState(paths);
  afterwards(t, () => database.close());
  const tables = new Tables(database);
  const leases = new Leases();
  const group = new Group({ database, tables, rows: new Rows(tables), leases, paths });
  const key = mainKey(parseAgent("main"));
  let id = 0;
  const apply = (change: Change): void => {
    id += 1;
    const commits = [{ id, atMs: id, changes: [encodeChange(change, NOTHING_READ)] }];
    group.apply(commits, "a", { epoch: "e", groups: id });
  };
  const opened: Change = {
    ...{ do: "open", key, transcript: "t-1", cwd: "/", parent: null, settings: {}, copy: null },
    ifExists: "refuse",
  };
  apply(opened);
  database.exec("COMMIT");
  leases.claim("somebody", key, 1_000);
  apply({ do: "delete", key, expect: null });
  database.exec("COMMIT");
  assert.equal(leases.fenceOf(key), 0);

  database.exec("BEGIN"); // so that none can be begun
  assert.throws(() => apply(opened), /cannot start a transaction within a transaction/);
  group.revert();
  assert.equal(leases.fenceOf(key), 0);
});
