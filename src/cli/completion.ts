/** `modelgate completion SHELL`: a script for the shell, made from the table of commands. */
import type { Command, Flag } from './command.ts'
import { print, UsageError } from './command.ts'

const shells = ['bash', 'zsh', 'fish'] as const

/** Prints the script for all commands; how it is used stands in its first lines. */
export const completionOf = (load: () => Promise<readonly Command[]>): Command => ({
  name: 'completion',
  summary: 'Print a script that completes commands and flags in bash, zsh or fish',
  arguments: 'bash|zsh|fish',
  flags: {},
  async run({ positionals }) {
    const [shell] = positionals
    const all = await load()
    if (shell === 'bash') print(bashScript(all))
    else if (shell === 'zsh') print(zshScript(all))
    else if (shell === 'fish') print(fishScript(all))
    else throw new UsageError(`name the shell: modelgate completion ${shells.join('|')}`)
    return 0
  },
})

const flagsOf = ({ flags }: Command): string[] => [...Object.keys(flags), 'help'].map(name => `--${name}`)
/** The second words of each first word. */
const secondWords = (all: readonly Command[]): Map<string, string[]> => {
  const words = new Map<string, string[]>()
  for (const { name } of all) {
    const [first, second] = name.split(' ') as [string, string?]
    words.set(first, [...(words.get(first) ?? []), ...(second === undefined ? [] : [second])])
  }
  return words
}

function bashScript(all: readonly Command[]): string {
  const second = secondWords(all)
  const groups = [...second].filter(([, words]) => words.length > 0)
  const flagCase = (one: Command) => `    '${one.name}') words='${flagsOf(one).join(' ')}' ;;`
  const isLong = ({ name }: Command) => name.includes(' ')
  return `# bash: eval "$(modelgate completion bash)", or write it to /etc/bash_completion.d/modelgate
_modelgate() {
  local word=\${COMP_WORDS[COMP_CWORD]} first=\${COMP_WORDS[1]} second=\${COMP_WORDS[2]} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${[...second.keys()].join(' ')}' -- "$word"))
    return
  fi
  if [ "$COMP_CWORD" -eq 2 ]; then
    case $first in
${groups.map(([first, words]) => `    ${first}) words='${words.join(' ')}' ;;`).join('\n')}
    esac
    if [ -n "$words" ] && [ "\${word#-}" = "$word" ]; then
      COMPREPLY=($(compgen -W "$words" -- "$word"))
      return
    fi
  fi
  case "$first $second" in
${all.filter(isLong).map(flagCase).join('\n')}
    *) case $first in
${all
  .filter(one => !isLong(one))
  .map(flagCase)
  .join('\n')}
    esac ;;
  esac
  if [ "\${word#-}" != "$word" ]; then COMPREPLY=($(compgen -W "$words" -- "$word"))
  else COMPREPLY=($(compgen -f -- "$word")); fi
}
complete -o filenames -F _modelgate modelgate`
}

/** For a description between single quotes. */
const quoted = (text: string): string => text.replaceAll("'", "'\\''")

function zshScript(all: readonly Command[]): string {
  const second = secondWords(all)
  const summaryOf = new Map(all.map(one => [one.name, one.summary]))
  const described = (words: readonly string[], of: (word: string) => string) =>
    words.map(word => `'${word}:${quoted(of(word).replaceAll(':', '\\:'))}'`).join(' ')
  const groups = [...second].filter(([, words]) => words.length > 0)
  const argumentsOf = (one: Command) =>
    Object.entries<Flag>({ ...one.flags, help: { type: 'boolean', help: 'Show this' } })
      .map(([name, flag]) => {
        const help = quoted(flag.help.replaceAll(/[[\]:]/g, sign => `\\${sign}`))
        const many = flag.multiple ? '*' : ''
        return `'${many}--${name}[${help}]${flag.type === 'string' ? ':value:_files' : ''}'`
      })
      .concat(one.arguments === undefined ? [] : ["'*:argument:_files'"])
      .join(' ')
  const groupCase = ([first, words]: [string, string[]]) => {
    const some = described(words, word => summaryOf.get(`${first} ${word}`)!)
    return `    ${first}) local -a some=(${some}); _describe command some; return ;;`
  }
  const cases = all.map(one => `    '${one.name}') _arguments ${argumentsOf(one)} ;;`)
  return `#compdef modelgate
# zsh: write it to a folder of $fpath as _modelgate, or: eval "$(modelgate completion zsh)"
_modelgate() {
  local first=$words[2] name
  if (( CURRENT == 2 )); then
    local -a all=(${described([...second.keys()], word => summaryOf.get(word) ?? second.get(word)!.join(', '))})
    _describe command all
    return
  fi
  if (( CURRENT == 3 )) && [[ $words[3] != -* ]]; then
    case $first in
${groups.map(groupCase).join('\n')}
    esac
  fi
  name="$first $words[3]"
  case $name in
${all
  .filter(one => one.name.includes(' '))
  .map(one => `    '${one.name}') words=($name $words[4,-1]); (( CURRENT -= 2 )) ;;`)
  .join('\n')}
    *) name=$first; words=($first $words[3,-1]); (( CURRENT -= 1 )) ;;
  esac
  case $name in
${cases.join('\n')}
  esac
}
(( $+functions[compdef] )) && compdef _modelgate modelgate`
}

function fishScript(all: readonly Command[]): string {
  const second = secondWords(all)
  const lines = ['# fish: write it to ~/.config/fish/completions/modelgate.fish', 'complete -c modelgate -f']
  const summaryOf = new Map(all.map(one => [one.name, one.summary]))
  for (const [first, words] of second) {
    const summary = quoted(summaryOf.get(first) ?? words.join(', '))
    lines.push(`complete -c modelgate -n __fish_use_subcommand -a ${first} -d '${summary}'`)
    const isUnnamed = `__fish_seen_subcommand_from ${first}; and not __fish_seen_subcommand_from ${words.join(' ')}`
    for (const word of words)
      lines.push(
        `complete -c modelgate -n '${isUnnamed}' -a ${word} -d '${quoted(summaryOf.get(`${first} ${word}`)!)}'`,
      )
  }
  for (const one of all) {
    const when = one.name
      .split(' ')
      .map(word => `__fish_seen_subcommand_from ${word}`)
      .join('; and ')
    for (const [name, flag] of Object.entries(one.flags)) {
      const value = flag.type === 'string' ? ' -r -F' : ''
      lines.push(`complete -c modelgate -n '${when}' -l ${name}${value} -d '${quoted(flag.help)}'`)
    }
    if (one.arguments !== undefined) lines.push(`complete -c modelgate -n '${when}' -F`)
  }
  return lines.join('\n')
}
