import type { SendPolicy, SendRule } from "../config/config.ts";
import { describeKey, type SessionKey } from "./key.ts";
import { quote } from "./part.ts";

/** An answer that wants to leave through a door. */
interface Leaving {
  readonly key: SessionKey;
  readonly channel: string;
  readonly override: "allow" | "deny" | null; // the session's own setting; null: the configuration decides
}

export type Permission = { readonly allowed: true } | { readonly allowed: false; readonly why: string };

/** The session's own setting decides, then the first rule that matches, then the default. */
export function maySend(policy: SendPolicy, what: Leaving): Permission {
  if (what.override !== null) return permission(what.override, "the session's own send setting");
  const { chatType } = describeKey(what.key);
  for (const [index, rule] of policy.rules.entries()) {
    if (matches(rule, what, chatType))
      return permission(rule.action, `rule ${index + 1} of session.sendPolicy ${said(rule)}`);
  }
  return permission(policy.default, "the default of session.sendPolicy");
}

function permission(action: "allow" | "deny", who: string): Permission {
  return action === "allow" ? { allowed: true } : { allowed: false, why: `${who} denies it` };
}

function matches(rule: SendRule, { key, channel }: Leaving, chatType: SendRule["chatType"]): boolean {
  return (
    (rule.channel === null || rule.channel === channel) &&
    (rule.chatType === null || rule.chatType === chatType) &&
    (rule.keyPrefix === null || key === rule.keyPrefix || key.startsWith(`${rule.keyPrefix}:`))
  );
}

/** What a rule asks for, so that whoever is refused finds it again after others were added. */
function said({ channel, chatType, keyPrefix }: SendRule): string {
  const asks = [
    ...(channel === null ? [] : [`channel ${quote(channel)}`]),
    ...(chatType === null ? [] : [`chat type ${chatType}`]),
    ...(keyPrefix === null ? [] : [`keys from ${quote(keyPrefix)}`]),
  ];
  return asks.length === 0 ? "(everything)" : `(${asks.join(", ")})`;
}
