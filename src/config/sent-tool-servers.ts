/** Tool servers that are made by API: checked, and merged with those of the file. */
import { unprocessable } from '../core/errors.ts'
import { secretMask } from '../core/objects/configured-objects.ts'
import type { CheckedModel, ConfiguredObject, ToolServerEntry } from '../core/objects/configured-objects.ts'
import { problemsIn } from '../core/schema-problems.ts'
import { schemaOf } from '../core/setting-keys.ts'
import type { ToolServerSettings } from '../core/tool-servers.ts'
import { isObject } from '../lib/json/json-values.ts'
import { Secret } from '../lib/secret.ts'
import { toolServerKeys, toolServerName, toolServerOf, toolServerProblem } from './sections/tool-servers.ts'

type Fields = Readonly<Record<string, unknown>>

/** Of these the whole value is secret, or each value of the map. */
const secretFields: ReadonlySet<string> = new Set(['authentication_token', 'auth_value', 'static_headers'])

const known = new WeakMap<ConfiguredObject, ToolServerSettings | { readonly problem: string }>()

/** One of the API, or why it cannot be used. `privateHosts` = those that the file lets it have. */
export function sentToolServer(
  object: ConfiguredObject,
  privateHosts: readonly string[],
): ToolServerSettings | { readonly problem: string } {
  let read = known.get(object)
  if (!read) known.set(object, (read = readObject(object)))
  if ('problem' in read || !read.url || !privateHosts.includes(new URL(read.url).hostname)) return read
  const allowed = { ...read, mayBePrivate: true }
  known.set(object, allowed)
  return allowed
}

function readObject({ id, name, body, secrets, problem }: ConfiguredObject): ReturnType<typeof sentToolServer> {
  if (problem !== undefined) return { problem }
  const hidden = secrets === null ? {} : (JSON.parse(secrets.reveal()) as Fields)
  const checked = schemaOf(toolServerKeys).safeParse({ ...(body.fields as object), ...hidden })
  if (!checked.success) return { problem: checked.error.issues[0]?.message ?? 'it cannot be read' }
  if (checked.data.command !== undefined || checked.data.transport === 'stdio') return { problem: programProblem }
  const mistake = toolServerProblem(checked.data)
  if (mistake) return { problem: `${mistake.key}: ${mistake.message}` }
  return toolServerOf(checked.data, { id, name, origin: 'db', mayBePrivate: false })
}

const programProblem =
  'programs (`stdio`) are started by the configuration file alone: write the server into its `mcp_servers`, with ' +
  '`allow_stdio: true`'

/** Those of the file, and behind them those of the API whose names no other has. */
export function mergedToolServers(
  ofFile: readonly ToolServerSettings[],
  objects: readonly ConfiguredObject[],
  privateHosts: readonly string[],
): readonly ToolServerSettings[] {
  const names = new Set(ofFile.flatMap(one => [one.name, one.prefix]))
  const sent = objects.flatMap(object => {
    if (object.kind !== 'tool_server') return []
    const read = sentToolServer(object, privateHosts)
    if ('problem' in read || names.has(read.name) || names.has(read.prefix)) return []
    names.add(read.name).add(read.prefix)
    return [read]
  })
  return sent.length === 0 ? ofFile : [...ofFile, ...sent]
}

/** See `ConfigurationChecks.checkToolServer`. */
export function checkedToolServer(
  { name, fields: sent, keepsSecrets = false }: ToolServerEntry,
  before: ConfiguredObject | undefined,
): Pick<CheckedModel, 'body' | 'secrets'> {
  const named = toolServerName().safeParse(name)
  if (!named.success) throw wrong(['server_name'], named.error.issues[0]!.message)
  for (const field of ['command', 'args', 'env', 'memory_limit_mb'])
    if (sent[field] !== undefined && sent[field] !== null) throw wrong([field], programProblem)
  if (sent.transport === 'stdio') throw wrong(['transport'], programProblem)
  const fields = withoutNulls({ ...(keepsSecrets && secretsOf(before)), ...unmasked(sent, before) })
  for (const [field, value] of Object.entries(fields))
    if (textsIn(value).some(text => /^os\.environ\/|^(?:file|vault|command)\/|\$\{/.test(text)))
      throw wrong([field], 'refers to a variable of the gateway, which requests cannot; send the value')
  const checked = schemaOf(toolServerKeys).safeParse(fields)
  if (!checked.success)
    throw unprocessable(problemsIn(checked.error.issues, fields, 'body', Object.keys(toolServerKeys)))
  const mistake = toolServerProblem(checked.data)
  if (mistake) throw wrong([mistake.key], mistake.message)
  return split(fields)
}

const wrong = (path: readonly string[], msg: string) =>
  unprocessable([{ loc: ['body', ...path], msg, type: 'invalid' }])

const secretsOf = (object: ConfiguredObject | undefined): Fields =>
  object?.secrets ? (JSON.parse(object.secrets.reveal()) as Fields) : {}

const withoutNulls = (fields: Fields): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined))

const textsIn = (value: unknown): string[] =>
  typeof value === 'string' ? [value] : isObject(value) ? Object.values(value).flatMap(textsIn) : []

/** A mask stands for the secret that is stored, in maps too. */
function unmasked(sent: Fields, before: ConfiguredObject | undefined): Record<string, unknown> {
  const stored = secretsOf(before)
  const open = (value: unknown, kept: unknown): unknown => {
    if (value === secretMask) return kept ?? value
    if (!isObject(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, open(one, isObject(kept) ? kept[name] : undefined)]),
    )
  }
  return Object.fromEntries(Object.entries(sent).map(([name, value]) => [name, open(value, stored[name])]))
}

function split(fields: Fields): Pick<CheckedModel, 'body' | 'secrets'> {
  const all = Object.entries(fields)
  const hidden = all.filter(([name]) => secretFields.has(name))
  return {
    body: { fields: Object.fromEntries(all.filter(([name]) => !secretFields.has(name))) },
    secrets: hidden.length === 0 ? null : new Secret(JSON.stringify(Object.fromEntries(hidden))),
  }
}
