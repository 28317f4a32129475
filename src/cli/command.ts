/** What a command is: its flags are checked and its help is written from one description. */
import { parseArgs } from 'node:util'
import { closestMatch } from '../lib/closest-match.ts'

/** One flag, written `--name`. */
export interface Flag {
  readonly type: 'string' | 'boolean'
  /** What stands for the value in the help. */
  readonly value?: string
  readonly help: string
  /** May be given several times. */
  readonly multiple?: boolean
}

/** By name, without the dashes. undefined = not given; a list = the flag is `multiple`. */
export type FlagValues = Readonly<Record<string, string | boolean | string[] | undefined>>

/** What a command is called with; `positionals` are the words that are no flags. */
export interface CommandInput {
  readonly flags: FlagValues
  readonly positionals: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** One command. `run` throws UsageError for exit code 2 and anything else for 1; the operator reads the message. */
export interface Command {
  /** `keys create`. */
  readonly name: string
  readonly summary: string
  /** The one word it takes, as the usage line says it: `config.yaml`. Absent = none. */
  readonly arguments?: string
  readonly flags: Readonly<Record<string, Flag>>
  /** The exit code. */
  run(input: CommandInput): Promise<number> | number
}

/** A mistake in how a command was called: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A line of standard output: what was asked for, and nothing else. */
export const print = (text: string): void => void process.stdout.write(`${text}\n`)
/** A line of standard error: mistakes, warnings, notes. */
export const printError = (text: string): void => void process.stderr.write(`${text}\n`)

/** What `--help` prints, without the line break at its end. */
export function helpOf(command: Command): string {
  const flags = Object.entries({ ...command.flags, help: { type: 'boolean', help: 'Show this' } as Flag })
  const left = flags.map(([name, flag]) => `--${name}${flag.type === 'string' ? ` ${flag.value ?? 'VALUE'}` : ''}`)
  const width = Math.max(...left.map(one => one.length))
  const lines = flags.map(([, flag], at) => `  ${left[at]!.padEnd(width)}  ${flag.help}`)
  const usage = `modelgate ${command.name}${command.arguments ? ` ${command.arguments}` : ''} [flags]`
  return `${command.summary}\n\nUsage: ${usage}\n\n${lines.join('\n')}`
}

type Parsed = Pick<CommandInput, 'flags' | 'positionals'>

/** Throws UsageError for a flag that the command does not know, and for a word too many. */
export function parseFlags(command: Command, words: readonly string[]): Parsed {
  const parsed = parseWords(command, words)
  const taken = command.arguments === undefined ? 0 : 1
  const tooMany = parsed.positionals[taken]
  if (tooMany !== undefined)
    throw new UsageError(`'${tooMany}' is one word too many; modelgate ${command.name} --help says what is taken`)
  return parsed
}

function parseWords(command: Command, words: readonly string[]): Parsed {
  const options = Object.fromEntries(
    Object.entries(command.flags).map(([name, flag]) => [name, { type: flag.type, multiple: flag.multiple ?? false }]),
  )
  try {
    const { values, positionals } = parseArgs({
      args: withNumbers(command, words),
      options,
      allowPositionals: true,
      strict: true,
    })
    return { flags: values as FlagValues, positionals }
  } catch (error) {
    throw new UsageError(explainedMistake(command, error as Error & { code?: string }))
  }
}

/** `--port -1` gives a wrong number, not another flag: the command itself can say best what is wrong with it. */
function withNumbers(command: Command, words: readonly string[]): string[] {
  const merged: string[] = []
  for (const word of words) {
    const flag = merged.at(-1)
    const takesValue = flag?.startsWith('--') === true && command.flags[flag.slice(2)]?.type === 'string'
    if (takesValue && /^-\d/.test(word)) merged.splice(-1, 1, `${flag}=${word}`)
    else merged.push(word)
  }
  return merged
}

/** Codes and their first lines: Node.js, util.parseArgs. */
function explainedMistake(command: Command, { code, message }: Error & { code?: string }): string {
  const [, named = ''] = /'--?([^' =]+)/.exec(message) ?? []
  const names = Object.keys(command.flags)
  const value = command.flags[named]?.value ?? 'VALUE'
  if (code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') {
    if (command.flags[named]?.type === 'boolean') return `--${named} takes no value; leave it out`
    return `--${named} needs a value: --${named} ${value}, or --${named}=${value} where it begins with a dash`
  }
  const near = closestMatch(named, names)
  const taken = names.length === 0 ? 'no flags' : names.map(name => `--${name}`).join(', ')
  return `${message.split(/[.\n]/)[0]}${near ? `, did you mean --${near}?` : ';'} modelgate ${command.name} takes ${taken}`
}

const cellCharactersMax = 100

/** One line, whatever a name holds: control and formatting characters are shown as what they are, long texts are cut. */
function cellOf(text: string): string {
  const shown = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, sign => `\\u{${sign.codePointAt(0)!.toString(16)}}`)
  const signs = [...shown]
  return signs.length <= cellCharactersMax ? shown : `${signs.slice(0, cellCharactersMax - 3).join('')}...`
}

/** Rows under headings, as wide as they need to be. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, ...rows.map(row => row.map(cellOf))]
  const widths = headings.map((_, at) => Math.max(...lines.map(cells => Bun.stringWidth(cells[at] ?? ''))))
  const padded = (cell: string, at: number) => cell + ' '.repeat(widths[at]! - Bun.stringWidth(cell))
  return lines.map(cells => cells.map(padded).join('  ').trimEnd()).join('\n')
}
