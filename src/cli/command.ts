/** What a command is: its flags are checked and its help is written from one description. */
import { parseArgs } from 'node:util'
import { nearest } from '../config/nearest.ts'

export interface Flag {
  readonly type: 'string' | 'boolean'
  /** What stands for the value in the help. */
  readonly value?: string
  readonly help: string
  /** May be given several times. */
  readonly multiple?: boolean
}

export type FlagValues = Readonly<Record<string, string | boolean | string[] | undefined>>

export interface CommandInput {
  readonly flags: FlagValues
  readonly positionals: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
}

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

export const print = (text: string): void => void process.stdout.write(`${text}\n`)
export const printError = (text: string): void => void process.stderr.write(`${text}\n`)

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
    const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true, strict: true })
    return { flags: values as FlagValues, positionals }
  } catch (error) {
    const [, named] = /'--?([^' =]+)/.exec((error as Error).message) ?? []
    const flags = Object.keys(command.flags)
    const near = named === undefined || flags.includes(named) ? undefined : nearest(named, flags)
    throw new UsageError(`${(error as Error).message.split(/[.\n]/)[0]}${near ? `, did you mean --${near}?` : ''}`)
  }
}

/** Rows under headings, as wide as they need to be. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, at) => Math.max(heading.length, ...rows.map(row => row[at]?.length ?? 0)))
  const line = (cells: readonly string[]) => cells.map((cell, at) => cell.padEnd(widths[at]!)).join('  ').trimEnd()
  return [line(headings), ...rows.map(line)].join('\n')
}
