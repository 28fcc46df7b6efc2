// Settings: whom the daemon can ask, who may ask it, how it is configured, and this page itself.

import type { ComponentType } from "preact";
import { hrefOf, place } from "../../state/place.ts";
import { Configuration } from "./configuration.tsx";
import { Models } from "./models.tsx";
import { ThisPage } from "./page.tsx";
import { Tokens } from "./tokens.tsx";
import "./settings.css";

const PARTS: readonly (readonly [part: string, name: string, shown: ComponentType])[] = [
  ["models", "Models", Models],
  ["tokens", "Tokens", Tokens],
  ["config", "Configuration", Configuration],
  ["page", "This page", ThisPage],
];

export function Settings() {
  const asked = place.value.query["part"] ?? "models";
  const [part, , Shown] = PARTS.find(([each]) => each === asked) ?? ["models", "Models", Models];
  return (
    <div class="view settings">
      <header>
        <h1>Settings</h1>
        <nav class="parts" aria-label="Parts of the settings">
          {PARTS.map(([each, name]) => (
            <a
              key={each}
              href={hrefOf("settings", null, { part: each })}
              {...(each === part ? { "aria-current": "page" as const } : {})}
            >
              {name}
            </a>
          ))}
        </nav>
      </header>
      <div class="body">
        <div class="inner" key={part}>
          <Shown />
        </div>
      </div>
    </div>
  );
}
