import type { Speaking } from "./ask.ts";
import type { Voice } from "./spoken.ts";

/** What a turn does now. Only it knows: of all this nothing is written down before it is done. */
export class Doing {
  /** What the model has said of the answer that it is giving; null: it is not being asked. */
  speaking: Speaking | null = null;
  /** Names of tools that run, or are about to. */
  calling: readonly string[] = [];

  /** What people have seen of an answer that is not finished; null: nothing. */
  get said(): { readonly voice: Voice; readonly text: string } | null {
    const text = this.speaking?.words.join("") ?? "";
    return this.speaking === null || text.trim() === "" ? null : { voice: this.speaking.voice, text };
  }

  /** For people. */
  get words(): string {
    if (this.speaking !== null) return this.speaking.trouble ?? `asks ${this.speaking.voice.model.id}`;
    const names = [...new Set(this.calling)];
    return names.length === 0 ? "writes down what happened" : `runs ${names.join(", ")}`;
  }
}
