// Times as a clock on the wall shows them: in the language of the browser, and everywhere by 24 hours. Pure.

import { oneLine } from "../../src/base/harmless.ts";

/** Characters of what should have been a time: others may have written anything there. */
const WORDS_MAX = 40;

/** Made once each: a transcript asks for thousands of them. */
const CYCLE = { hourCycle: "h23" } as const;
const MINUTES = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", ...CYCLE });
const SECONDS = new Intl.DateTimeFormat(undefined, {
  ...{ hour: "2-digit", minute: "2-digit", second: "2-digit" },
  ...CYCLE,
});
const DAY = new Intl.DateTimeFormat(undefined, {
  ...{ weekday: "short", day: "numeric", month: "short" },
  ...{ hour: "2-digit", minute: "2-digit" },
  ...CYCLE,
});
const WHOLE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium", ...CYCLE });

const FORMS = { minutes: MINUTES, seconds: SECONDS, day: DAY, whole: WHOLE } as const;

/** `day`: with the day of the week; `whole`: the date and the second. What is no time is shown as it is, in one harmless line. */
export function clock(at: string | number, form: keyof typeof FORMS = "minutes"): string {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? oneLine(String(at)).slice(0, WORDS_MAX) : FORMS[form].format(time);
}
