// The meaning of Store, as tests. Each engine runs all of them, alike:
//
//   storeContract("memory", open);
//
// The titles are sentences that are true of every store. What only one engine promises is tested beside it.

import { after, before, describe } from "node:test";
import assert from "node:assert/strict";
import { anewContract } from "./contract/anew.ts";
import { appendContract } from "./contract/append.ts";
import { archivedContract } from "./contract/archived.ts";
import { archiveContract } from "./contract/archives.ts";
import { holdingContract } from "./contract/holdings.ts";
import { blobContract } from "./contract/blobs.ts";
import { claimContract } from "./contract/claims.ts";
import { commitContract } from "./contract/commit.ts";
import { Corner, type Open, type Opened } from "./contract/corner.ts";
import { closeContract, deleteContract } from "./contract/ends.ts";
import { endedContract } from "./contract/ended.ts";
import { entriesContract } from "./contract/entries.ts";
import { feedContract } from "./contract/feed.ts";
import { forkContract } from "./contract/fork.ts";
import { gaugeContract } from "./contract/gauge.ts";
import { generationContract } from "./contract/generations.ts";
import { jobContract } from "./contract/jobs.ts";
import { listContract } from "./contract/lists.ts";
import { mailContract } from "./contract/mail.ts";
import { openContract } from "./contract/open.ts";
import { restoreContract } from "./contract/restores.ts";
import { rowContract } from "./contract/rows.ts";
import { searchContract } from "./contract/search.ts";
import { shapeContract } from "./contract/shapes.ts";
import { swapContract } from "./contract/swaps.ts";
import { outboxContract, timerContract } from "./contract/waiting.ts";

export function storeContract(name: string, open: Open): void {
  describe(`store contract: ${name}`, () => {
    let opened: Opened | null = null;
    before(async () => {
      opened = await open();
    });
    after(async () => {
      await opened?.close();
    });
    const corner = (): Corner => {
      assert(opened, "the store was opened before the first test");
      return new Corner(opened);
    };

    commitContract(corner);
    shapeContract(corner);
    openContract(corner);
    appendContract(corner);
    entriesContract(corner);
    forkContract(corner);
    gaugeContract(corner);
    generationContract(corner);
    anewContract(corner);
    mailContract(corner);
    rowContract(corner);
    timerContract(corner);
    outboxContract(corner);
    jobContract(corner);
    listContract(corner);
    claimContract(corner);
    feedContract(corner, open);
    blobContract(corner);
    searchContract(corner);
    endedContract(corner);
    deleteContract(corner);
    archiveContract(corner);
    archivedContract(corner);
    restoreContract(corner);
    swapContract(corner);
    holdingContract(corner);
    closeContract(open);
  });
}
