/** Writes the configuration of a coding agent, so that it calls models through a gateway that was signed in to. */
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../../config/environment.ts'
import { closestMatch } from '../../lib/closest-match.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Command, FlagValues } from '../command.ts'
import { print, printError, UsageError } from '../command.ts'
import { text } from '../options.ts'
import { chosenGateway } from './access.ts'
import { agentClients, enteredClients } from './clients.ts'
import type { AgentClient, EnteredClient, ClientConnection } from './clients.ts'
import { withoutSettings, withSettings } from './json-edit.ts'
import type { ReplacedSetting } from './json-edit.ts'
import { personalDirectory, writePrivately } from './sign-in-file.ts'
import { withBlocks, withoutBlocks } from './toml-blocks.ts'

/** What `--undo` needs of a file of JSON. */
interface Setup {
  readonly replaced: readonly ReplacedSetting[]
  /** There was no file before. */
  readonly isNew: boolean
}

const names = [...agentClients, ...enteredClients].map(one => one.name)

/** Changes the file of an agent: what else stands in it stays, the file of before is kept beside it. */
export const setup: Command = {
  name: 'setup',
  summary: `Configure a coding agent for a gateway: ${names.join(', ')}`,
  arguments: 'AGENT',
  flags: {
    url: { type: 'string', value: 'URL', help: 'The gateway (MODELGATE_URL; default: the one signed in to last)' },
    model: { type: 'string', value: 'NAME', help: 'The model that it calls; default: its own' },
    command: { type: 'string', value: 'COMMAND', help: 'How it starts this program; default: modelgate' },
    subscription: {
      type: 'boolean',
      help: "Keep the agent's own sign-in at its vendor; the gateway's key is taken from MODELGATE_API_KEY",
    },
    'dry-run': { type: 'boolean', help: 'Print the file, and write nothing' },
    undo: { type: 'boolean', help: 'Take out what an earlier setup has written' },
  },
  run({ flags, positionals, environment }) {
    const client = clientOf(positionals[0])
    if ('steps' in client) return printSteps(client, { flags, environment })
    // A link stays one: its target is written.
    const named = client.file(environment)
    const path = existsSync(named) ? realpathSync(named) : named
    return flags.undo === true ? undo(client, path, environment) : write(client, path, { flags, environment })
  },
}

function clientOf(given: string | undefined): AgentClient | EnteredClient {
  const found = [...agentClients, ...enteredClients].find(one => one.name === given)
  if (found) return found
  const near = given === undefined ? undefined : closestMatch(given, names)
  throw new UsageError(
    `name the agent: modelgate setup ${near ?? names[0]!}; these are known: ${names.join(', ')}` +
      (given === undefined ? '' : `, and '${given.slice(0, 50)}' is none of them`),
  )
}

interface CommandContext {
  readonly flags: FlagValues
  readonly environment: Environment
}

/** Nothing is written, so that there is nothing to try or to undo. */
function printSteps(client: EnteredClient, { flags, environment }: CommandContext): number {
  for (const line of client.steps({ url: chosenGateway(text(flags.url), environment), model: text(flags.model) }))
    print(line)
  return 0
}

function write(client: AgentClient, path: string, { flags, environment }: CommandContext): number {
  const before = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const wanted =
    flags.subscription === true ? besideSubscription(client, flags, environment) : wantedOf(flags, environment)
  const isOtherWay = readSetups(environment)[client.name]?.replaced.some(
    ({ place }) => place.at(-1) === (flags.subscription === true ? 'apiKeyHelper' : 'ANTHROPIC_CUSTOM_HEADERS'),
  )
  if (isOtherWay)
    throw new UsageError(
      `${client.name} is set up the other way; take that back first: modelgate setup ${client.name} --undo`,
    )
  if (client.needsModel && wanted.model === undefined)
    throw new UsageError(`${client.name} needs a model: --model NAME`)
  const changed = changedText(client, { path, before, wanted })
  const own = client.ownFile?.(environment, wanted)
  if (flags['dry-run'] === true) {
    print(changed.text.trimEnd())
    if (own) printError(`and this is written as ${own.path}:\n${own.text.trimEnd()}`)
    return 0
  }
  const isOwnThere = own === undefined || (existsSync(own.path) && readFileSync(own.path, 'utf8') === own.text)
  if (changed.text === before && isOwnThere) {
    print(`${path} is set up already; ${client.next(wanted)}`)
    return 0
  }
  if (own) writePrivately(own.path, own.text)
  const isNew = !existsSync(path)
  if (!isNew && changed.text !== before) keepBackup(path, before)
  if (changed.replaced) rememberSetup(client, { replaced: changed.replaced, isNew }, environment)
  writePrivately(path, changed.text, isNew ? undefined : statSync(path).mode & 0o777)
  print(`${path} is written; ${client.next(wanted)}`)
  return 0
}

function addressOf(flags: FlagValues, environment: Environment): string {
  const url = chosenGateway(text(flags.url), environment)
  if (!/^[\w.:/~%[\]-]+$/.test(url)) throw new UsageError('the address has signs that a shell would read; use another')
  return url
}

/** For a model with `forward_client_credentials`. */
function besideSubscription(client: AgentClient, flags: FlagValues, environment: Environment): ClientConnection {
  if (!client.takesSubscription)
    throw new UsageError(
      `${client.name} cannot send the key of a gateway beside its own sign-in; --subscription is for: ` +
        agentClients.flatMap(one => (one.takesSubscription ? one.name : [])).join(', '),
    )
  const key = environment.MODELGATE_API_KEY?.trim()
  if (!key || !/^[\x21-\x7e]+$/.test(key))
    throw new UsageError('put a key of the gateway into MODELGATE_API_KEY (POST /key/generate, or the page of keys)')
  return {
    url: addressOf(flags, environment),
    tokenCommand: [],
    model: text(flags.model),
    keyBesideSubscription: key,
  }
}

function wantedOf(flags: FlagValues, environment: Environment): ClientConnection {
  const url = addressOf(flags, environment)
  const command = text(flags.command) ?? 'modelgate'
  if (text(flags.command) === undefined && Bun.which(command, { PATH: environment.PATH ?? '' }) === null)
    throw new UsageError(
      'there is no command `modelgate` in PATH, which the agent would start: install it (npm install --global), or ' +
        'say how it is started with --command',
    )
  return { url, tokenCommand: [...command.split(' '), 'token', '--url', url], model: text(flags.model) }
}

interface SettingsFile {
  readonly path: string
  readonly before: string
  readonly wanted: ClientConnection
}

function changedText(
  client: AgentClient,
  { path, before, wanted }: SettingsFile,
): { readonly text: string; readonly replaced?: readonly ReplacedSetting[] } {
  const change = client.change(wanted)
  try {
    return 'blocks' in change ? { text: withBlocks(before, change.blocks) } : withSettings(before, change.settings)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new Error(`${path} cannot be changed: ${error.message}; correct it, or move it away, and try again`)
  }
}

/** Named by its content, so that the same is kept once. */
function keepBackup(path: string, content: string): void {
  const backup = `${path}.before-modelgate-${createHash('sha256').update(content).digest('hex').slice(0, 8)}`
  if (!existsSync(backup)) copyFileSync(path, backup)
  printError(`the file of before is kept as ${backup}`)
}

const setupsFile = (environment: Environment): string => join(personalDirectory(environment), 'setups.json')

function readSetups(environment: Environment): Readonly<Record<string, Setup>> {
  const path = setupsFile(environment)
  if (!existsSync(path)) return {}
  const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
  return isObject(value) ? (value as Record<string, Setup>) : {}
}

/** A second setup replaces values of the first one: what stood there before both is what an undo brings back. */
function rememberSetup(client: AgentClient, setup: Setup, environment: Environment): void {
  const all = readSetups(environment)
  const earlier = all[client.name]
  const original = (one: ReplacedSetting): ReplacedSetting => {
    const known = earlier?.replaced.find(other => other.place.join('\0') === one.place.join('\0'))
    if (!known) return one
    const { place, value } = one
    return 'before' in known ? { place, value, before: known.before } : { place, value }
  }
  const isNew = earlier?.isNew ?? setup.isNew
  const remembered = { ...all, [client.name]: { replaced: setup.replaced.map(original), isNew } }
  writePrivately(setupsFile(environment), `${JSON.stringify(remembered, null, 2)}\n`)
}

function undo(client: AgentClient, path: string, environment: Environment): number {
  const own = client.ownFile?.(environment, { tokenCommand: [] })
  if (own) rmSync(own.path, { force: true })
  const nothing = (): number => {
    print(`nothing of modelgate setup stands in ${path}`)
    return 0
  }
  if (!existsSync(path)) return nothing()
  const before = readFileSync(path, 'utf8')
  const { [client.name]: known, ...others } = readSetups(environment)
  const result = known ? withoutSettings(before, known.replaced) : { text: withoutBlocks(before), kept: [] }
  if (result.text === before && result.kept.length === 0) return nothing()
  keepBackup(path, before)
  const isEmpty = /^(?:\{\s*\})?$/.test(result.text.trim())
  if (isEmpty && (known?.isNew ?? true)) rmSync(path)
  else writePrivately(path, result.text, statSync(path).mode & 0o777)
  if (known) writePrivately(setupsFile(environment), `${JSON.stringify(others, null, 2)}\n`)
  for (const place of result.kept) printError(`${place} was changed since, and stays as it is`)
  print(`${path} is as before`)
  return 0
}
