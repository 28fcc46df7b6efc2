import type { Log } from "../../base/log.ts";
import type { Fault } from "../../base/fault.ts";
import type { Hits, SearchQuery } from "../store.ts";
import type { FromSearch, ToSearch } from "./search.ts";
import { Thread } from "./thread.ts";

/** The thread that finds words, as the main thread sees it: it is asked, and told when there is something to look at. */
export class Searching {
  readonly thread: Thread<ToSearch, FromSearch>;
  readonly #log: Log;
  #looks: "no" | "yes" | "and again" = "no";

  constructor(home: string, { log, died }: { readonly log: Log; readonly died: (fault: Fault) => void }) {
    this.#log = log;
    this.thread = new Thread("search", home, { hear: (message) => this.#hear(message), died });
  }

  find(query: SearchQuery): Promise<Hits> {
    return this.thread.ask((id) => ({ do: "search", id, query }));
  }

  /** One word is enough until it has caught up and says so; what came meanwhile is worth another. */
  look(): void {
    if (this.#looks === "no") this.thread.post({ do: "look" });
    this.#looks = this.#looks === "no" ? "yes" : "and again";
  }

  #hear(message: FromSearch): void {
    switch (message.say) {
      case "answer":
        return this.thread.settle(message.id, message.answer);
      case "trouble":
        return this.#log.warn({ what: "search" }, message.message);
      case "caught up": {
        const again = this.#looks === "and again";
        this.#looks = "no";
        if (again) this.look();
      }
    }
  }
}
