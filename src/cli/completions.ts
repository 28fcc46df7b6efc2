// The scripts that shells complete by. All that is written into them is quoted for the shell: a summary may have anything.

import type { Command, Completes, Option } from "./command.ts";

/** What a word is completed with: words, or what the script finds out by itself. */
interface Known {
  readonly kind: "words" | "session" | "job" | "archive" | "file" | "folder" | "nothing";
  readonly words: readonly string[];
}

export function scriptFor(
  shell: "bash" | "zsh" | "fish",
  commands: readonly Command[],
  everywhere: readonly Option[],
): string {
  const all = commands.flatMap((command) =>
    [command.name, ...(command.aliases ?? [])].map((name) => ({
      ...command,
      name,
      options: [...command.options, ...everywhere],
    })),
  );
  return { bash, zsh, fish }[shell](all);
}

function known(completes: Completes | undefined): Known {
  if (completes === undefined) return { kind: "nothing", words: [] };
  return typeof completes === "string" ? { kind: completes, words: [] } : { kind: "words", words: completes };
}

interface Flag {
  readonly long: string; //          without hyphens
  readonly short: string | null; //  without the hyphen
  readonly takesValue: boolean;
  readonly value: Known;
  readonly about: string;
}

function flagOf({ flags, about, completes }: Option): Flag {
  return {
    long: /--([\w-]+)/.exec(flags)?.[1] ?? "",
    short: /^-(\w)\b/.exec(flags)?.[1] ?? null,
    takesValue: flags.includes("<"),
    value: known(completes),
    about,
  };
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

// ── bash ────────────────────────────────────────────────────────────────────────────────────────────────────

/** The line is split here: bash splits words at colons, and keys are full of them. It works with bash 3, as macOS has it. */
function bash(commands: readonly Command[]): string {
  const options = commands.map(
    ({ name, options: each }) =>
      `    ${name}) echo ${quoted(each.map((option) => `--${flagOf(option).long}`).join(" "))} ;;`,
  );
  const values = commands.flatMap(({ name, options: each }) =>
    each.map(flagOf).flatMap((flag) => {
      if (!flag.takesValue) return [];
      const names = [
        `"${name} --${flag.long}"`,
        ...(flag.short === null ? [] : [`"${name} -${flag.short}"`]),
      ];
      return [`    ${names.join("|")}) ${bashWords(flag.value)} ;;`];
    }),
  );
  const places = commands.flatMap(({ name, arguments: each }) =>
    each.map(
      ({ completes, variadic = false }, at) =>
        `    "${name} "${variadic ? "*" : at + 1}) ${bashWords(known(completes))} ;;`,
    ),
  );
  return `# sessiond completion for bash: source <(sessiond completion bash)
_sessiond_options() {
  case "$1" in
${options.join("\n")}
  esac
}
_sessiond_value() {
  case "$1 $2" in
${values.join("\n")}
    *) return 1 ;;
  esac
}
_sessiond_place() {
  case "$1 $2" in
${places.join("\n")}
  esac
}
_sessiond() {
  local line="\${COMP_LINE:0:COMP_POINT}" cur prev="" cmd="" place=0 found="" word
  local -a words
  cur="\${line##*[[:space:]]}"
  read -r -a words <<< "\${line%"$cur"}"
  for word in "\${words[@]:1}"; do
    if [[ -z $cmd ]]; then [[ $word == -* ]] || cmd=$word
    elif [[ $word != -* ]] && ! _sessiond_value "$cmd" "$prev" > /dev/null; then place=$((place + 1)); fi
    prev=$word
  done
  if [[ -z $cmd ]]; then found=${quoted([...commands.map(({ name }) => name), "help"].join(" "))}
  elif found=$(_sessiond_value "$cmd" "$prev"); then :
  elif [[ $cur == -* ]]; then found=$(_sessiond_options "$cmd")
  else found=$(_sessiond_place "$cmd" "$((place + 1))"); fi
  case "$found" in
    @file) COMPREPLY=($(compgen -f -- "$cur")) ;;
    @folder) COMPREPLY=($(compgen -d -- "$cur")) ;;
    @session) COMPREPLY=($(compgen -W "$(sessiond completion keys 2> /dev/null)" -- "$cur")) ;;
    @job) COMPREPLY=($(compgen -W "$(sessiond completion jobs 2> /dev/null)" -- "$cur")) ;;
    @archive) COMPREPLY=($(compgen -W "$(sessiond completion archives 2> /dev/null)" -- "$cur")) ;;
    *) COMPREPLY=($(compgen -W "$found" -- "$cur")) ;;
  esac
  if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
    local begin="\${cur%"\${cur##*:}"}"
    COMPREPLY=("\${COMPREPLY[@]#"$begin"}")
  fi
}
complete -F _sessiond sessiond
`;
}

function bashWords({ kind, words }: Known): string {
  if (kind === "nothing") return ":";
  return kind === "words" ? `echo ${quoted(words.join(" "))}` : `echo @${kind}`;
}

// ── zsh ─────────────────────────────────────────────────────────────────────────────────────────────────────

function zsh(commands: readonly Command[]): string {
  const names = commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`);
  const cases = commands.map(({ name, options, arguments: taken }) => {
    const flags = options.map(flagOf).flatMap(zshFlag);
    const places = taken.map(({ about, completes, variadic = false }, at) =>
      quoted(`${variadic ? "*" : at + 1}:${inSpec(about)}:${zshAction(known(completes))}`),
    );
    return `    ${name}) _arguments -s ${[...flags, ...places].join(" ")} ;;`;
  });
  return `#compdef sessiond
# sessiond completion for zsh: source <(sessiond completion zsh)
_sessiond_session() {
  local -a keys
  keys=(\${(f)"$(sessiond completion keys 2> /dev/null)"})
  compadd -a keys
}
_sessiond_job() {
  local -a jobs
  jobs=(\${(f)"$(sessiond completion jobs 2> /dev/null)"})
  compadd -a jobs
}
_sessiond_archive() {
  local -a archives
  archives=(\${(f)"$(sessiond completion archives 2> /dev/null)"})
  compadd -a archives
}
_sessiond() {
  local -a commands
  commands=(
${names.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
${cases.join("\n")}
  esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _sessiond "$@"; else compdef _sessiond sessiond; fi
`;
}

function zshFlag({ long, short, takesValue, value, about }: Flag): readonly string[] {
  const behind = takesValue ? `:value:${zshAction(value)}` : "";
  return [`--${long}`, ...(short === null ? [] : [`-${short}`])].map((name) =>
    quoted(`${name}[${inSpec(about)}]${behind}`),
  );
}

/** Colons and brackets mean something in a specification. */
function inSpec(text: string): string {
  return text.replaceAll(/[\\:[\]]/g, String.raw`\$&`);
}

function zshAction({ kind, words }: Known): string {
  switch (kind) {
    case "words":
      return `(${words.join(" ")})`;
    case "session":
      return "_sessiond_session";
    case "job":
      return "_sessiond_job";
    case "archive":
      return "_sessiond_archive";
    case "file":
      return "_files";
    case "folder":
      return "_files -/";
    case "nothing":
      return " ";
  }
}

// ── fish ────────────────────────────────────────────────────────────────────────────────────────────────────

function fish(commands: readonly Command[]): string {
  const lines = commands.flatMap(({ name, summary, options, arguments: taken }) => {
    const here = `complete -c sessiond -n ${quoted(`__fish_seen_subcommand_from ${name}`)}`;
    const flags = options.map(flagOf).map(({ long, short, takesValue, value, about }) => {
      const names = `${short === null ? "" : `-s ${short} `}-l ${long}`;
      return `${here} ${names}${takesValue ? ` ${fishValue(value)}` : ""} -d ${fishText(about)}`;
    });
    const places = [...new Set(taken.map(({ completes }) => known(completes)).map(fishPlace))].filter(
      (each) => each !== "",
    );
    return [
      `complete -c sessiond -f -n __fish_use_subcommand -a ${name} -d ${fishText(summary)}`,
      ...flags,
      ...places.map((each) => `${here} ${each}`),
    ];
  });
  return `# sessiond completion for fish: sessiond completion fish > ~/.config/fish/completions/sessiond.fish
complete -c sessiond -f
${lines.join("\n")}
`;
}

const FISH_KEYS = "-a '(sessiond completion keys 2> /dev/null)'";
const FISH_JOBS = "-a '(sessiond completion jobs 2> /dev/null)'";
const FISH_ARCHIVES = "-a '(sessiond completion archives 2> /dev/null)'";

function fishValue(value: Known): string {
  return value.kind === "file" || value.kind === "folder" ? "-rF" : `-x ${fishPlace(value)}`.trimEnd();
}

function fishPlace({ kind, words }: Known): string {
  switch (kind) {
    case "words":
      return `-a ${fishText(words.join(" "))}`;
    case "session":
      return FISH_KEYS;
    case "job":
      return FISH_JOBS;
    case "archive":
      return FISH_ARCHIVES;
    case "file":
    case "folder":
      return "-F";
    case "nothing":
      return "";
  }
}

function fishText(text: string): string {
  return `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
}
