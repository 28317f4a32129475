/** Defines commands: flag parsing and help are derived from one description. */
import { fstatSync, statSync, writeSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { closestMatch } from '../lib/closest-match.ts'
import { errorCode } from '../lib/error-code.ts'

/** One flag, written `--name`. */
export interface Flag {
  readonly type: 'string' | 'boolean'
  /** Placeholder of the value in the help. */
  readonly value?: string
  readonly help: string
  /** May be repeated. */
  readonly multiple?: boolean
}

/** By name without dashes. undefined = not given; an array if the flag is `multiple`. */
export type FlagValues = Readonly<Record<string, string | boolean | string[] | undefined>>

/** The parsed command line; `positionals` are the words that are not flags. */
export interface CommandInput {
  readonly flags: FlagValues
  readonly positionals: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** One command. `run` throws UsageError for exit code 2 and any other error for exit code 1; the message is printed. */
export interface Command {
  /** `keys create`. */
  readonly name: string
  readonly summary: string
  /** Name of the positional argument in the usage line: `config.yaml`. Absent = the command takes none. */
  readonly arguments?: string
  readonly flags: Readonly<Record<string, Flag>>
  /** Returns the exit code. */
  run(input: CommandInput): Promise<number> | number
}

/** An invalid command line: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Writes a line to standard output: results only. */
export const print = (text: string): void => void process.stdout.write(`${text}\n`)
/** Writes a line to standard error: mistakes, warnings, notes. */
export const printError = (text: string): void => void process.stderr.write(`${text}\n`)

/**
 * Writes a secret to standard output, or to standard error where that is the null device. Everything is written when it
 * returns. Throws if it could not be read: then the secret must not be stored.
 */
export function writeFully(text: string): void {
  const [standardOutput, standardError] = [1, 2]
  const descriptor = [standardOutput, standardError].find(one => !isNullDevice(one))
  if (descriptor === undefined) throw new Error('both standard output and standard error are the null device')
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(descriptor, bytes, at)
    } catch (error) {
      // A full non-blocking pipe.
      if (errorCode(error) !== 'EAGAIN') throw error
      Bun.sleepSync(10)
    }
  }
}

/** A service without a log may have the null device as output, where the key would be lost. */
function isNullDevice(descriptor: number): boolean {
  try {
    const { rdev } = fstatSync(descriptor)
    return rdev !== 0 && rdev === statSync('/dev/null').rdev
  } catch {
    return false
  }
}

/** The text of `--help`, without a trailing line break. */
export function helpOf(command: Command): string {
  const flags = Object.entries({ ...command.flags, help: { type: 'boolean', help: 'Show this' } as Flag })
  const left = flags.map(([name, flag]) => `--${name}${flag.type === 'string' ? ` ${flag.value ?? 'VALUE'}` : ''}`)
  const width = Math.max(...left.map(one => one.length))
  const lines = flags.map(([, flag], at) => `  ${left[at]!.padEnd(width)}  ${flag.help}`)
  const usage = `modelgate ${command.name}${command.arguments ? ` ${command.arguments}` : ''} [flags]`
  return `${command.summary}\n\nUsage: ${usage}\n\n${lines.join('\n')}`
}

type Parsed = Pick<CommandInput, 'flags' | 'positionals'>

/** Throws UsageError for an unknown flag or an extra word. */
export function parseFlags(command: Command, args: readonly string[]): Parsed {
  const parsed = parseCommandLine(command, args)
  const accepted = command.arguments === undefined ? 0 : 1
  const extra = parsed.positionals[accepted]
  if (extra !== undefined)
    throw new UsageError(`'${extra}' is one word too many; modelgate ${command.name} --help says what is taken`)
  return parsed
}

function parseCommandLine(command: Command, args: readonly string[]): Parsed {
  const options = Object.fromEntries(
    Object.entries(command.flags).map(([name, flag]) => [name, { type: flag.type, multiple: flag.multiple ?? false }]),
  )
  try {
    const { values, positionals } = parseArgs({
      args: withNumbers(command, args),
      options,
      allowPositionals: true,
      strict: true,
    })
    return { flags: values as FlagValues, positionals }
  } catch (error) {
    throw new UsageError(usageMessage(command, error as Error & { code?: string }))
  }
}

/** Keeps negative numbers as values (`--port -1`), so that the command reports the invalid value. */
function withNumbers(command: Command, args: readonly string[]): string[] {
  const merged: string[] = []
  for (const word of args) {
    const flag = merged.at(-1)
    const takesValue = flag?.startsWith('--') === true && command.flags[flag.slice(2)]?.type === 'string'
    if (takesValue && /^-\d/.test(word)) merged.splice(-1, 1, `${flag}=${word}`)
    else merged.push(word)
  }
  return merged
}

/** Maps the error codes of Node.js's util.parseArgs to messages. */
function usageMessage(command: Command, { code, message }: Error & { code?: string }): string {
  const [, named = ''] = /'--?([^' =]+)/.exec(message) ?? []
  const names = Object.keys(command.flags)
  const value = command.flags[named]?.value ?? 'VALUE'
  if (code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') {
    if (command.flags[named]?.type === 'boolean') return `--${named} takes no value; leave it out`
    return `--${named} needs a value: --${named} ${value}, or --${named}=${value} where it begins with a dash`
  }
  const near = closestMatch(named, names)
  const accepted = names.length === 0 ? 'no flags' : names.map(name => `--${name}`).join(', ')
  return (
    `${message.split(/[.\n]/)[0]}${near ? `, did you mean --${near}?` : ';'} modelgate ${command.name} takes ` +
    `${accepted}`
  )
}

const cellCharactersMax = 100

/** One line: escapes control and formatting characters, and truncates long texts. */
function cellOf(text: string): string {
  const shown = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, sign => `\\u{${sign.codePointAt(0)!.toString(16)}}`)
  const signs = [...shown]
  return signs.length <= cellCharactersMax ? shown : `${signs.slice(0, cellCharactersMax - 3).join('')}...`
}

/** Aligned columns with headings. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, ...rows.map(row => row.map(cellOf))]
  const widths = headings.map((_, at) => Math.max(...lines.map(cells => Bun.stringWidth(cells[at] ?? ''))))
  const padded = (cell: string, at: number) => cell + ' '.repeat(widths[at]! - Bun.stringWidth(cell))
  return lines.map(cells => cells.map(padded).join('  ').trimEnd()).join('\n')
}
